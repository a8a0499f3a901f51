"""One open connection: PyMySQL with limits. Only this file and ``authentication`` use its private calls.

Before the login the server is not authenticated: its packets must be small and few, and the whole handshake has one
deadline. Answers to queries have a limit of bytes, columns and cells.
"""

from __future__ import annotations

import codecs
import socket
import ssl
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pymysql
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pymysql.constants import CLIENT
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import MirrorlakeError, RetryableError, UsageError
from mirrorlake.mysql.authentication import METHODS
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.server_errors import protocol_error, server_errors
from mirrorlake.mysql.tls import no_tls, tls_context
from mirrorlake.shown import one_line

CONNECT_TIMEOUT_S = 10
READ_TIMEOUT_S = 60
HANDSHAKE_LIMIT_S = 30
HANDSHAKE_PACKET_BYTES = 64 << 10
ANSWER_LIMIT_S = 600
ANSWER_BYTES = 32 << 20
ANSWER_COLUMNS = 4096  # maximum for a table (MySQL and MariaDB: MAX_FIELDS)
ANSWER_CELLS = 1 << 20
_PROTOCOL_VERSION = 10
_MIN_RSA_BITS = 1024
_ANSWERED_WITH_PASSWORD = "sha256_password"
"""PyMySQL answers a greeting of this method with the password, if there is TLS; ``authentication`` decides that."""
_TEXT_OF_ANSWERS = "mirrorlake_utf8"
"""UTF-8 with U+FFFD for invalid bytes: MariaDB 10 shows the DEFAULT of a BINARY column as raw bytes."""


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != _TEXT_OF_ANSWERS:
        return None
    return codecs.CodecInfo(codecs.utf_8_encode, lambda data, _="": codecs.utf_8_decode(data, "replace", True))


codecs.register(_find_codec)


@dataclass
class _Allowance:
    """Bytes and packets that the server may still send, and the deadline (monotonic clock)."""

    packet_bytes: int
    n_bytes: int
    deadline_s: float
    n_columns: int = ANSWER_COLUMNS
    n_cells: int = ANSWER_CELLS


class Session(pymysql.Connection):
    """A connection that never reconnects on its own.

    Raises RetryableError ``server-unreachable``, ``server-lost``, RefusedError ``server-password``,
    ``server-privilege``, ``server-tls``, ``server-protocol``, and UsageError for files that cannot be used.
    """

    _auth_plugin_name: str

    def __init__(self, login: ServerLogin, *, receive_buffer_bytes: int = 0):
        """Connect. receive_buffer_bytes: of the socket; 0 leaves it to the system."""
        self.login, context = login, tls_context(login)
        super().__init__(
            host=login.host, port=login.port, user=login.user, password=login.password.encode(), charset="utf8mb4",
            autocommit=True, read_timeout=READ_TIMEOUT_S, write_timeout=READ_TIMEOUT_S, defer_connect=True,
            auth_plugin_map=METHODS, server_public_key=_public_key(login),
            **({"ssl": context} if context else {"ssl_disabled": True}),
        )  # fmt: skip
        sock = _open_socket(login, receive_buffer_bytes)
        self._may_send = _Allowance(HANDSHAKE_PACKET_BYTES, 1 << 20, time.monotonic() + HANDSHAKE_LIMIT_S)
        with server_errors(login, logged_in=False):
            self.connect(sock)
        self.encoding = _TEXT_OF_ANSWERS

    @property
    def is_private(self) -> bool:
        """Can only the intended server read what we send?"""
        return self.login.is_loopback or (self._secure and self.login.proves_server)

    @property
    def socket(self) -> socket.socket:
        """The socket, for a caller that reads an answer itself: no byte of it has been read."""
        return self._sock

    def rows(
        self, sql: Sql, *values: str, expected: Collection[int] = (), silence_limit_s: float | None = None
    ) -> list[tuple]:
        """Run a query. values: for its %s. silence_limit_s: how long the server may compute; None: as usual.

        Raises ServerSaid for an error whose number is expected.
        """
        self._expect_answer(silence_limit_s)
        with self._talk(expected), self.cursor() as cursor:
            cursor.execute(sql, values or None)
            found = list(cursor.fetchall())
            if any(len(row) != len(cursor.description or ()) or not row for row in found):
                raise protocol_error(self.login, "a row with another number of columns than its result")
            return found

    def send(self, command: int, payload: bytes) -> None:
        """Send a command; the caller reads the answer from ``socket``."""
        with self._talk():
            self._execute_command(command, payload)

    def command(self, command: int, payload: bytes) -> None:
        """Send a command whose answer is OK."""
        self.send(command, payload)
        self._expect_answer()
        with self._talk():
            self._read_packet()

    def hang_up(self) -> None:
        """Close without COM_QUIT, which could wait for a dead peer."""
        if self.open:
            self._force_close()

    @contextmanager
    def _talk(self, expected: Collection[int] = ()) -> Iterator[None]:
        """Wrap calls of PyMySQL; the rest of an interrupted exchange is never read."""
        try:
            with server_errors(self.login, expected=expected):
                yield
        except MirrorlakeError as error:
            if error.code in ("server-lost", "server-protocol"):
                self.hang_up()
            raise

    # --- what PyMySQL calls

    def _get_server_information(self) -> None:
        super()._get_server_information()
        if self.protocol_version != _PROTOCOL_VERSION:
            raise protocol_error(self.login, f"protocol version {self.protocol_version}")
        if self.ssl and not self.server_capabilities & CLIENT.SSL:
            raise no_tls(self.login)
        if self._auth_plugin_name == _ANSWERED_WITH_PASSWORD:
            self._auth_plugin_name = "caching_sha2_password"  # the server then names the account's own method

    def _read_packet(self, packet_type: type[MysqlPacket] = MysqlPacket) -> MysqlPacket:
        packet, allowed = super()._read_packet(packet_type), self._may_send
        if packet_type is FieldDescriptorPacket:
            allowed.n_columns -= 1
        allowed.n_cells -= max(1, ANSWER_COLUMNS - allowed.n_columns)
        if allowed.n_columns < 0 or allowed.n_cells < 0:
            raise protocol_error(self.login, "more columns or rows than any answer to this question has")
        return packet

    def _read_bytes(self, num_bytes: int) -> bytes:
        """Read exactly num_bytes from the socket, so that a deadline works, and others can continue reading."""
        allowed = self._may_send
        allowed.n_bytes -= num_bytes
        if num_bytes > allowed.packet_bytes or allowed.n_bytes < 0:
            raise protocol_error(self.login, "more bytes than any answer to this question has")
        taken, filled = memoryview(bytearray(num_bytes)), 0
        while filled < num_bytes:
            self._limit_wait(self._read_timeout)
            try:
                n_bytes = self._sock.recv_into(taken[filled:])
            except ssl.SSLError:
                raise
            except OSError as error:  # which PyMySQL would report as an unreachable server
                raise RetryableError("server-lost", f"{self.login}: {one_line(error)}") from None
            if not n_bytes:
                raise RetryableError("server-lost", f"{self.login}: the server closed the connection")
            filled += n_bytes
        return taken.tobytes()

    def _write_bytes(self, data: bytes) -> None:
        """Write; this is also the last call before the TLS handshake, which keeps the socket's timeout."""
        self._limit_wait(self._write_timeout)
        try:
            self._sock.sendall(data)
        except (ConnectionError, ssl.SSLEOFError):
            self._sock.recv(1)  # raises the alert of TLS 1.3 about our certificate, which may have come by now
            raise

    def _limit_wait(self, seconds: float) -> None:
        left_s = self._may_send.deadline_s - time.monotonic()
        if left_s <= 0:
            raise RetryableError("server-lost", f"{self.login}: the server did not finish its answer")
        self._sock.settimeout(min(seconds, left_s))

    def _expect_answer(self, silence_limit_s: float | None = None) -> None:
        self._read_timeout = silence_limit_s or READ_TIMEOUT_S
        limit_s = max(ANSWER_LIMIT_S, silence_limit_s or 0)
        self._may_send = _Allowance(ANSWER_BYTES, ANSWER_BYTES, time.monotonic() + limit_s)


def _public_key(login: ServerLogin) -> bytes | None:
    if login.server_public_key is None:
        return None
    try:
        with open(login.server_public_key, "rb") as file:
            text = file.read(HANDSHAKE_PACKET_BYTES)
        key = load_pem_public_key(text)
        if not isinstance(key, RSAPublicKey) or key.key_size < _MIN_RSA_BITS:
            raise ValueError
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or f"it holds no public RSA key (PEM) of at least {_MIN_RSA_BITS} bits"
        raise UsageError("usage", f"--server-public-key: cannot use {login.server_public_key}: {why}") from None
    return text


def _open_socket(login: ServerLogin, receive_buffer_bytes: int) -> socket.socket:
    """Connect. The receive buffer must be set before: it determines the TCP window's scale."""
    try:
        addresses = socket.getaddrinfo(login.host, login.port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise UsageError("usage", f"{login.host} is not the name of a host") from None
    except OSError as error:
        raise RetryableError("server-unreachable", f"{login}: {one_line(error)}") from None
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
    raise RetryableError("server-unreachable", f"{login}: {one_line(reason)}")
