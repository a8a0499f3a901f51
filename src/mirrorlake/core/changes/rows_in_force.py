"""Changes of a MariaDB table with system versioning -> those of the rows that SELECT shows, which are in force.

The server logs its changes of history as changes of the same table: an UPDATE is followed by an INSERT of the old
row, a DELETE is an UPDATE of the period's end, and DELETE HISTORY is DELETEs.

before       after        change of the rows in force
in force     in force     UPDATE
in force     history      DELETE
history      in force     INSERT
history      history      none
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.values.variant_columns import decode_images
from mirrorlake.errors import RefusedError

_ENDLESS = pa.array([2**31 * 10**6 - 1, 2**32 * 10**6 - 1])
"""Microseconds since 1970, 2038-01-19 03:14:07.999999 and, since MariaDB 11.5, 2106-02-07 06:28:15.999999: the end of
a row's period while it is in force."""
_END_TYPE = pa.timestamp("us", "UTC")


def rows_in_force(batches: Iterable[pa.RecordBatch], end_column: str | None) -> Iterable[pa.RecordBatch]:
    """Convert changes. batches: ``CHANGE_COLUMNS`` of one table. end_column: of the period; None: the table has no
    history.

    Raises RefusedError ``definition-mismatch`` for a change without the end of the period.
    """
    return (_of_batch(batch, end_column) for batch in batches) if end_column else batches


def _of_batch(batch: pa.RecordBatch, end_column: str) -> pa.RecordBatch:
    op = batch.column("op")
    has_before = pc.not_equal(op, "INSERT").to_numpy(zero_copy_only=False)
    has_after = pc.not_equal(op, "DELETE").to_numpy(zero_copy_only=False)
    before, after = (
        _ends(batch.column(side), end_column, has) for side, has in (("before", has_before), ("after", has_after))
    )
    after = pc.if_else(pa.array(has_after & has_before), pc.coalesce(after, before), after)  # not logged: unchanged
    if (pc.is_valid(before).to_numpy(zero_copy_only=False) != has_before).any() or (
        pc.is_valid(after).to_numpy(zero_copy_only=False) != has_after
    ).any():
        raise RefusedError("definition-mismatch", f"a change of a row without {end_column}, the end of its period")
    was, is_now = (pc.is_in(ends, _ENDLESS).to_numpy(zero_copy_only=False) for ends in (before, after))
    names = np.select([was & is_now, was, is_now], ["UPDATE", "DELETE", "INSERT"], "")
    changed = batch.set_column(batch.schema.get_field_index("op"), "op", pa.array(names, pa.string()).cast(op.type))
    return changed.filter(pa.array(was | is_now))


def _ends(images: pa.StructArray, column: str, has: np.ndarray) -> pa.Array:
    """Ends of periods in microseconds, NULL for an image that is missing or lacks the column."""
    rows = np.flatnonzero(has)
    found = decode_images(images, {column: _END_TYPE}, rows)[0].cast(pa.int64())
    indexes = np.full(len(has), -1, np.int64)
    indexes[rows] = np.arange(len(rows))
    return found.take(pa.array(indexes, mask=~has))
