"""Keeps ``silver_table_schemas``: what every DDL of the log made of each table, and every table map seen.

A row is written before the changes that need it. Rows are the same whoever computes them, so a repeated one says
nothing new and readers take the first.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from mirrorlake.core.binlog.events import parse_format_description
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS, BronzeEvents
from mirrorlake.core.changes.definition_reader import SEEN, DefinitionReader
from mirrorlake.core.position import FIRST_EVENT_OFFSET, OFFSET_BITS
from mirrorlake.core.schema.history import DefinitionChange
from mirrorlake.core.schema.timeline import Timeline
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import append_once
from mirrorlake.lake.silver.table import DEFINITION_COLUMNS

HOP = "assemble/definitions"
_ROW_SCHEMA = pa.schema(
    [("lsn", pa.int64()), ("schema_id", pa.int64())]
    + [(name, pa.string()) for name in ("database", "table", "action", "columns")]
    + [("primary_key", pa.list_(pa.string()))]
    + [(name, pa.string()) for name in ("steps", "refusal", "reason")]
)


class DefinitionLog:
    """What the rows of ``silver_table_schemas`` say, as far as an assembler must know it."""

    def __init__(self, lake: Lake):
        self._lake, self._reader, seen = lake, DefinitionReader(lake.flavor, self._server_version), set()
        for row in lake.spark.table(lake.names.silver_table_schemas).orderBy("lsn").collect():
            key = (row.lsn, row.database, row.table, row.action)
            if row.action == SEEN or key not in seen:  # two assemblers may both have written a row
                seen.add(key)
                self._reader.take(row.lsn, DefinitionChange.from_row(row.asDict()))

    def extend(self, events: Iterable[pa.RecordBatch], lsn_to: int) -> bool:
        """Take in the definition events of a range, in log order, and append what is new, if anything is.

        Rows are appended in log order, a range in one commit. Raises RefusedError as ``DefinitionReader.read``.
        """
        lake = self._lake
        new = [{"lsn": lsn, **change.to_row()} for lsn, change in self._reader.read(events)]
        if new:
            rows = lake.spark.createDataFrame(pa.Table.from_pylist(new, schema=_ROW_SCHEMA), DEFINITION_COLUMNS)
            append_once(
                lake.spark, lake.names.silver_table_schemas, rows, app_id=lake.app_id(HOP), lsn=lsn_to,
                payload=lake.payload(HOP, lsn_to=lsn_to),
            )  # fmt: skip
        return bool(new)

    def timeline(self, lsn_from: int, lsn_to: int) -> Timeline:
        """What decoding the range that was taken in last needs."""
        return self._reader.timeline(lsn_from, lsn_to)

    @property
    def ddl_lsn(self) -> int:
        """Of the newest row that a DDL gave."""
        return self._reader.ddl_lsn

    def _server_version(self, log_file: int) -> int | None:
        """As the first event of a log file says that an earlier range brought; log_file: its lsn without the offset."""
        first = log_file << OFFSET_BITS | FIRST_EVENT_OFFSET
        found = self._lake.spark.table(self._lake.names.bronze_events).where(f"lsn = {first} AND event_type = 15")
        batches = found.select(*BRONZE_COLUMNS).toArrow().to_batches()
        first_event = next((BronzeEvents(batch).body(0) for batch in batches if batch.num_rows), None)
        return parse_format_description(first_event).version_number if first_event else None
