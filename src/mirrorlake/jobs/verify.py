"""Compare every mirror with its source at one log position, while replication continues.

0. the source's tables                 how they are defined
1. a consistent read of the source     at a position of its log
2. a syncpoint of the lake             requested at that position; the active run reaches it, or one made here
3. table by table, on both sides       the definition, row counts and sums of hashes, in parts by key; the keys of
                                       parts that differ
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.core.ddl.effect.hidden_columns import hashed_names
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.errors import RetryableError
from mirrorlake.jobs.row_comparison import Side, differing_keys, differing_parts, few_rows, for_mirror, for_source
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.chosen_tables import require_select, require_used
from mirrorlake.jobs.run.open import as_compared, open_lake
from mirrorlake.jobs.run.source import server_login
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.source_look import SourceLook, Sums, definition_of, differences, no_versions, shown_definition
from mirrorlake.lake.bronze.ingest import check_server
from mirrorlake.lake.compare.row_text import (
    Spelled,
    key_shown,
    register_functions,
    row_text,
)
from mirrorlake.lake.compare.silver_damage import DamagedTransaction, damaged_transactions
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.register import DDL_IGNORED, DROPPED, STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint
from mirrorlake.lake.silver.overrides import read_answers
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.consistent_read import ConsistentRead, CurrentRead, TableChanged
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.source_tables import Ask, SourceTable, table_names

EQUAL, DIFFERENT, NOT_COMPARED = "equal", "different", "not compared"
CHANGED_MEANWHILE = "DDL has changed it meanwhile"
ROWS_CHANGED = "its rows have changed meanwhile, and its storage engine keeps no older versions"
NOT_IN_LAKE = "the lake does not have it: `mirrorlake snapshot` copies it"
NEVER_IN_LAKE = "the lake does not have it, and `mirrorlake snapshot` leaves it out ({})"
NOT_ON_SERVER = "the server does not have it"
LEFT_OUT = "the lake does not have it, and no pattern of --tables fits it"
LOOK_EVERY_S = 1


@dataclass(frozen=True, slots=True)
class VerifiedTable:
    """state: one of the three above. rows: of the source, of the mirror; None: not counted. keys: (key, difference) of
    the first keys that differ; none for a table without a key. reason: why the rows were not compared, how the
    definitions differ, or what was left out."""

    database: str
    table: str
    state: str
    rows: int | None = None
    mirror_rows: int | None = None
    keys: tuple[tuple[str, str], ...] = ()
    reason: str | None = None

    @property
    def difference(self) -> str:
        """The difference as text for a person."""
        if self.reason or self.state == EQUAL:
            return self.reason or ""
        counts = f"{self.rows:,} rows, in the mirror {self.mirror_rows:,}"
        return "; ".join([counts, *(f"{key}: {what}" for key, what in self.keys)])


def verify(
    options: Options, watcher: Watcher, *, moves: bool, wait_s: float, n_keys: int, spark: SparkSession | None = None
) -> tuple[Syncpoint, list[VerifiedTable]]:
    """Return the syncpoint of the comparison, and every table that the options want, by name.

    moves: run the hops here up to the position; else the active run must reach it within wait_s seconds.
    n_keys: how many differing keys to name per table.
    Raises RefusedError ``lake-missing``, ``lake-source``; RetryableError ``verify-wait``; what
    ``require_select``, ``require_used``, ``ConsistentRead`` and the hops raise.
    """
    login, lake = server_login(options), open_lake(options, spark)
    options = as_compared(options, lake)
    register_functions(lake.spark)
    _check_patterns(login, lake, options)
    point, ends_at = None, time.monotonic() + wait_s
    while point is None:  # a run that is faster than the request passes the position: then try another one
        look = _look(login, lake, options)
        read = ConsistentRead(login)
        try:
            check_server(lake, read.identity)
            name = f"verify-{dt.datetime.now(dt.timezone.utc):%Y%m%dT%H%M%S.%f}"
            syncpoints.request(lake, name, read.position)
            if moves:
                until = options.model_copy(update={"until": str(read.position), "follow": False, "failover": "refuse"})
                hops.run(until, watcher, lake.spark)
            point = _answered(lake, name, read, ends_at)
            found = sorted(_verified(lake, point, read, look, options, n_keys), key=_name) if point else []
        finally:
            read.close()
    return point, found


def damaged_silver(options: Options, point: Syncpoint, spark: SparkSession | None = None) -> list[DamagedTransaction]:
    """Return the transactions up to the syncpoint that silver has no longer as they were written."""
    lake = open_lake(options, spark)
    return damaged_transactions(lake, point.lsn, read_answers(lake))


def _check_patterns(login: ServerLogin, lake: Lake, options: Options) -> None:
    """Refuse patterns that fit neither a table of the server nor one of the lake."""
    connection = ServerConnection(login)
    try:
        seen = table_names(connection.query, lake.name_case.fold)
        require_select(connection, seen)
    finally:
        connection.close()
    require_used(options, seen | {entry.name for entry in TableRegister.read(lake) if entry.state != DROPPED})


def _answered(lake: Lake, name: str, read: ConsistentRead, ends_at: float) -> Syncpoint | None:
    """Wait for the requested syncpoint; None if gold had passed the position before it saw the request."""
    while not (found := next((point for point in syncpoints.published(lake) if point.name == name), None)):
        if time.monotonic() > ends_at:
            raise RetryableError("verify-wait", f"no run has brought the lake to {read.position}")
        if any(point.name == name for point in syncpoints.missed(lake)):
            return None
        time.sleep(LOOK_EVERY_S)
    return found


def _look(login: ServerLogin, lake: Lake, options: Options) -> SourceLook:
    read = CurrentRead(login)
    try:
        return SourceLook.take(read, options, lake.flavor, _source_sums)
    finally:
        read.close()


def _verified(
    lake: Lake, point: Syncpoint, read: ConsistentRead, look: SourceLook, options: Options, n_keys: int
) -> Iterator[VerifiedTable]:
    versions = {table.mirror_id: table.version for table in point.tables}
    entries = {entry.name: entry for entry in TableRegister.read(lake, up_to=point.lsn) if entry.state != DROPPED}
    for entry in entries.values():
        if options.wants(*entry.name):
            try:
                yield _verified_table(lake, entry, versions.get(entry.mirror_id or ""), read, look, n_keys)
            except TableChanged:
                yield VerifiedTable(*entry.name, NOT_COMPARED, reason=CHANGED_MEANWHILE)
    still_there = table_names(read.rows, lake.name_case.fold)
    for name in look.tables.keys() & still_there - entries.keys():
        yield (
            _absent(lake, look.tables[name], read)
            if options.wants(*name)
            else VerifiedTable(*name, NOT_COMPARED, reason=LEFT_OUT)
        )


def _absent(lake: Lake, table: SourceTable, read: ConsistentRead) -> VerifiedTable:
    """A table that only the source has."""
    reason: str | None = no_versions(table)
    if table.has_versions:
        try:
            reason = shown_definition(read.rows, table.name, lake.flavor, lake.name_case, lake.hidden)[2]
        except TableChanged:
            return VerifiedTable(*table.name, NOT_COMPARED, reason=CHANGED_MEANWHILE)
    return VerifiedTable(*table.name, DIFFERENT, reason=NEVER_IN_LAKE.format(reason) if reason else NOT_IN_LAKE)


def _verified_table(
    lake: Lake, entry: TableEntry, version: int | None, read: ConsistentRead, look: SourceLook, n_keys: int
) -> VerifiedTable:
    """Compare one table. Raises TableChanged if DDL ran between the two looks."""
    reason = _why_not(entry, version)
    if reason:
        return VerifiedTable(*entry.name, NOT_COMPARED, reason=reason)
    assert entry.schema and version is not None, "a table that is streaming has a mirror"
    try:
        now = definition_of(read.rows, entry.name, lake.flavor, lake.name_case)
    except TableChanged:
        if entry.name in look.definitions:
            raise
        return VerifiedTable(*entry.name, DIFFERENT, reason=NOT_ON_SERVER)
    if entry.name not in look.definitions or look.definitions[entry.name] != now:
        raise TableChanged
    found = differences(now, entry.schema) if now else []
    if found:
        return VerifiedTable(*entry.name, DIFFERENT, reason="; ".join(found))
    if not look.tables[entry.name].has_versions:
        before = look.sums.get(entry.name)
        if before is None or now is None or before != _source_sums(read.rows_of_scan, now):
            return VerifiedTable(*entry.name, NOT_COMPARED, reason=ROWS_CHANGED)
    return _compared(lake, entry, version, read, n_keys)


def _name(table: VerifiedTable) -> TableName:
    return TableName(table.database, table.table)


def _why_not(entry: TableEntry, version: int | None) -> str | None:
    if entry.state != STREAMING:
        return f"{entry.state} ({entry.code})"
    if entry.code == DDL_IGNORED:
        return entry.reason
    return "others have changed the mirror table" if version is None else None


def _source_sums(ask: Ask, schema: TableSchema) -> Sums:
    """The sums that two looks must agree in."""
    text, key, _ = _spelled(schema, as_text=True)
    return _source(ask, schema.name).sums(key, text)


def _source(ask: Ask, name: TableName) -> Side:
    return Side(ask, quote(*name), for_source, "UNSIGNED")


def _spelled(schema: TableSchema, as_text: bool) -> tuple[Spelled, Spelled, list[Column]]:
    """A row as a text, its key as one, and the columns of the key; without one, or if a
    column of it is hashed, the row is its own."""
    compared = [column for column in schema.columns if not column.is_hashed]
    of_key = [column for name in schema.primary_key for column in compared if column.name == name]
    of_key = of_key if len(of_key) == len(schema.primary_key) else []
    text = row_text(compared, as_text=as_text)
    return text, row_text(of_key, as_text=as_text) if of_key else text, of_key


def _compared(lake: Lake, entry: TableEntry, version: int, read: ConsistentRead, n_keys: int) -> VerifiedTable:
    schema = entry.schema
    assert schema, "a table that is streaming has a mirror"
    text, key, of_key = _spelled(schema, schema.as_text)
    mirror_version = f"{lake.names.mirror(entry.mirror_id)} VERSION AS OF {version}"

    def ask_mirror(sql: Sql) -> Sequence[tuple]:
        return lake.spark.sql(sql).collect()

    source = _source(read.rows_of_scan, entry.name)
    mirror = Side(ask_mirror, mirror_version, for_mirror, "DECIMAL(38,0)")
    theirs, ours = source.sums(key, text), mirror.sums(key, text)
    parts = differing_parts(theirs, ours)
    rows, mirror_rows = (sum(n for n, _ in sums.values()) for sums in (theirs, ours))
    if not parts:
        return VerifiedTable(*entry.name, EQUAL, rows, mirror_rows, reason=_left_out(schema))
    if not of_key:
        return VerifiedTable(*entry.name, DIFFERENT, rows, mirror_rows)
    names = [column.name for column in schema.columns if not column.is_hashed]
    few = few_rows(source, mirror, key, text, parts, len(names))
    found = (side.rows(key, text, key_shown(of_key), few) for side in (source, mirror))
    keys = differing_keys(*found, names=names)
    return VerifiedTable(*entry.name, DIFFERENT, rows, mirror_rows, tuple(keys[:n_keys]))


def _left_out(schema: TableSchema) -> str | None:
    """What the comparison of rows leaves out: the server has no digests."""
    hashed = hashed_names(schema)
    return f"hashed columns are not compared: {', '.join(hashed)}" if hashed else None
