from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from pyspark import cloudpickle

from mirrorlake.config import load_options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.source import server_login
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.session import Session, _open_socket
from tests.support.rogue_server import spare_keys


def test_a_url_gives_user_host_and_port():
    login = ServerLogin.parse("mysql://repl%40x@db.example:3307")
    assert (login.user, login.host, login.port) == ("repl@x", "db.example", 3307)
    assert ServerLogin.parse("mysql://repl@db.example").port == 3306
    assert ServerLogin.parse("mysql://repl@[::1]:3307/").host == "::1"


@pytest.mark.parametrize("host", ["a..b", "x" * 64, ".a"])
def test_what_no_host_is_called_is_a_usage_error(host):
    with pytest.raises(UsageError, match=r"is not the name of a host"):
        _open_socket(ServerLogin.parse(f"mysql://u@{host}:3306"), 0)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://db.example", "http://u@h:1", "mysql://u@h:x", "mysql://u@", "mysql://u@h:0", "mysql://u@h:70000",
        "mysql://u@h:1/db", "mysql://u:s3cret@h:1", "mysql://u:s3cret#x@h:1", "mysql://u@h:1?password=s3cret",
        "mysql://u@h:1?ssl-mode=VERIFY_IDENTITY", "mysql://u@h:1?", "mysql://u@h:1#s3cret", "mysql://u@h:1#",
        "mysql://u@h:1/?tls=s3cret", "mysql://u\tx@h:1", "mysql://u@h:1\n", "mysql://u%00@h:1", "mysql://u%0ax@h:1",
        "mysql://u@h;password=s3cret", "mysql://u@h,password=s3cret:1", "mysql://u@h password=s3cret",
    ],
)  # fmt: skip
def test_any_other_url_is_a_usage_error_that_does_not_repeat_it(url):
    with pytest.raises(UsageError) as raised:
        ServerLogin.parse(url)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "::1"])
def test_this_host_itself_needs_no_tls(host):
    assert ServerLogin(host, 1, "u").tls_mode == "off"
    assert ServerLogin(host, 1, "u", tls_ca="ca.pem").tls_mode == "verify"
    assert ServerLogin(host, 1, "u", tls="required").tls_mode == "required"


@pytest.mark.parametrize("host", ["db.example", "127.1", "10.0.0.1", "localhost.example", "127.0.0.1.example"])
def test_any_other_host_is_verified(host):
    assert ServerLogin(host, 1, "u").tls_mode == "verify" and ServerLogin(host, 1, "u").proves_server


@pytest.mark.parametrize(
    "settings",
    [
        {"tls": "auto"}, {"tls": ""}, {"tls": "off", "tls_ca": "ca.pem"}, {"tls": "off", "tls_cert": "me.pem"},
        {"tls_key": "key.pem"},
    ],
)  # fmt: skip
def test_settings_that_contradict_each_other_are_a_usage_error(settings):
    with pytest.raises(UsageError):
        ServerLogin("db.example", 1, "u", **settings)


@pytest.mark.parametrize("option", ["tls_ca", "tls_cert", "server_public_key"])
@pytest.mark.parametrize("text", [None, b"", b"\x00\xff", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_file_that_cannot_be_used_is_a_usage_error_before_anybody_is_called(option, text, tmp_path):
    file = tmp_path / "file.pem"
    if text is not None:
        file.write_bytes(text)
    with pytest.raises(UsageError, match=f"--{option.replace('_', '-')}.*{file}"):
        Session(ServerLogin("127.1", 1, "u", **{option: str(file)}))


def test_a_key_with_a_passphrase_asks_nobody(tmp_path):
    from cryptography.hazmat.primitives import serialization

    locked = tmp_path / "key.pem"
    locked.write_bytes(
        spare_keys().private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(UsageError, match="--tls-key.*encrypted"):
        Session(ServerLogin("127.1", 1, "u", tls_cert=str(spare_keys().certificate), tls_key=str(locked)))


def test_no_worker_gets_a_login():
    """Spark pickles functions for its workers with cloudpickle, and with them whatever they hold."""
    login = ServerLogin("h", 3306, "u", "S3cret-Passw0rd")
    for held in (login, partial(print, login), lambda: login):
        with pytest.raises(TypeError, match="a ServerLogin is not pickled"):
            cloudpickle.dumps(held)
    assert replace(login, user="v").password == "S3cret-Passw0rd"


def test_yaml_says_off_without_quotes_and_a_job_leaves_an_option_empty(tmp_path):
    config = tmp_path / "mirrorlake.yml"
    config.write_text("lake: l\nsource: mysql://u@127.0.0.1\ntls: off\nserver_public_key: key.pem\n")
    login = server_login(load_options(config, {}))
    assert (login.tls, login.server_public_key) == ("off", "key.pem")
    login = server_login(load_options(config, {"tls": "required", "tls_ca": "ca.pem"}))
    assert (login.tls, login.tls_ca) == ("required", "ca.pem")
    empty = {"lake": "l", "source": "mysql://u@h", "tls": "", "tls_ca": "", "tls_cert": "", "tls_key": ""}
    assert server_login(load_options(None, empty)) == ServerLogin("h", 3306, "u")


@pytest.mark.parametrize("value", ["true", "maybe", "1"])
def test_another_mode_is_a_usage_error(value, tmp_path):
    config = tmp_path / "mirrorlake.yml"
    config.write_text(f"lake: l\ntls: {value}\n")
    with pytest.raises(UsageError, match="option tls"):
        load_options(config, {})
