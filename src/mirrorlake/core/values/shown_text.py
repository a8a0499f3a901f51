"""VARIANT -> text, of columns whose values may be invalid: one form for all values of a column.

DATE, TIMESTAMP_NTZ    as the server shows them: ``2024-02-29``, ``2024-02-29 10:00:00.500``
TIMESTAMP              in the same form, in UTC
string                 itself: a text, or a date that no calendar has, as the server shows it
binary                 bytes that are no text: MySQL's hexadecimal literal, ``0x636166E9``
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mirrorlake.core.kernels.memory import copy_at, kernel, load_u8, load_u32, load_u64, poke_u8
from mirrorlake.core.values import variant
from mirrorlake.core.values.clock_text import write_clock, write_date
from mirrorlake.core.values.digits import write_byte
from mirrorlake.core.values.temporal import DAY_US, civil_from_days

_BINARY, _STRING, _DATE = variant.BINARY << 2, variant.STRING << 2, variant.DATE << 2
_TIMESTAMP, _TIMESTAMP_NTZ = variant.TIMESTAMP << 2, variant.TIMESTAMP_NTZ << 2
_FRACTION_DIGITS = 6  # all are written, whatever number is shown


@dataclass(frozen=True, slots=True)
class Shown:
    """Requested form of a column, instead of an Arrow type. digits: of the fraction that it shows."""

    digits: int = 0


def read_shown(buf: np.ndarray, pos: np.ndarray, header: np.ndarray, digits: int) -> tuple[int, pa.Array]:
    """Return (number of values of another type, the texts). pos, header: as in ``variant_columns``."""
    ends = np.zeros(len(pos) + 1, np.int64)
    wrong = _measure(buf, pos, header, digits, ends)
    out = np.empty(int(ends[-1]) + _FRACTION_DIGITS, np.uint8)
    _write(buf, buf.ctypes.data, pos, header, digits, out.ctypes.data)
    buffers = [pa.array(header != 0).buffers()[1], pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(out)]
    return wrong, pa.Array.from_buffers(pa.string(), len(pos), buffers)


@kernel
def _measure(buf, pos, header, digits, ends):
    """The running sum of the texts' lengths."""
    n_wrong = 0
    total = np.int64(0)
    for r in range(pos.shape[0]):
        head = header[r]
        if head & 3 == 1:
            total += np.int64(head >> 2)
        elif head == _STRING:
            total += np.int64(load_u32(buf, pos[r] + 1))
        elif head == _BINARY:
            total += 2 + 2 * np.int64(load_u32(buf, pos[r] + 1))
        elif head == _DATE:
            total += 10
        elif head == _TIMESTAMP or head == _TIMESTAMP_NTZ:
            total += 19 + (1 + digits if digits else 0)
        elif head:
            n_wrong += 1
        ends[r + 1] = total
    return n_wrong


@kernel
def _write(buf, start, pos, header, digits, o):
    """Write the texts. start: the address of ``buf``."""
    for r in range(pos.shape[0]):
        head, p = header[r], pos[r]
        if head & 3 == 1:
            o = _write_text(o, start + p + 1, np.int64(head >> 2))
        elif head == _STRING:
            o = _write_text(o, start + p + 5, np.int64(load_u32(buf, p + 1)))
        elif head == _BINARY:
            o = _write_hex(o, buf, p + 5, np.int64(load_u32(buf, p + 1)))
        elif head == _DATE:
            o = write_day(o, np.int64(np.int32(load_u32(buf, p + 1))))
        elif head == _TIMESTAMP or head == _TIMESTAMP_NTZ:
            o = write_moment(o, np.int64(load_u64(buf, p + 1)), digits)


@kernel
def _write_text(o, p, n_bytes):
    copy_at(o, p, n_bytes)
    return o + n_bytes


@kernel
def _write_hex(o, buf, p, n_bytes):
    o = write_byte(write_byte(o, 48), 120)
    for i in range(2 * n_bytes):
        digit = np.int64(load_u8(buf, p + (i >> 1))) >> (0 if i & 1 else 4) & 15
        poke_u8(o + i, np.uint8(digit + (48 if digit < 10 else 55)))
    return o + 2 * n_bytes


@kernel
def write_day(o, days):
    year, month, day = civil_from_days(days)
    return write_date(o, year, month, day)


@kernel
def write_moment(o, micros, digits):
    days = micros // DAY_US
    second = (micros - days * DAY_US) // 1000000
    behind_date = write_byte(write_day(o, days), 32)
    fraction_us = micros - days * DAY_US - second * 1000000
    return write_clock(behind_date, second // 3600, second // 60 % 60, second % 60, fraction_us, digits)
