"""The folder of a local session: for this user only, gone with the process, or with the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mirrorlake.lake.delta.scratch import PREFIX, make_scratch

MAKE = (
    "from mirrorlake.lake.delta.scratch import make_scratch; import sys; print(make_scratch(sys.argv[1]), flush=True)"
)


def started(folder: Path, then: str) -> tuple[subprocess.Popen, Path]:
    """A process that has a scratch folder and does something then."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", f"{MAKE}; {then}", str(folder)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
    scratch = Path(process.stdout.readline().strip())
    (scratch / "blockmgr" / "00").mkdir(parents=True)
    return process, scratch


def test_it_is_for_this_user_only_and_gone_with_the_process(tmp_path):
    process, scratch = started(tmp_path, "sys.stdin.read()")
    assert scratch.parent == tmp_path and scratch.stat().st_mode & 0o777 == 0o700
    process.communicate()
    assert process.returncode == 0 and list(tmp_path.iterdir()) == []


def test_what_a_killed_process_leaves_is_removed_by_the_next_and_what_others_use_stays(tmp_path):
    killed, left = started(tmp_path, "sys.stdin.read()")
    living, used = started(tmp_path, "sys.stdin.read()")
    killed.kill()
    killed.wait()
    assert left.exists()
    mine = make_scratch(str(tmp_path))
    assert sorted(tmp_path.iterdir()) == sorted([used, mine])
    assert (used / "blockmgr" / "00").exists()
    living.communicate()


def test_what_java_wrote_while_its_folder_was_removed_goes_later(tmp_path):
    left = tmp_path / f"{PREFIX}left"
    (left / "blockmgr").mkdir(mode=0o700, parents=True)
    left.chmod(0o700)
    make_scratch(str(tmp_path))
    assert left.exists()
    os.utime(left, (0, 0))
    make_scratch(str(tmp_path))
    assert not left.exists()


def test_a_left_folder_that_another_process_removes_at_the_same_time_is_gone(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "glob", lambda self, pattern: [self / f"{PREFIX}gone"])
    assert make_scratch(str(tmp_path)).is_dir()


@pytest.mark.parametrize("kind", ["of all", "link", "without lock", "file", "lock is a link"])
def test_what_is_not_certainly_left_by_a_process_of_ours_stays(tmp_path, kind):
    other, elsewhere = tmp_path / f"{PREFIX}other", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "in-use").touch()
    if kind == "link":
        other.symlink_to(elsewhere)
    elif kind == "file":
        other.touch()
    else:
        other.mkdir(mode=0o755 if kind == "of all" else 0o700)
        if kind == "of all":
            (other / "in-use").touch()
        elif kind == "lock is a link":
            (other / "in-use").symlink_to(elsewhere / "in-use")
    make_scratch(str(tmp_path))
    assert other.exists() and (elsewhere / "in-use").exists()
