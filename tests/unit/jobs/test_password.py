from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.password import password, take_password, warn


@pytest.fixture(autouse=True)
def nothing_warned_about():
    warn.cache_clear()


def test_the_password_leaves_the_environment_and_can_be_read_again(monkeypatch):
    monkeypatch.setenv("MIRRORLAKE_PASSWORD", "s3cret")
    take_password()
    assert "MIRRORLAKE_PASSWORD" not in os.environ
    assert [password(Options(lake="l")) for _ in range(2)] == ["s3cret", "s3cret"]
    monkeypatch.setenv("MIRRORLAKE_PASSWORD", "newer")
    assert password(Options(lake="l")) == "newer"


def test_a_password_that_is_not_utf8_is_a_usage_error(monkeypatch):
    monkeypatch.setitem(os.environ, "MIRRORLAKE_PASSWORD", os.fsdecode(b"s3cret\xff"))
    with pytest.raises(UsageError, match="^usage: MIRRORLAKE_PASSWORD is not UTF-8$"):
        password(Options(lake="l"))


@pytest.mark.parametrize("verb", [["tables"], ["sql", "SELECT 1"], ["assemble"], ["demo", "--help"]])
def test_a_verb_without_a_source_takes_it_too(verb, tmp_path):
    """A process that the verb would start inherits the environment as it is when the verb's work begins."""
    script = (
        "import os, sys\nfrom mirrorlake.cli import app\nsys.argv += ['--lake', 'x', '--config', 'none']\n"
        "try:\n    app()\nexcept SystemExit:\n    print('MIRRORLAKE_PASSWORD' in os.environ)"
    )
    environment = os.environ | {"MIRRORLAKE_PASSWORD": "s3cret"}
    done = subprocess.run(
        [sys.executable, "-c", script, *verb], env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    assert done.stdout.splitlines()[-1:] == ["False"] and "s3cret" not in done.stdout + done.stderr


@pytest.mark.parametrize(("mode", "is_told"), [(0o600, False), (0o400, False), (0o640, True), (0o602, True)])
def test_a_password_file_that_others_may_read_or_change_is_warned_about(mode, is_told, tmp_path, capsys):
    file = tmp_path / "password"
    file.write_text("s3cret\n")
    file.chmod(mode)
    assert [password(Options(lake="l", password_file=file)) for _ in range(2)] == ["s3cret", "s3cret"]
    said = capsys.readouterr().err
    assert said.count(str(file)) == is_told and "s3cret" not in said


@pytest.mark.parametrize("path", ["nul", "/dev/zero"])
def test_a_password_file_without_an_end_or_with_a_nul_is_a_usage_error(tmp_path, path):
    (tmp_path / "nul").write_bytes(b"s3cret\0more")
    with pytest.raises(UsageError, match="^usage: the password file has more than 10,000 characters, or a NUL"):
        password(Options(lake="l", password_file=tmp_path / path))


def test_a_password_file_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "password").write_bytes(b"\xef\xbb\xbfs3cret\r\n")
    (tmp_path / "password").chmod(0o600)
    assert password(Options(lake="l", password_file=tmp_path / "password")) == "s3cret"


def test_a_password_file_that_is_no_text_is_a_usage_error(tmp_path):
    file = tmp_path / "password"
    file.write_bytes(b"s3cret\xff\xfe")
    with pytest.raises(UsageError) as raised:
        password(Options(lake="l", password_file=file))
    assert "not UTF-8" in str(raised.value) and "s3cret" not in str(raised.value)
