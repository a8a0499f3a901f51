"""Accounts of every method that can be had, on real servers, to this host and to one that has to prove who it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrorlake.errors import RefusedError
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.session import Session
from tests.support.rogue_server import Keys
from tests.support.servers import Server

PASSWORD = "s3cret \u00e9"
ANOTHER_HOST = "127.1"  # 127.0.0.1, but no name of this host itself for ``ServerLogin``


def user_of(server: Server, host: str = "127.0.0.1", **settings: str) -> str:
    session = Session(ServerLogin(host, server.port, "proof", PASSWORD, **settings))
    try:
        return session.rows("SELECT CURRENT_USER()")[0][0]
    finally:
        session.hang_up()


def refusal(server: Server, host: str = "127.0.0.1", **settings: str) -> RefusedError:
    with pytest.raises(RefusedError) as raised:
        user_of(server, host, **settings)
    return raised.value


@pytest.fixture
def account():
    """(server, clause of CREATE USER) -> an account ``proof``, gone afterwards."""
    made: list[Server] = []

    def make(server: Server, clause: str) -> None:
        made.append(server)
        server.execute("DROP USER IF EXISTS proof")
        server.execute(f"CREATE USER proof {clause}")

    yield make
    for server in made:
        server.execute("DROP USER IF EXISTS proof")


def test_caching_sha2_hands_the_password_to_a_proven_server_only(mysql, account):
    ca, key = str(mysql.datadir / "ca.pem"), str(mysql.datadir / "public_key.pem")

    def forgotten() -> None:  # the server forgets proofs
        account(mysql, f"IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'")

    forgotten()
    assert "verify" in refusal(mysql, ANOTHER_HOST, tls="off").message
    assert refusal(mysql, ANOTHER_HOST, tls="required").code == "server-tls"
    assert user_of(mysql) == "proof@%"
    for settings in ({"tls": "required"}, {"tls": "off"}):  # the server remembers it: a proof is enough
        assert user_of(mysql, ANOTHER_HOST, **settings) == "proof@%"
    for settings in ({"tls": "required", "tls_ca": ca}, {"tls": "off", "server_public_key": key}):
        forgotten()
        assert user_of(mysql, ANOTHER_HOST, **settings) == "proof@%"


def test_a_servers_own_certificate_names_no_host(mysql, account):
    account(mysql, f"IDENTIFIED BY '{PASSWORD}'")
    assert "self-signed" in refusal(mysql, ANOTHER_HOST).message
    named = refusal(mysql, ANOTHER_HOST, tls_ca=str(mysql.datadir / "ca.pem"))
    assert named.code == "server-tls" and "--tls required with --tls-ca" in named.message


def test_an_account_that_requires_tls_is_told_so(mysql, account):
    account(mysql, f"IDENTIFIED BY '{PASSWORD}' REQUIRE SSL")
    assert "--tls verify" in refusal(mysql).message
    assert user_of(mysql, tls="required") == "proof@%"


def test_an_account_that_requires_a_certificate_gets_it(mysql, account):
    account(mysql, f"IDENTIFIED BY '{PASSWORD}' REQUIRE X509")
    assert "--tls-cert" in refusal(mysql, tls="required").message
    own = {"tls_cert": str(mysql.datadir / "client-cert.pem"), "tls_key": str(mysql.datadir / "client-key.pem")}
    assert user_of(mysql, tls="required", **own) == "proof@%"


def test_a_certificate_that_the_server_does_not_take_is_refused_and_not_lost(mysql, tmp_path):
    """TLS 1.3 tells so when the client has written on, mostly after the server has hung up."""
    keys = Keys(tmp_path)
    own = {"tls_cert": str(keys.certificate), "tls_key": str(keys.key)}
    assert {refusal(mysql, tls="required", **own).code for _ in range(30)} == {"server-tls"}


def test_native_password(server_of, account):
    mariadb = server_of("mariadb")  # which has no certificate
    account(mariadb, f"IDENTIFIED BY '{PASSWORD}'")
    assert user_of(mariadb) == user_of(mariadb, ANOTHER_HOST, tls="off") == "proof@%"
    assert refusal(mariadb, ANOTHER_HOST).code == refusal(mariadb, tls="required").code == "server-tls"


@pytest.mark.parametrize("method", ["ed25519", "parsec"])
def test_methods_of_mariadb_that_never_send_the_password(method, server_of, account):
    server = server_of("mariadb" if method == "ed25519" else "mariadb118")
    if not (Path(server.query("SELECT @@plugin_dir")[0][0]) / f"auth_{method}.so").exists():
        pytest.skip(f"this server comes without auth_{method}")
    server.execute(f"INSTALL SONAME 'auth_{method}'")
    try:
        account(server, f"IDENTIFIED VIA {method} USING PASSWORD('{PASSWORD}')")
        assert user_of(server) == user_of(server, ANOTHER_HOST, tls="off") == "proof@%"
        account(server, f"IDENTIFIED VIA {method} USING PASSWORD('another')")
        assert refusal(server).code == "server-password"
    finally:
        server.execute("DROP USER IF EXISTS proof")
        server.execute(f"UNINSTALL SONAME 'auth_{method}'")
