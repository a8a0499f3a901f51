"""Address of a server, and user: the source's URL, and how the connection authenticates both ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import get_args
from urllib.parse import unquote, urlsplit

from mirrorlake.config import TlsMode
from mirrorlake.errors import UsageError

_URL = "a server is given as mysql://user@host:port"
_HOST = re.compile(r"[\w.:%-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class ServerLogin:
    """Address, user, password, and TLS.

    tls: ``off`` is plain text. ``required`` encrypts, and checks the chain of the server's certificate only if
    ``tls_ca`` is given. ``verify`` checks chain and host name, against ``tls_ca`` or the system's CAs. None: ``off`` to
    this host itself, unless a file for TLS is given, else ``verify``. tls_ca, tls_cert, tls_key: PEM files; the last
    two are the client's own, and the key may be in the file of the certificate. server_public_key: PEM file with the
    server's RSA key, which encrypts a password without TLS. A login is for one command: all its sessions are with one
    server, see ``open_session``.
    """

    host: str
    port: int
    user: str
    password: str = field(default="", repr=False)
    tls: str | None = None
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    server_public_key: str | None = None
    _identities: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self):
        if self.tls not in (None, *get_args(TlsMode)):
            raise UsageError("usage", f"--tls is one of {', '.join(get_args(TlsMode))}, not {self.tls!r}")
        if self.tls_key and not self.tls_cert:
            raise UsageError("usage", "--tls-key needs --tls-cert, the certificate that the key belongs to")
        if self.tls_mode == "off" and (self.tls_ca or self.tls_cert):
            raise UsageError("usage", "--tls off leaves no use for --tls-ca and --tls-cert")

    @classmethod
    def parse(cls, url: str, password: str = "", **settings: str | None) -> ServerLogin:
        """Parse ``mysql://user@host:port``. settings: the fields from ``tls`` on.

        Raises UsageError, also for a URL with a password, a query or a fragment; it never repeats the URL's text.
        """
        try:
            parts = urlsplit(url)
            host, port, user, in_url = parts.hostname, parts.port, parts.username, parts.password
        except ValueError:
            raise UsageError("usage", _URL) from None
        if in_url is not None:
            raise UsageError("usage", "no password in the URL, please: use MIRRORLAKE_PASSWORD or a file")
        if _CONTROL.search(unquote(url)):  # urlsplit drops some of them
            raise UsageError("usage", f"{_URL}, without control characters")
        if "?" in url or "#" in url:
            raise UsageError("usage", f"{_URL}, without ? and #: what they set is given as an option, such as --tls")
        if parts.scheme != "mysql" or not _HOST.fullmatch(host or "") or not user or parts.path.strip("/") or port == 0:
            raise UsageError("usage", _URL)
        return cls(host, 3306 if port is None else port, unquote(user), password, **settings)

    def first_identity(self, identity: str) -> str:
        """The identity of the server that answered first, which is this one if none has answered before."""
        return self._identities.setdefault("first", identity)

    def __reduce__(self):
        """Raise TypeError: Spark pickles data for its workers, and the password must stay in this process."""
        raise TypeError("a ServerLogin is not pickled")

    def __str__(self) -> str:
        return f"{self.user}@{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Is the server on this host, by the name it was given?"""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def tls_mode(self) -> str:
        """``tls``, or the mode that None means."""
        needs_none = self.is_loopback and not (self.tls_ca or self.tls_cert)
        return self.tls or ("off" if needs_none else "verify")

    @property
    def proves_server(self) -> bool:
        """Does an established connection prove that the other end has a certificate of a trusted CA?"""
        return self.tls_mode == "verify" or (self.tls_mode == "required" and bool(self.tls_ca))
