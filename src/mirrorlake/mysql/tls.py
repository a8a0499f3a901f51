"""TLS to a server: the checks before we send anything through it, and what to do if a check fails."""

from __future__ import annotations

import ssl

from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.mysql.login import ServerLogin

_WRONG_NAME = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH (OpenSSL x509_vfy.h)
_WRONG_TIME = (9, 10)  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED


def tls_context(login: ServerLogin) -> ssl.SSLContext | None:
    """The TLS context; None: no TLS. Raises UsageError for a file that cannot be used."""
    if login.tls_mode == "off":
        return None
    try:
        context = ssl.create_default_context(cafile=login.tls_ca)
    except OSError as error:  # SSLError is one
        raise _unusable("--tls-ca", login.tls_ca, error) from None
    # the servers' own generated certificates lack extensions that strict checking requires
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    if login.tls_mode == "required":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED if login.tls_ca else ssl.CERT_NONE
    if login.tls_cert:
        try:
            context.load_cert_chain(login.tls_cert, login.tls_key, password=_no_passphrase)
        except OSError as error:
            files = " and ".join(filter(None, (login.tls_cert, login.tls_key)))
            raise _unusable("--tls-cert, --tls-key", files, error) from None
    return context


def no_tls(login: ServerLogin) -> RefusedError:
    """The error for a server that offers no TLS."""
    what = "the server offers no TLS, or somebody in between hides it; nothing was sent"
    way_out = "Turn TLS on in the server; --tls off sends everything in plain text, rows too"
    return RefusedError("server-tls", f"{login}: {what}. {way_out}")


def failed_tls(login: ServerLogin, error: ssl.SSLError) -> RefusedError:
    """The error for a failed handshake, with its solutions."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return RefusedError("server-tls", f"{login}: {' '.join(str(error).split())}")
    if error.verify_code in _WRONG_NAME:
        what = f"the server's certificate is not for the name {login.host}"
        ways = (
            "Name the host in --source as the certificate does; or give --tls required with --tls-ca FILE, the CA of"
            " this server alone: then the name is not compared"
        )
    else:
        what = f"the server's certificate is not to be trusted ({error.verify_message})"
        is_timely = error.verify_code not in _WRONG_TIME
        remedy = "Give the CA that signed it by --tls-ca FILE" if is_timely else "Renew it, or set this machine's clock"
        ways = (
            f"{remedy}; or --tls required, which encrypts for whoever answers:"
            " somebody in between can then read and change everything"
        )
    return RefusedError("server-tls", f"{login}: {what}; no password was sent. {ways}")


def _no_passphrase() -> str:
    raise OSError("it is encrypted, and there is nobody to ask for its passphrase")


def _unusable(option: str, path: str, error: OSError) -> UsageError:
    why = "it does not contain what it should" if isinstance(error, ssl.SSLError) else error.strerror or str(error)
    return UsageError("usage", f"{option}: cannot use {path}: {why}")
