"""Keys that rows of a parent table give up: there the server changes rows of child tables, mostly unlogged.

change                          key given up
DELETE                          before's key, without a new one
UPDATE, referenced key changed  before's key, for after's: the row has moved
any other                       none

A key with a NULL is referenced by no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.schema.keys import NOT_FOLLOWED
from mirrorlake.core.sql_text import Sql
from mirrorlake.core.values.variant_columns import Asked, arrow_types, locate_fields, read_fields
from mirrorlake.errors import RefusedError

MOVED = "moved"
LACKS_REFERENCED = "a row image of the parent lacks a column that is referenced"
_ORDER = {"tx_lsn": pa.int64(), "ordinal": pa.int32(), "lsn": pa.int64()}


def left_name(i: int) -> Sql:
    """Name of column i of the referenced key."""
    return f"left{i}"


def new_name(i: int) -> Sql:
    """Name of the same column of the row that has moved; NULL: the row is deleted."""
    return f"new{i}"


def left_schema(key: Mapping[str, Asked]) -> pa.Schema:
    """Schema of the keys. key: the referenced columns, by the parent's names."""
    types = list(arrow_types(key).values())
    old, new = ({name(i): kind for i, kind in enumerate(types)} for name in (left_name, new_name))
    return pa.schema({**old, **_ORDER, MOVED: pa.bool_(), **new})


def left_keys(batches: Iterable[pa.RecordBatch], key: Mapping[str, Asked]) -> Iterator[pa.RecordBatch]:
    """Find the keys. batches: ``CHANGE_COLUMNS`` of one table.

    Raises RefusedError ``foreign-key-cascade`` for a row image that lacks a referenced column.
    """
    for batch in batches:
        yield _of_batch(batch, dict(key))


def _of_batch(batch: pa.RecordBatch, key: dict[str, Asked]) -> pa.RecordBatch:
    op = batch.column("op")
    rows = pc.indices_nonzero(pc.not_equal(op, "INSERT")).to_numpy().astype(np.int64)
    if not len(rows):
        return pa.RecordBatch.from_pylist([], left_schema(key))
    is_update = pc.equal(op, "UPDATE").to_numpy(zero_copy_only=False)[rows]
    logged = np.ones(len(rows), bool)
    logged[is_update] = (locate_fields(batch.column("after"), list(key), rows[is_update])[1] >= 0).any(axis=0)
    rows, is_update = rows[logged], is_update[logged]
    buf, pos = locate_fields(batch.column("before"), list(key), rows)
    if (pos < 0).any():
        raise RefusedError(NOT_FOLLOWED, LACKS_REFERENCED)
    old = read_fields(buf, pos, key)
    new = _new_values(batch, rows, is_update, key, old)
    is_left = ~is_update
    for was, now in zip(old, new, strict=True):
        is_left |= ~pc.fill_null(pc.equal(was, now), False).to_numpy(zero_copy_only=False)
    for array in old:
        is_left &= pc.is_valid(array).to_numpy(zero_copy_only=False)
    order = [batch.column(name).take(pa.array(rows)).cast(kind) for name, kind in _ORDER.items()]
    found = pa.RecordBatch.from_arrays([*old, *order, pa.array(is_update), *new], schema=left_schema(key))
    return found.filter(pa.array(is_left))


def _new_values(
    batch: pa.RecordBatch, rows: np.ndarray, is_update: np.ndarray, key: dict[str, Asked], old: list[pa.Array]
) -> list[pa.Array]:
    """New key values of UPDATEs, else NULL. A column that is not logged keeps its value."""
    buf, pos = locate_fields(batch.column("after"), list(key), rows[is_update])
    index = np.cumsum(is_update) - 1
    spread = pa.array(index, mask=~is_update)
    return [
        pc.if_else(
            pa.array(at >= 0).take(spread),
            now.take(spread),
            pc.if_else(pa.array(is_update), was, pa.scalar(None, was.type)),
        )
        for was, now, at in zip(old, read_fields(buf, pos, key), pos, strict=True)
    ]
