"""Silver and definitions by patterns of hidden and hashed columns, without Spark."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from mirrorlake.core.changes.assembler import CHANGE_SCHEMA, Assembler
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.column_patterns import ColumnPatterns
from tests.support.binlog_spec import Log
from tests.support.pure_hops import bronze, cut_anywhere


def silver(folder, log: Log, hidden: ColumnPatterns, random: Random | None = None) -> pa.Table:
    events = bronze(folder, log)
    reader = DefinitionReader(log.flavor, hidden=hidden)
    reader.read(events)
    assembler = Assembler(log.flavor, reader.timeline(LsnRange(-1, 2**62)), hidden=hidden)
    return pa.Table.from_batches(assembler.assemble(cut_anywhere(events, random) if random else events), CHANGE_SCHEMA)


def definitions_read(folder, items: list, hidden: ColumnPatterns, flavor: str = "mysql") -> DefinitionReader:
    reader = DefinitionReader(flavor, hidden=hidden)
    reader.read(bronze(folder, Log(flavor, items)))
    return reader


def file_bytes(table: pa.Table) -> bytes:
    """Every byte that would reach a file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
