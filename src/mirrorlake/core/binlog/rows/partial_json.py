"""After images of PARTIAL_UPDATE_ROWS (binlog_row_value_options = PARTIAL_JSON) -> plain ones.

Such an image (MySQL ``rows_event.h``) begins with value options, a length-encoded number. 0: the rest is a plain row
image. 1: a bitmap follows with one bit per JSON column of the table, logged or not, and in the row image after it the
value of a column whose bit is set is a list of differences from the column's old value, after their length in bytes.
With no difference the value is the old one. With this option MySQL logs every UPDATE of any table in this form.

Old values are those of the row's before image. MINIMAL row images leave them out, except for tables without a key. If
a BEFORE UPDATE trigger sets a column that the statement changes in part, MySQL 9.7 logs only the statement's
differences: the new value of such a column is not known.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.binlog.rows.row_image import is_set, n_set
from mirrorlake.core.kernels.compiling import call_at
from mirrorlake.core.kernels.memory import copy_at, item_i64, kernel, peek_u8, peek_u32, poke_u32, poke_u64
from mirrorlake.core.values.column_kinds import STORED_BYTES, TRIGGER_MAY_SET, bytes_of
from mirrorlake.core.values.column_value import KIND, LAYOUT_FIELDS
from mirrorlake.core.values.json_patch import put_patched
from mirrorlake.core.values.kinds import JSON, MALFORMED, NO_ROOM, UTF8_TEXT

NO_OLD_VALUE, MAYBE_BY_TRIGGER = np.int64(-3), np.int64(-4)
"""Instead of an address: the old value of a JSON column is not logged; its new value may be a trigger's."""

_N_COLUMNS, _LAYOUT, _BEFORE, _AFTER, _FRAME_ITEMS = range(5)


@kernel
def plain_image_at(p, end, before_image, slot, before, after, slots, columns, expander, o, room):
    """The after image at ``p`` as a plain one. before, after: bitmaps of the logged columns; expander: the address of
    ``plain_after_image``; ``o .. room``: free output, the upper half of which it may take.

    Returns (where the plain image is, MALFORMED, NO_ROOM, NO_OLD_VALUE or MAYBE_BY_TRIGGER; where it ends, or what it
    is in ends; the new end of the free output; address after the image at ``p``, 0: after the plain one).
    """
    options = np.int64(peek_u8(p)) if p < end else np.int64(MALFORMED)
    if options == 0:
        return p + 1, end, room, np.int64(0)
    if options != 1:
        return np.int64(MALFORMED), end, room, np.int64(0)
    frame = o + ((room - o) >> 1)
    plain = frame + 8 * _FRAME_ITEMS
    if plain > room:
        return np.int64(NO_ROOM), end, room, np.int64(0)
    poke_u64(frame + 8 * _N_COLUMNS, np.uint64(item_i64(slots.n_columns, slot)))
    poke_u64(frame + 8 * _LAYOUT, np.uint64(columns.layout + 8 * LAYOUT_FIELDS * item_i64(slots.first_column, slot)))
    poke_u64(frame + 8 * _BEFORE, np.uint64(before))
    poke_u64(frame + 8 * _AFTER, np.uint64(after))
    behind, plain_end = call_at(expander, p + 1, end, before_image, frame, plain, room)
    return (plain if behind > 0 else behind), plain_end, frame, behind


@kernel
def plain_after_image(p, end, before_image, frame, o, room):
    """Write the plain image of the one whose bitmap of differing columns is at ``p``.

    frame: int64[4]: number of columns, address of the first one's layout, bitmaps of logged columns before and after.
    Returns (address after the image, MALFORMED, NO_ROOM, NO_OLD_VALUE or MAYBE_BY_TRIGGER; address after the plain
    one).
    """
    n_columns, layout = item_i64(frame, _N_COLUMNS), item_i64(frame, _LAYOUT)
    before, after = item_i64(frame, _BEFORE), item_i64(frame, _AFTER)
    has_differences, nulls = p, p + ((_n_json(n_columns, layout) + 7) >> 3)
    p, o = _put_copy(nulls, (n_set(after, n_columns) + 7) >> 3, end, o, room)
    if p < 0:
        return p, o
    old = before_image + ((n_set(before, n_columns) + 7) >> 3)
    n_json, n_before, n_after = 0, 0, 0
    for c in range(n_columns):
        column = layout + c * (8 * LAYOUT_FIELDS)
        differs = False
        if item_i64(column, KIND) == JSON:
            differs = is_set(has_differences, n_json)
            n_json += 1
        old_value, n_old = NO_OLD_VALUE, np.int64(0)
        if is_set(before, c):
            old_value, n_old = _old_value(before_image, n_before, old, end, column)
            n_before += 1
            old += n_old
        if not is_set(after, c):
            continue
        n_after += 1
        if is_set(nulls, n_after - 1):
            continue
        if differs:
            p, o = _put_patched(p, end, old_value, n_old, column, o, room)
        else:
            p, o = _put_copy(p, _stored_bytes(p, end, column), end, o, room)
        if p < 0:
            return p, o
    return p, o


@kernel
def _old_value(nulls, n, p, end, column):
    """Return (address, bytes) of the n-th logged value of a before image, which is already decoded; MALFORMED: NULL."""
    if is_set(nulls, n):
        return MALFORMED, np.int64(0)
    n_bytes = _stored_bytes(p, end, column)
    return (p, n_bytes) if n_bytes >= 0 else (MALFORMED, np.int64(0))


@kernel
def _n_json(n_columns, layout):
    found = 0
    for c in range(n_columns):
        found += item_i64(layout + c * (8 * LAYOUT_FIELDS), KIND) == JSON
    return found


@kernel
def _stored_bytes(p, end, column):
    """Number of bytes of the value at ``p`` with its length, or MALFORMED."""
    n_bytes = item_i64(column, STORED_BYTES)
    if p + n_bytes <= end and item_i64(column, KIND) >= UTF8_TEXT:
        value, n_value = bytes_of(p, end, column)
        return value + n_value - p if value > 0 else MALFORMED
    return n_bytes if p + n_bytes <= end else MALFORMED


@kernel
def _put_copy(p, n_bytes, end, o, room):
    if n_bytes < 0 or p + n_bytes > end:
        return MALFORMED, o
    if o + n_bytes > room:
        return NO_ROOM, o
    copy_at(o, p, n_bytes)
    return p + n_bytes, o + n_bytes


@kernel
def _put_patched(p, end, old_value, n_old, column, o, room):
    """old_value: address of a stored value of ``n_old`` bytes, MALFORMED for NULL, or NO_OLD_VALUE."""
    prefix = item_i64(column, STORED_BYTES)
    if p + 4 > end:
        return MALFORMED, o
    n_diff = np.int64(peek_u32(p))
    p += 4
    if n_diff > end - p:
        return MALFORMED, o
    if n_diff and item_i64(column, TRIGGER_MAY_SET):
        return MAYBE_BY_TRIGGER, o
    if old_value < 0 or n_old < prefix:
        return (old_value if old_value < 0 else MALFORMED), o
    value = o + prefix
    value_end = put_patched(old_value + prefix, n_old - prefix, p, p + n_diff, value, room)
    if value_end < 0:
        return value_end, o
    poke_u32(o, np.uint32(value_end - value))
    return p + n_diff, value_end
