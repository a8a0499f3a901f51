"""Connections to a server: PyMySQL does handshake, authentication, TLS and SQL; what goes wrong gets our codes."""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

import pymysql

from mirrorlake.core.sql_text import Sql, server_literal
from mirrorlake.errors import InternalError, MirrorlakeError, RefusedError, RetryableError, UsageError

TLS_MODES = ("auto", "off", "required", "verify")
CONNECT_TIMEOUT_S = 10
READ_TIMEOUT_S = 60
IDLE_LIMIT_S = 60
"""A connection unused for longer is opened anew: firewalls and wait_timeout close idle ones without a word."""

# MySQL share/messages_to_clients.txt, include/errmsg.h; MariaDB sql/share/errmsg-utf8.txt
_PASSWORD = {1045, 1251, 1524, 1698, 1820, 1862, 3118, 4151}
_PRIVILEGE = {1044, 1130, 1142, 1143, 1227, 1370}
_UNREACHABLE = {1040, 1129, 1203, 2002, 2003, 2005}
# 4052: another replica has our server id (MariaDB)
_LOST = {1053, 1152, 1158, 1159, 1160, 1161, 1205, 1317, 1927, 2006, 2013, 2055, 4031, 4052}
_TLS = {2026, 3159}
_NO_BINLOG = {1381}


@dataclass(frozen=True, slots=True)
class ServerLogin:
    """Where and as whom. tls: ``auto`` (TLS if the server has it; never to this host itself), ``off``, ``required``,
    ``verify`` (certificate and host name, against ``tls_ca`` or the system's CAs).
    """

    host: str
    port: int
    user: str
    password: str = field(default="", repr=False)
    tls: str = "auto"
    tls_ca: str | None = None

    def __post_init__(self):
        if self.tls not in TLS_MODES:
            raise UsageError("usage", f"TLS mode is one of {', '.join(TLS_MODES)}, not {self.tls!r}")

    @classmethod
    def parse(cls, url: str, password: str = "", *, tls: str = "auto", tls_ca: str | None = None) -> ServerLogin:
        """``mysql://user@host:port``. Raises UsageError, also for a URL that holds a password."""
        try:
            parts = urlsplit(url)
            host, port, user, in_url = parts.hostname, parts.port or 3306, parts.username, parts.password
        except ValueError:
            parts, host, user, in_url = None, None, None, None
        if in_url is not None:
            raise UsageError("usage", "no password in the URL, please: use MIRRORLAKE_PASSWORD or a file")
        if parts is None or parts.scheme != "mysql" or not host or not user or parts.path.strip("/"):
            raise UsageError("usage", "a server is given as mysql://user@host:port")
        return cls(host, port, unquote(user), password, tls, tls_ca)

    def __str__(self) -> str:
        return f"{self.user}@{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class ServerConnection:
    """One session with a server; opened when first needed and again after it stood idle.

    Every method raises RetryableError ``server-unreachable``, ``server-lost`` or RefusedError ``server-password``,
    ``server-privilege``, ``server-tls``.
    """

    def __init__(self, login: ServerLogin, *, receive_buffer_bytes: int = 0):
        self.login, self._receive_buffer_bytes = login, receive_buffer_bytes
        self._session: pymysql.Connection | None = None
        self._used_s = 0.0

    @property
    def session(self) -> pymysql.Connection:
        """The open PyMySQL connection."""
        if self._session is not None and time.monotonic() - self._used_s > IDLE_LIMIT_S:
            self.close()
        if self._session is None:
            self._session = open_session(self.login, receive_buffer_bytes=self._receive_buffer_bytes)
        self._used_s = time.monotonic()
        return self._session

    def query(self, sql: Sql) -> list[tuple]:
        session = self.session
        with server_errors(self.login):
            try:
                with session.cursor() as cursor:
                    cursor.execute(sql)
                    return list(cursor.fetchall())
            except (pymysql.err.OperationalError, pymysql.err.InterfaceError):
                self.close()
                raise

    def variable(self, name: str) -> str | None:
        """A global variable as text; None: this server does not have it."""
        rows = self.query(f"SHOW GLOBAL VARIABLES LIKE {server_literal(name)}")
        return str(rows[0][1]) if rows else None

    @cached_property
    def server_version(self) -> str:
        return str(self.query("SELECT VERSION()")[0][0])

    @cached_property
    def flavor(self) -> str:
        is_mariadb = "mariadb" in f"{self.server_version} {self.variable('version_comment')}".lower()
        return "mariadb" if is_mariadb else "mysql"

    @cached_property
    def version_numbers(self) -> tuple[int, ...]:
        """(major, minor, patch)"""
        found = re.match(r"([0-9]+)\.([0-9]+)\.([0-9]+)", self.server_version.removeprefix("5.5.5-"))
        return tuple(map(int, found.groups())) if found else (0, 0, 0)

    @cached_property
    def log_status_sql(self) -> Sql:
        """The statement that tells where the log ends: file, offset, and on MySQL as the fifth column the GTIDs."""
        is_new = self.flavor == "mysql" and self.version_numbers >= (8, 2, 0)
        return "SHOW BINARY LOG STATUS" if is_new else "SHOW MASTER STATUS"

    @cached_property
    def identity(self) -> str:
        """``mysql:<server_uuid>``; ``mariadb:<server_uid>``, before 10.10 ``mariadb:<server_id>@<hostname>:<port>``."""
        unique = self.variable("server_uuid") if self.flavor == "mysql" else self.variable("server_uid")
        if unique is None:
            unique = f"{self.variable('server_id')}@{self.variable('hostname')}:{self.variable('port')}"
        return f"{self.flavor}:{unique}"

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None and session.open:
            session._force_close()  # COM_QUIT could wait for a peer that is gone


@contextmanager
def server_errors(login: ServerLogin, *, logged_in: bool = True) -> Iterator[None]:
    """Turns what PyMySQL and sockets raise into our errors. logged_in: no password can be the cause any more."""
    try:
        yield
    except MirrorlakeError:
        raise
    except pymysql.err.MySQLError as error:
        raise _our_error(error, login, logged_in) from None
    except ssl.SSLError as error:
        raise RefusedError("server-tls", f"{login}: {_one_line(error)}") from None
    except OSError as error:
        raise RetryableError("server-lost", f"{login}: {_one_line(error)}") from None


def server_error(number: int, text: str, login: ServerLogin, logged_in: bool = True) -> MirrorlakeError:
    """The error for a number and text of the server or of PyMySQL's client side."""
    message = f"{login}: {text} (error {number})"
    if number in _PASSWORD and not (logged_in and number == 1045):
        return RefusedError("server-password", message)
    if number in _PRIVILEGE or number == 1045:
        return RefusedError("server-privilege", message)
    if number in _TLS:
        return RefusedError("server-tls", message)
    if number in _NO_BINLOG:
        return RefusedError("binlog-off", message)
    if number in _UNREACHABLE:
        return RetryableError("server-unreachable", message)
    if number in _LOST or number == 0:
        return RetryableError("server-lost", message)
    return InternalError("internal", message)


def _our_error(error: pymysql.err.MySQLError, login: ServerLogin, logged_in: bool) -> MirrorlakeError:
    if isinstance(getattr(error, "original_exception", None), ssl.SSLError):
        return RefusedError("server-tls", f"{login}: {_one_line(error.original_exception)}")
    number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
    return server_error(number, _one_line(error.args[-1] if error.args else error), login, logged_in)


def _one_line(what: object) -> str:
    return " ".join(str(what).split())


def open_session(
    login: ServerLogin, *, receive_buffer_bytes: int = 0, read_timeout_s: int = READ_TIMEOUT_S
) -> pymysql.Connection:
    """A connection that is not opened again by itself. Raises what ``ServerConnection`` raises."""
    session = pymysql.Connection(
        host=login.host, port=login.port, user=login.user, password=login.password.encode(), charset="utf8mb4",
        autocommit=True, read_timeout=read_timeout_s, write_timeout=READ_TIMEOUT_S, defer_connect=True,
        **_tls_options(login),
    )  # fmt: skip
    with server_errors(login, logged_in=False):
        try:
            session.connect(_open_socket(login, receive_buffer_bytes))
        except RuntimeError as error:  # PyMySQL: an authentication method needs a package that is not installed
            raise RefusedError("server-password", f"{login}: {_one_line(error)}") from None
    return session


def _tls_options(login: ServerLogin) -> dict:
    if login.tls == "off" or (login.tls == "auto" and login.is_loopback):
        return {"ssl_disabled": True}
    if login.tls == "auto":
        return {}
    context = ssl.create_default_context(cafile=login.tls_ca)
    # the servers' own generated certificates lack extensions that strict checking asks for
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    if login.tls == "required":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return {"ssl": context}


def _open_socket(login: ServerLogin, receive_buffer_bytes: int) -> socket.socket:
    """The receive buffer must be set before the connection is made: it decides the TCP window's scale."""
    try:
        addresses = socket.getaddrinfo(login.host, login.port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RetryableError("server-unreachable", f"{login}: {_one_line(error)}") from None
    for family, kind, protocol, _, address in addresses:
        sock = socket.socket(family, kind, protocol)
        try:
            if receive_buffer_bytes:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.settimeout(CONNECT_TIMEOUT_S)
            sock.connect(address)
            return sock
        except OSError as error:
            sock.close()
            reason = error
    raise RetryableError("server-unreachable", f"{login}: {_one_line(reason)}")
