"""One column's value: row image -> VARIANT, by the column's kind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mirrorlake.core.memory import item_i64, kernel, peek_u8, peek_u16, peek_u32
from mirrorlake.core.values.binary import put_binary
from mirrorlake.core.values.clock_text import put_old_time, put_time
from mirrorlake.core.values.compressed import plain_value
from mirrorlake.core.values.decimal_text import put_decimal_text
from mirrorlake.core.values.double_text import POWERS_128
from mirrorlake.core.values.enum_set import put_enum, put_set
from mirrorlake.core.values.json_text import put_json
from mirrorlake.core.values.kinds import (
    BINARY,
    BIT,
    DATE,
    DATETIME,
    DECIMAL,
    DECIMAL_TEXT,
    DOUBLE,
    ENUM,
    FIRST_VARIABLE,
    FLOAT,
    INTEGER,
    JSON,
    MALFORMED,
    NO_ROOM,
    OLD_DATETIME,
    OLD_TIME,
    SET,
    TIME,
    TIMESTAMP,
    UNSIGNED_LONG,
    UUID_INET,
    YEAR,
)  # fmt: skip
from mirrorlake.core.values.numeric import (
    DIGIT_BYTES,
    POWERS_OF_TEN,
    peek_u24,
    put_bit,
    put_double,
    put_float,
    put_integer,
    put_stored_decimal,
    put_unsigned_long,
    put_year,
)  # fmt: skip
from mirrorlake.core.values.temporal import put_date, put_datetime, put_old_datetime, put_old_timestamp, put_timestamp
from mirrorlake.core.values.text import put_text
from mirrorlake.core.values.uuid_inet import put_uuid_or_inet

N_LAYOUT_FIELDS = 5


class Columns(NamedTuple):
    """The columns of all tables, one behind the other, the labels of their ENUMs and SETs, and the tables of their
    character sets.

    layout: int64[n, N_LAYOUT_FIELDS], per column (kind, stored bytes when fixed or else whether they
    are compressed, and three parameters of the kind);
    rank: int64[n], the column's place in its object; labels, label_offsets: see ``enum_set``; code_points: uint32[],
    see ``text``.
    """

    layout: np.ndarray
    rank: np.ndarray
    labels: np.ndarray
    label_offsets: np.ndarray
    code_points: np.ndarray


class Lookups(NamedTuple):
    """Constant tables: int64[10], int64[10], uint64[n, 2]."""

    digit_bytes: np.ndarray
    powers_of_ten: np.ndarray
    powers_128: np.ndarray


LOOKUPS = Lookups(DIGIT_BYTES, POWERS_OF_TEN, POWERS_128)


@kernel
def _layout(columns, column, field):
    return item_i64(columns.layout, column * N_LAYOUT_FIELDS + field)


@kernel
def put_value(p, end, columns, column, lookups, o, room_until):
    """Encode the value at ``p`` of a column, which lies before ``end``, at ``o``; all are addresses.

    columns, lookups: the addresses of ``Columns`` and ``Lookups``. room_until: where text and bytes must end; a value
    of fixed size has room in any case. Returns (address behind the value, or MALFORMED, or NO_ROOM; address behind
    what was written).
    """
    kind = _layout(columns, column, 0)
    if kind > FIRST_VARIABLE:
        return _put_variable(p, end, kind, columns, column, lookups, o, room_until)
    if p + _layout(columns, column, 1) > end:
        return MALFORMED, o
    return _put_fixed(p, kind, columns, column, lookups, o)


@kernel
def _put_fixed(p, kind, columns, column, lookups, o):
    a, b, c = _layout(columns, column, 2), _layout(columns, column, 3), _layout(columns, column, 4)
    if kind == INTEGER:
        return put_integer(p, a, b, o)
    if kind == UNSIGNED_LONG:
        return put_unsigned_long(p, o)
    if kind == DECIMAL:
        return put_stored_decimal(p, a, b, o, lookups.digit_bytes, lookups.powers_of_ten)
    if kind == DATETIME:
        return put_datetime(p, a, o)
    if kind == TIMESTAMP:
        return put_timestamp(p, a, o)
    if kind == ENUM:
        return put_enum(p, a, b, c, o, columns.labels, columns.label_offsets)
    if kind == DOUBLE:
        return put_double(p, o)
    if kind == DATE:
        return put_date(p, o)
    if kind == FLOAT:
        return put_float(p, o)
    if kind == BIT:
        return put_bit(p, a, b, o)
    if kind == YEAR:
        return put_year(p, o)
    if kind == SET:
        return put_set(p, a, b, c, o, columns.labels, columns.label_offsets)
    if kind == TIME:
        return put_time(p, a, o)
    if kind == DECIMAL_TEXT:
        return put_decimal_text(p, a, b, o, lookups.digit_bytes)
    if kind == OLD_TIME:
        return put_old_time(p, o)
    if kind == OLD_DATETIME:
        return put_old_datetime(p, o)
    return put_old_timestamp(p, o)


@kernel
def _put_variable(p, end, kind, columns, column, lookups, o, room_until):
    is_compressed, prefix_bytes, b = (
        _layout(columns, column, 1), _layout(columns, column, 2), _layout(columns, column, 3),
    )  # fmt: skip
    if p + prefix_bytes > end:
        return MALFORMED, o
    length = _load_length(p, prefix_bytes)
    p += prefix_bytes
    behind = p + length
    if behind > end:
        return MALFORMED, o
    if is_compressed:
        p, length, room_until = plain_value(p, length, o, room_until)
        if p < 0:
            return p, o
    if kind == BINARY:
        o = put_binary(p, length, b, o, room_until)
    elif kind == JSON:
        o = put_json(p, length, o, room_until, lookups)
    elif kind == UUID_INET:
        o = put_uuid_or_inet(p, length, b, o, room_until)
    else:
        o = put_text(p, length, b, _layout(columns, column, 4), columns.code_points, o, room_until)
    if o < 0:
        return MALFORMED if o == MALFORMED else NO_ROOM, o
    return behind, o


@kernel
def _load_length(p, n_bytes):
    if n_bytes == 1:
        return np.int64(peek_u8(p))
    if n_bytes == 2:
        return np.int64(peek_u16(p))
    if n_bytes == 3:
        return peek_u24(p)
    return np.int64(peek_u32(p))
