"""One row change of the source, and what names the row it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

INSERT, UPDATE, DELETE = "INSERT", "UPDATE", "DELETE"

Row = Mapping[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class RowChange:
    """An insert (after only), update (both images) or delete (before only) of one row.

    before has at least the key. partial: the after image of an UPDATE lacks columns, which keep their values.
    (tx_lsn, ordinal) orders the row changes of a source; ordinal counts from 0 within the transaction.
    """

    op: str
    database: str
    table: str
    before: Row | None
    after: Row | None
    tx_lsn: int
    ordinal: int
    partial: bool = False

    @property
    def place(self) -> str:
        return f"tx_lsn {self.tx_lsn} ordinal {self.ordinal}"


def identity(primary_key: tuple[str, ...], row: Row) -> Key:
    """The values that name a row, in the order of the primary key's columns."""
    return tuple(row[column] for column in primary_key)


def is_key_change(change: RowChange, primary_key: tuple[str, ...]) -> bool:
    return change.op == UPDATE and identity(primary_key, change.before) != identity(primary_key, change.after)


def split_key_change(change: RowChange, primary_key: tuple[str, ...]) -> tuple[RowChange, ...]:
    """A key change as the delete of the old identity and the insert of the new one; any other change as it is."""
    if not is_key_change(change, primary_key):
        return (change,)
    return replace(change, op=DELETE, after=None), replace(change, op=INSERT, before=None)
