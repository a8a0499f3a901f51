"""The folder of a local Spark session for all that it keeps outside the lake, such as rows in the middle of a shuffle.

It is for this user only and goes with the process. What a process leaves that was killed, the next one removes: while a
process lives, it holds a lock on a file in its folder.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

PREFIX = "mirrorlake-spark-"
_LOCK = "in-use"
_OURS = stat.S_IFDIR | 0o700
_held: list[int] = []
"""File descriptors of locks, which end with the process."""


def make_scratch(base: str | None = None) -> Path:
    """A new folder of mode 0700 below ``base``, which is the system's temporary folder without it."""
    root = Path(base or tempfile.gettempdir())
    for folder in root.glob(f"{PREFIX}*"):
        _remove_if_left(folder)
    scratch = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    unlocked = scratch / f"{_LOCK}.new"
    lock = os.open(unlocked, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unlocked.rename(scratch / _LOCK)  # whoever sees it finds it locked
    _held.append(lock)
    return scratch


def _remove_if_left(folder: Path) -> None:
    """Remove a folder of ours whose process is gone; another one, or one that cannot be looked at, stays."""
    try:
        found = folder.lstat()
        if found.st_uid != os.geteuid() or found.st_mode != _OURS:
            return
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # a process lives
        pass
    finally:
        os.close(lock)
