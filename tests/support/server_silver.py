"""A real server's log as the rows that silver has of it, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.changes.undone import Undone
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.lsn_range import LsnRange
from tests.support.server_logs import bring
from tests.support.servers import Server


def silver_of(server: Server, folder: Path) -> list[pa.RecordBatch]:
    """Of the server's whole log, which is copied to a new folder."""
    server.execute("FLUSH BINARY LOGS")
    source = bring(folder, server.log_files()[:-1])
    reader = LogReader(source.earliest(), parse_gtid_set(source.flavor, ""))
    chunks = reader.read(source.read(source.earliest(), source.current()))
    events = [chunk.batch.select(list(BRONZE_COLUMNS)) for chunk in chunks]
    definitions = DefinitionReader(source.flavor)
    definitions.read(events)
    undone = Undone.of(list(open_events(events)))
    return list(Assembler(source.flavor, definitions.timeline(LsnRange(-1, 2**62)), undone).assemble(events))
