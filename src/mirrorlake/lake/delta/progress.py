"""Progress is a part of the commit that carries the data. This file alone touches Delta's transaction settings.

Every commit of ours carries a note (``notes.py``): the caller's payload (source, hop, what else a restart needs), the
lsn up to which the table is complete, and the commit's transaction id.

Two kinds of commits:

- ``append_from`` continues a table's one chain of appends. The chain's txnVersion is a sequence number without gaps:
  the writer that read number n commits n + 1, and Delta drops a version that is not above the recorded one. So of all
  writers that read the same progress exactly one commits, whatever range of the log they hold and whenever they come;
  two in flight together meet Delta's conflict check, a late one is dropped. With an lsn as txnVersion a late writer
  that holds a longer range would be accepted and its rows doubled. ``bench/commit_forms.py`` compares the costs.
- ``run_statement`` and ``append_once`` do planned work at most once: txnVersion is the lsn at which the plan's step
  ends, so the step that already ran is dropped. They are safe for steps that were planned by an ``append_from``.

Delta drops a commit silently. What really happened is then looked up by the commit's own id in the table's history.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.notes import Note, new_note, read_notes

CHAIN = "mirror/chain"  # one for all sources: a writer for another source must collide, too
TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
CONFLICT = "DELTA_CONCURRENT_"  # begins the error conditions of a lost race, the same on every platform
DDL_RACES = (CONFLICT, "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")


@dataclass(frozen=True, slots=True)
class Progress:
    """The table holds everything up to and including ``lsn``. ``sequence`` is its place in the chain of appends."""

    lsn: int
    payload: dict[str, Any]
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class StepCommit:
    """The commit that did a planned step. version: Delta's. is_new: made now; False: the step had been done before."""

    version: int
    is_new: bool

    def __bool__(self) -> bool:
        return self.is_new


def read_progress(spark: SparkSession, table: str) -> Progress | None:
    """What the newest commit of ours recorded; None for a table that is absent or has none.

    Commits by others in between (OPTIMIZE, VACUUM) do not matter. After a RESTORE it is the progress of the restored
    table, while the sequence goes on: Delta does not restore transaction ids.
    Raises: RefusedError("lake-version") for a note of a later format.
    """
    sequence = 0
    for note, is_undone in read_notes(spark, table):
        if note["app_id"] == CHAIN:
            sequence = max(sequence, note["txn_version"])
        if note["lsn"] is not None and not is_undone:
            return Progress(note["lsn"], note["payload"], sequence)
    return None


def claim_source(progress: Progress | None, source: str) -> None:
    """Raises: RefusedError("lake-source") when the progress was made from another source."""
    if progress is not None and progress.payload.get("source") != source:
        raise RefusedError("lake-source", f"the lake holds {progress.payload.get('source')}, not {source}")


def append_from(
    spark: SparkSession,
    table: str,
    staged: DataFrame | str,
    *,
    expected: Progress | None,
    new_lsn: int,
    payload: Mapping[str, Any],
) -> Progress:
    """Append ``staged`` (a DataFrame or a query) if the table's progress still is ``expected``; the new progress.

    Raises: RefusedError("lake-writer") when progress has moved, with nothing written. Any other failure says nothing
    about whether the commit happened: read the progress again.
    """
    sequence = (expected.sequence if expected else 0) + 1
    note = new_note(payload, new_lsn, CHAIN, sequence)
    rows = spark.sql(staged) if isinstance(staged, str) else staged
    try:
        _append(rows, table, note)
    except Exception as error:
        if CONFLICT in str(error):
            raise _other_writer(spark, table, expected) from error
        raise
    if not _committed(spark, table, note):
        raise _other_writer(spark, table, expected)
    return Progress(new_lsn, dict(payload), sequence)


def append_once(
    session: SparkSession, table: str, rows: DataFrame, *, app_id: str, lsn: int, payload: Mapping[str, Any]
) -> StepCommit:
    """Append ``rows`` as the step of ``app_id`` that ends at ``lsn``; false when that step was there already.

    Raises: RefusedError("lake-writer") when another writer did the same step meanwhile.
    """
    note = new_note(payload, lsn, app_id, lsn)
    with _refusing_a_lost_race(session, table, note):
        _append(rows, table, note)
    return _committed(session, table, note)


def run_statement(
    session: SparkSession, table: str, sql: str, *, app_id: str, lsn: int, payload: Mapping[str, Any]
) -> StepCommit:
    """Run one MERGE, DELETE, UPDATE or INSERT as the step of ``app_id`` that ends at ``lsn``; false when it was done.

    Progress moves also when the statement changes no row.

    ``session`` must be private to the calling thread: until the statement ends, its writes carry the transaction id.
    Raises: RefusedError("lake-writer") when another writer did the same step meanwhile.
    """
    note = new_note(payload, lsn, app_id, lsn)
    settings = {TXN_APP_ID: app_id, TXN_VERSION: str(lsn), USER_METADATA: json.dumps(note)}
    with _refusing_a_lost_race(session, table, note), _settings(session, settings):
        session.sql(sql).collect()
    done = _committed(session, table, note)
    if done is None:  # Delta makes no commit for a DELETE or UPDATE that meets no row; an append of nothing is one
        nothing = session.table(table).limit(0)
        return append_once(session, table, nothing, app_id=app_id, lsn=lsn, payload=payload)
    return done


def run_ddl(session: SparkSession, sql: str, payload: Mapping[str, Any], *, lsn: int | None = None) -> None:
    """Run DDL whose commit carries the note; Delta keeps no transaction id for DDL, so repeating is the caller's care.

    ``lsn``: the table is complete up to here when the statement has run; None for DDL that moves no progress.
    Raises: RefusedError("lake-writer") when another writer changes or creates the table at the same moment.
    """
    try:
        with _settings(session, {USER_METADATA: json.dumps(new_note(payload, lsn))}):
            session.sql(sql).collect()
    except Exception as error:
        if any(race in str(error) for race in DDL_RACES):
            raise RefusedError("lake-writer", "another process changes the same table") from error
        raise


def _append(rows: DataFrame, table: str, note: Note) -> None:
    writer = rows.writeTo(table).option("userMetadata", json.dumps(note))
    writer.option("txnAppId", note["app_id"]).option("txnVersion", str(note["txn_version"])).append()


@contextmanager
def _settings(session: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """A setting that is left behind would silently drop every later write of the session."""
    try:
        for key, value in settings.items():
            session.conf.set(key, value)
        yield
    finally:
        for key in settings:
            session.conf.unset(key)


@contextmanager
def _refusing_a_lost_race(session: SparkSession, table: str, note: Note) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if CONFLICT in str(error) and _find(session, table, note):
            raise RefusedError("lake-writer", f"another process has done the step at lsn {note['lsn']}") from error
        raise


def _committed(spark: SparkSession, table: str, note: Note) -> StepCommit | None:
    """The commit that did what ``note`` announces, by whomever; None when there is none."""
    found = _find(spark, table, note)
    return StepCommit(found["version"], found["commit"] == note["commit"]) if found else None


def _find(spark: SparkSession, table: str, note: Note) -> Note | None:
    """The newest note whose transaction id is the one of ``note`` or above it: itself, or what Delta dropped it for.

    Raises: RefusedError("lake-restored") when that commit was undone by a RESTORE.
    """
    for found, is_undone in read_notes(spark, table):
        if found["app_id"] == note["app_id"] and found["txn_version"] >= note["txn_version"]:
            if is_undone:
                raise RefusedError(
                    "lake-restored", f"the step at lsn {note['lsn']} was undone by a RESTORE", table=table
                )
            return found
    return None


def _other_writer(spark: SparkSession, table: str, expected: Progress | None) -> RefusedError:
    now = read_progress(spark, table)
    was, found = (f"lsn {p.lsn} (commit {p.sequence})" if p else "none" for p in (expected, now))
    return RefusedError("lake-writer", f"progress moved from {was} to {found} while this process worked")
