"""Keys that rows of a parent leave, and the places of all images of a child's rows."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mirrorlake.core.changes.images import CHANGE_COLUMNS, REMOVED, ordered_images
from mirrorlake.core.changes.parent_keys import left_keys
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from tests.support.binlog_spec import Delete, Insert, Log, Transaction, Update
from tests.support.pure_hops import read_columns, row_changes

PARENT = TableSchema("shop", "p", tuple(Column(name, ColumnType("int")) for name in ("id", "a", "b")), ("id",))


def changes(folder, *statements) -> list[pa.RecordBatch]:
    found = read_columns(row_changes(Log("mysql", [Transaction(list(statements))]), folder))
    assert tuple(found.schema.names) == CHANGE_COLUMNS
    return found.to_batches()


def row(*values: int | None) -> dict:
    return dict(zip(("id", "a", "b"), values, strict=False))


def left(batches: list[pa.RecordBatch], *key: str) -> list[tuple]:
    found = pa.Table.from_batches(left_keys(batches, {name: pa.int32() for name in key})).to_pylist()
    names = [*(f"left{i}" for i in range(len(key))), "ordinal", "moved", *(f"new{i}" for i in range(len(key)))]
    return [tuple(each[name] for name in names) for each in found]


def test_a_key_is_left_by_a_delete_and_by_an_update_that_changes_it(tmp_path):
    batches = changes(
        tmp_path,
        Insert(PARENT, [row(1, 1, 1), row(2, 2, None), row(3, 3, 3)]),
        Update(
            PARENT, [(row(1, 1, 1), row(1, 1, 9)), (row(2, 2, None), row(7, 2, 2)), (row(3, 3, 3), row(3, None, 3))]
        ),
        Delete(PARENT, [row(1, 1, 9), row(3, None, 3)]),
    )
    assert left(batches, "id") == [(2, 5, True, 7), (1, 7, False, None), (3, 8, False, None)]
    assert left(batches, "a", "b") == [
        (1, 1, 4, True, 1, 9), (3, 3, 6, True, None, 3), (1, 9, 7, False, None, None),
    ]  # fmt: skip


def test_a_column_that_an_update_does_not_log_keeps_its_value(tmp_path):
    update = Update(PARENT, [({"id": 1}, {"b": 2})])
    assert left(changes(tmp_path / "id", update), "id") == []
    with pytest.raises(RefusedError, match="lacks a column that is referenced") as refusal:
        left(changes(tmp_path / "b", update), "b")
    assert refusal.value.code == "foreign-key-cascade"


def test_every_image_of_a_key_has_its_place(tmp_path):
    batches = changes(
        tmp_path,
        Insert(PARENT, [row(1, 1, 1), row(2, 2, 2)]),
        Update(PARENT, [(row(1, 1, 1), row(1, 5, 1)), (row(2, 2, 2), row(3, 2, 2))]),
        Delete(PARENT, [row(1, 5, 1)]),
    )
    found = pa.Table.from_batches(ordered_images(batches, {"id": pa.int32(), "a": pa.int32()}, ["id"])).to_pylist()
    assert sorted(tuple(each[name] for name in ("ordinal", REMOVED, "c0", "c1")) for each in found) == [
        (1, False, 1, 1), (2, False, 2, 2), (3, False, 1, 5), (4, False, 3, 2), (4, True, 2, None), (5, True, 1, None),
    ]  # fmt: skip


def test_an_image_says_which_columns_are_logged(tmp_path):
    batches = changes(tmp_path, Insert(PARENT, [row(1, 1, 1)]), Update(PARENT, [({"id": 1}, {"b": 2})]))
    wanted = {name: pa.int32() for name in ("id", "a", "b")}
    found = pa.Table.from_batches(ordered_images(batches, wanted, ["id"], with_logged=True)).to_pylist()
    assert [tuple(each[f"logged{i}"] for i in range(3)) for each in found] == [(True,) * 3, (True, False, True)]
    assert [each["c2"] for each in found] == [1, 2]
