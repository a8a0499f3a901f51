"""Row changes of one table -> the net effect on each key.

    change                        images
    INSERT                        put(after)
    UPDATE, key unchanged         put(after)
    UPDATE, key changed           remove(before's key), put(after)
    DELETE                        remove(before's key)

The last image of a key, in the order (tx_lsn, ordinal, remove before put), is its net effect. Only the keys of all
images are decoded, and the whole row of the last ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.sql_text import Sql
from mirrorlake.core.values.variant_columns import (
    Asked,
    arrow_types,
    decode_images,
    decode_keys,
    locate_fields,
    read_fields,
    require_valid_keys,
)


def mark(name: Sql) -> Sql:
    """Name of a column of ours between those of a source, which have at most 64 characters."""
    return f"_{name}".ljust(65, "_")


LSN, REMOVED = "_lsn", mark("removed")
MARKS = {LSN: pa.int64(), REMOVED: pa.bool_()}
"""Columns besides the table's own. LSN: of the event that logs the change. REMOVED: the key is gone."""

CHANGE_COLUMNS = ("lsn", "tx_lsn", "ordinal", "op", "before", "after")
"""Columns that are read of ``silver_changes``."""

_ROW, _RANK = mark("row"), mark("rank")
_ORDER = (mark("tx_lsn"), mark("ordinal"), REMOVED)


def image_schema(columns: dict[str, Asked]) -> pa.Schema:
    return pa.schema({**arrow_types(columns), **MARKS})


def net_effect(
    batches: Iterable[pa.RecordBatch], columns: dict[str, Asked], key: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """The last image of each key, in batches of ``image_schema``; a removed key has NULL in all other columns.

    batches: ``CHANGE_COLUMNS`` of one table, in any order; they are read twice, the second time for the last images.
    """
    key_types = {name: columns[name] for name in key}
    images = [_keyed_images(batch, key_types) for batch in batches]
    if not images:
        return
    last = _last_of_each_key(pa.concat_tables(images), key)
    first = 0
    for batch, keyed in zip(batches, images, strict=True):
        chosen = keyed.take(last[np.searchsorted(last, first) : np.searchsorted(last, first + len(keyed))] - first)
        yield _decoded(batch, chosen, columns, key)
        first += len(keyed)


def inserted_rows(batch: pa.RecordBatch, columns: dict[str, Asked], key: Sequence[str]) -> pa.RecordBatch:
    """The net effect of INSERTs alone: no key was removed, so no key occurs twice."""
    rows = pc.indices_nonzero(pc.equal(batch.column("op"), "INSERT")).to_numpy().astype(np.int64)
    marks = [batch.column("lsn").take(pa.array(rows)), pa.repeat(False, len(rows))]
    invalid: Counter[str] = Counter()
    arrays = decode_images(batch.column("after"), columns, rows, invalid)
    require_valid_keys(invalid, key)
    return pa.RecordBatch.from_arrays([*arrays, *marks], schema=image_schema(columns))


def alias(index: int) -> Sql:
    """Name of a column by its index, because a source may use any name."""
    return f"c{index}"


def logged_name(index: int) -> Sql:
    """Name of the flag column: is the column logged?"""
    return f"logged{index}"


def ordered_schema(columns: dict[str, Asked], *, with_logged: bool) -> pa.Schema:
    found = {alias(i): kind for i, kind in enumerate(arrow_types(columns).values())}
    marks = {logged_name(i): pa.bool_() for i in range(len(columns))} if with_logged else {}
    return pa.schema({**found, **marks, "tx_lsn": pa.int64(), "ordinal": pa.int32(), REMOVED: pa.bool_()})


def ordered_images(
    batches: Iterable[pa.RecordBatch], columns: dict[str, Asked], key: Sequence[str], *, with_logged: bool = False
) -> Iterator[pa.RecordBatch]:
    """Every image of each key, not only the last, and its order. batches: as in ``net_effect``.

    columns: those wanted, the key's first; for a removed key all others are NULL. with_logged: also return which
    are logged.
    """
    schema = ordered_schema(columns, with_logged=with_logged)
    for batch in batches:
        keyed = _keyed_images(batch, {name: columns[name] for name in key})
        n_puts, n = int(pc.sum(pc.invert(keyed[REMOVED])).as_py() or 0), len(keyed)
        rest = {name: asked for name, asked in columns.items() if name not in key}
        buf, pos = locate_fields(batch.column("after"), list(rest), keyed[_ROW].to_numpy()[:n_puts])
        found = [pa.concat_arrays([a, pa.nulls(n - n_puts, a.type)]) for a in read_fields(buf, pos, rest)]
        logged = [np.ones(n, bool)] * len(key) + [np.concatenate([at >= 0, np.ones(n - n_puts, bool)]) for at in pos]
        arrays = [*(keyed[name] for name in key), *found, *(map(pa.array, logged) if with_logged else ())]
        arrays += [keyed[name] for name in _ORDER]
        yield from pa.Table.from_arrays(arrays, names=schema.names).cast(schema).combine_chunks().to_batches()


def with_shared_names(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same changes, in which images with the same names hold them once: they may be longer than all values.

    Nothing of the batch stays in memory for them: its columns may be parts of one buffer.
    """
    for side in ("before", "after"):
        images = batch.column(side)
        arrays = [images.field("value"), images.field("metadata").dictionary_encode()]
        shared = pa.StructArray.from_arrays(arrays, ["value", "metadata"], mask=images.is_null())
        batch = batch.set_column(batch.schema.get_field_index(side), side, shared)
    return pa.concat_batches([batch, batch.slice(0, 0)])


def _keyed_images(changes: pa.RecordBatch, key_types: dict[str, Asked]) -> pa.Table:
    """Key, order and row of each image of a batch; puts first."""
    op = changes.column("op")
    is_update = pc.equal(op, "UPDATE").to_numpy(zero_copy_only=False)
    puts = np.flatnonzero(pc.equal(op, "INSERT").to_numpy(zero_copy_only=False) | is_update)
    removes = np.flatnonzero(pc.equal(op, "DELETE").to_numpy(zero_copy_only=False) | is_update)
    put_keys = _keys(changes.column("after"), puts, key_types)
    removed_keys = _keys(changes.column("before"), removes, key_types)
    gone = _is_gone(is_update, puts, put_keys, removes, removed_keys)
    removes, removed_keys = removes[gone], [array.filter(pa.array(gone)) for array in removed_keys]
    rows = np.concatenate([puts, removes])
    arrays = [pa.concat_arrays(pair) for pair in zip(put_keys, removed_keys, strict=True)]
    order = [changes.column(name).take(pa.array(rows)) for name in ("tx_lsn", "ordinal")]
    removed = pa.array(np.arange(len(rows)) >= len(puts))
    return pa.Table.from_arrays([*arrays, *order, removed, pa.array(rows)], names=[*key_types, *_ORDER, _ROW])


def _keys(images: pa.StructArray, rows: np.ndarray, key_types: dict[str, Asked]) -> list[pa.Array]:
    arrays = decode_keys(images, key_types, rows)
    return [
        pc.add(array, pa.scalar(0, array.type)) if pa.types.is_floating(array.type) else array  # -0.0 is 0.0
        for array in arrays
    ]


def _is_gone(
    is_update: np.ndarray, puts: np.ndarray, put_keys: list[pa.Array], removes: np.ndarray, removed_keys: list[pa.Array]
) -> np.ndarray:
    """Is each remove a real one? False for an UPDATE that keeps its key."""
    gone, of_update = np.ones(len(removes), bool), is_update[removes]
    kept = np.ones(int(of_update.sum()), bool)
    for old, new in zip(removed_keys, put_keys, strict=True):
        same = pc.equal(old.filter(pa.array(of_update)), new.filter(pa.array(is_update[puts])))
        kept &= pc.fill_null(same, False).to_numpy(zero_copy_only=False)
    gone[of_update] = ~kept
    return gone


def _last_of_each_key(images: pa.Table, key: Sequence[str]) -> np.ndarray:
    """Indexes of the images that are the last of their key, ascending."""
    tx_lsn, ordinal, removed = (images[name].to_numpy() for name in _ORDER)
    order = np.lexsort((~removed, ordinal, tx_lsn))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    by = [alias(i) for i in range(len(key))]  # Arrow takes a name that begins with a dot for a path
    keyed = images.select(list(key)).rename_columns(by).append_column(_RANK, pa.array(rank))
    newest = keyed.group_by(by).aggregate([(_RANK, "max")])
    return np.sort(order[newest[f"{_RANK}_max"].to_numpy()])


def _decoded(
    changes: pa.RecordBatch, images: pa.Table, columns: dict[str, Asked], key: Sequence[str]
) -> pa.RecordBatch:
    """Decode the whole rows of some images of a batch."""
    rows, removed = images[_ROW].to_numpy(), images[REMOVED].to_numpy()
    puts, removes = rows[~removed], rows[removed]
    whole = decode_images(changes.column("after"), columns, puts)
    keys = dict(zip(key, decode_images(changes.column("before"), {k: columns[k] for k in key}, removes), strict=True))
    arrays = [
        pa.concat_arrays([array, keys.get(name, pa.nulls(len(removes), array.type))])
        for name, array in zip(columns, whole, strict=True)
    ]
    lsn = changes.column("lsn").take(pa.array(np.concatenate([puts, removes])))
    is_removed = pa.array(np.arange(len(rows)) >= len(puts))
    return pa.RecordBatch.from_arrays([*arrays, lsn, is_removed], schema=image_schema(columns))
