"""Row changes of one table -> the row images that say what is to be done with each key.

    change                        images
    INSERT                        put(after)
    UPDATE, key unchanged         put(after)
    UPDATE, key changed           remove(before's key), put(after)
    DELETE                        remove(before's key)

The last image of a key, in the order (tx_lsn, ordinal, remove before put), is its net effect.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.values.variant_columns import decode_images

REMOVED, TX_LSN, ORDINAL, LSN = "_removed", "_tx_lsn", "_ordinal", "_lsn"
MARKS = {LSN: pa.int64(), TX_LSN: pa.int64(), ORDINAL: pa.int32(), REMOVED: pa.bool_()}
"""Columns beside the table's own. _lsn: of the event that logs the change."""

CHANGE_COLUMNS = ("lsn", "tx_lsn", "ordinal", "op", "before", "after")
"""What is read of ``silver_changes``."""


def image_schema(columns: dict[str, pa.DataType]) -> pa.Schema:
    return pa.schema({**columns, **MARKS})


def row_images(changes: pa.RecordBatch, columns: dict[str, pa.DataType], key: Sequence[str]) -> pa.Table:
    """Images of a batch with ``CHANGE_COLUMNS`` of one table; a remove carries its key, all else NULL."""
    schema = image_schema(columns)
    op = changes.column("op")
    puts = changes.filter(pc.is_in(op, pa.array(["INSERT", "UPDATE"])))
    removes = changes.filter(pc.is_in(op, pa.array(["DELETE", "UPDATE"])))
    tables = [schema.empty_table()]
    for part in _by_dictionary(puts, "after"):
        tables.append(_table(part, decode_images(part.column("after"), columns), False, schema))
    key_types = {name: columns[name] for name in key}
    for part in _by_dictionary(removes, "before"):
        keys = decode_images(part.column("before"), key_types)
        gone = _key_is_gone(part, keys, key_types)
        part, keys = part.filter(gone), [array.filter(gone) for array in keys]
        by_name = dict(zip(key, keys, strict=True))
        arrays = [by_name.get(name, pa.nulls(len(part), kind)) for name, kind in columns.items()]
        tables.append(_table(part, arrays, True, schema))
    return pa.concat_tables(tables)


def net_effect(images: pa.Table, key: Sequence[str]) -> pa.Table:
    """The last image of each key."""
    order = pc.sort_indices(images, sort_keys=[(TX_LSN, "ascending"), (ORDINAL, "ascending"), (REMOVED, "descending")])
    ordered = images.take(order).append_column("_place", pa.array(np.arange(len(images))))
    last = ordered.group_by(list(key)).aggregate([("_place", "max")])
    return ordered.take(last["_place_max"]).drop(["_place"])


def _by_dictionary(changes: pa.RecordBatch, side: str) -> list[pa.RecordBatch]:
    """Parts whose images share one dictionary of names; nearly always a single one."""
    metadata = changes.column(side).field("metadata")
    distinct = pc.unique(metadata)
    if len(distinct) == 1:
        return [changes]
    return [changes.filter(pc.equal(metadata, value)) for value in distinct]


def _key_is_gone(changes: pa.RecordBatch, keys: list[pa.Array], key_types: dict[str, pa.DataType]) -> pa.BooleanArray:
    """False where an UPDATE keeps its key."""
    gone = np.ones(len(changes), bool)
    is_update = pc.equal(changes.column("op"), "UPDATE").to_numpy(zero_copy_only=False)
    if not is_update.any():
        return pa.array(gone)
    updates = changes.filter(pa.array(is_update))
    kept = np.ones(len(updates), bool)
    before = [array.filter(pa.array(is_update)) for array in keys]
    after = _decode_any(updates.column("after"), key_types)
    for old, new in zip(before, after, strict=True):
        kept &= pc.fill_null(pc.equal(old, new), False).to_numpy(zero_copy_only=False)
    gone[np.flatnonzero(is_update)] = ~kept
    return pa.array(gone)


def _decode_any(images: pa.StructArray, columns: dict[str, pa.DataType]) -> list[pa.Array]:
    distinct = pc.unique(images.field("metadata"))
    if len(distinct) == 1:
        return decode_images(images, columns)
    rows = np.arange(len(images))
    parts, places = [], []
    for value in distinct:
        chosen = pc.equal(images.field("metadata"), value)
        parts.append(decode_images(images.filter(chosen), columns))
        places.append(rows[chosen.to_numpy(zero_copy_only=False)])
    back = pa.array(np.argsort(np.concatenate(places)))
    return [pa.concat_arrays(arrays).take(back) for arrays in zip(*parts, strict=True)]


def _table(changes: pa.RecordBatch, arrays: list[pa.Array], removed: bool, schema: pa.Schema) -> pa.Table:
    marks = [
        changes.column("lsn"),
        changes.column("tx_lsn"),
        changes.column("ordinal"),
        pa.repeat(removed, len(changes)),
    ]
    return pa.Table.from_arrays([*arrays, *marks], schema=schema)
