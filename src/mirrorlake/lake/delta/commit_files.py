"""Read a table's history from its commit files, for lakes in local folders: DESCRIBE HISTORY without a query.

Every commit is ``_delta_log/N.json``, one action per line (Delta's protocol, section "Actions"). It appears atomically,
because Delta renames it to this name, and never changes.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import SparkSession

from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.names import local_folder
from mirrorlake.lake.delta.session import is_connect

_COMMIT_FILE = re.compile(r"([0-9]{20})\.json")
_has_local_files: WeakKeyDictionary[SparkContext, bool] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One commit, with the names of DESCRIBE HISTORY. timestamp: local time, without zone."""

    version: int
    timestamp: datetime
    operation: str | None
    operationParameters: dict[str, Any]  # noqa: N815
    userMetadata: str | None  # noqa: N815


def log_folder(spark: SparkSession, table: Sql) -> Path | None:
    """The folder of the table's commits, existing or not, if this process can read them as files."""
    folder = local_folder(table)
    return folder / "_delta_log" if folder and _reads_local_files(spark) else None


def read_entries(log: Path) -> Iterator[HistoryEntry]:
    """Yield commits, newest first, as far as Delta keeps them; nothing if there is no table. Raises RefusedError
    ``lake-damaged``."""
    try:
        names = os.listdir(log)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise RefusedError("lake-damaged", "a file has the name of its folder", table=str(log.parent)) from None
    versions = sorted((name[1] for each in names if (name := _COMMIT_FILE.fullmatch(each))), reverse=True)
    for version in versions:
        try:
            yield _read_entry(log / f"{version}.json", int(version))
        except FileNotFoundError:  # deleted meanwhile, like all commits before it
            return


def _read_entry(file: Path, version: int) -> HistoryEntry:
    try:
        return _entry(file, version)
    except (ValueError, TypeError, AttributeError, RecursionError):  # of UTF-8, JSON, the commit's own fields
        raise RefusedError("lake-damaged", f"commit {version} cannot be read", table=str(file.parent.parent)) from None


def _entry(file: Path, version: int) -> HistoryEntry:
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):  # a FIFO would wait for a writer
        raise ValueError
    with file.open(encoding="utf-8") as lines:
        actions = (json.loads(line) for line in lines if '"commitInfo"' in line)
        info: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    at = _local_time(info.get("inCommitTimestamp", status.st_mtime * 1000))
    found = info.get("operation"), dict(info.get("operationParameters") or {}), info.get("userMetadata")
    return HistoryEntry(version, at, *found)


def _local_time(milliseconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(milliseconds / 1000)
    except (OSError, OverflowError):
        raise ValueError from None


def _reads_local_files(spark: SparkSession) -> bool:
    """Is a path without a scheme the same file for Spark as for this process?"""
    if is_connect(spark) or "DATABRICKS_RUNTIME_VERSION" in os.environ:
        return False
    context = spark.sparkContext
    if context not in _has_local_files:
        file_system = context._jsc.hadoopConfiguration().get("fs.defaultFS")
        _has_local_files[context] = file_system.startswith("file:")
    return _has_local_files[context]
