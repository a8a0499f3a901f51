"""Values inside MySQL's JSON that JSON has no type for, as the server shows them.

A DECIMAL is a number, a date or time is in quotes with six digits of fraction, any other is ``"base64:typeN:..."``.
A text of ucs2, utf16 or utf32 has the type VAR_STRING and is malformed here: MySQL 9.7 shows its bytes as a string,
older ones as base64 like any other.
Kernels return the address after the written bytes, NO_ROOM or MALFORMED.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8, peek_u64
from mirrorlake.core.values.clock_text import is_packed_time, write_clock, write_date, write_packed_time
from mirrorlake.core.values.decimal_text import DECIMAL_BOUND_BYTES, MAX_PRECISION, stored_decimal_bytes, write_decimal
from mirrorlake.core.values.digits import write_byte, write_letters, write_unsigned
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM

_DECIMAL, _TIMESTAMP, _DATE, _TIME, _DATETIME, _VAR_STRING = 246, 7, 10, 11, 12, 253
_BASE64, _TYPE = np.uint64(0x3A343665736162), np.uint64(0x65707974)  # "base64:", "type"
_LINE_BYTES = 57  # bytes in a line of base64
OPAQUE_BOUND_BYTES = DECIMAL_BOUND_BYTES
"""The longest text, except base64."""


@kernel
def write_opaque(column_type, p, n_bytes, o, limit, digit_bytes):
    """Write an opaque value. The caller has checked that there is room for ``OPAQUE_BOUND_BYTES``."""
    if column_type == _DECIMAL:
        return _write_decimal(p, n_bytes, o, digit_bytes)
    if column_type == _TIMESTAMP or _DATE <= column_type <= _DATETIME:
        return _write_temporal(column_type, np.int64(peek_u64(p)), o) if n_bytes == 8 else MALFORMED
    return MALFORMED if column_type == _VAR_STRING else _write_base64(column_type, p, n_bytes, o, limit)


@kernel
def _write_decimal(p, n_bytes, o, digit_bytes):
    """Precision, scale, then as in a column."""
    if n_bytes < 2:
        return MALFORMED
    precision, scale = np.int64(peek_u8(p)), np.int64(peek_u8(p + 1))
    if precision == 0 or precision > MAX_PRECISION or scale > precision:
        return MALFORMED
    if n_bytes != 2 + stored_decimal_bytes(precision, scale, digit_bytes):
        return MALFORMED
    return write_decimal(p + 2, precision, scale, o, digit_bytes)


@kernel
def _write_temporal(column_type, packed, o):
    """packed << 24 | microseconds; of a date: (year * 13 + month) << 22 | day << 17 | hour << 12 | min << 6 | s."""
    o = write_byte(o, 34)
    if column_type == _TIME:
        return write_byte(write_packed_time(o, packed, 6), 34) if is_packed_time(packed) else MALFORMED
    fraction_us, value = packed & 0xFFFFFF, packed >> 24
    year_month, hour, minute, second = value >> 22, value >> 12 & 31, value >> 6 & 63, value & 63
    if packed < 0 or year_month >= 13 * 10000 or hour > 23 or minute > 59 or second > 59 or fraction_us > 999999:
        return MALFORMED
    o = write_date(o, year_month // 13, year_month % 13, value >> 17 & 31)
    if column_type != _DATE:
        o = write_clock(write_byte(o, 32), hour, minute, second, fraction_us, 6)
    return write_byte(o, 34)


@kernel
def _write_base64(column_type, p, n_bytes, o, limit):
    if o + 20 + (n_bytes + 2) // 3 * 4 + n_bytes // _LINE_BYTES * 2 > limit:
        return NO_ROOM
    o = write_letters(write_byte(o, 34), _BASE64)
    o = write_letters(o, _TYPE)
    o = write_byte(write_unsigned(o, np.uint64(column_type)), 58)
    for i in range(0, n_bytes, 3):
        if i and i % _LINE_BYTES == 0:
            o = write_byte(write_byte(o, 92), 110)
        n_left = n_bytes - i
        group = np.int64(peek_u8(p + i)) << 16
        if n_left > 1:
            group |= np.int64(peek_u8(p + i + 1)) << 8
        if n_left > 2:
            group |= np.int64(peek_u8(p + i + 2))
        for k in range(4):
            o = write_byte(o, _base64_letter(group >> (18 - 6 * k) & 63) if k <= n_left else 61)
    return write_byte(o, 34)


@kernel
def _base64_letter(six_bits):
    if six_bits < 26:
        return 65 + six_bits
    if six_bits < 52:
        return 71 + six_bits
    if six_bits < 62:
        return six_bits - 4
    return 43 if six_bits == 62 else 47
