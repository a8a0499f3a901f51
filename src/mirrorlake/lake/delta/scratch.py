"""The folder of a local Spark session for all that it keeps outside the lake, such as rows in the middle of a shuffle.

Only this user can read it, and it is removed when the process ends. The next process removes the folder of a killed
one: a live process holds a lock on a file in its folder.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import stat
import tempfile
import time
from pathlib import Path

PREFIX = "mirrorlake-spark-"
_LOCK = "in-use"
_OURS = stat.S_IFDIR | 0o700
_MAKING_S = 3600
"""A folder without a lock is new, or else its process ended while it removed it and Java still wrote into it."""
_held: list[int] = []
"""File descriptors of locks, which last until the process ends."""


def make_scratch(base: str | None = None) -> Path:
    """Make a new folder of mode 0700 below ``base``; None: below the system's temporary folder."""
    root = Path(base or tempfile.gettempdir())
    for folder in root.glob(f"{PREFIX}*"):
        _remove_if_left(folder)
    scratch = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    unlocked = scratch / f"{_LOCK}.new"
    lock = os.open(unlocked, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    unlocked.rename(scratch / _LOCK)  # any process that sees it finds it locked
    _held.append(lock)
    return scratch


def _remove_if_left(folder: Path) -> None:
    """Remove a folder of ours whose process has ended; keep any other, and one that cannot be read."""
    try:
        found = folder.lstat()
    except OSError:  # another process has just removed it
        return
    if found.st_uid != os.geteuid() or found.st_mode != _OURS:
        return
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        if time.time() - found.st_mtime > _MAKING_S:
            shutil.rmtree(folder, ignore_errors=True)
        return
    except OSError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # its process is alive
        pass
    finally:
        os.close(lock)
