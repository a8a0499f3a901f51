"""A Delta table's folder at a second place, with its history: a table of its own that goes on by itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LOG, HINT = "_delta_log", "_last_checkpoint"


def copy_table(source: str, target: str) -> None:
    """Copy a local table while others may commit to it; where the file system can, its files are shared, not doubled.

    The log comes first: what its commits name is there already. Delta writes every file once, so a second name for one
    is as good as a copy. Without the hint at the newest checkpoint Delta looks for it in the log.
    """
    shutil.copytree(Path(source, LOG), Path(target, LOG), ignore=_all_but_commits, copy_function=_link_or_copy)
    ignore = shutil.ignore_patterns(LOG, "*.crc")
    shutil.copytree(source, target, ignore=ignore, copy_function=_link_or_copy, dirs_exist_ok=True)


def _all_but_commits(_: str, names: list[str]) -> list[str]:
    """Temporary files of a commit on its way go; checksums belong to files as they were."""
    return [name for name in names if name.startswith(".") or name == HINT or name.endswith((".crc", ".tmp"))]


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
