"""The notes that our commits leave in a Delta table's history, and reading them back.

A note is a JSON object in the commit's ``userMetadata``: ``mirrorlake`` (format), ``lsn`` (the table is complete up to
here; null for a commit that moves no progress), ``payload`` (the caller's), ``app_id`` and ``txn_version`` (its
Delta transaction id, null for DDL) and ``commit`` (a unique name).
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession

from mirrorlake.core.digits import is_number
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.commit_files import HistoryEntry, log_folder, read_entries
from mirrorlake.lake.delta.names import ABSENT

NOTE_FORMAT = 1
UNNAMED = "unnamed operation"
"""Of a commit whose writer does not say what it did, as Delta's protocol allows."""
HISTORY_WINDOWS = ("LIMIT 2", "LIMIT 20", "LIMIT 1000", "")  # 2: what a step asks for, if no other commit came between

MOST_NOTE_BYTES = 16_000_000
"""Delta reads no commit again whose note has 20,000,000 characters: the limit of its JSON reader, Jackson."""

_FIELDS = {
    "applied_lsn": int, "epoch": int, "answers": int, "ddl_lsn": int, "step": int, "of": int, "lsn_from": int,
    "lsn_to": int, "is_open": bool, "resume": str, "gtids": str, "last": str, "skip": str, "source": str, "flavor": str,
    "server": str, "knows_before": bool, "prepared": dict,
}  # fmt: skip
"""Types of the fields of payloads that later hops compute with, or put into a query."""
_NUMBERS = range(-(1 << 63), 1 << 63)

_WITHOUT_HISTORY = (*ABSENT, "DELTA_TABLE_ONLY_OPERATION", "DELTA_ONLY_OPERATION", "EXPECT_TABLE_NOT_VIEW")

Note = dict[str, Any]
LOOK_EVERY_S = 5.0
"""Seconds between two polls of a process that follows."""


class Payload(dict[str, Any]):
    """What the note of a table's commit says. To ask for a field that it lacks raises RefusedError ``lake-damaged``."""

    def __init__(self, fields: Mapping[str, Any], table: Sql):
        super().__init__(fields)
        self._table = table

    def __missing__(self, name: str) -> Any:
        raise RefusedError("lake-damaged", f"the note of its newest commit lacks {name}", table=self._table)


def new_note(
    payload: Mapping[str, Any], lsn: int | None, app_id: str | None = None, txn_version: int | None = None
) -> Note:
    txn = {"app_id": app_id, "txn_version": txn_version, "commit": uuid.uuid4().hex}
    return {"mirrorlake": NOTE_FORMAT, "lsn": lsn, "payload": dict(payload), **txn}


def note_text(note: Note) -> str:
    """The note as a commit carries it. Raises RefusedError ``lake-note`` for one that could not be read again."""
    text = json.dumps(note)
    if len(text) > MOST_NOTE_BYTES:
        longest = max(note["payload"], key=lambda name: len(str(note["payload"][name])))
        raise RefusedError("lake-note", f"{longest} would take most of a note of {len(text)} bytes")
    return text


@dataclass(frozen=True, slots=True)
class Commit:
    """One entry of a table's history. note: ours, or None. is_undone: a later RESTORE has undone it."""

    version: int
    at: datetime
    operation: str
    note: Note | None
    is_undone: bool


def read_commits(spark: SparkSession, table: Sql) -> Iterator[Commit]:
    """A table's history, newest first; nothing for an absent table. A reader stops when it has seen enough.

    Raises: RefusedError("lake-version") for a note of a later format, RefusedError("lake-restored") for a RESTORE that
    does not say what it restored.
    """
    restored_version: int | None = None
    for entry in read_history(spark, table):
        is_undone = restored_version is not None and entry.version > restored_version
        if entry.operation == "RESTORE" and not is_undone:
            restored_version = _restored_version(entry, table)
        note = _parse(entry.userMetadata, table)
        yield Commit(entry.version, entry.timestamp, entry.operation or UNNAMED, note, is_undone)


def read_notes(spark: SparkSession, table: Sql) -> Iterator[tuple[Note, bool]]:
    """Yield (note of ours, was it undone by a RESTORE?), newest first. Raises what ``read_commits`` raises."""
    return ((commit.note, commit.is_undone) for commit in read_commits(spark, table) if commit.note is not None)


def newest_version(spark: SparkSession, table: Sql) -> int | None:
    """The Delta version of the newest commit; None if the table no longer exists."""
    newest = next(read_history(spark, table), None)
    return newest.version if newest else None


def is_as_created(spark: SparkSession, table: Sql) -> bool:
    """Was nothing ever committed to the table? Then no query is needed to know that it is empty."""
    return newest_version(spark, table) == 0


def read_history(spark: SparkSession, table: Sql) -> Iterator[Row | HistoryEntry]:
    """Yield a table's history unchanged, newest first; nothing for an absent table, a view or one not of Delta."""
    log = log_folder(spark, table)
    if log is not None:
        yield from read_entries(log)
        return
    seen = 0
    for window in HISTORY_WINDOWS:
        entries = _describe_history(spark, table, window)
        yield from entries[seen:]
        if window and len(entries) < int(window.split()[1]):
            return
        seen = len(entries)


def _describe_history(spark: SparkSession, table: Sql, window: Sql) -> list[Row]:
    columns = ("version", "timestamp", "operation", "operationParameters", "userMetadata")
    try:
        return spark.sql(f"DESCRIBE HISTORY {table} {window}").select(*columns).collect()
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith(_WITHOUT_HISTORY):
            raise
        return []  # another process may be creating it


def _restored_version(entry: Row | HistoryEntry, table: Sql) -> int:
    version = str((entry.operationParameters or {}).get("version"))
    if not is_number(version):
        raise RefusedError("lake-restored", "a RESTORE to a timestamp does not say which version it took", table=table)
    return int(version)


def _parse(text: str | None, table: Sql) -> Note | None:
    try:
        note = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None  # somebody else's
    if not isinstance(note, dict) or "mirrorlake" not in note:
        return None
    if not _is_whole(note):
        raise RefusedError("lake-damaged", "a commit carries a note that is not as mirrorlake writes it", table=table)
    if note["mirrorlake"] > NOTE_FORMAT:
        raise RefusedError("lake-version", f"a commit carries a note of format {note['mirrorlake']}", table=table)
    return note


def _is_whole(note: dict[str, Any]) -> bool:
    """Has it the fields of a ``Note``? One of a later format has at least its number."""
    if type(note["mirrorlake"]) is not int:
        return False
    return note["mirrorlake"] > NOTE_FORMAT or (
        isinstance(note.get("payload"), dict)
        and all(_has_type(note["payload"][name], kind) for name, kind in _FIELDS.items() if name in note["payload"])
        and all(_has_type(lsn, int) for lsn in note["payload"].get("prepared", {}).values())
        and all(name in note and (note[name] is None or _has_type(note[name], int)) for name in ("lsn", "txn_version"))
        and {"app_id", "commit"} <= note.keys()
    )


def _has_type(value: Any, kind: type) -> bool:
    """Has the value exactly this type, and is a number one of 64 bits?"""
    return type(value) is kind and (kind is not int or value in _NUMBERS)


class TableNews:
    """Polls a small table that others write. A table is empty when created, so its first version is no news."""

    def __init__(self, spark: SparkSession, table: Sql):
        self._spark, self._table, self._version, self._looked_at = spark, table, 0, float("-inf")

    def has_come(self) -> bool:
        """Is there a version that did not exist at the last call? Polls at most every ``LOOK_EVERY_S``."""
        if time.monotonic() - self._looked_at < LOOK_EVERY_S:
            return False
        self._looked_at, known = time.monotonic(), self._version
        self._version = newest_version(self._spark, self._table)
        return self._version != known
