"""Keys that rows of a parent table leave: where the server changes rows of child tables, and mostly logs nothing.

change                          left
DELETE                          before's key, for no other
UPDATE, referenced key changed  before's key, for after's: the row has moved
any other                       none

A key with a NULL is referenced by no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.values.variant_columns import Asked, arrow_types, locate_fields, read_fields
from mirrorlake.errors import RefusedError

MOVED = "moved"
LACKS_REFERENCED = "a row image of the parent lacks a column that is referenced"
_PLACE = {"tx_lsn": pa.int64(), "ordinal": pa.int32(), "lsn": pa.int64()}


def left_name(i: int) -> str:
    """Of column i of the referenced key."""
    return f"left{i}"


def left_schema(key: Mapping[str, Asked]) -> pa.Schema:
    """key: the referenced columns, by the parent's names."""
    names = (left_name(i) for i in range(len(key)))
    return pa.schema({**dict(zip(names, arrow_types(key).values(), strict=True)), **_PLACE, MOVED: pa.bool_()})


def left_keys(batches: Iterable[pa.RecordBatch], key: Mapping[str, Asked]) -> Iterator[pa.RecordBatch]:
    """batches: ``CHANGE_COLUMNS`` of one table.

    Raises RefusedError ``foreign-key-cascade`` for a row image that lacks a referenced column.
    """
    for batch in batches:
        yield _of_batch(batch, dict(key))


def _of_batch(batch: pa.RecordBatch, key: dict[str, Asked]) -> pa.RecordBatch:
    op = batch.column("op")
    rows = pc.indices_nonzero(pc.not_equal(op, "INSERT")).to_numpy().astype(np.int64)
    buf, pos = locate_fields(batch.column("before"), list(key), rows)
    if (pos < 0).any():
        raise RefusedError("foreign-key-cascade", LACKS_REFERENCED)
    old = read_fields(buf, pos, key)
    is_update = pc.equal(op, "UPDATE").to_numpy(zero_copy_only=False)[rows]
    is_left = ~is_update
    is_left[is_update] = _is_moved(batch, rows[is_update], key, [array.filter(pa.array(is_update)) for array in old])
    for array in old:
        is_left &= pc.is_valid(array).to_numpy(zero_copy_only=False)
    place = [batch.column(name).take(pa.array(rows)).cast(kind) for name, kind in _PLACE.items()]
    found = pa.RecordBatch.from_arrays([*old, *place, pa.array(is_update)], schema=left_schema(key))
    return found.filter(pa.array(is_left))


def _is_moved(batch: pa.RecordBatch, rows: np.ndarray, key: dict[str, Asked], old: list[pa.Array]) -> np.ndarray:
    """Of UPDATEs. A column that is not logged keeps its value."""
    moved = np.zeros(len(rows), bool)
    if len(rows):
        buf, pos = locate_fields(batch.column("after"), list(key), rows)
        for was, now, place in zip(old, read_fields(buf, pos, key), pos, strict=True):
            is_same = pc.fill_null(pc.equal(was, now), False).to_numpy(zero_copy_only=False)
            moved |= ~is_same & (place >= 0)
    return moved
