"""A server that means harm: it speaks as much of the protocol as it needs, and notes what the client sends.

    def asks_for_clear(wire):                            # runs once per connection
        wire.greet("caching_sha2_password")
        wire.login()
        wire.switch("mysql_clear_password")
        wire.receive()

    with RogueServer(asks_for_clear) as rogue:
        ...                                              # a client of mysql://u@127.1:{rogue.port}
        assert PASSWORD not in rogue.heard

127.1 is 127.0.0.1, but no name of this host itself for ``ServerLogin``.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from mirrorlake.core.constants import Command

TLS, PLUGINS = 0x800, 0x80000
# CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH, CLIENT_MULTI_RESULTS and their kin
CAPABILITIES = 0x00FF_F7FF & ~TLS
NONCE = b"0123456789abcdefghij"
OK = b"\0\0\0\x02\0\0\0"
_UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
_MYSQL = {
    "SHOW BINARY LOGS": [("binlog.000001", "1000", "No")],
    "SHOW BINARY LOG STATUS": [("binlog.000001", "1000", "", "", "")],
}  # fmt: skip
LARGEST = 0xFFFFFF
NULL = b"\xfb"
COLUMN_END = b"\xfe\0\0\x02\0"


class Wire:
    """One connection, in packets. ``heard`` has all that the client sent, also what came through TLS.

    patience_s: after so long without a word from the client the connection is closed.
    """

    def __init__(self, sock: socket.socket, keys: Keys | None):
        self._sock, self._keys, self._sequence = sock, keys, 0
        self.heard: list[bytes] = []
        self.patience_s: float | None = None

    def hang_up(self) -> None:
        self._sock.shutdown(socket.SHUT_RDWR)

    def send_below_tls(self, data: bytes) -> None:
        with socket.socket(fileno=os.dup(self._sock.fileno())) as plain:
            plain.sendall(data)

    def send(self, payload: bytes) -> None:
        self.send_raw(struct.pack("<I", len(payload))[:3] + bytes((self._sequence,)) + payload)
        self._sequence = (self._sequence + 1) % 256

    def send_raw(self, data: bytes) -> None:
        self._sock.sendall(data)

    def receive(self) -> bytes:
        head = self._exactly(4)
        self._sequence = (head[3] + 1) % 256
        payload = self._exactly(int.from_bytes(head[:3], "little"))
        self.heard.append(payload)
        return payload

    def greet(self, method: str = "caching_sha2_password", version: str = "8.4.0", protocol: int = 10) -> None:
        flags = CAPABILITIES | (TLS if self._keys else 0)
        self.send(
            bytes((protocol,)) + version.encode() + b"\0" + struct.pack("<I", 7) + NONCE[:8] + b"\0"
            + struct.pack("<HBHHB10x", flags & 0xFFFF, 45, 2, flags >> 16, 21) + NONCE[8:] + b"\0"
            + method.encode() + b"\0"
        )  # fmt: skip

    def login(self) -> bytes:
        """The client's answer to the greeting, after TLS where there are keys."""
        answer = self.receive()
        if not self._keys:
            return answer
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._keys.certificate, self._keys.key)
        self._sock = context.wrap_socket(self._sock, server_side=True)
        return self.receive()

    def switch(self, method: str, data: bytes = NONCE + b"\0") -> None:
        self.send(b"\xfe" + method.encode() + b"\0" + data)

    def let_in(self) -> None:
        """As any server that has nothing against the client, up to its first question."""
        self.greet()
        self.login()
        self.send(OK)
        self.answer_settings()

    def answer_settings(self) -> None:
        """SET NAMES; autocommit is on by the greeting."""
        self.receive()
        self.send(OK)

    @staticmethod
    def column(name: bytes = b"x", kind: int = 253) -> bytes:
        """A column's definition; kind: its type, such as 3 for INT and 253 for VARCHAR."""
        traits = struct.pack("<BHIBHBxx", 12, 45, 999, kind, 0, 0)
        return b"\x03def\0\0\0" + bytes((len(name),)) + name + b"\0" + traits

    def send_rows(self, rows: list[tuple[str | None, ...]], n_columns: int) -> None:
        """A whole answer. None: NULL."""
        self.send(bytes((n_columns,)))
        for _ in range(n_columns):
            self.send(self.column())
        self.send(COLUMN_END)
        for row in rows:
            self.send(b"".join(map(_cell, row)))
        self.send(COLUMN_END)

    def answer_as_mysql(
        self, answers: dict[str, list[tuple[str | None, ...]]], *, version: str = "8.4.0", uuid: str = _UUID
    ) -> bool:
        """Answer what a job asks, by ``answers`` first; True when it asks for the log, False when it hangs up."""
        answers = _MYSQL | answers
        variables = {"version": version, "version_comment": "a server", "server_uuid": uuid}
        try:
            while True:
                command, text = (packet := self.receive())[0], packet[1:].decode("utf-8", "replace")
                if command in (Command.BINLOG_DUMP, Command.BINLOG_DUMP_GTID):
                    return True
                name = re.fullmatch(r"SHOW GLOBAL VARIABLES LIKE '(\w+)'", text)
                if name:
                    self.send_rows([(name[1], variables[name[1]])] if name[1] in variables else [], 2)
                elif text.startswith("SHOW GLOBAL VARIABLES WHERE"):
                    self.send_rows(list(variables.items()), 2)
                elif text in answers:
                    self.send_rows(answers[text], len(answers[text][0]))
                else:
                    self.send(OK)
        except ConnectionResetError:
            return False

    def endless(self, packet: bytes) -> None:
        """A packet over and over, numbered as it has to be, until the client hangs up."""
        number, many = self._sequence, max(1, (1 << 16) // len(packet))
        while True:
            numbers = ((number + i) % 256 for i in range(many))
            self.send_raw(b"".join(packet[:3] + bytes((n,)) + packet[4:] for n in numbers))
            number = (number + many) % 256

    def drip(self) -> None:
        """A byte now and then, until the client hangs up."""
        while True:
            self.send_raw(b"\0")
            time.sleep(0.1)

    def _exactly(self, n_bytes: int) -> bytes:
        data = b""
        self._sock.settimeout(self.patience_s)
        while len(data) < n_bytes:
            more = self._sock.recv(n_bytes - len(data))
            if not more:
                raise ConnectionResetError
            data += more
        return data


class Keys:
    """A certificate of its own making, valid from yesterday on. names: of hosts, or addresses."""

    def __init__(self, folder: Path, *names: str, days: float = 2):
        self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        named = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rogue")])
        since = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(1)
        self.certificate, self.key, self.public = folder / "cert.pem", folder / "key.pem", folder / "public.pem"
        certificate = (
            x509.CertificateBuilder().subject_name(named).issuer_name(named).public_key(self.private.public_key())
            .serial_number(1).not_valid_before(since).not_valid_after(since + datetime.timedelta(days))
            .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names or ("rogue",)]), False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
            .sign(self.private, hashes.SHA256())
        )  # fmt: skip
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        self.key.write_bytes(
            self.private.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        self.public.write_bytes(self.public_pem)

    @property
    def public_pem(self) -> bytes:
        return self.private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def decrypt(self, data: bytes) -> bytes:
        """A password that ``sha256_password`` and its like encrypted with our key."""
        oaep = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
        try:
            mixed = self.private.decrypt(data, oaep)
        except ValueError:
            return b""
        return bytes(byte ^ NONCE[i % len(NONCE)] for i, byte in enumerate(mixed))


class RogueServer:
    """Listens on 127.0.0.1 while it is entered; every connection gets a thread of its own."""

    def __init__(self, act: Callable[[Wire], None], keys: Keys | None = None):
        self._act, self._keys = act, keys
        self._wires: list[Wire] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]

    @property
    def heard(self) -> bytes:
        """Everything that clients sent, and what of it our key decrypts."""
        packets = [packet for wire in self._wires for packet in wire.heard]
        keys = self._keys or spare_keys()
        return b"\n".join([*packets, *map(keys.decrypt, packets)])

    def __enter__(self) -> RogueServer:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self._listener.close()

    def _listen(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        wire = Wire(sock, self._keys)
        self._wires.append(wire)
        try:
            self._act(wire)
        except OSError:  # the client hung up
            pass
        finally:
            sock.close()


@cache
def spare_keys() -> Keys:
    """For servers without TLS that have an RSA key."""
    import tempfile

    return Keys(Path(tempfile.mkdtemp(prefix="mirrorlake-rogue-")))


def _cell(text: str | None) -> bytes:
    if text is None:
        return NULL
    data = text.encode()
    return (bytes((len(data),)) if len(data) < 0xFB else b"\xfc" + struct.pack("<H", len(data))) + data


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
