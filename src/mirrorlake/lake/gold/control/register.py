"""``control_tables``: which source table is mirrored where, and in what state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from mirrorlake.core.binlog.rows.mapped_table import UNDEFINED
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.damaged_rows import own_rows
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import legible
from mirrorlake.lake.delta.notes import is_as_created
from mirrorlake.lake.delta.progress import append_once
from mirrorlake.lake.gold.control.health import DROPPED, REFUSED, STREAMING, is_shadow
from mirrorlake.lake.gold.control.table import TABLES_COLUMNS

HOP = "apply/tables"
MIRROR_CHANGED, NEEDS_FIRST_COPY, NEEDS_RESYNC = "mirror-changed", UNDEFINED, "needs-resync"
SPARK_REFUSED, MIRROR_DIVERGED = "spark-refused", "mirror-diverged"
INVALID_VALUE, INVALID_KEY = "invalid-value", "invalid-key"
DDL_IGNORED = "ddl-ignored"
"""Code of a mirror that continues, but may have rows that its source does not have."""

_ROW_SCHEMA = pa.schema(
    [("lsn", pa.int64())]
    + [(name, pa.string()) for name in ("database", "table", "mirror_id", "state", "definition", "code", "reason")]
    + [("epoch", pa.int64())]
)


@dataclass(frozen=True, slots=True)
class TableEntry:
    """lsn: from which the entry is valid. schema: of the mirror; None if there never was one. code, reason: of a
    refusal, or ``ddl-ignored``. epoch: that recorded it; of two entries for one lsn the later epoch's is valid."""

    lsn: int
    database: str
    table: str
    state: str
    mirror_id: str | None = None
    schema: TableSchema | None = None
    code: str | None = None
    reason: str | None = None
    epoch: int = 0

    @property
    def name(self) -> TableName:
        return TableName(self.database, self.table)

    @property
    def is_streaming(self) -> bool:
        return self.state == STREAMING

    @property
    def is_refused(self) -> bool:
        return self.state == REFUSED

    def refused(self, lsn: int, code: str, reason: str) -> TableEntry:
        """The entry of a mirror that no longer changes from ``lsn`` on."""
        return replace(self, lsn=lsn, state=REFUSED, code=code, reason=reason)

    def with_rows_kept(self, lsn: int, kind: str) -> TableEntry:
        """The entry of a mirror that keeps its rows because a DDL was ignored."""
        reason = f"{kind} was ignored: the mirror may have rows that the source has not"
        return replace(self, lsn=lsn, code=DDL_IGNORED, reason=reason)

    def to_row(self) -> dict:
        definition = self.schema.to_json() if self.schema else None
        return {name: getattr(self, name) for name in _ROW_SCHEMA.names if name != "definition"} | {
            "definition": definition
        }

    @classmethod
    def from_row(cls, row) -> TableEntry:
        """Read a row. Raises RefusedError ``lake-damaged`` for one that mirrorlake did not write."""
        if None in (row.lsn, row.database, row.table, row.state, row.epoch):
            raise RefusedError("lake-damaged", "a row of control_tables lacks a value")
        try:
            schema = TableSchema.from_json(row.definition) if row.definition else None
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):  # of JSON, of its fields
            why = "its definition in control_tables cannot be read"
            raise RefusedError("lake-damaged", why, table=f"{row.database}.{row.table}") from None
        return cls(row.lsn, row.database, row.table, row.state, row.mirror_id, schema, row.code, row.reason, row.epoch)


class TableRegister:
    """The newest entry of every name, and all names that a mirror has had."""

    def __init__(self, entries: Iterable[TableEntry] = ()):
        self._entries: dict[TableName, TableEntry] = {}
        self._names: dict[str, set[TableName]] = {}
        self.put(entries)

    @classmethod
    def read(cls, lake: Lake, *, up_to: int | None = None, before: int | None = None) -> TableRegister:
        """Read the register. up_to: as it was when the mirrors had everything up to this lsn. before: as before an
        epoch."""
        if is_as_created(lake.spark, lake.names.control_tables):
            return cls()
        rows = own_rows(lake, "control_tables", TABLES_COLUMNS)
        rows = rows.where(f"lsn <= {up_to}") if up_to is not None else rows
        rows = rows.where(f"epoch < {before}") if before is not None else rows
        return cls(TableEntry.from_row(row) for row in rows.collect())

    def copy(self) -> TableRegister:
        found = TableRegister(self._entries.values())
        found._names = {mirror_id: set(names) for mirror_id, names in self._names.items()}
        return found

    def get(self, name: TableName) -> TableEntry | None:
        return self._entries.get(name)

    def __iter__(self) -> Iterator[TableEntry]:
        return iter(sorted(self._entries.values(), key=lambda entry: entry.name))

    def is_shadow(self, entry: TableEntry) -> bool:
        """Is this a shadow table, mirrored together with the table that the tool changes?"""
        return entry.state != DROPPED and is_shadow(entry.name, self._is_there)

    def _is_there(self, name: TableName) -> bool:
        entry = self.get(name)
        return entry is not None and entry.state != DROPPED

    def commit(self, lake: Lake, entries: list[TableEntry], epoch: int, *, of: str | None = None) -> None:
        """Record entries in one commit; once for each epoch. The last of a name's entries is valid. Entries recorded
        earlier all stay, because the options may have been different then.

        of: the mirror whose refusal a group reports to the first one, in a separate commit.
        """
        if not entries:
            return
        entries = [replace(entry, epoch=epoch) for entry in entries]
        newest = {(e.lsn, *e.name): e for e in entries}
        rows = lake.spark.createDataFrame(
            pa.Table.from_pylist([e.to_row() for e in newest.values()], schema=_ROW_SCHEMA), TABLES_COLUMNS
        )
        done = append_once(
            lake.spark, lake.names.control_tables, rows, app_id=lake.app_id(f"{HOP}/{of}" if of else HOP), lsn=epoch,
            payload=lake.payload(HOP, epoch=epoch),
        )  # fmt: skip
        self.put(entries if done else TableRegister.read(lake, before=epoch + 1))

    def alike(self, name: TableName) -> list[TableEntry]:
        """Tables that are known under another name that is equal in lower case."""
        lower = tuple(map(folded, name))
        return [entry for entry in self if entry.state != DROPPED and tuple(map(folded, entry.name)) == lower]

    def renamed_from(self, name: TableName) -> list[TableEntry]:
        """Tables that are streaming under another name and had this one before."""
        others = (entry for entry in self if entry.state == STREAMING and entry.name != name)
        return [entry for entry in others if name in self._names.get(entry.mirror_id or "", ())]

    def names_of(self, entry: TableEntry) -> set[TableName]:
        """The name of a table, and all names that its mirror has had."""
        return {entry.name} | self._names.get(entry.mirror_id or "", set())

    def put(self, entries: Iterable[TableEntry]) -> None:
        for entry in entries:
            if entry.mirror_id:
                self._names.setdefault(entry.mirror_id, set()).add(entry.name)
            known = self._entries.get(entry.name)
            if known is None or (known.lsn, known.epoch) <= (entry.lsn, entry.epoch):
                self._entries[entry.name] = entry


def mirror_id(schema: TableSchema, lsn: int) -> str:
    """The mirror of a table created at ``lsn``: the same in every process, another one for each CREATE. Other options
    also give another one, because a CREATE that was not recorded may be repeated with other options."""
    return f"{legible(schema.database, schema.table)}__{lsn:x}" + form_of(schema)


def form_of(schema: TableSchema) -> str:
    """The part of a mirror's name that records the options it was made with."""
    forms = {"__text": schema.as_text, "__less": bool(schema.left_out), "__commits": schema.has_commits}
    return "".join(form for form, is_chosen in forms.items() if is_chosen)
