"""Dates and times as the server shows them. Kernels as in ``digits``."""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, poke_u8
from mirrorlake.core.values.digits import write_byte, write_padded
from mirrorlake.core.values.numeric import load_big_endian, peek_u24

_OLD_FINE_ZERO_US = np.int64(839 * 3600 * 1_000_000)


@kernel
def write_date(o, year, month, day):
    """``2020-02-00``"""
    o = write_byte(write_padded(o, year, 4), 45)
    o = write_byte(write_padded(o, month, 2), 45)
    return write_padded(o, day, 2)


@kernel
def write_clock(o, hour, minute, second, fraction_us, digits):
    """``838:59:59.000``: at least two digits of the hour, and ``digits`` of the fraction."""
    o = write_byte(write_padded(o, hour, 2 if hour < 100 else 3), 58)
    o = write_byte(write_padded(o, minute, 2), 58)
    o = write_padded(o, second, 2)
    if digits == 0:
        return o
    o = write_byte(o, 46)
    return write_padded(o, fraction_us, 6) - (6 - digits)


@kernel
def write_packed_time(o, packed, digits):
    """packed: (hour << 12 | minute << 6 | second) << 24 | microseconds, negative for a negative time."""
    if packed < 0:
        o, packed = write_byte(o, 45), -packed
    hms = packed >> 24
    return write_clock(o, hms >> 12, hms >> 6 & 63, hms & 63, packed & 0xFFFFFF, digits)


@kernel
def is_packed_time(packed):
    """Is it a time that a server can hold?"""
    magnitude = abs(packed)
    hms = magnitude >> 24
    return hms >> 12 <= 838 and hms >> 6 & 63 < 60 and hms & 63 < 60 and magnitude & 0xFFFFFF < 1000000


@kernel
def _put_time(p, packed, digits, o):
    if not is_packed_time(packed):
        return np.int64(-1), o
    end = write_packed_time(o + 1, packed, digits)
    poke_u8(o, np.uint8((end - o - 1) << 2 | 1))
    return p, end


@kernel
def put_time(p, digits, o):
    """TIME: one big-endian integer of 3 bytes and the fraction's, minus its middle. Address read = -1: no time."""
    width = 3 + (digits + 1) // 2
    stored = load_big_endian(p, width) - (np.int64(1) << (8 * width - 1))
    magnitude = abs(stored)
    unit = np.int64(1)
    for _ in range(6 - width):
        unit *= 100
    n_bits = 8 * (width - 3)
    fraction = magnitude & ((np.int64(1) << n_bits) - 1)
    packed = magnitude >> n_bits << 24 | fraction * unit
    return _put_time(p + width, packed if stored >= 0 else -packed, digits, o)


@kernel
def put_old_fine_time(p, n_bytes, digits, unit_us, o):
    """MariaDB before 10.1: big-endian, the number of units of its last digit, with that of one second more than the
    longest time added (``Field_time_hires`` in MariaDB's ``sql/field.cc``); -1 as above."""
    stored = load_big_endian(p, n_bytes) * unit_us - _OLD_FINE_ZERO_US
    magnitude = abs(stored)
    seconds = magnitude // 1000000
    packed = (seconds // 3600 << 12 | seconds // 60 % 60 << 6 | seconds % 60) << 24 | magnitude % 1000000
    return _put_time(p + n_bytes, packed if stored >= 0 else -packed, digits, o)


@kernel
def put_old_time(p, o):
    """Storage before MySQL 5.6: 3 bytes, little-endian, the decimal number hhmmss with its sign; -1 as above."""
    value = peek_u24(p)
    if value & 0x800000:
        value -= 0x1000000
    number = abs(value)
    packed = (number // 10000 << 12 | number // 100 % 100 << 6 | number % 100) << 24
    return _put_time(p + 3, packed if value >= 0 else -packed, 0, o)
