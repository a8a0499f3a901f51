"""Keep ``silver_table_schemas``: the definition of each table after every DDL of the log, and every table map seen.

A row is written before the changes that need it. Every process computes the same rows, so a repeated one says
nothing new and readers take the first. For a statement that the operator has answered, the answer's rows replace
those that the log gave.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import Row

from mirrorlake.core.binlog.events import parse_format_description
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS, BronzeEvents
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.position import FIRST_EVENT_OFFSET, OFFSET_BITS
from mirrorlake.core.schema.history import SEEN, DefinitionChange, Definitions
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.timeline import Timeline
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.damaged_rows import own_rows, reading
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.notes import is_as_created
from mirrorlake.lake.delta.progress import append_once
from mirrorlake.lake.silver.table import DEFINITION_COLUMNS

HOP = "assemble/definitions"
_ROW_SCHEMA = pa.schema(
    [("lsn", pa.int64()), ("schema_id", pa.int64())]
    + [(name, pa.string()) for name in ("database", "table", "action", "columns")]
    + [("primary_key", pa.list_(pa.string()))]
    + [(name, pa.string()) for name in ("steps", "refusal", "reason")]
    + [("answer", pa.int32())]
)
ChangeAtLsn = tuple[int, DefinitionChange]
"""A change with the lsn of its statement or table map."""


def recorded(lake: Lake, where: Sql = "true") -> list[ChangeAtLsn]:
    """The recorded changes, in log order; of a statement's rows about one table those of the newest answer."""
    if is_as_created(lake.spark, lake.names.silver_table_schemas):
        return []
    table = own_rows(lake, "silver_table_schemas", DEFINITION_COLUMNS)
    rows = table.where(where).collect()
    with reading("silver_table_schemas"):
        return _in_force(rows)


def _in_force(rows: Iterable[Row]) -> list[ChangeAtLsn]:
    found, seen, newest = [], set(), dict[tuple, int]()
    for row in sorted(rows, key=lambda row: (row.lsn, -row.answer)):
        key = (row.lsn, row.database, row.table)
        if row.action != SEEN:
            if (*key, row.action) in seen or newest.setdefault(key, row.answer) > row.answer:
                continue  # two assemblers may both have written a row
            seen.add((*key, row.action))
        found.append((row.lsn, DefinitionChange.from_row(row.asDict())))
    return found


def record(lake: Lake, changes: Iterable[ChangeAtLsn], *, hop: str, number: int, answer: int = 0) -> None:
    """Append rows in one commit, once for each ``number`` of the hop. answer: the one they follow from; 0: none."""
    cells = [{"lsn": lsn, **change.to_row(), "answer": answer} for lsn, change in changes]
    if cells:
        rows = lake.spark.createDataFrame(pa.Table.from_pylist(cells, schema=_ROW_SCHEMA), DEFINITION_COLUMNS)
        append_once(
            lake.spark, lake.names.silver_table_schemas, rows, app_id=lake.app_id(hop), lsn=number,
            payload=lake.payload(hop),
        )  # fmt: skip


class DefinitionLog:
    """The rows of ``silver_table_schemas`` that an assembler needs."""

    def __init__(self, lake: Lake, answers: Iterable[Answer] = (), where: Sql = "true"):
        """answers: to statements of later ranges, and snapshots that begin in them. where: which rows."""
        known = lake.name_case, lake.default_engine, lake.engine_of, lake.hidden
        self._lake, self._reader = lake, DefinitionReader(lake.flavor, self._server_version, answers, *known)
        for lsn, change in recorded(lake, where):
            self._reader.take(lsn, change)

    def read(self, events: Iterable[pa.RecordBatch], end: int) -> list[ChangeAtLsn]:
        """Read the definition events of a range, in log order; return the new changes. end: the range's last lsn.

        Raises as ``DefinitionReader.read``.
        """
        return self._reader.read(events, end)

    def extend(self, events: Iterable[pa.RecordBatch], end: int) -> bool:
        """Do the same, and append the new changes, if any: in log order, a range in one commit."""
        new = self.read(events, end)
        record(self._lake, new, hop=HOP, number=end)
        return bool(new)

    def timeline(self, lsns: LsnRange) -> Timeline:
        """The timeline for decoding the range that was read last."""
        return self._reader.timeline(lsns)

    def refused_map(self, name: TableName) -> tuple[str, str] | None:
        """Return (code, reason) for the range's first table map that does not fit the table's definition."""
        return self._reader.refused_maps.get(name)

    @property
    def definitions(self) -> Definitions:
        """Those in force at the end of what was read."""
        return self._reader.definitions

    @property
    def ddl_lsn(self) -> int:
        """The lsn of the newest row from a DDL."""
        return self._reader.ddl_lsn

    def _server_version(self, log_file: int) -> int | None:
        """The version in the first event of a log file of an earlier range; log_file: its lsn without the offset."""
        first = log_file << OFFSET_BITS | FIRST_EVENT_OFFSET
        found = self._lake.spark.table(self._lake.names.bronze_events).where(f"lsn = {first} AND event_type = 15")
        batches = found.select(*BRONZE_COLUMNS).toArrow().to_batches()
        first_event = next((BronzeEvents(batch).body(0) for batch in batches if batch.num_rows), None)
        return parse_format_description(first_event).version_number if first_event else None
