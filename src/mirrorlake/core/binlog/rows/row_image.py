"""One row image -> one VARIANT object: kernels for images with all columns logged and for those with some.

A row image: a bitmap of NULLs over the logged columns, then the values that are not NULL. The object has a field for
each column whose value the log has or implies:

    image                what is logged          columns not logged
    INSERT, after        given columns           stored their default: a field, if that is a known constant
    UPDATE, before       those that identify it  no field
    UPDATE, after        given columns           unchanged: a field if the before image has one
    DELETE, before       those that identify it  no field

MINIMAL images log that much, NOBLOB ones all except BLOB and TEXT columns that were not given, FULL ones everything
(binlog_row_image; measured on MySQL 9.7 and MariaDB 10.11). MariaDB leaves generated columns out: 10.11 virtual ones of
MINIMAL images, 11.8 every one of UPDATE and DELETE, of FULL images too. Such a column has no field; a hidden one has
none, either.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.binlog.rows.incomplete_layout import IS_GENERATED, IS_HIDDEN, IS_KEY, MAYBE_GENERATED, NO_DEFAULT
from mirrorlake.core.kernels.memory import copy_at, item_i64, kernel, peek_u8, poke_u8, poke_u16, poke_u32, poke_u64
from mirrorlake.core.values.column_value import is_invalid, put_value
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM
from mirrorlake.core.values.variant import LARGE_OBJECT, SMALL_OBJECT, put_null

COMPLETE, INCOMPLETE, LACKS_GENERATED, MAYBE_REPLACE = 0, 1, 2, 4
"""Bits that ``completeness`` returns for a row event: an UPDATE leaves some columns unchanged; generated columns
are not logged; the UPDATE may be a REPLACE. The last two occur in MariaDB's log only."""
NO_KEY, NO_INSERTED_VALUE, NO_NEW_VALUE = 8, 9, 10
"""Reasons for refusing the event instead of bits, the last one for a flaw of MariaDB's log."""


@kernel
def is_set(bitmap, i):
    return peek_u8(bitmap + (i >> 3)) >> np.uint8(i & 7) & np.uint8(1) != 0


@kernel
def all_set(bitmap, n):
    for k in range(n >> 3):
        if peek_u8(bitmap + k) != 255:
            return False
    for i in range(n & ~7, n):
        if not is_set(bitmap, i):
            return False
    return True


@kernel
def put_whole_image(p, end, slot, slots, columns, o, room):
    """Encode a row image with all columns logged.

    Returns (address read, MALFORMED or NO_ROOM; address written; number of invalid values).
    """
    first, n_columns = item_i64(slots.first_column, slot), item_i64(slots.n_columns, slot)
    rest_bound, n_header = item_i64(slots.row_bound, slot), item_i64(slots.header_bytes, slot)
    nulls, n_invalid = p, np.int64(0)
    p += (n_columns + 7) >> 3
    if p > end:
        return MALFORMED, o, n_invalid
    if o + rest_bound > room:
        return NO_ROOM, o, n_invalid
    copy_at(o, slots.headers + item_i64(slots.header_start, slot), n_header)
    offsets = o + n_header
    values = offsets + 4 * (n_columns + 1)
    o = values
    for c in range(n_columns):
        poke_u32(offsets + 4 * item_i64(columns.rank, first + c), np.uint32(o - values))
        if is_set(nulls, c):
            o = put_null(o)
            continue
        written = o
        p, o = put_value(p, end, columns, first + c, o, room - rest_bound)
        if p < 0:
            return p, o, n_invalid
        n_invalid += is_invalid(written, columns, first + c)
    poke_u32(offsets + 4 * n_columns, np.uint32(o - values))
    return p, o, n_invalid


@kernel
def n_set(bitmap, n):
    found = 0
    for i in range(n):
        found += is_set(bitmap, i)
    return found


@kernel
def _put_fields(o, first, n_columns, logged, known, takes_defaults, partial):
    """Write an object's header for the columns it has; return the start of its field offsets, and the number of fields.

    ``partial.field_index[c]``: the index of a column's field, -1 none.
    """
    is_large = n_columns > 255
    ids = o + (5 if is_large else 2)
    n_fields = np.int64(0)
    for rank in range(n_columns):
        c = item_i64(partial.by_rank, first + rank)
        has_field, role = is_set(logged, c), item_i64(partial.role, first + c)
        if not has_field and role & IS_GENERATED == 0:
            has_field = takes_defaults or known != 0 and is_set(known, c)
        has_field &= role & IS_HIDDEN == 0
        poke_u64(partial.field_index + 8 * (first + c), n_fields if has_field else -1)
        if not has_field:
            continue
        if is_large:
            poke_u16(ids + 2 * n_fields, np.uint16(rank))
        else:
            poke_u8(ids + n_fields, np.uint8(rank))
        n_fields += 1
    if is_large:
        poke_u8(o, np.uint8(LARGE_OBJECT))
        poke_u32(o + 1, np.uint32(n_fields))
        return ids + 2 * n_fields, n_fields
    poke_u8(o, np.uint8(SMALL_OBJECT))
    poke_u8(o + 1, np.uint8(n_fields))
    return ids + n_fields, n_fields


@kernel
def put_partial_image(p, end, slot, slots, columns, partial, o, room, logged, known, takes_defaults):
    """Encode a row image with some columns logged, those of the bitmap ``logged``; see ``put_whole_image``.

    known: bitmap of the columns of the same row's before image, encoded just before this one, or 0. takes_defaults: a
    column that is not logged stored its default. Unknown values must have been refused before (``completeness``).
    """
    first, n_columns = item_i64(slots.first_column, slot), item_i64(slots.n_columns, slot)
    rest_bound = item_i64(slots.row_bound, slot)
    nulls, seen, n_invalid = p, 0, np.int64(0)
    p += (n_set(logged, n_columns) + 7) >> 3
    if p > end:
        return MALFORMED, o, n_invalid
    if o + rest_bound > room:
        return NO_ROOM, o, n_invalid
    offsets, n_fields = _put_fields(o, first, n_columns, logged, known, takes_defaults, partial)
    values = offsets + 4 * (n_fields + 1)
    o = values
    for c in range(first, first + n_columns):
        field_index = item_i64(partial.field_index, c)
        if field_index < 0:
            if is_set(logged, c - first):
                if not is_set(nulls, seen):
                    p, _ = put_value(p, end, columns, c, o, room - rest_bound)  # the next value is written over it
                    if p < 0:
                        return p, o, n_invalid
                seen += 1
            continue
        poke_u32(offsets + 4 * field_index, np.uint32(o - values))
        written = o
        if is_set(logged, c - first):
            is_null = is_set(nulls, seen)
            seen += 1
            if is_null:
                o = put_null(o)
            else:
                p, o = put_value(p, end, columns, c, o, room - rest_bound)
        elif takes_defaults:
            o = _put_default(c, columns, partial, o, room - rest_bound)
        else:
            o = _put_copy(c, partial, o, room - rest_bound)
        if p < 0:
            return p, o, n_invalid
        if o < 0:
            return NO_ROOM, o, n_invalid
        n_invalid += is_invalid(written, columns, c)
        poke_u64(partial.start + 8 * c, written)
        poke_u64(partial.stop + 8 * c, o)
    poke_u32(offsets + 4 * n_fields, np.uint32(o - values))
    return p, o, n_invalid


@kernel
def _put_default(column, columns, partial, o, room_until):
    start, stop = item_i64(partial.default_start, column), item_i64(partial.default_stop, column)
    if stop < 0:
        return put_null(o)
    p, o = put_value(partial.defaults + start, partial.defaults + stop, columns, column, o, room_until)
    return o if p >= 0 else p


@kernel
def _put_copy(column, partial, o, room_until):
    """Copy the value that the before image has."""
    start = item_i64(partial.start, column)
    n_bytes = item_i64(partial.stop, column) - start
    if o + n_bytes > room_until:
        return NO_ROOM
    copy_at(o, start, n_bytes)
    return o + n_bytes


@kernel
def completeness(slot, slots, partial, before, after):
    """Return (bits up to MAYBE_REPLACE, or a reason from NO_KEY on; the column concerned) for an event's row changes.

    before, after: the event's bitmaps, 0 if it has none. A REPLACE that updates a row names its key, or leaves it to
    the default; MariaDB leaves out the columns that it sets to their defaults.
    """
    first, n_columns = item_i64(slots.first_column, slot), item_i64(slots.n_columns, slot)
    names_key, is_partial, lacks_generated = True, False, False
    if before == 0 and n_set(after, n_columns) == 0:  # rows without a byte cannot be counted
        return NO_INSERTED_VALUE, np.int64(0)
    for c in range(n_columns):
        role = item_i64(partial.role, first + c)
        if role & IS_GENERATED:
            lacks_generated |= after != 0 and not is_set(after, c)
            lacks_generated |= before != 0 and role & IS_KEY != 0 and not is_set(before, c)
            continue
        if before != 0 and role & IS_KEY and not is_set(before, c):
            return NO_KEY, c
        if after == 0 or is_set(after, c):
            continue
        if role & MAYBE_GENERATED:
            return NO_NEW_VALUE, c
        if before == 0 and role & NO_DEFAULT:
            return NO_INSERTED_VALUE, c
        names_key &= role & IS_KEY == 0
        is_partial |= before != 0 and not is_set(before, c)
    found = INCOMPLETE if is_partial else COMPLETE
    if is_partial and (names_key or item_i64(slots.key_has_default, slot)) and item_i64(slots.hides_replace, slot):
        found |= MAYBE_REPLACE
    return found | LACKS_GENERATED if lacks_generated else found, np.int64(0)
