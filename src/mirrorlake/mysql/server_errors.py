"""Errors of a server, of PyMySQL and of sockets, as errors of ours."""

from __future__ import annotations

import ssl
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import pymysql

from mirrorlake.errors import MirrorlakeError, RefusedError, RetryableError
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.tls import failed_tls
from mirrorlake.shown import one_line

# MySQL share/messages_to_clients.txt, include/errmsg.h; MariaDB sql/share/errmsg-utf8.txt
_DENIED = 1045
_NO_SUCH_METHOD = 2059
_PASSWORD = {1251, 1524, 1698, 1820, 1862, _NO_SUCH_METHOD, 3118, 3955, 4150, 4151}
_PRIVILEGE = {1044, 1130, 1142, 1143, 1227, 1370}
# 1226: the account's limit of connections or queries; 3032, 3168: offline mode
_UNREACHABLE = {1040, 1129, 1203, 1226, 2002, 2003, 2005, 3032, 3168}
# 1969, 3024: a limit of time; 4052: another replica has our server id (MariaDB)
_LOST = {1053, 1152, 1158, 1159, 1160, 1161, 1205, 1317, 1927, 1969, 2006, 2013, 2055, 3024, 4031, 4052}
_TLS = {2026, 3159}
_NO_BINLOG = {1381}


class ServerSaid(Exception):
    """The server's error: its number and text."""


@contextmanager
def server_errors(login: ServerLogin, *, logged_in: bool = True, expected: Collection[int] = ()) -> Iterator[None]:
    """Turn errors of PyMySQL and sockets into ours; use it only around calls of PyMySQL.

    logged_in: the password can no longer be the cause. expected: numbers that become ServerSaid. On bytes that it
    cannot read PyMySQL raises errors of Python (IndexError, struct.error, AssertionError and more), so every other
    exception is the server's: ``server-protocol``.
    """
    try:
        yield
    except (MirrorlakeError, MemoryError):
        raise
    except pymysql.err.MySQLError as error:
        if error.args and error.args[0] in expected:
            raise ServerSaid(*error.args) from None
        raise _our_error(error, login, logged_in) from None
    except ssl.SSLError as error:
        raise _ended_tls(error, login, logged_in) from None
    except OSError as error:
        raise RetryableError("server-lost", f"{login}: {one_line(error)}") from None
    except Exception as error:
        asks_file = "LOAD_LOCAL" in str(error)
        what = "it asks for a file (LOAD DATA LOCAL); none was sent" if asks_file else type(error).__name__
        raise protocol_error(login, what) from error


def protocol_error(login: ServerLogin, what: str) -> RefusedError:
    """The error for bytes that no server of MySQL or MariaDB sends at this point."""
    return RefusedError("server-protocol", f"{login}: an answer that is not as the protocol has it: {what}")


def server_error(number: int, text: str, login: ServerLogin, logged_in: bool = True) -> MirrorlakeError:
    """The error for a number and text of the server or of PyMySQL's client side."""
    message = f"{login}: {text} (error {number})"
    if number in _PASSWORD:
        return RefusedError("server-password", message)
    if number == _DENIED and not logged_in:
        return RefusedError("server-password", f"{message}{_other_causes(login)}")
    if number in _PRIVILEGE or number == _DENIED:
        return RefusedError("server-privilege", message)
    if number in _TLS:
        return RefusedError("server-tls", message)
    if number in _NO_BINLOG:
        return RefusedError("binlog-off", message)
    if number in _UNREACHABLE:
        return RetryableError("server-unreachable", message)
    if number in _LOST or number == 0:
        return RetryableError("server-lost", message)
    return RefusedError("server-protocol", message)


def _other_causes(login: ServerLogin) -> str:
    """Other causes: a server reports the same for a wrong password and for a connection that the account does not
    allow."""
    if login.tls_mode == "off":
        return "; the connection is without TLS: an account with REQUIRE SSL needs --tls verify or --tls required"
    return "" if login.tls_cert else "; an account with REQUIRE X509 needs --tls-cert and --tls-key"


def _ended_tls(error: ssl.SSLError, login: ServerLogin, logged_in: bool) -> MirrorlakeError:
    """A connection that breaks is lost, with TLS as without it; only a handshake can fail for good."""
    if logged_in or isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        return RetryableError("server-lost", f"{login}: TLS ended: {one_line(error)}")
    return failed_tls(login, error)


def _our_error(error: pymysql.err.MySQLError, login: ServerLogin, logged_in: bool) -> MirrorlakeError:
    if isinstance(cause := getattr(error, "original_exception", None), ssl.SSLError):
        return _ended_tls(cause, login, logged_in)
    if not error.args or not isinstance(error.args[0], int):
        return protocol_error(login, one_line(error))
    number, text = error.args[0], one_line(error.args[-1])
    if number == _NO_SUCH_METHOD:
        text = "the server asks for a method of authentication that mirrorlake does not have: " + text
    return server_error(number, text, login, logged_in)
