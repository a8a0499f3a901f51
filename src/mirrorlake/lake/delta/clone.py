"""Clone a Delta table's folder with its history: the clone is an independent table."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.names import linked_path

LOG, HINT = "_delta_log", "_last_checkpoint"


def check_without_links(table: str) -> None:
    """Raise RefusedError ``lake-damaged`` for a symbolic link in a table's folder."""
    folder = Path(table)
    if linked := linked_path(folder):
        raise RefusedError("lake-damaged", f"{linked.relative_to(folder.parent)} is a symbolic link")


def copy_table(source: str, target: str) -> None:
    """Clone a local table while others may commit to it; hard links share its files if the file system can do that.

    The log is copied first: all files that its commits name exist already. Delta never changes a file, so a hard link
    is as good as a copy. Without the pointer to the newest checkpoint Delta looks for it in the log.
    """
    shutil.copytree(Path(source, LOG), Path(target, LOG), ignore=_all_but_commits, copy_function=_link_or_copy)
    ignore = shutil.ignore_patterns(LOG, "*.crc")
    shutil.copytree(source, target, ignore=ignore, copy_function=_link_or_copy, dirs_exist_ok=True)


def _all_but_commits(_: str, names: list[str]) -> list[str]:
    """Leave out temporary files of a running commit, and checksums, which may belong to older files."""
    return [name for name in names if name.startswith(".") or name == HINT or name.endswith((".crc", ".tmp"))]


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
