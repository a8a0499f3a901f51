"""Where the secret of hashed columns comes from, and that it leaves the environment."""

from __future__ import annotations

import os

import pytest

from mirrorlake.config import Options
from mirrorlake.core.values.hmac_sha256 import digest_key
from mirrorlake.errors import UsageError
from mirrorlake.jobs.run import column_secret
from mirrorlake.jobs.run.column_secret import COLUMN_SECRET_VARIABLE, column_key
from mirrorlake.jobs.run.password import take_password

SECRET = "the secret of the tests"
HASHING = Options(lake="lake", columns={"*.*.mail": "hash"})


@pytest.fixture(autouse=True)
def nothing_taken(monkeypatch):
    monkeypatch.setattr(column_secret, "_taken", None)


def test_the_secret_leaves_the_environment_with_the_password(monkeypatch):
    monkeypatch.setenv(COLUMN_SECRET_VARIABLE, SECRET)
    take_password()
    assert COLUMN_SECRET_VARIABLE not in os.environ
    assert column_key(HASHING) == digest_key(SECRET.encode())


def test_the_secret_of_a_scope_goes_first(monkeypatch):
    monkeypatch.setenv(COLUMN_SECRET_VARIABLE, SECRET)
    monkeypatch.setattr(column_secret, "read_secret", {"shop/columns": SECRET[::-1]}.__getitem__)
    options = HASHING.model_copy(update={"column_secret": "shop/columns"})
    assert column_key(options) == digest_key(SECRET[::-1].encode())


@pytest.mark.parametrize("secret", [None, "", "fifteen letters"])
def test_no_secret_or_a_short_one_is_a_usage_error(monkeypatch, secret):
    monkeypatch.setattr(column_secret, "_taken", secret)
    with pytest.raises(UsageError, match=r"^column-secret: "):
        column_key(HASHING)
    assert column_key(Options(lake="lake", columns={"*.*.mail": "drop"})) is None


def test_a_secret_that_is_not_utf8_is_a_usage_error(monkeypatch):
    monkeypatch.setattr(column_secret, "_taken", os.fsdecode(b"\xff" + SECRET.encode()))
    with pytest.raises(UsageError, match="^usage: MIRRORLAKE_COLUMN_SECRET is not UTF-8$"):
        column_key(HASHING)
