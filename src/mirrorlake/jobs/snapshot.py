"""Take snapshots of tables that are older than the log, or that need a new one, while the source stays available.

0. the character set of each database, which the lake does not know from the log
1. a consistent read of the source    at a position of its log; DDL on the tables that it reads waits
2. table by table                     all rows as the server shows them -> a snapshot in bronze
3. an answer for each                 there the table is what CREATE TABLE says, with the rows of the snapshot

The next run takes the answers, wherever it is: silver adds the changes that it lacks after the position, gold makes
the mirrors and catches them up with the others. A table with an answer is done. A run that is killed leaves the tables
that it had not reached, and never an answer for an incomplete snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.core.binlog.gtid_search import gtids_at
from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.versioning import of_rows_in_force
from mirrorlake.jobs.database_charsets import note_charsets
from mirrorlake.jobs.followed import awaited, streaming
from mirrorlake.jobs.run.chosen_tables import chosen_tables
from mirrorlake.jobs.run.open import create_lake
from mirrorlake.jobs.run.run_log import recorded
from mirrorlake.jobs.run.source import check_source, server_login
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.source_look import no_versions, shown_definition
from mirrorlake.lake.bronze.ingest import IngestProgress, begin
from mirrorlake.lake.bronze.snapshots import new_snapshot_id, select_cells, write_snapshot
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.types import cell_types
from mirrorlake.lake.silver.overrides import give, read_answers
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.consistent_read import ConsistentRead, TableChanged
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.source_tables import SourceTable, after_parents

COPIED, NOT_COPIED = "copied", "not copied"
READ_BYTES = 256 << 20
"""About how many bytes, and how many tables, are read in one transaction of the source."""
READ_TABLES = 100


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """rows: None if the table has no snapshot, for this reason."""

    database: str
    table: str
    rows: int | None = None
    reason: str | None = None

    @property
    def state(self) -> str:
        return NOT_COPIED if self.reason else COPIED


def snapshot(
    options: Options, report: Callable[[TableSnapshot], None], *, again: bool = False, spark: SparkSession | None = None
) -> None:
    """Take a snapshot of every table that the options want and the lake does not follow, and report each one.

    A lake that does not exist begins here, at the end of the source's log. again: also tables that it follows.
    Raises RefusedError ``lake-source``; what opening the source, its preflight, ``chosen_tables`` and
    ``ConsistentRead`` raise.
    """
    login, verb = server_login(options), "resync" if again else "snapshot"
    lake, tables = _opened(options, login, spark)
    with recorded(lake, verb, Watcher()) as log:
        log.begins()
        for done, lsn in _snapshots(lake, login, tables, again):
            if done.rows is None:
                log.finds("left-out")
            else:
                log.committed(verb, lsn, done.rows)
            report(done)


def _snapshots(
    lake: Lake, login: ServerLogin, tables: list[SourceTable], again: bool
) -> Iterator[tuple[TableSnapshot, int]]:
    """Each table, and the start of its snapshot; -1 without a snapshot."""
    note_charsets(lake, login)
    if not again:
        followed = streaming(lake) | awaited(lake)
        tables = [table for table in tables if table.name not in followed]
    for table in tables:
        if not table.has_versions:
            yield TableSnapshot(*table.name, reason=no_versions(table)), -1
    for group in _groups(after_parents([table for table in tables if table.has_versions])):
        yield from _snapshot_group(lake, login, group)


def _opened(options: Options, login: ServerLogin, spark: SparkSession | None) -> tuple[Lake, list[SourceTable]]:
    """The lake, and the tables that the options choose, which are looked up before a lake is made."""
    source = LiveSource(login)
    try:
        check_source(source)
        tables = chosen_tables(source.control, options)
        lake = create_lake(options, source, spark)
        if IngestProgress.read(lake).recorded is None:
            position = source.current()
            begin(lake, position, gtids_at(source, position))
        return lake, tables
    finally:
        source.close()


def _groups(tables: Iterator[SourceTable]) -> Iterator[list[SourceTable]]:
    group, n_bytes = list[SourceTable](), 0
    for table in tables:
        if group and (n_bytes + table.n_bytes > READ_BYTES or len(group) == READ_TABLES):
            yield group
            group, n_bytes = [], 0
        group.append(table)
        n_bytes += table.n_bytes
    if group:
        yield group


def _snapshot_group(lake: Lake, login: ServerLogin, group: list[SourceTable]) -> Iterator[tuple[TableSnapshot, int]]:
    try:
        read = ConsistentRead(login, holding=[table.name for table in group])
    except TableChanged:  # one no longer exists: read each separately
        if len(group) == 1:
            yield TableSnapshot(*group[0].name, reason="it was dropped meanwhile"), -1
            return
        for table in group:
            yield from _snapshot_group(lake, login, [table])
        return
    try:
        lsn = IngestProgress.read(lake).lsn_before(read.identity, read.position)
        for table in group:
            yield _copied(lake, read, table.name, lsn), lsn
    finally:
        read.close()


def _copied(lake: Lake, read: ConsistentRead, name: TableName, lsn: int) -> TableSnapshot:
    text, schema, reason = shown_definition(read.rows, name, lake.flavor, lake.name_case, lake.hidden)
    if schema is None:
        return TableSnapshot(*name, reason=reason)
    shown = of_rows_in_force(schema)
    copy_id = new_snapshot_id(shown, lsn)
    n_rows = write_snapshot(lake, copy_id, shown, read.batches(select_cells(shown), cell_types(shown)), lsn)
    give(lake, Answer(len(read_answers(lake)) + 1, lsn, *name, text, copy_id))
    return TableSnapshot(*name, n_rows)
