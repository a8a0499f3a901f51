"""A log as bronze and silver have it, without Spark: the reader and the assembler alone."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.assembler import CHANGE_SCHEMA, Assembler
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.changes.images import CHANGE_COLUMNS
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.timeline import Timeline
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_spec import Log
from tests.support.binlog_writer import write_logs
from tests.support.silver_rows import ROW_OPS


def bronze(folder, log, max_file_bytes=20_000, block_bytes=8 << 20) -> list[pa.RecordBatch]:
    write_logs(folder, log, max_file_bytes)
    return bronze_of(folder, block_bytes)


def bronze_of(folder, block_bytes=8 << 20) -> list[pa.RecordBatch]:
    source = FileSource(folder, block_bytes)
    reader = LogReader(source.earliest(), parse_gtid_set(source.flavor, ""))
    chunks = reader.read(source.read(source.earliest(), source.current()))
    return [chunk.batch.select(list(BRONZE_COLUMNS)) for chunk in chunks]


def cut_anywhere(batches, random) -> list[pa.RecordBatch]:
    """The same events in batches of other sizes, some of them empty."""
    events = pa.Table.from_batches(batches).combine_chunks()
    edges = sorted(random.choices(range(len(events) + 1), k=random.choice((1, 10, 100))))
    parts = zip([0, *edges], [*edges, len(events)], strict=True)
    return [part for first, stop in parts for part in events.slice(first, stop - first).to_batches()]


def timeline(flavor, events) -> Timeline:
    reader = DefinitionReader(flavor)
    reader.read(events)
    return reader.timeline(LsnRange(-1, 2**62))


def assembled(flavor, events, **limits) -> pa.Table:
    """Silver, all of it at once, so the batches have no more room than small tests need."""
    limits = {"image_bytes": 1 << 16} | limits
    return pa.Table.from_batches(Assembler(flavor, **limits).assemble(events), CHANGE_SCHEMA).combine_chunks()


def silver(folder, log) -> pa.Table:
    return silver_of(log.flavor, bronze(folder, log))


def silver_of(flavor, events) -> pa.Table:
    batches = Assembler(flavor, timeline(flavor, events)).assemble(events)
    return pa.Table.from_batches(batches, CHANGE_SCHEMA).combine_chunks()


def row_changes(log: Log, folder) -> pa.Table:
    changes = assembled(log.flavor, bronze(folder, log))
    return changes.filter(pc.is_in(changes["op"], pa.array(ROW_OPS)))


def read_columns(changes: pa.Table) -> pa.Table:
    return changes.select(list(CHANGE_COLUMNS)).combine_chunks()
