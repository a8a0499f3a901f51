"""DECIMAL as the server shows it: all digits of its scale, no zero before the first of the whole part but one."""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import item_i64, kernel, peek_u8
from mirrorlake.core.values.digits import write_byte, write_padded, write_unsigned
from mirrorlake.core.values.numeric import load_digit_group
from mirrorlake.core.values.variant import close_string

MAX_PRECISION = 72
"""Maximum precision of a DECIMAL inside JSON, where 65 digits may be counted as whole groups of 9."""
DECIMAL_BOUND_BYTES = MAX_PRECISION + 3
"""The digits, sign, point, and a zero before the point."""


@kernel
def stored_decimal_bytes(precision, scale, digit_bytes):
    whole = precision - scale
    leftovers = item_i64(digit_bytes, whole % 9) + item_i64(digit_bytes, scale % 9)
    return (whole // 9 + scale // 9) * 4 + leftovers


@kernel
def _has_digits(number, n_digits):
    """Does a number have at most ``n_digits`` decimal digits?"""
    for _ in range(n_digits):
        number //= np.uint64(10)
    return number == 0


@kernel
def write_decimal(p, precision, scale, o, digit_bytes):
    """Storage: see ``numeric.load_decimal``. Any precision; at most ``DECIMAL_BOUND_BYTES``. -1: not decimal digits."""
    whole, q = precision - scale, p
    is_negative = peek_u8(p) & np.uint8(0x80) == 0
    if is_negative:
        o = write_byte(o, 45)
    first_digit = o
    n_digits = whole % 9
    for _ in range(whole // 9 + 1):
        n_bytes = item_i64(digit_bytes, n_digits)
        group = load_digit_group(q, n_bytes, q == p, is_negative)
        if not _has_digits(group, n_digits):
            return np.int64(-1)
        if o > first_digit:
            o = write_padded(o, np.int64(group), n_digits)
        elif group:
            o = write_unsigned(o, group)
        q += n_bytes
        n_digits = 9
    if o == first_digit:
        o = write_byte(o, 48)
    if scale == 0:
        return o
    o = write_byte(o, 46)
    for k in range(0, scale, 9):
        n_digits = min(np.int64(9), scale - k)
        n_bytes = item_i64(digit_bytes, n_digits)
        group = load_digit_group(q, n_bytes, q == p, is_negative)
        if not _has_digits(group, n_digits):
            return np.int64(-1)
        o = write_padded(o, np.int64(group), n_digits)
        q += n_bytes
    return o


@kernel
def put_decimal_text(p, precision, scale, o, digit_bytes):
    """Write a DECIMAL as text. Address read = -1: not decimal digits."""
    end = write_decimal(p, precision, scale, o + 5, digit_bytes)
    if end < 0:
        return np.int64(-1), o
    return p + stored_decimal_bytes(precision, scale, digit_bytes), close_string(o, end)
