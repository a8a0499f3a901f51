import sys
from types import SimpleNamespace

import pytest

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.secret import read_secret
from mirrorlake.jobs.run.source import server_login


class FakeClient:
    """A workspace with one secret; everything else is refused as the SDK refuses it, by an OSError."""

    def __init__(self):
        self.dbutils = SimpleNamespace(secrets=self)

    def get(self, scope, key):
        if (scope, key) != ("mirrorlake", "source/password"):
            raise OSError("scope does not exist")
        return "s3cret"


@pytest.fixture
def workspace(monkeypatch):
    sdk = SimpleNamespace(WorkspaceClient=FakeClient)
    monkeypatch.setitem(sys.modules, "databricks", SimpleNamespace(sdk=sdk))
    monkeypatch.setitem(sys.modules, "databricks.sdk", sdk)


def test_the_first_slash_ends_the_scope():
    assert read_secret("mirrorlake/source/password", FakeClient()) == "s3cret"


def test_the_login_takes_the_password_from_the_secret_before_anything_else(workspace, monkeypatch):
    monkeypatch.setenv("MIRRORLAKE_PASSWORD", "another")
    secret = "mirrorlake/source/password"
    options = Options(lake="uc:main.shop", source="mysql://replica@db:3306", password_secret=secret)
    assert server_login(options).password == "s3cret"


@pytest.mark.parametrize("secret", ["", "scope", "scope/", "/key"])
def test_a_name_of_another_form_is_a_usage_error(secret):
    with pytest.raises(UsageError, match="scope/key"):
        read_secret(secret, FakeClient())


def test_a_secret_that_is_not_handed_out_is_a_usage_error_without_the_workspaces_text():
    with pytest.raises(UsageError, match="^usage: cannot read the secret other/key: OSError$"):
        read_secret("other/key", FakeClient())


def test_a_machine_without_the_sdk_is_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "databricks.sdk", None)
    with pytest.raises(UsageError, match="^sdk-missing: a secret scope needs the package databricks-sdk$"):
        read_secret("scope/key")
