"""Progress is a part of the commit that carries the data. This file alone touches Delta's transaction settings.

Every commit of ours carries a note (``notes.py``): the caller's payload (source, hop, and all that a restart needs),
the lsn up to which the table is complete, and the commit's transaction id.

Two kinds of commits:

- ``append_from`` continues a table's one chain of appends. The chain's txnVersion is a sequence number without gaps:
  the writer that read number n commits n + 1, and Delta drops a version that is not above the recorded one. So of all
  writers that read the same progress exactly one commits, whatever range of the log they have and whenever they commit.
  Two at the same time meet Delta's conflict check, a late one is dropped. With an lsn as txnVersion, a late writer
  with a longer range would be accepted and its rows doubled. ``bench/commit_forms.py`` compares the costs.
- ``append_once``, ``replace_once`` and ``run_statement`` do planned work at most once: txnVersion is the lsn at which
  the plan's step ends, so a step that already ran is dropped. They are safe for steps that were planned by an
  ``append_from``.

Writes carry transaction id and note as options of the writer, which every platform takes. MERGE and DDL have none:
they need a session that takes Delta's settings (``takes_settings``).

Delta drops a commit silently. So the table's history is searched for the commit's own id, to see what happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from types import MappingProxyType
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.lake.delta.notes import Note, Payload, new_note, note_text, read_commits
from mirrorlake.lake.delta.refusals import RAISED
from mirrorlake.lake.delta.session import session_settings, takes_settings

CHAIN = "mirror/chain"  # one for all sources: a writer for another source must collide, too
TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
CONFLICT = "DELTA_CONCURRENT_"  # begins the error conditions of a lost race, the same on every platform
CHECK_FAILED = RAISED  # what a statement expects may be gone when another did its step
RENEW_AFTER = timedelta(days=7)
"""Delta forgets a commit after ``delta.logRetentionDuration``, 30 days, as others commit after it."""
HARMLESS = {
    "OPTIMIZE", "VACUUM START", "VACUUM END", "REORG", "COMPUTE STATS", "CLUSTER BY", "SET TBLPROPERTIES",
    "UNSET TBLPROPERTIES", "UPGRADE PROTOCOL", "CHANGE COLUMN", "CHANGE COLUMNS", "DROP FEATURE", "Empty Commit",
    "REMOVE COLUMN MAPPING", "Deletion Vector Tombstones",
}  # fmt: skip
"""Operations of others that change no row."""
RACES = (CONFLICT, "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")


@dataclass(frozen=True, slots=True)
class Progress:
    """The table holds everything up to and including ``lsn``. ``sequence`` is its number in the chain of appends.

    buried_since: when it was recorded, if others have committed since.
    """

    lsn: int
    payload: dict[str, Any]
    sequence: int = 0
    buried_since: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class StepCommit:
    """The commit that did a planned step. version: Delta's. is_new: made now; False: the step had been done before.

    changed_by: operations of others that changed the table's rows or columns since the commit of ours before it.
    """

    version: int
    is_new: bool
    changed_by: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.is_new


def read_progress(spark: SparkSession, table: Sql) -> Progress | None:
    """Read what our newest commit recorded; None for a table that is absent or has none.

    Commits by others in between (OPTIMIZE, VACUUM) do not matter. After a RESTORE it is the progress of the restored
    table, while the sequence continues: Delta does not restore transaction ids.
    Raises: RefusedError("lake-version") for a note of a later format, RefusedError("lake-history") when Delta has
    forgotten the commits that may have held it.
    """
    sequence, newest, commit = 0, None, None
    for commit in read_commits(spark, table):
        newest = commit.version if newest is None else newest
        note = commit.note
        if note is None:
            continue
        if note["app_id"] == CHAIN:
            sequence = max(sequence, note["txn_version"])
        if note["lsn"] is not None and not commit.is_undone:
            buried_since = commit.at if commit.version < newest else None
            return Progress(note["lsn"], Payload(note["payload"], table), sequence, buried_since)
    if commit is not None and commit.version > 0:
        raise RefusedError("lake-history", f"its history begins at version {commit.version}", table=table)
    return None


@contextmanager
def parsing(table: Sql) -> Iterator[None]:
    """Raise RefusedError ``lake-damaged`` where a text of the table's progress cannot be parsed."""
    try:
        yield
    except (UsageError, ValueError):
        why = "the note of its newest commit has a text that mirrorlake does not write"
        raise RefusedError("lake-damaged", why, table=table) from None


def renew(spark: SparkSession, table: Sql, recorded: Progress | None) -> Progress | None:
    """Repeat the recorded progress in a new commit of the chain, without rows, before Delta may forget it.

    Raises what ``append_from`` raises.
    """
    if recorded is None or recorded.buried_since is None or datetime.now() - recorded.buried_since < RENEW_AFTER:
        return recorded
    nothing = spark.table(table).limit(0)
    return append_from(spark, table, nothing, expected=recorded, new_lsn=recorded.lsn, payload=recorded.payload)


def refuse_restored(spark: SparkSession, *tables: Sql) -> None:
    """Raise RefusedError("lake-restored") for a table whose undone steps Delta would still count as done."""
    for table in tables:
        newest = next((commit for commit in read_commits(spark, table) if commit.note is not None), None)
        if newest is not None and newest.is_undone:
            raise RefusedError("lake-restored", "its newest commits were undone by a RESTORE", table=table)


def claim_source(progress: Progress | None, source: str) -> None:
    """Raise RefusedError("lake-source") if the progress was made from another source."""
    if progress is not None and progress.payload.get("source") != source:
        raise RefusedError("lake-source", f"the lake holds {progress.payload.get('source')}, not {source}")


def append_from(
    spark: SparkSession,
    table: Sql,
    rows: DataFrame,
    *,
    expected: Progress | None,
    new_lsn: int,
    payload: Mapping[str, Any],
) -> Progress:
    """Append rows if the table's progress still is ``expected``, and return the new progress.

    Raises: RefusedError("lake-writer") when progress has moved, with nothing written. Any other failure says nothing
    about whether the commit happened: read the progress again.
    """
    sequence = (expected.sequence if expected else 0) + 1
    note = new_note(payload, new_lsn, CHAIN, sequence)
    try:
        _append(rows, table, note)
    except Exception as error:
        if CONFLICT not in str(error):
            raise
    if not _committed(spark, table, note):  # a repeated request may also conflict with its own first try
        raise _other_writer(spark, table, expected)
    return Progress(new_lsn, dict(payload), sequence)


def append_once(
    session: SparkSession, table: Sql, rows: DataFrame, *, app_id: str, lsn: int, payload: Mapping[str, Any]
) -> StepCommit:
    """Append ``rows`` as the step of ``app_id`` that ends at ``lsn``; false if that step had been done already.

    Raises: RefusedError("lake-writer") when another writer did the same step meanwhile.
    """
    note = new_note(payload, lsn, app_id, lsn)
    with _refusing_a_lost_race(session, table, note):
        _append(rows, table, note)
    return _committed(session, table, note)


def append_report(table: Sql, rows: DataFrame, payload: Mapping[str, Any]) -> None:
    """Append rows that are no progress: there is no transaction id, so a repeated call appends them again.

    A column that the table lacks is added.
    """
    note = note_text(new_note(payload, None))
    rows.writeTo(table).option("userMetadata", note).option("mergeSchema", "true").append()


def replace_once(
    session: SparkSession, table: Sql, rows: DataFrame, *, where: Sql | None = None,
    new_comments: Mapping[str, str] | None = None, app_id: str, lsn: int, payload: Mapping[str, Any],
) -> StepCommit:  # fmt: skip
    """Replace all rows for which ``where`` is true, otherwise as ``append_once``. ``rows`` may read the table itself.

    where: None for every row of the table; else it must be true for each of ``rows``. new_comments:
    the table gets the columns of ``rows``, with these comments by name; properties and history stay.
    """
    note = new_note(payload, lsn, app_id, lsn)
    with _refusing_a_lost_race(session, table, note):
        writer = _writer(rows if new_comments is None else _commented(rows, new_comments), table, note)
        if where is not None:
            writer = writer.option("replaceWhere", where)
        if new_comments is not None:
            writer = writer.option("overwriteSchema", "true")
        writer.overwrite(F.lit(True))
    return _committed(session, table, note)


def run_statement(
    session: SparkSession, table: Sql, sql: Sql, *, app_id: str, lsn: int, payload: Mapping[str, Any],
    settings: Mapping[str, str] = MappingProxyType({}),
) -> StepCommit:  # fmt: skip
    """Run one MERGE as the step of ``app_id`` that ends at ``lsn``; false if it had been done already.

    Progress moves also when the statement changes no row. ``settings``: Spark's, for this statement.

    ``session`` must be private to the calling thread, and take Delta's settings: until the statement ends, its writes
    carry the transaction id.
    Raises: RefusedError("lake-writer") when another writer did the same step meanwhile.
    """
    note = new_note(payload, lsn, app_id, lsn)
    ours = {TXN_APP_ID: app_id, TXN_VERSION: str(lsn), USER_METADATA: note_text(note)}
    with _refusing_a_lost_race(session, table, note), session_settings(session, {**settings, **ours}):
        session.sql(sql).collect()
    return _committed(session, table, note)


def repeatable_ddl(
    session: SparkSession, table: Sql, sql: Sql, *, app_id: str, lsn: int, payload: Mapping[str, Any]
) -> None:
    """Run DDL that changes nothing a second time, with the note of ``run_ddl``.

    Where a session takes no settings, the note is a commit of its own, as the step of ``app_id``; the statement is
    repeated until the note is there. Raises what ``run_ddl`` and ``append_once`` raise.
    """
    if takes_settings(session):
        run_ddl(session, sql, payload, lsn=lsn)
        return
    session.sql(sql).collect()
    append_once(session, table, session.table(table).limit(0), app_id=app_id, lsn=lsn, payload=payload)


def step_done(session: SparkSession, table: Sql, *, app_id: str, lsn: int) -> StepCommit | None:
    """The commit that already did a planned step, for a step that must not even be tried twice."""
    return _committed(session, table, new_note({}, lsn, app_id, lsn))


def run_ddl(session: SparkSession, sql: Sql, payload: Mapping[str, Any], *, lsn: int | None = None) -> None:
    """Run DDL whose commit carries the note; Delta keeps no transaction id for DDL, so the caller must not repeat it.

    ``lsn``: the table is complete up to here when the statement has run; None for DDL that moves no progress, which has
    no note either where a session takes no settings.
    Raises: RefusedError("lake-writer") when another writer changes or creates the table at the same moment.
    """
    has_note = lsn is not None or takes_settings(session)
    try:
        with session_settings(session, {USER_METADATA: note_text(new_note(payload, lsn))} if has_note else {}):
            session.sql(sql).collect()
    except Exception as error:
        if any(race in str(error) for race in RACES):
            raise RefusedError("lake-writer", "another process changes the same table") from error
        raise


def _append(rows: DataFrame, table: Sql, note: Note) -> None:
    _writer(rows, table, note).append()


def _writer(rows: DataFrame, table: Sql, note: Note) -> DataFrameWriterV2:
    """It fails if the table is gone; ``saveAsTable`` would make one with these rows alone."""
    writer = rows.writeTo(table).option("userMetadata", note_text(note))
    return writer.option("txnAppId", note["app_id"]).option("txnVersion", str(note["txn_version"]))


def _commented(rows: DataFrame, comments: Mapping[str, str]) -> DataFrame:
    """The rows with these comments at their columns, and with no others."""
    described = {name: {"comment": comments[name]} if comments.get(name) else {} for name in rows.columns}
    return rows.select(*(F.col(quote(name)).alias(name, metadata=found) for name, found in described.items()))


@contextmanager
def _refusing_a_lost_race(session: SparkSession, table: Sql, note: Note) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        may_be_lost = any(sign in str(error) for sign in (*RACES, CHECK_FAILED))
        done = _committed(session, table, note) if may_be_lost else None
        if done is None:
            raise
        if not done.is_new:
            raise RefusedError("lake-writer", f"another process has done the step at lsn {note['lsn']}") from error


def _committed(spark: SparkSession, table: Sql, note: Note) -> StepCommit | None:
    """The newest commit, of any writer, whose transaction id is the one of ``note`` or above it; None: there is none.

    Raises: RefusedError("lake-restored") when that commit was undone by a RESTORE.
    """
    commits = read_commits(spark, table)
    for commit in commits:
        found = commit.note
        if found is None or found["app_id"] != note["app_id"] or found["txn_version"] < note["txn_version"]:
            continue
        if commit.is_undone:
            raise RefusedError("lake-restored", f"the step at lsn {note['lsn']} was undone by a RESTORE", table=table)
        others = takewhile(lambda before: before.note is None, commits)
        changed_by = tuple(other.operation for other in others if other.operation not in HARMLESS)
        return StepCommit(commit.version, found["commit"] == note["commit"], changed_by)
    return None


def _other_writer(spark: SparkSession, table: Sql, expected: Progress | None) -> RefusedError:
    now = read_progress(spark, table)
    was, found = (f"lsn {p.lsn} (commit {p.sequence})" if p else "none" for p in (expected, now))
    return RefusedError("lake-writer", f"progress moved from {was} to {found} while this process worked")
