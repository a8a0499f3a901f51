"""Changes of a table with system versioning as changes of the rows that SELECT shows."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from mirrorlake.core.changes.images import CHANGE_COLUMNS
from mirrorlake.core.changes.rows_in_force import rows_in_force
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values.variant_columns import decode_images
from mirrorlake.errors import RefusedError
from tests.support.binlog_spec import Delete, Insert, Log, Row, Transaction, Update
from tests.support.pure_hops import read_columns, row_changes

VERSIONED = TableSchema(
    "shop", "t", (Column("id", ColumnType("int")), Column("row_end", ColumnType("timestamp", fraction_digits=6))), ()
)
ENDLESS = dt.datetime(2038, 1, 19, 3, 14, 7, 999999, dt.timezone.utc)
OVER = dt.datetime(2024, 2, 29, 12, 0, 0, 5, dt.timezone.utc)


def row(number: int, end: dt.datetime) -> Row:
    return {"id": number, "row_end": end}


def images(batch: pa.RecordBatch, side: str, *without: str) -> list[int | None]:
    """The ids of one side, None where there is no such image."""
    has = ~np.isin(np.array(batch.column("op")), without)
    ids = iter(decode_images(batch.column(side), {"id": pa.int32()}, np.flatnonzero(has))[0].to_pylist())
    return [next(ids) if there else None for there in has]


def in_force(folder, *statements, end: str | None = "row_end") -> list[tuple]:
    changes = read_columns(row_changes(Log("mysql", [Transaction(list(statements))]), folder))
    found = []
    for batch in rows_in_force(changes.to_batches(), end):
        assert batch.schema.names == list(CHANGE_COLUMNS)
        ops = batch.column("op").to_pylist()
        found += zip(ops, images(batch, "before", "INSERT"), images(batch, "after", "DELETE"), strict=True)
    return found


def test_each_kind_of_change(tmp_path):
    now, history = (lambda n: row(n, ENDLESS)), (lambda n: row(n, OVER))
    statements = [
        Insert(VERSIONED, [now(1), now(2), history(3)]),
        Update(VERSIONED, [(now(1), now(4)), (now(2), history(2)), (history(3), now(3)), (history(3), history(5))]),
        Insert(VERSIONED, [history(1)]),
        Delete(VERSIONED, [now(4), history(1)]),
    ]
    assert in_force(tmp_path / "a", *statements) == [
        ("INSERT", None, 1), ("INSERT", None, 2), ("UPDATE", 1, 4), ("DELETE", 2, None), ("INSERT", None, 3),
        ("DELETE", 4, None),
    ]  # fmt: skip
    assert len(in_force(tmp_path / "b", *statements, end=None)) == 10


def test_an_after_image_without_the_end_has_it_as_before(tmp_path):
    statements = [
        Insert(VERSIONED, [row(1, ENDLESS)]),
        Update(VERSIONED, [(row(1, ENDLESS), {"id": 2})]),
        Update(VERSIONED, [(row(1, OVER), {"id": 3})]),
    ]
    assert in_force(tmp_path, *statements) == [("INSERT", None, 1), ("UPDATE", 1, 2)]


def test_a_change_without_the_end_is_refused(tmp_path):
    with pytest.raises(RefusedError, match="without row_end, the end of its period"):
        in_force(tmp_path, Insert(VERSIONED, [{"id": 1, "row_end": None}]))
