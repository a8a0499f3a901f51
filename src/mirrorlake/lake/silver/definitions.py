"""Keeps ``silver_table_schemas``: what every DDL of the log made of each table, and every table map seen.

A row is written before the changes that need it. Rows are the same whoever computes them, so a repeated one says
nothing new and readers take the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.events import parse_format_description, parse_query
from mirrorlake.core.binlog.row_layout import RowLayouts
from mirrorlake.core.binlog.table_slots import TABLE_MAP, TableSlots
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS, BronzeEvents
from mirrorlake.core.position import FIRST_EVENT_OFFSET, OFFSET_BITS
from mirrorlake.core.schema.charsets import charset_of_collation_id
from mirrorlake.core.schema.ddl_apply import interpret
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import append_once
from mirrorlake.lake.silver.table import DEFINITION_COLUMNS, SEEN

HOP = "assemble/definitions"
QUERY, FORMAT_DESCRIPTION = 2, 15
_ROW_SCHEMA = pa.schema(
    [("lsn", pa.int64()), ("schema_id", pa.int64())]
    + [(name, pa.string()) for name in ("database", "table", "action", "columns")]
    + [("primary_key", pa.list_(pa.string()))]
    + [(name, pa.string()) for name in ("steps", "refusal", "reason")]
)


@dataclass(slots=True)
class DefinitionLog:
    """What the rows of ``silver_table_schemas`` say, as far as an assembler must know it.

    ddl_lsn: of the newest row that a DDL gave. Rows are appended in log order, a range in one commit, so every DDL up
    to there is in ``definitions``; it must not be interpreted again on top of its own effect. versions: the server's,
    by log file (the lsn without its offset), as each file's first event says.
    """

    definitions: Definitions
    ddl_lsn: int = -1
    versions: dict[int, int | None] = field(default_factory=dict)

    @classmethod
    def read(cls, lake: Lake) -> DefinitionLog:
        log, seen = cls(Definitions()), set()
        for row in lake.spark.table(lake.names.silver_table_schemas).orderBy("lsn").collect():
            key = (row.lsn, row.database, row.table, row.action)
            if row.action == SEEN or key not in seen:  # two assemblers may both have written a row
                seen.add(key)
                log._take(row.lsn, DefinitionChange.from_row(row.asDict()))
        return log

    def extend(self, lake: Lake, events: Iterable[pa.RecordBatch], lsn_to: int) -> bool:
        """Take in the QUERY, TABLE_MAP and FORMAT_DESCRIPTION events of a range, in log order, and append what is new.

        Raises RefusedError for a table map or a statement that cannot be read and names no table.
        """
        new = []
        for batch in events:
            if batch.num_rows:
                for lsn, change in self._changes(BronzeEvents(batch), lake):
                    self._take(lsn, change)
                    new.append({"lsn": lsn, **change.to_row()})
        if new:
            rows = lake.spark.createDataFrame(pa.Table.from_pylist(new, schema=_ROW_SCHEMA), DEFINITION_COLUMNS)
            append_once(
                lake.spark, lake.names.silver_table_schemas, rows, app_id=lake.app_id(HOP), lsn=lsn_to,
                payload=lake.payload(HOP, lsn_to=lsn_to),
            )  # fmt: skip
        return bool(new)

    def _take(self, lsn: int, change: DefinitionChange) -> None:
        if change.action != SEEN:
            self.ddl_lsn = max(self.ddl_lsn, lsn)
        self.definitions.apply([change])

    def _changes(self, events: BronzeEvents, lake: Lake) -> Iterator[tuple[int, DefinitionChange]]:
        flavor = lake.flavor
        for first in np.flatnonzero(events.event_type == FORMAT_DESCRIPTION):
            version = parse_format_description(events.body(int(first))).version_number
            self.versions[int(events.lsn[first]) >> OFFSET_BITS] = version
        layouts = RowLayouts()
        slots = TableSlots(flavor, layouts).resolve(
            events.buf, events.offset, events.length, events.trailer, events.event_type
        )
        maps = np.flatnonzero(events.event_type == TABLE_MAP)
        first_of_slot = {int(slots[i]): int(i) for i in maps[::-1]}
        for slot, i in first_of_slot.items():
            seen = layouts.table_maps[slot]
            if seen.schema is not None and seen.schema.schema_id not in self.definitions.schema_ids:
                yield int(events.lsn[i]), DefinitionChange(SEEN, seen.database, seen.table, seen.schema)
        for i in np.flatnonzero((events.event_type == QUERY) & (events.lsn > self.ddl_lsn)):
            yield from self._replayed(events, int(i), lake)

    def _version(self, lake: Lake, log_file: int) -> int | None:
        if log_file not in self.versions:
            first = log_file << OFFSET_BITS | FIRST_EVENT_OFFSET
            found = lake.spark.table(lake.names.bronze_events).where(f"lsn = {first} AND event_type = 15")
            batches = [BronzeEvents(batch) for batch in found.select(*BRONZE_COLUMNS).toArrow().to_batches()]
            bodies = [parse_format_description(batch.body(0)) for batch in batches if len(batch.lsn)]
            self.versions[log_file] = bodies[0].version_number if bodies else None
        return self.versions[log_file]

    def _replayed(self, events: BronzeEvents, i: int, lake: Lake) -> Iterator[tuple[int, DefinitionChange]]:
        query = parse_query(events.body(i))
        if query.statement in ("BEGIN", "COMMIT", "ROLLBACK") or not query.is_in_force:
            return
        flavor = lake.flavor
        charset_id = query.charset[2] if query.charset else None
        changes = interpret(
            query.statement, database=query.database, sql_mode=query.sql_mode, flavor=flavor,
            default_charset=charset_of_collation_id(charset_id, flavor) if charset_id else None,
            definitions=self.definitions, server_version=self._version(lake, int(events.lsn[i]) >> OFFSET_BITS),
            explicit_timestamps=query.explicit_timestamps(flavor),
        )  # fmt: skip
        yield from ((int(events.lsn[i]), change) for change in changes)
