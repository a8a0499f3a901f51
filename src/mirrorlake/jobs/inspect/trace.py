"""Trace a row of a mirror, or a GTID, to the transaction on the source and every change in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

import pyarrow as pa

from mirrorlake.core.position import show_lsn
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.sql_text import Sql, literal, quote
from mirrorlake.errors import UsageError
from mirrorlake.jobs.show.output import plain, show_table
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import named
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.control.register import DROPPED, TableEntry, TableRegister
from mirrorlake.lake.gold.control.table import LSN_COLUMN

ROW_CHANGES = "op IN ('INSERT', 'UPDATE', 'DELETE')"
_SHOWN = ["ordinal", "lsn", "op", "database", "table", "before", "after", "statement"]


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction of the source: its rows in silver and its events in bronze, both in order. Silver's row images are
    JSON text; there are no events if maintenance has deleted them."""

    tx_lsn: int
    changes: pa.Table
    events: pa.Table

    def to_json(self) -> dict[str, Any]:
        """``{tx_lsn, gtid, commit_ts, position}``; position: FILE:POS of its first event."""
        first = self.events.slice(0, 1).to_pylist()
        position = f"{first[0]['log_file']}:{first[0]['log_pos']}" if first else show_lsn(self.tx_lsn)
        return {
            "tx_lsn": self.tx_lsn, "gtid": self.changes["gtid"][0].as_py(),
            "commit_ts": plain(self.changes["commit_ts"][0].as_py()), "position": position,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Trace:
    """row: of the mirror; None if it has none, or no row was requested. transaction: the last one that changed the
    row; None: the row is unchanged since the table's snapshot."""

    row: dict[str, Any] | None
    transaction: Transaction | None

    def to_json(self) -> dict[str, Any]:
        transaction = self.transaction
        return {
            "row": plain(self.row), "transaction": transaction and transaction.to_json(),
            "changes": plain(transaction.changes.drop(["gtid", "commit_ts"]).to_pylist()) if transaction else [],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A column of a mirror's key, and the value to find: a text, and its Spark expression."""

    name: str
    kind: Sql
    text: str

    @property
    def value(self) -> Sql:
        """NULL for a text that is no value of the column's type."""
        if self.kind == "binary":
            return f"try_to_binary({literal(self.text.removeprefix('0x'))}, 'hex')"
        return f"try_cast({literal(self.text)} AS {self.kind})"

    @property
    def in_mirror(self) -> Sql:
        return f"{quote(self.name)} = {self.value}"

    def in_image(self, fields: Sql) -> Sql:
        """fields: a row image as a map."""
        return f"try_cast(element_at({fields}, {literal(self.name)}) AS {self.kind}) = {self.value}"


def trace_row(lake: Lake, table: str, key: Sequence[str]) -> Trace:
    """Trace a row. table: ``database.table``. key: a text for each column of its key, as ``mirrorlake sql`` shows the
    values.

    Raises UsageError ``usage`` for a table without a mirror or a key, another number of texts, and a row that neither
    the mirror nor the log has.
    """
    entry, schema = mirrored(lake, table)
    parts = key_parts(table, schema, key)
    mirror, same_key = lake.names.mirror(entry.mirror_id), " AND ".join(part.in_mirror for part in parts)
    rows = lake.spark.sql(f"SELECT * FROM {mirror} WHERE {same_key}").toArrow().to_pylist()
    if rows:
        return Trace(rows[0], written_by(lake, rows[0][LSN_COLUMN]))
    last = _last_change(lake, entry, parts)
    if last is None:
        raise UsageError("usage", "neither the mirror nor the log has a row with this key", table=table)
    return Trace(None, last)


def trace_gtid(lake: Lake, gtid: str) -> Trace:
    """Trace a transaction. Raises UsageError ``usage`` when silver has none with this GTID."""
    found = _transaction_where(lake, f"gtid = {literal(gtid.strip().lower())}")
    if found is None:
        raise UsageError("usage", "silver has no transaction with this GTID; `mirrorlake status` says how far it is")
    return Trace(None, found)


def written_by(lake: Lake, lsn: int) -> Transaction | None:
    """The transaction whose row changes have this lsn; None for the position of a snapshot."""
    return _transaction_where(lake, f"lsn = {lsn} AND {ROW_CHANGES}")


def _transaction_where(lake: Lake, condition: Sql) -> Transaction | None:
    silver = lake.names.silver_changes
    newest = lake.spark.sql(f"SELECT max(tx_lsn) AS tx_lsn FROM {silver} WHERE {condition}").collect()
    return None if newest[0].tx_lsn is None else transaction(lake, newest[0].tx_lsn)


def transaction(lake: Lake, tx_lsn: int, most: int | None = None) -> Transaction:
    """The transaction at this lsn. most: maximum number of changes and of events; None: all."""
    limit = "" if most is None else f" LIMIT {most}"
    changes = lake.spark.sql(
        "SELECT ordinal, lsn, op, gtid, commit_ts, database, table, to_json(before) AS before,"
        " to_json(after) AS after, statement, changes"
        f" FROM {lake.names.silver_changes} WHERE tx_lsn = {tx_lsn} ORDER BY ordinal, lsn{limit}"
    )
    events = lake.spark.sql(
        "SELECT lsn, log_file, log_pos, end_log_pos, event_type, event_ts, gtid, octet_length(raw) AS bytes, crc_ok,"
        " hex(substring(raw, 1, 12)) AS begins_with"
        f" FROM {lake.names.bronze_events} WHERE tx_lsn = {tx_lsn} ORDER BY lsn{limit}"
    )
    return Transaction(tx_lsn, changes.toArrow(), events.toArrow())


def mirrored(lake: Lake, table: str) -> tuple[TableEntry, TableSchema]:
    name = lake.name_case.fold(table)
    for entry in TableRegister.read(lake):
        if name == str(entry.name) and entry.state != DROPPED and entry.mirror_id and entry.schema:
            return entry, entry.schema
    raise UsageError("usage", "there is no mirror of this table; `mirrorlake tables` lists them", table=table)


def key_parts(table: str, schema: TableSchema, key: Sequence[str]) -> list[KeyPart]:
    names = schema.primary_key
    if not names:
        raise UsageError("usage", "this table has no key; ask silver_changes with `mirrorlake sql`", table=table)
    if len(names) != len(key):
        raise UsageError("usage", f"the key of this table has {len(names)} columns: {', '.join(names)}", table=table)
    types = {column.name: spark_type(column.type, as_text=schema.as_text) for column in schema.columns}
    return [KeyPart(name, types[name], text) for name, text in zip(names, key, strict=True)]


def _last_change(lake: Lake, entry: TableEntry, parts: list[KeyPart]) -> Transaction | None:
    """The last transaction with a change of a row with this key."""
    return _transaction_where(lake, f"{named(entry.name)} AND {ROW_CHANGES} AND {in_images(parts)}")


def in_images(parts: list[KeyPart]) -> Sql:
    """The condition for changes of a row with this key, and for those that gave it the key or took it away."""
    fields = (f"try_cast({side} AS MAP<STRING, VARIANT>)" for side in ("before", "after"))
    before, after = (" AND ".join(part.in_image(image) for part in parts) for image in fields)
    return f"({before} OR {after})"


def show_trace(found: Trace, stream: TextIO) -> None:
    if found.row is not None:
        show_table(list(found.row), [list(found.row.values())], stream, "the row")
    if found.transaction is None:
        print("as a snapshot of the table has it: the log after that position has no change of this row", file=stream)
        return
    about = found.transaction.to_json()
    gtid = f"GTID {about['gtid']}, " if about["gtid"] else ""
    title = f"the transaction: {gtid}committed {about['commit_ts']}, from {about['position']} on"
    changes = found.transaction.changes.select(_SHOWN)
    show_table(_SHOWN, [list(row.values()) for row in changes.to_pylist()], stream, title)
