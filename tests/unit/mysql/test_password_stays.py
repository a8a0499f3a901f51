"""The password goes to the server that we mean, or nowhere: a rogue server tries every way to get it."""

from __future__ import annotations

import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.session import Session
from tests.support.rogue_server import OK, Keys, RogueServer, spare_keys

PASSWORD = "S3cret-Passw0rd"
ANOTHER_HOST, THIS_HOST = "127.1", "127.0.0.1"


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> Keys:
    return Keys(tmp_path_factory.mktemp("keys"), "localhost", THIS_HOST)


def asks_for_clear(wire):
    wire.greet()
    wire.login()
    wire.switch("mysql_clear_password")
    wire.receive()
    wire.send(OK)
    wire.answer_settings()


def asks_by_dialog(wire):
    wire.greet()
    wire.login()
    wire.switch("dialog", b"\x02Password: ")
    wire.receive()
    wire.send(OK)
    wire.answer_settings()


def asks_by_old_password(wire):
    wire.greet()
    wire.login()
    wire.switch("mysql_old_password", b"12345678\0")
    wire.receive()


def offers_key_sha256(wire):
    wire.greet()
    wire.login()
    wire.switch("sha256_password")
    if wire.receive() == b"\x01":
        wire.send(b"\x01" + spare_keys().public_pem)
        wire.receive()
    wire.send(OK)
    wire.answer_settings()


def greets_as_sha256(wire):
    wire.greet("sha256_password")
    wire.login()
    wire.send(b"\x01" + spare_keys().public_pem)
    wire.receive()


def wants_caching_in_full(wire):
    wire.greet()
    wire.login()
    wire.send(b"\x01\x04")
    if wire.receive() == b"\x02":
        wire.send(b"\x01" + spare_keys().public_pem)
        wire.receive()
    wire.send(OK)
    wire.answer_settings()


def switches_to_caching_in_full(wire):
    wire.greet("mysql_native_password")
    wire.login()
    wire.switch("caching_sha2_password")
    wire.receive()
    wire.send(b"\x01\x04")
    if wire.receive() == b"\x02":
        wire.send(b"\x01" + spare_keys().public_pem)
        wire.receive()


WAYS = (
    asks_for_clear, asks_by_dialog, asks_by_old_password, offers_key_sha256, greets_as_sha256, wants_caching_in_full,
    switches_to_caching_in_full,
)  # fmt: skip


def refused(rogue: RogueServer, host: str = ANOTHER_HOST, **settings) -> RefusedError:
    with pytest.raises(RefusedError) as raised:
        Session(ServerLogin(host, rogue.port, "u", PASSWORD, **settings))
    assert PASSWORD.encode() not in rogue.heard and PASSWORD not in str(raised.value)
    return raised.value


@pytest.mark.parametrize("way", WAYS)
def test_no_way_gets_the_password_in_plain_text(way):
    with RogueServer(way) as rogue:
        assert refused(rogue, tls="off").code in ("server-tls", "server-password", "server-protocol")


@pytest.mark.parametrize("way", WAYS)
def test_no_way_gets_the_password_through_tls_to_whoever_answers(way, keys):
    with RogueServer(way, keys) as rogue:
        assert refused(rogue, tls="required").code in ("server-tls", "server-password", "server-protocol")


@pytest.mark.parametrize("way", (asks_for_clear, asks_by_dialog, wants_caching_in_full, offers_key_sha256))
def test_a_refusal_to_send_names_the_ways_out(way, keys):
    with RogueServer(way, keys) as rogue:
        assert "--tls verify" in refused(rogue, tls="required").message
    with RogueServer(way) as rogue:
        error = refused(rogue, tls="off")
    assert error.code == "server-tls" and "in plain text" in error.message and "--tls verify" in error.message
    assert ("--server-public-key" in error.message) == (way in (wants_caching_in_full, offers_key_sha256))


@pytest.mark.parametrize("way", WAYS)
def test_another_host_must_prove_who_it_is_if_nothing_is_said(way, keys):
    with RogueServer(way, keys) as rogue:
        error = refused(rogue)
        assert rogue.heard.count(b"\0u\0") == 0  # not even the user's name
    assert error.code == "server-tls" and "self-signed" in error.message
    assert "--tls-ca FILE" in error.message and "--tls required" in error.message


def test_another_ca_is_no_way_out_for_an_expired_certificate(tmp_path):
    keys = Keys(tmp_path, ANOTHER_HOST, days=0.5)
    with RogueServer(asks_for_clear, keys) as rogue:
        error = refused(rogue, tls_ca=str(keys.certificate))
    assert "expired" in error.message and "Renew it" in error.message and "--tls-ca" not in error.message


@pytest.mark.parametrize("settings", ({}, {"tls": "verify"}, {"tls": "required"}))
def test_a_server_without_tls_is_told_nothing(settings):
    with RogueServer(asks_for_clear) as rogue:
        error = refused(rogue, **settings)
        assert rogue.heard == b""
    assert error.code == "server-tls" and "--tls off" in error.message


def test_a_certificate_for_another_name_is_refused(keys):
    with RogueServer(asks_for_clear, keys) as rogue:
        error = refused(rogue, ANOTHER_HOST, tls="verify", tls_ca=str(keys.certificate))
        assert rogue.heard.count(b"\0u\0") == 0
    assert error.code == "server-tls" and "not for the name 127.1" in error.message


@pytest.mark.parametrize("way", (asks_for_clear, asks_by_dialog, wants_caching_in_full, offers_key_sha256))
@pytest.mark.parametrize(
    ("host", "settings"), [(THIS_HOST, {"tls": "verify"}), (ANOTHER_HOST, {"tls": "required"})], ids=str
)
def test_a_server_that_the_ca_speaks_for_gets_the_password(way, host, settings, keys):
    with RogueServer(way, keys) as server:
        Session(ServerLogin(host, server.port, "u", PASSWORD, tls_ca=str(keys.certificate), **settings)).hang_up()
        assert PASSWORD.encode() + b"\0" in server.heard


def test_an_empty_name_of_a_ca_proves_nobody(keys):
    with RogueServer(asks_for_clear, keys) as rogue:
        assert refused(rogue, tls="required", tls_ca="").code == "server-tls"


@pytest.mark.parametrize("way", (asks_for_clear, asks_by_dialog, wants_caching_in_full, offers_key_sha256))
def test_this_host_itself_gets_the_password(way):
    with RogueServer(way) as server:
        Session(ServerLogin(THIS_HOST, server.port, "u", PASSWORD)).hang_up()
        assert PASSWORD.encode() + b"\0" in server.heard


@pytest.mark.parametrize("kind", ["elliptic", "Edwards"])
def test_a_public_key_that_cannot_encrypt_a_password_is_refused(tmp_path, kind):
    key = Ed25519PrivateKey.generate() if kind == "Edwards" else generate_private_key(SECP256R1())
    path = tmp_path / "key.pem"
    path.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    with pytest.raises(UsageError, match="no public RSA key"):
        Session(ServerLogin(THIS_HOST, 1, "u", PASSWORD, tls="off", server_public_key=str(path)))


@pytest.mark.parametrize("way", (wants_caching_in_full, offers_key_sha256))
def test_with_its_public_key_the_server_gets_the_password_and_nobody_else(way, keys):
    own = str(spare_keys().public)
    with RogueServer(way) as server:
        settings = {"tls": "off", "server_public_key": own}
        Session(ServerLogin(ANOTHER_HOST, server.port, "u", PASSWORD, **settings)).hang_up()
        assert PASSWORD.encode() + b"\0" in server.heard

    with RogueServer(way) as rogue:  # has another key than the one that is known
        settings = {"tls": "off", "server_public_key": str(keys.public)}
        Session(ServerLogin(ANOTHER_HOST, rogue.port, "u", PASSWORD, **settings)).hang_up()
        assert PASSWORD.encode() not in rogue.heard


def test_a_greeting_does_not_replace_the_key_that_is_known(keys):
    with RogueServer(greets_as_sha256) as rogue:
        refused(rogue, tls="off", server_public_key=str(keys.public))


def test_a_method_that_is_not_there_is_named():
    def act(wire):
        wire.greet()
        wire.login()
        wire.switch("authentication_kerberos_client")
        wire.receive()

    with RogueServer(act) as rogue:
        error = refused(rogue, tls="off")
    assert error.code == "server-password" and "authentication_kerberos_client" in error.message


def test_parsec_signs_both_sides_random_bytes_with_a_key_made_from_the_password():
    """As MariaDB 11.8.9 does it; its own check of a signature is in tests/server/test_authentication.py."""
    theirs, salt, seen = bytes(range(32)), b"salt of 18 bytes..", []

    def act(wire):
        wire.greet()
        wire.login()
        wire.switch("parsec", theirs)
        assert wire.receive() == b""
        wire.send(b"\x01P\x01" + salt)
        answer = wire.receive()
        seed = hashlib.pbkdf2_hmac("sha512", PASSWORD.encode(), salt, 2048, 32)
        public = Ed25519PrivateKey.from_private_bytes(seed).public_key()
        public.verify(answer[32:], theirs + answer[:32])
        seen.append(len(answer))
        wire.send(OK)
        wire.answer_settings()

    with RogueServer(act) as server:
        Session(ServerLogin(ANOTHER_HOST, server.port, "u", PASSWORD, tls="off")).hang_up()
    assert seen == [96]
