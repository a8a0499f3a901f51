"""One column's value: row image -> VARIANT, by the kernel of the column's kind, which is called by its address."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mirrorlake.core.kernels.compiling import address_of, call_at
from mirrorlake.core.kernels.memory import item_i64, kernel, peek_u8
from mirrorlake.core.values.column_kinds import KERNELS, STORED_BYTES, TRIGGER_MAY_SET
from mirrorlake.core.values.kinds import COMPRESSED_TEXT, DATE, HASHED, MALFORMED, OLD_TIMESTAMP, UTF8_TEXT
from mirrorlake.core.values.variant import BINARY

_KERNEL, KIND = 0, 5
LAYOUT_FIELDS = 6


class Columns(NamedTuple):
    """The columns of all tables, back to back.

    layout: int64[n, LAYOUT_FIELDS], per column (address of its kind's kernel; stored bytes, or those of the length
    before a value of varying size; three parameters of the kind; the kind, of a hashed column that of its values);
    rank: int64[n], the column's field id in its object; tables: int64[6], the addresses of ``column_kinds.Tables``.
    """

    layout: np.ndarray
    rank: np.ndarray
    tables: np.ndarray


@kernel
def put_value(p, end, columns, c, o, room_until):
    """Write the value at ``p`` of column c; columns: the addresses of ``Columns``."""
    column = columns.layout + c * (8 * LAYOUT_FIELDS)
    if p + item_i64(column, STORED_BYTES) > end:
        return MALFORMED, o
    return call_at(item_i64(column, _KERNEL), p, end, column, columns.tables, o, room_until)


@kernel
def is_invalid(o, columns, c):
    """Is column c's value, written at ``o``, invalid: text instead of a date, bytes instead of text?"""
    header, kind = peek_u8(o), item_i64(columns.layout + c * (8 * LAYOUT_FIELDS), KIND)
    if DATE <= kind <= OLD_TIMESTAMP:
        return header & 3 == 1
    return UTF8_TEXT <= kind <= COMPRESSED_TEXT and header == BINARY << 2


def column_layout(kind: int, stored_bytes: int, a: int, b: int, c: int) -> tuple[int, ...]:
    """The entry of ``Columns.layout``. Compiles the kind's kernel if it is not compiled yet."""
    return address_of(KERNELS[kind]), stored_bytes, a, b, c, kind


def hashed_layout(plain: np.ndarray, words: np.ndarray) -> tuple[int, ...]:
    """The entry of a column whose digests are written. plain: that of its values, words: of ``words_of``, which the
    caller both keeps alive."""
    stored_bytes, c, kind = (int(plain[k]) for k in (STORED_BYTES, TRIGGER_MAY_SET, KIND))
    return *column_layout(HASHED, stored_bytes, plain.ctypes.data, words.ctypes.data, c)[:KIND], kind
