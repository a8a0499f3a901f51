"""Integers, DECIMAL, FLOAT, DOUBLE, BIT, YEAR: row image -> VARIANT.

Every ``put_*`` kernel of this folder reads one value at address ``p``, writes at address ``o`` and returns the
addresses after both; the caller has checked that the value's bytes are inside the event and that the output has room.
Storage formats: MySQL ``strings/decimal.cc``, ``sql/field.cc``.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import item_i64, kernel, peek_u8, peek_u16, peek_u32, peek_u64
from mirrorlake.core.values import variant
from mirrorlake.core.values.variant import put_decimal, put_int8, put_int16, put_long, put_word

_INT32, _INT64, _FLOAT, _DOUBLE = variant.INT32, variant.INT64, variant.FLOAT, variant.DOUBLE

DIGIT_BYTES = np.array([0, 1, 1, 2, 2, 3, 3, 4, 4, 4], np.int64)
"""Bytes that 0-9 leftover decimal digits take; a full group of 9 digits takes 4."""
POWERS_OF_TEN = np.array([10**i for i in range(10)], np.int64)
_FULL_GROUP = np.uint64(10**9)


def decimal_bytes(precision: int, scale: int) -> int:
    """Stored size of DECIMAL(precision, scale)."""
    whole, fraction = precision - scale, scale
    return int(whole // 9 * 4 + DIGIT_BYTES[whole % 9] + fraction // 9 * 4 + DIGIT_BYTES[fraction % 9])


@kernel
def peek_u24(p):
    return np.int64(peek_u16(p)) | np.int64(peek_u8(p + 2)) << 16


@kernel
def load_big_endian(p, n_bytes):
    value = np.int64(0)
    for i in range(n_bytes):
        value = value << 8 | np.int64(peek_u8(p + i))
    return value


@kernel
def put_integer(p, n_bytes, unsigned, o):
    """An integer of 1, 2, 3 or 4 bytes, or a signed one of 8. An unsigned one takes the next wider signed type."""
    if n_bytes == 4:
        value = peek_u32(p)
        if unsigned:
            return p + 4, put_long(o, _INT64, np.uint64(value))
        return p + 4, put_word(o, _INT32, value)
    if n_bytes == 8:
        return p + 8, put_long(o, _INT64, peek_u64(p))
    if n_bytes == 1:
        if unsigned:
            return p + 1, put_int16(o, np.uint16(peek_u8(p)))
        return p + 1, put_int8(o, peek_u8(p))
    if n_bytes == 2:
        if unsigned:
            return p + 2, put_word(o, _INT32, np.uint32(peek_u16(p)))
        return p + 2, put_int16(o, peek_u16(p))
    value24 = peek_u24(p)
    if not unsigned and value24 & 0x800000:
        value24 -= 0x1000000
    return p + 3, put_word(o, _INT32, np.uint32(value24 & 0xFFFFFFFF))


@kernel
def put_unsigned_long(p, o):
    """BIGINT UNSIGNED as DECIMAL(20, 0)."""
    return p + 8, put_decimal(o, 20, 0, peek_u64(p), np.uint64(0))


@kernel
def put_float(p, o):
    return p + 4, put_word(o, _FLOAT, peek_u32(p))


@kernel
def put_double(p, o):
    return p + 8, put_long(o, _DOUBLE, peek_u64(p))


@kernel
def put_year(p, o):
    """Stored as years since 1900; 0 is the year 0000."""
    stored = np.uint16(peek_u8(p))
    return p + 1, put_int16(o, stored + np.uint16(1900) if stored else np.uint16(0))


@kernel
def put_bit(p, n_bytes, n_bits, o):
    """BIT(n), big-endian, as a whole number: INT64, or DECIMAL(20, 0) for BIT(64), which does not fit in it. Address
    read = -1: a bit beyond those of the type."""
    value = np.uint64(load_big_endian(p, n_bytes))
    if n_bits == 64:
        return p + 8, put_decimal(o, 20, 0, value, np.uint64(0))
    if value >> np.uint64(n_bits):
        return np.int64(-1), o
    return p + n_bytes, put_long(o, _INT64, value)


@kernel
def _multiply_add(low, high, factor, addend):
    """(high:low) * factor + addend, 128 bits, for a factor of at most 10**9."""
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    first = (low & mask) * factor + addend
    second = (low >> half) * factor + (first >> half)
    return second << half | first & mask, high * factor + (second >> half)


@kernel
def load_digit_group(p, n_bytes, is_first, is_negative):
    value = np.int64(0)
    for i in range(n_bytes):
        byte = np.int64(peek_u8(p + i))
        if is_first and i == 0:
            byte ^= 0x80
        if is_negative:
            byte ^= 0xFF
        value = value << 8 | byte
    return np.uint64(value)


@kernel
def load_decimal(p, precision, scale, digit_bytes, powers):
    """NEWDECIMAL: 9-digit groups of 4 bytes, big-endian, the top bit flipped; all bits inverted when negative.

    Returns (low, high, bytes read): the unscaled value as 128-bit two's complement. Exact up to 38 digits. Bytes
    read = -1: not decimal digits.
    """
    whole, q, is_number = precision - scale, p, True
    is_negative = peek_u8(p) & np.uint8(0x80) == 0
    low, high = np.uint64(0), np.uint64(0)
    n_bytes = item_i64(digit_bytes, whole % 9)
    if n_bytes:
        low = load_digit_group(q, n_bytes, True, is_negative)
        is_number &= low < np.uint64(item_i64(powers, whole % 9))
        q += n_bytes
    for _ in range(whole // 9 + scale // 9):
        group = load_digit_group(q, 4, q == p, is_negative)
        is_number &= group < _FULL_GROUP
        low, high = _multiply_add(low, high, _FULL_GROUP, group)
        q += 4
    n_bytes = item_i64(digit_bytes, scale % 9)
    if n_bytes:
        group, bound = load_digit_group(q, n_bytes, q == p, is_negative), np.uint64(item_i64(powers, scale % 9))
        is_number &= group < bound
        low, high = _multiply_add(low, high, bound, group)
        q += n_bytes
    if not is_number:
        return low, high, np.int64(-1)
    if is_negative:
        low = ~low + np.uint64(1)
        high = ~high + (np.uint64(1) if low == 0 else np.uint64(0))
    return low, high, q - p


@kernel
def put_stored_decimal(p, precision, scale, o, digit_bytes, powers):
    """A DECIMAL of at most 38 digits. Address read = -1: not decimal digits."""
    low, high, n_bytes = load_decimal(p, precision, scale, digit_bytes, powers)
    if n_bytes < 0:
        return np.int64(-1), o
    return p + n_bytes, put_decimal(o, precision, scale, low, high)
