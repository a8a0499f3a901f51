"""The net effect of row changes whose after images lack columns.

A put (INSERT or UPDATE) continues the version of the row that it changed: the put before it under the key of its
before image or, if the changes have none, the row that the mirror has under that key. A value that a put lacks comes
from the nearest put before it that has it, or else from the mirror:

    changes                                     put under the key      logged   from
    UPDATE 1: a                                 a                      only a   the mirror's row 1
    INSERT 1; UPDATE 1: a                       a, the rest inserted   all      -
    UPDATE 1: b; UPDATE 1 -> 2: a               a and b, under 2       a, b     the mirror's row 1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.changes.images import MARKS, mark, with_shared_names
from mirrorlake.core.kernels.memory import kernel
from mirrorlake.core.sql_text import Sql
from mirrorlake.core.values.variant_columns import Asked, arrow_types, decode_keys, locate_fields, read_fields
from mirrorlake.errors import InternalError

LOGGED = mark("logged_columns")
"""One character for each of the table's columns, 1: its value is logged. NULL: all are."""

_INSERT, _UPDATE, _DELETE = range(3)
_UNTOUCHED, _GONE = -1, -2


def base_column(i: int) -> Sql:
    """Name of column i of the key under which the mirror has the row that a put continues; NULL if ``LOGGED`` is."""
    return mark(f"base{i}")


def partial_schema(columns: dict[str, Asked], key: Sequence[str]) -> pa.Schema:
    types = arrow_types(columns)
    bases = {base_column(i): types[name] for i, name in enumerate(key)}
    return pa.schema({**types, **MARKS, LOGGED: pa.string(), **bases})


def partial_net_effect(batches: Iterable[pa.RecordBatch], columns: dict[str, Asked], key: Sequence[str]) -> pa.Table:
    """The last image of each key in ``partial_schema``; a removed key has NULL in all other columns.

    batches: ``CHANGE_COLUMNS`` of one table, in any order.
    Raises InternalError for an UPDATE or DELETE of a removed key.
    """
    changes = pa.Table.from_batches(map(with_shared_names, batches)).combine_chunks()
    schema = partial_schema(columns, key)
    if not len(changes):
        return schema.empty_table()
    changes = changes.take(pc.sort_indices(changes, [("tx_lsn", "ascending"), ("ordinal", "ascending")]))
    batch = changes.combine_chunks().to_batches()[0]
    op = pc.index_in(batch.column("op"), pa.array(["INSERT", "UPDATE", "DELETE"])).to_numpy().astype(np.int64)
    puts, removes = np.flatnonzero(op != _DELETE), np.flatnonzero(op != _INSERT)
    key_types = {name: columns[name] for name in key}
    new_keys = decode_keys(batch.column("after"), key_types, puts)
    old_keys = decode_keys(batch.column("before"), key_types, removes)
    ids = _key_ids([pa.concat_arrays(pair) for pair in zip(new_keys, old_keys, strict=True)])
    n = len(batch)
    after_id, before_id = np.full(n, -1), np.full(n, -1)
    after_id[puts], before_id[removes] = ids[: len(puts)], ids[len(puts) :]
    previous, base, last = np.full(n, -1), np.full(n, -1), np.full(int(ids.max()) + 1, _UNTOUCHED)
    removed_by = np.full(len(last), -1)
    impossible = _follow(op, before_id, after_id, previous, base, last, removed_by)
    if impossible >= 0:
        change = f"tx_lsn {batch.column('tx_lsn')[impossible]} ordinal {batch.column('ordinal')[impossible]}"
        raise InternalError("internal", f"the change at {change} is of a row that is gone")
    kept, gone = last[last >= 0], removed_by[last == _GONE]
    put = _put_rows(batch, columns, puts, kept, previous, base, old_keys, removes)
    keys = {name: array.take(pa.array(_indexes(removes, gone))) for name, array in zip(key, old_keys, strict=True)}
    absent = [keys.get(name, pa.nulls(len(gone), kind)) for name, kind in arrow_types(columns).items()]
    rest = [pa.nulls(len(gone), field.type) for field in list(schema)[len(columns) + len(MARKS) :]]
    lsn = [batch.column("lsn").take(pa.array(rows)) for rows in (kept, gone)]
    parts = [
        [*put[: len(columns)], lsn[0], pa.repeat(False, len(kept)), *put[len(columns) :]],
        [*absent, lsn[1], pa.repeat(True, len(gone)), *rest],
    ]
    return pa.concat_tables(pa.Table.from_arrays(arrays, schema=schema) for arrays in parts)


def _key_ids(columns: list[pa.Array]) -> np.ndarray:
    """int64 per row: equal for equal keys."""
    ids = np.zeros(len(columns[0]), np.int64)
    for array in columns:
        if pa.types.is_floating(array.type):
            array = pc.add(array, pa.scalar(0, array.type))  # -0.0 is 0.0
        encoded = array.dictionary_encode()
        pairs = ids * len(encoded.dictionary) + encoded.indices.to_numpy().astype(np.int64)
        ids = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return ids


@kernel
def _follow(op, before_id, after_id, previous, base, last, removed_by):
    """Go through the changes in order. Returns an impossible change, or -1.

    previous[i]: the put that put i continues, -1 none; base[i]: the change whose before key names the mirror's row
    that put i continues, -1 none; last[k]: the last put of a key; removed_by[k]: the change that removed it.
    """
    for i in range(len(op)):
        old, new = before_id[i], after_id[i]
        if op[i] != _INSERT:
            if last[old] == _GONE:
                return i
            if op[i] == _UPDATE:
                previous[i] = last[old]
                if last[old] == _UNTOUCHED:
                    base[i] = i
            if old != new:
                last[old], removed_by[old] = _GONE, i
        if op[i] != _DELETE:
            last[new] = i
    return -1


@kernel
def _resolve(pos, put_of, previous, base, kept, found, base_of):
    """Fill found[c, r]: the start of column c of the row after put ``kept[r]``, -1: in the mirror's row, which
    ``base_of[r]`` names. put_of[i]: the index of put i in ``pos``."""
    for r in range(len(kept)):
        n_missing = 0
        for c in range(found.shape[0]):
            i = kept[r]
            while pos[c, put_of[i]] < 0 and previous[i] >= 0:
                i = previous[i]
            found[c, r] = pos[c, put_of[i]]
            n_missing += found[c, r] < 0
        i = kept[r]
        while previous[i] >= 0:
            i = previous[i]
        base_of[r] = base[i] if n_missing else -1


def _put_rows(
    batch: pa.RecordBatch, columns: dict[str, Asked], puts: np.ndarray, kept: np.ndarray, previous: np.ndarray,
    base: np.ndarray, old_keys: list[pa.Array], removes: np.ndarray,
) -> list[pa.Array]:  # fmt: skip
    """The table's columns, ``LOGGED`` and the bases of the rows after some puts."""
    if not len(kept):
        return [
            pa.nulls(0, kind) for kind in (*arrow_types(columns).values(), pa.string(), *(key.type for key in old_keys))
        ]
    buf, pos = locate_fields(batch.column("after"), list(columns), puts)
    found, base_of = np.empty((len(columns), len(kept)), np.int64), np.empty(len(kept), np.int64)
    _resolve(pos, _inverse(puts, len(batch)), previous, base, kept, found, base_of)
    has_base = base_of >= 0
    marks = np.where(found.T >= 0, "1", "0")
    logged = pa.array(["".join(row) if incomplete else None for row, incomplete in zip(marks, has_base, strict=True)])
    indexes = np.where(has_base, _inverse(removes, len(batch))[base_of], 0)
    bases = [key.take(pa.array(indexes, mask=~has_base)) for key in old_keys]
    if not len(removes):
        bases = [pa.nulls(len(kept), key.type) for key in old_keys]
    return [*read_fields(buf, found, columns), logged.cast(pa.string()), *bases]


def _inverse(rows: np.ndarray, n: int) -> np.ndarray:
    """The index of each row among ``rows``, -1: it is not there."""
    indexes = np.full(n, -1)
    indexes[rows] = np.arange(len(rows))
    return indexes


def _indexes(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    return np.searchsorted(rows, wanted)
