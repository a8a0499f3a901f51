"""Methods of authentication: which of them send the password itself, and to whom.

PyMySQL has those that only prove that we know the password (mysql_native_password, client_ed25519). Here are the ones
that send it, which must authenticate the other end first, and those that PyMySQL lacks.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from pymysql._auth import scramble_caching_sha2, sha2_rsa_encrypt
from pymysql.protocol import MysqlPacket

from mirrorlake.errors import RefusedError
from mirrorlake.mysql.server_errors import protocol_error

if TYPE_CHECKING:
    from mirrorlake.mysql.session import Session

_ASK_KEY_SHA256, _ASK_KEY_CACHING = b"\x01", b"\x02"
_FAST_OK, _FULL = b"\x03", b"\x04"
_NONCE_BYTES = 32
_MOST_ROUNDS = 3
"""For parsec: 1024 << rounds iterations of PBKDF2; MariaDB makes accounts with no more (plugin/auth_parsec)."""


class _Method:
    """Made by PyMySQL with the connection; ``authenticate`` takes the server's packet and returns its next one."""

    name: str

    def __init__(self, session: Session):
        self._session = session

    def authenticate(self, packet: MysqlPacket) -> MysqlPacket:
        raise NotImplementedError

    def _ask(self, data: bytes) -> MysqlPacket:
        self._session.write_packet(data)
        return self._session._read_packet()

    def _need_privacy(self, *ways_out: str) -> None:
        session = self._session
        if session.is_private:
            return
        how = "a TLS connection whose other end is not verified" if session._secure else "a connection in plain text"
        ways = " or ".join(("--tls verify, where needed with --tls-ca FILE,", *ways_out))
        what = f"the server asks for the password itself ({self.name}) over {how}; it was not sent"
        raise RefusedError("server-tls", f"{session.login}: {what}. Give {ways} to be certain which server reads it")


class ClearPassword(_Method):
    """Sends the password in clear: LDAP, PAM, the clouds' tokens."""

    name = "mysql_clear_password"

    def authenticate(self, packet: MysqlPacket) -> MysqlPacket:
        self._need_privacy()
        return self._ask(self._session.password + b"\0")


class Dialog(_Method):
    """MariaDB's PAM: u8 flags, then a question. The password answers one."""

    name = "dialog"

    def authenticate(self, packet: MysqlPacket) -> MysqlPacket:
        self._need_privacy()
        answer = self._ask(self._session.password + b"\0")
        if answer.is_ok_packet():
            return answer
        what = "the server asks for more than a password (dialog)"
        raise RefusedError("server-password", f"{self._session.login}: {what}")


class OldPassword(_Method):
    """Method before MySQL 4.1; anyone who reads its packets learns the password."""

    name = "mysql_old_password"

    def authenticate(self, packet: MysqlPacket) -> MysqlPacket:
        what = "the account has a password of before MySQL 4.1 (mysql_old_password), which keeps nothing secret"
        raise RefusedError("server-password", f"{self._session.login}: {what}; give it a new one")


class _WholePassword(_Method):
    """Sends the password inside TLS, or encrypted with the server's RSA key, which an option must have given us."""

    ask_key: bytes

    def _send_whole(self, nonce: bytes) -> MysqlPacket:
        session = self._session
        if session._secure:  # then no server takes it encrypted
            self._need_privacy()
            return self._ask(session.password + b"\0")
        key = session.server_public_key
        if key is None:
            self._need_privacy("--server-public-key FILE")
            answer = self._ask(self.ask_key)
            if not answer.is_extra_auth_data():
                raise protocol_error(session.login, "no public key")
            key = answer.get_all_data()[1:]
        return self._ask(sha2_rsa_encrypt(session.password, nonce, key))

    def _nonce(self, packet: MysqlPacket) -> bytes:
        return packet.read_all().removesuffix(b"\0") if packet.is_auth_switch_request() else self._session.salt


class Sha256(_WholePassword):
    name, ask_key = "sha256_password", _ASK_KEY_SHA256

    def authenticate(self, packet: MysqlPacket) -> MysqlPacket:
        return self._send_whole(self._nonce(packet)) if self._session.password else self._ask(b"\0")


class CachingSha2(_WholePassword):
    """Sends a proof first, which is enough if the server has cached the account; else the password itself."""

    name, ask_key = "caching_sha2_password", _ASK_KEY_CACHING

    def authenticate(self, packet: MysqlPacket) -> MysqlPacket:
        nonce = self._nonce(packet)
        if packet.is_auth_switch_request():
            packet = self._ask(scramble_caching_sha2(self._session.password, nonce))
            if packet.is_ok_packet():  # as there is no password
                return packet
        said = packet.get_all_data()
        if said == b"\x01" + _FAST_OK:
            return self._session._read_packet()
        if said != b"\x01" + _FULL:
            raise protocol_error(self._session.login, "neither a yes nor a no to the password's proof")
        return self._send_whole(nonce)


class Parsec(_Method):
    """MariaDB 11.6 and later: a signature with a key made from the password.

    Server: 32 random bytes. Client: nothing. Server: 0x01, "P", u8 rounds, salt. Client: 32 random bytes, and the
    Ed25519 signature of both. The key's seed is PBKDF2-HMAC-SHA512 of the password (MariaDB plugin/auth_parsec).
    """

    name = "parsec"

    def authenticate(self, packet: MysqlPacket) -> MysqlPacket:
        session = self._session
        theirs = packet.read_all()[:_NONCE_BYTES]
        parameters = self._ask(b"").get_all_data().removeprefix(b"\x01")
        kind, rounds, salt = parameters[:1], parameters[1], parameters[2:]
        if len(theirs) < _NONCE_BYTES or kind != b"P" or rounds > _MOST_ROUNDS or not salt:
            raise protocol_error(session.login, "parsec's parameters")
        seed = PBKDF2HMAC(SHA512(), 32, salt, 1024 << rounds).derive(session.password)
        ours = os.urandom(_NONCE_BYTES)
        return self._ask(ours + Ed25519PrivateKey.from_private_bytes(seed).sign(theirs + ours))


METHODS: dict[str, type[_Method]] = {
    method.name: method for method in (ClearPassword, Dialog, OldPassword, Sha256, CachingSha2, Parsec)
}
"""For PyMySQL's ``auth_plugin_map``, which takes precedence over its own methods."""
