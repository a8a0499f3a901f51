"""One kernel for each kind of column: the value in a row image -> VARIANT.

They all take (address of the value, end of its container, the column's layout, ``Tables``, address to write at,
maximum end of text and bytes) and return (address after the value, or MALFORMED, or NO_ROOM; address after the written
bytes). A value of fixed size always has room. Each is compiled when a table has such a column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mirrorlake.core.kernels.compiling import call_at
from mirrorlake.core.kernels.memory import addresses, item_i64, kernel, peek_u8, peek_u16, peek_u32
from mirrorlake.core.values import kinds
from mirrorlake.core.values.clock_text import put_old_fine_time, put_old_time, put_time
from mirrorlake.core.values.compressed import plain_value
from mirrorlake.core.values.decimal_text import put_decimal_text
from mirrorlake.core.values.digest import put_digest
from mirrorlake.core.values.double_text import POWERS_128
from mirrorlake.core.values.enum_set import put_enum, put_set
from mirrorlake.core.values.json_text import put_json
from mirrorlake.core.values.kinds import MALFORMED
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
from mirrorlake.core.values.temporal import (
    put_date,
    put_datetime,
    put_old_datetime,
    put_old_fine_datetime,
    put_old_fine_timestamp,
    put_old_timestamp,
    put_timestamp,
)
from mirrorlake.core.values.text import put_binary, put_text, put_utf8
from mirrorlake.core.values.uuid_inet import put_uuid_or_inet

STORED_BYTES, _A, _B, _C = range(1, 5)
TRIGGER_MAY_SET = _C
"""Indexes in a column's layout, see ``column_value.Columns``; the last one of JSON."""


class Tables(NamedTuple):
    """The labels of all ENUMs and SETs, see ``enum_set``; uint32[], the tables of all character sets, see ``text``; and
    constants: int64[10], int64[10], uint64[n, 2]."""

    labels: np.ndarray
    label_offsets: np.ndarray
    code_points: np.ndarray
    digit_bytes: np.ndarray = DIGIT_BYTES
    powers_of_ten: np.ndarray = POWERS_OF_TEN
    powers_128: np.ndarray = POWERS_128

    def packed(self) -> np.ndarray:
        """The addresses as int64[6]; the caller keeps the arrays alive."""
        return np.array(addresses(self), np.int64)


_LABELS, _LABEL_OFFSETS, _CODE_POINTS, _DIGIT_BYTES, _POWERS_OF_TEN, _POWERS_128 = range(6)


@kernel
def _integer(p, end, column, tables, o, room_until):
    return put_integer(p, item_i64(column, _A), item_i64(column, _B), o)


@kernel
def _unsigned_long(p, end, column, tables, o, room_until):
    return put_unsigned_long(p, o)


@kernel
def _float(p, end, column, tables, o, room_until):
    return put_float(p, o)


@kernel
def _double(p, end, column, tables, o, room_until):
    return put_double(p, o)


@kernel
def _decimal(p, end, column, tables, o, room_until):
    digit_bytes, powers = item_i64(tables, _DIGIT_BYTES), item_i64(tables, _POWERS_OF_TEN)
    return put_stored_decimal(p, item_i64(column, _A), item_i64(column, _B), o, digit_bytes, powers)


@kernel
def _bit(p, end, column, tables, o, room_until):
    return put_bit(p, item_i64(column, _A), item_i64(column, _B), o)


@kernel
def _year(p, end, column, tables, o, room_until):
    return put_year(p, o)


@kernel
def _date(p, end, column, tables, o, room_until):
    return put_date(p, o)


@kernel
def _datetime(p, end, column, tables, o, room_until):
    return put_datetime(p, item_i64(column, _A), o)


@kernel
def _old_datetime(p, end, column, tables, o, room_until):
    return put_old_datetime(p, o)


@kernel
def _old_fine_datetime(p, end, column, tables, o, room_until):
    n_bytes, digits, unit_us = item_i64(column, STORED_BYTES), item_i64(column, _A), item_i64(column, _B)
    return put_old_fine_datetime(p, n_bytes, digits, unit_us, o)


@kernel
def _old_fine_timestamp(p, end, column, tables, o, room_until):
    n_bytes, digits, unit_us = item_i64(column, STORED_BYTES), item_i64(column, _A), item_i64(column, _B)
    return put_old_fine_timestamp(p, n_bytes, digits, unit_us, o)


@kernel
def _timestamp(p, end, column, tables, o, room_until):
    return put_timestamp(p, item_i64(column, _A), o)


@kernel
def _old_timestamp(p, end, column, tables, o, room_until):
    return put_old_timestamp(p, o)


@kernel
def _enum(p, end, column, tables, o, room_until):
    n_bytes, base, n_labels = item_i64(column, _A), item_i64(column, _B), item_i64(column, _C)
    return put_enum(p, n_bytes, base, n_labels, o, item_i64(tables, _LABELS), item_i64(tables, _LABEL_OFFSETS))


@kernel
def _set(p, end, column, tables, o, room_until):
    n_bytes, base, n_labels = item_i64(column, _A), item_i64(column, _B), item_i64(column, _C)
    return put_set(p, n_bytes, base, n_labels, o, item_i64(tables, _LABELS), item_i64(tables, _LABEL_OFFSETS))


@kernel
def _time(p, end, column, tables, o, room_until):
    return put_time(p, item_i64(column, _A), o)


@kernel
def _old_fine_time(p, end, column, tables, o, room_until):
    n_bytes, digits, unit_us = item_i64(column, STORED_BYTES), item_i64(column, _A), item_i64(column, _B)
    return put_old_fine_time(p, n_bytes, digits, unit_us, o)


@kernel
def _old_time(p, end, column, tables, o, room_until):
    return put_old_time(p, o)


@kernel
def _decimal_text(p, end, column, tables, o, room_until):
    return put_decimal_text(p, item_i64(column, _A), item_i64(column, _B), o, item_i64(tables, _DIGIT_BYTES))


@kernel
def bytes_of(p, end, column):
    """Return (address of a value of varying size, or MALFORMED; its length)."""
    prefix_bytes = item_i64(column, STORED_BYTES)
    n_bytes = _length(p, prefix_bytes)
    p += prefix_bytes
    return (p if p + n_bytes <= end else MALFORMED), n_bytes


@kernel
def _length(p, n_bytes):
    if n_bytes == 1:
        return np.int64(peek_u8(p))
    if n_bytes == 2:
        return np.int64(peek_u16(p))
    if n_bytes == 3:
        return peek_u24(p)
    return np.int64(peek_u32(p))


@kernel
def _read(behind, o):
    """The result of a kernel. o: address after the written bytes, MALFORMED or NO_ROOM."""
    return (behind if o >= 0 else o), o


@kernel
def _utf8_text(p, end, column, tables, o, room_until):
    p, n_bytes = bytes_of(p, end, column)
    if p < 0:
        return p, o
    return _read(p + n_bytes, put_utf8(p, n_bytes, item_i64(column, _B), o, room_until))


@kernel
def _text(p, end, column, tables, o, room_until):
    p, n_bytes = bytes_of(p, end, column)
    if p < 0:
        return p, o
    return _read(p + n_bytes, _put_text(p, n_bytes, column, tables, o, room_until))


@kernel
def _compressed_text(p, end, column, tables, o, room_until):
    p, n_bytes = bytes_of(p, end, column)
    if p < 0:
        return p, o
    plain, n_plain, room_until = plain_value(p, n_bytes, o, room_until)
    if plain < 0:
        return plain, o
    return _read(p + n_bytes, _put_text(plain, n_plain, column, tables, o, room_until))


@kernel
def _put_text(p, n_bytes, column, tables, o, room_until):
    code_points = item_i64(tables, _CODE_POINTS)
    return put_text(p, n_bytes, item_i64(column, _A), item_i64(column, _B), code_points, o, room_until)


@kernel
def _binary(p, end, column, tables, o, room_until):
    p, n_bytes = bytes_of(p, end, column)
    if p < 0:
        return p, o
    return _read(p + n_bytes, put_binary(p, n_bytes, item_i64(column, _A), o, room_until))


@kernel
def _compressed_binary(p, end, column, tables, o, room_until):
    p, n_bytes = bytes_of(p, end, column)
    if p < 0:
        return p, o
    plain, n_plain, room_until = plain_value(p, n_bytes, o, room_until)
    if plain < 0:
        return plain, o
    return _read(p + n_bytes, put_binary(plain, n_plain, 0, o, room_until))


@kernel
def _json(p, end, column, tables, o, room_until):
    p, n_bytes = bytes_of(p, end, column)
    if p < 0:
        return p, o
    digit_bytes, powers = item_i64(tables, _DIGIT_BYTES), item_i64(tables, _POWERS_128)
    return _read(p + n_bytes, put_json(p, n_bytes, o, room_until, digit_bytes, powers))


@kernel
def _uuid_inet(p, end, column, tables, o, room_until):
    p, n_bytes = bytes_of(p, end, column)
    if p < 0:
        return p, o
    return _read(p + n_bytes, put_uuid_or_inet(p, n_bytes, item_i64(column, _A), o, room_until))


@kernel
def _hashed(p, end, column, tables, o, room_until):
    """_A: the address of the other kind's layout; _B: that of ``words_of``."""
    plain = item_i64(column, _A)
    p, behind = call_at(item_i64(plain, 0), p, end, plain, tables, o, room_until)
    return p, put_digest(o, behind, item_i64(plain, _A), item_i64(column, _B)) if p >= 0 else behind


KERNELS = {
    kinds.INTEGER: _integer,
    kinds.UNSIGNED_LONG: _unsigned_long,
    kinds.FLOAT: _float,
    kinds.DOUBLE: _double,
    kinds.DECIMAL: _decimal,
    kinds.BIT: _bit,
    kinds.YEAR: _year,
    kinds.DATE: _date,
    kinds.DATETIME: _datetime,
    kinds.OLD_DATETIME: _old_datetime,
    kinds.OLD_FINE_DATETIME: _old_fine_datetime,
    kinds.TIMESTAMP: _timestamp,
    kinds.OLD_FINE_TIMESTAMP: _old_fine_timestamp,
    kinds.OLD_TIMESTAMP: _old_timestamp,
    kinds.ENUM: _enum,
    kinds.SET: _set,
    kinds.TIME: _time,
    kinds.OLD_TIME: _old_time,
    kinds.OLD_FINE_TIME: _old_fine_time,
    kinds.DECIMAL_TEXT: _decimal_text,
    kinds.UTF8_TEXT: _utf8_text,
    kinds.TEXT: _text,
    kinds.COMPRESSED_TEXT: _compressed_text,
    kinds.BINARY: _binary,
    kinds.COMPRESSED_BINARY: _compressed_binary,
    kinds.JSON: _json,
    kinds.UUID_INET: _uuid_inet,
    kinds.HASHED: _hashed,
}
