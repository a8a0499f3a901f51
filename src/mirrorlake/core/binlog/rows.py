"""Events -> row changes: one kernel walks the events of a batch in order and writes changes and markers as columns.

A rows event (types 23-25 v1, 30-32 v2; MySQL ``rows_event.h``): table id u48, flags u16, [v2: u16 length of extra
data, itself included, and the data], column count (length-encoded), bitmap of logged columns (UPDATE: two), then row
images until the end: a bitmap of NULLs over the logged columns, then the values that are not NULL.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.binlog.framing import crc32
from mirrorlake.core.binlog.row_layout import (
    BINARY,
    BIT,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    ENUM,
    FIRST_VARIABLE,
    FLOAT,
    INTEGER,
    OLD_DATETIME,
    SET,
    TIMESTAMP,
    UNSIGNED_LONG,
    YEAR,
)  # fmt: skip
from mirrorlake.core.binlog.transactions import query_kind, query_text_start
from mirrorlake.core.memory import kernel, load_u8, load_u16, load_u32, load_u64, store_u32
from mirrorlake.core.values.binary import put_binary
from mirrorlake.core.values.enum_set import put_enum, put_set
from mirrorlake.core.values.numeric import (
    load_u24,
    put_bit,
    put_double,
    put_float,
    put_integer,
    put_stored_decimal,
    put_unsigned_long,
    put_year,
)  # fmt: skip
from mirrorlake.core.values.temporal import put_date, put_datetime, put_old_datetime, put_old_timestamp, put_timestamp
from mirrorlake.core.values.text import LATIN1, put_latin1, put_utf8
from mirrorlake.core.values.variant import put_null, put_object_header

# What an output row is. STATEMENT: a QUERY event that is neither BEGIN nor COMMIT, for the caller to interpret.
BEGIN, INSERT, UPDATE, DELETE, COMMIT, STATEMENT, REFUSED = range(7)

# Why a rows event is refused, in column ``amount`` of a REFUSED row.
REFUSED_TABLE, REFUSED_ROW_IMAGE, REFUSED_MALFORMED, REFUSED_NO_TABLE_MAP = range(4)

DONE, FULL, ROLLED_BACK = 0, 1, 2
"""Why the kernel returned: all events done; outputs full before the event at ``state[NEXT]``; a rolled back
transaction that changed rows."""

# state: what the kernel carries from call to call.
NEXT, N_ROWS, N_BEFORE, N_AFTER, IN_TRANSACTION, ORDINAL, CHECKSUM, COMMIT_US, STATE_SIZE = range(9)

_MALFORMED, _NO_ROOM = np.int64(-1), np.int64(-2)
_V2_FIRST = 30


@kernel
def _commit_time_us(buf, start, end, event_type, timestamp):
    """MySQL 8 logs microseconds behind the 42 fixed bytes of a GTID event (low 55 bits); else the header's second."""
    if event_type == 33 and end >= start + 19 + 42 + 7:
        return np.int64(load_u64(buf, start + 19 + 42) & np.uint64(0x7FFFFFFFFFFFFF))
    return np.int64(timestamp) * 1000000


@kernel
def _length_prefix(buf, p, n_bytes):
    if n_bytes == 1:
        return np.int64(load_u8(buf, p))
    if n_bytes == 2:
        return np.int64(load_u16(buf, p))
    if n_bytes == 3:
        return load_u24(buf, p)
    return np.int64(load_u32(buf, p))


@kernel
def _put_fixed(buf, p, kind, a, b, c, out, o, labels, label_offsets, digit_bytes, powers):
    if kind == INTEGER:
        return put_integer(buf, p, a, b, out, o)
    if kind == UNSIGNED_LONG:
        return put_unsigned_long(buf, p, out, o)
    if kind == DECIMAL:
        return put_stored_decimal(buf, p, a, b, out, o, digit_bytes, powers)
    if kind == DATETIME:
        return put_datetime(buf, p, a, out, o)
    if kind == TIMESTAMP:
        return put_timestamp(buf, p, a, out, o)
    if kind == ENUM:
        return put_enum(buf, p, a, b, c, out, o, labels, label_offsets)
    if kind == DOUBLE:
        return put_double(buf, p, out, o)
    if kind == DATE:
        return put_date(buf, p, out, o)
    if kind == FLOAT:
        return put_float(buf, p, out, o)
    if kind == BIT:
        return put_bit(buf, p, a, b, out, o)
    if kind == YEAR:
        return put_year(buf, p, out, o)
    if kind == SET:
        return put_set(buf, p, a, b, c, out, o, labels, label_offsets)
    if kind == OLD_DATETIME:
        return put_old_datetime(buf, p, out, o)
    return put_old_timestamp(buf, p, out, o)


@kernel
def _put_image(
    buf, p, end, first, n_columns, row_bound, columns, rank, out, o, labels, label_offsets,
    code_points, digit_bytes, powers,
):  # fmt: skip
    """Encode a row image with all columns logged. Returns (offset read: -1 malformed, -2 no room; offset written)."""
    nulls = p
    p += (n_columns + 7) >> 3
    if p > end:
        return _MALFORMED, o
    room = out.shape[0] - 64
    if o + row_bound > room:
        return _NO_ROOM, o
    offsets = put_object_header(out, o, n_columns)
    values = offsets + 4 * (n_columns + 1)
    o = values
    rest_bound = row_bound
    for c in range(n_columns):
        store_u32(out, offsets + 4 * rank[first + c], np.uint32(o - values))
        if load_u8(buf, nulls + (c >> 3)) >> np.uint8(c & 7) & np.uint8(1):
            o = put_null(out, o)
            continue
        kind, n_bytes = columns[first + c, 0], columns[first + c, 1]
        a, b, c3 = columns[first + c, 2], columns[first + c, 3], columns[first + c, 4]
        if kind < FIRST_VARIABLE:
            if p + n_bytes > end:
                return _MALFORMED, o
            p, o = _put_fixed(buf, p, kind, a, b, c3, out, o, labels, label_offsets, digit_bytes, powers)
            if p < 0:
                return _MALFORMED, o
            continue
        if p + a > end:
            return _MALFORMED, o
        length = _length_prefix(buf, p, a)
        p += a
        if p + length > end:
            return _MALFORMED, o
        if kind == BINARY:
            o = put_binary(buf, p, length, b, out, o, room - rest_bound)
        elif b == LATIN1:
            o = put_latin1(buf, p, length, out, o, room - rest_bound, code_points)
        else:
            o = put_utf8(buf, p, length, out, o, room - rest_bound)
        if o < 0:
            return _NO_ROOM, o
        p += length
    store_u32(out, offsets + 4 * n_columns, np.uint32(o - values))
    return p, o


@kernel
def _images_start(buf, start, end, event_type, n_columns):
    """Where the row images of a rows event begin; -1 malformed, -3 when not every column is logged."""
    p = start + 19 + 8
    if event_type >= _V2_FIRST:
        if p + 2 > end:
            return np.int64(-1)
        p += np.int64(load_u16(buf, p))
    if p + 1 > end:
        return np.int64(-1)
    width = np.int64(load_u8(buf, p))
    p += 1
    if width == 252 and p + 2 <= end:
        width = np.int64(load_u16(buf, p))
        p += 2
    if width != n_columns:
        return np.int64(-1)
    n_bitmaps = 2 if event_type == 24 or event_type == 31 else 1
    bitmap_bytes = (n_columns + 7) >> 3
    if p + n_bitmaps * bitmap_bytes > end:
        return np.int64(-1)
    for k in range(n_bitmaps):
        for c in range(n_columns):
            if not load_u8(buf, p + k * bitmap_bytes + (c >> 3)) >> np.uint8(c & 7) & np.uint8(1):
                return np.int64(-3)
    return p + n_bitmaps * bitmap_bytes


@kernel
def _emit(
    state,
    i,
    op,
    slot,
    amount,
    checksum,
    row_event,
    ops,
    slots,
    ordinals,
    commit_us,
    amounts,
    checksums,
    before_ends,
    after_ends,
):
    r = state[N_ROWS]
    row_event[r] = i
    ops[r] = op
    slots[r] = slot
    ordinals[r] = state[ORDINAL]
    commit_us[r] = state[COMMIT_US]
    amounts[r] = amount
    checksums[r] = checksum
    before_ends[r + 1] = state[N_BEFORE]
    after_ends[r + 1] = state[N_AFTER]
    state[N_ROWS] = r + 1


@kernel
def _emit_commit(state, i, row_event, ops, slots, ordinals, commit_us, amounts, checksums, before_ends, after_ends):
    changes = state[ORDINAL]
    state[ORDINAL] += 1
    _emit(
        state, i, COMMIT, -1, changes, state[CHECKSUM],
        row_event, ops, slots, ordinals, commit_us, amounts, checksums, before_ends, after_ends,
    )  # fmt: skip
    state[IN_TRANSACTION] = 0
    state[COMMIT_US] = 0


@kernel
def _put_row(
    buf, p, end, slot, op, first_column, n_columns, row_bound, columns, rank, labels, label_offsets,
    code_points, digit_bytes, powers, crc_tables, state, before, after,
):  # fmt: skip
    """Encode the images of one row change, before then after; the offset read, or -1 malformed, -2 no room."""
    for side in range(2):
        if op == INSERT and side == 0 or op == DELETE and side == 1:
            continue
        out = before if side == 0 else after
        written = N_BEFORE if side == 0 else N_AFTER
        o = state[written]
        p, end_of_image = _put_image(
            buf, p, end, first_column[slot], n_columns[slot], row_bound[slot], columns, rank,
            out, o, labels, label_offsets, code_points, digit_bytes, powers,
        )  # fmt: skip
        if p < 0:
            return p
        state[CHECKSUM] = np.int64(crc32(np.uint32(state[CHECKSUM]), out, o, end_of_image, crc_tables))
        state[written] = end_of_image
    return p


@kernel
def decode_events(
    buf, offset, length, event_type, timestamp, trailer, slot_of_event,
    first_column, n_columns, row_bound, is_refused, columns, rank, labels, label_offsets,
    code_points, digit_bytes, powers, crc_tables, begin, commit, rollback, xa_start,
    state, before, after, row_event, ops, slots, ordinals, commit_us, amounts, checksums, before_ends, after_ends,
):  # fmt: skip
    """Decode events ``state[NEXT]..`` into the output columns; each event goes in whole or not at all.

    Outputs, per row r: row_event (its event), ops, slots (table, -1 none), ordinals, commit_us, amounts and checksums
    (COMMIT: number and CRC32 of the transaction's encoded images), images ``before[before_ends[r]:before_ends[r+1]]``
    and ``after`` likewise. Returns DONE, FULL or ROLLED_BACK.
    """
    last_row = ops.shape[0] - 2
    for i in range(state[NEXT], offset.shape[0]):
        state[NEXT] = i
        if state[N_ROWS] >= last_row:
            return FULL
        start = offset[i]
        end = start + length[i] - trailer[i]
        kind = event_type[i]
        opens = False
        if kind == 33 or kind == 34 or kind == 162:
            state[COMMIT_US] = _commit_time_us(buf, start, end, kind, timestamp[i])
            state[IN_TRANSACTION] = 0
            state[ORDINAL] = 0
            opens = kind == 162 and load_u8(buf, start + 19 + 12) & np.uint8(1) == 0
        elif kind == 2:
            text = query_text_start(buf, start, end)
            what = query_kind(buf, text, end, begin, commit, rollback, xa_start)
            opens = what == 1 or what == 3
            if state[COMMIT_US] == 0:
                state[COMMIT_US] = np.int64(timestamp[i]) * 1000000
            if what == 2 and state[IN_TRANSACTION]:
                if load_u8(buf, text) == np.uint8(82) and state[ORDINAL] > 0:
                    return ROLLED_BACK
                _emit_commit(
                    state, i, row_event, ops, slots, ordinals, commit_us, amounts, checksums, before_ends, after_ends
                )
            elif what == 0:
                _emit(
                    state, i, STATEMENT, -1, state[IN_TRANSACTION], 0,
                    row_event, ops, slots, ordinals, commit_us, amounts, checksums, before_ends, after_ends,
                )  # fmt: skip
                if state[IN_TRANSACTION] == 0:
                    state[COMMIT_US] = 0
        elif kind == 16:
            _emit_commit(
                state, i, row_event, ops, slots, ordinals, commit_us, amounts, checksums, before_ends, after_ends
            )
        elif 23 <= kind <= 25 or 30 <= kind <= 32:
            slot = slot_of_event[i]
            op = INSERT if kind == 23 or kind == 30 else UPDATE if kind == 24 or kind == 31 else DELETE
            rows, n_before, n_after, checksum, ordinal = (
                state[N_ROWS], state[N_BEFORE], state[N_AFTER], state[CHECKSUM], state[ORDINAL],
            )  # fmt: skip
            refused = REFUSED_NO_TABLE_MAP if slot < 0 else REFUSED_TABLE if is_refused[slot] else -1
            p = np.int64(0)
            if refused < 0:
                p = _images_start(buf, start, end, kind, n_columns[slot])
                if p < 0:
                    refused = REFUSED_ROW_IMAGE if p == -3 else REFUSED_MALFORMED
            while refused < 0 and p < end:
                if state[N_ROWS] >= last_row:
                    p = np.int64(_NO_ROOM)
                else:
                    p = _put_row(
                        buf, p, end, slot, op, first_column, n_columns, row_bound, columns, rank, labels, label_offsets,
                        code_points, digit_bytes, powers, crc_tables, state, before, after,
                    )  # fmt: skip
                if p < 0:
                    break
                state[ORDINAL] += 1
                _emit(
                    state,
                    i,
                    op,
                    slot,
                    0,
                    0,
                    row_event,
                    ops,
                    slots,
                    ordinals,
                    commit_us,
                    amounts,
                    checksums,
                    before_ends,
                    after_ends,
                )
            if refused >= 0 or p < 0:
                state[N_ROWS], state[N_BEFORE], state[N_AFTER], state[CHECKSUM], state[ORDINAL] = (
                    rows, n_before, n_after, checksum, ordinal,
                )  # fmt: skip
                if p == _NO_ROOM:
                    return FULL
                _emit(
                    state, i, REFUSED, slot, refused if refused >= 0 else REFUSED_MALFORMED, 0,
                    row_event, ops, slots, ordinals, commit_us, amounts, checksums, before_ends, after_ends,
                )  # fmt: skip
        if opens:
            state[IN_TRANSACTION] = 1
            state[ORDINAL] = 0
            state[CHECKSUM] = 0
            _emit(
                state,
                i,
                BEGIN,
                -1,
                0,
                0,
                row_event,
                ops,
                slots,
                ordinals,
                commit_us,
                amounts,
                checksums,
                before_ends,
                after_ends,
            )
    state[NEXT] = offset.shape[0]
    return DONE
