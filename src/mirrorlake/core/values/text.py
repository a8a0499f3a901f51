"""CHAR, VARCHAR, TEXT: row image -> VARIANT string, in UTF-8. BINARY, VARBINARY, BLOB -> VARIANT binary.

Bytes that are no text of the column's character set -> VARIANT binary, unchanged.

A character set is one of a few *forms*, with a parameter: the longest code in bytes for UTF8 (1: ascii), the offset of
its table (``schema.charset_codes``) among the code points of all for TABLE and ASCII_TABLE, whose codes below 0x80 are
ASCII. Kernels return the address after the written bytes, or NO_ROOM.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import copy_at, item_u32, kernel, peek_u8, peek_u16, peek_u64, poke_u8, poke_u64
from mirrorlake.core.schema.charset_codes import LINEAR, LINEAR_POINTS, NEXT, SUPPLEMENTARY_LINEAR, UNASSIGNED
from mirrorlake.core.values.kinds import NO_ROOM
from mirrorlake.core.values.utf8 import HIGH_BITS, is_ascii, is_utf8
from mirrorlake.core.values.variant import put_binary_header, put_string_header

UTF8, TABLE, ASCII_TABLE, UCS2, UTF16, UTF16LE, UTF32 = range(7)
FORMS = {
    "utf8mb4": (UTF8, 4), "utf8mb3": (UTF8, 4), "ascii": (UTF8, 1), "ucs2": (UCS2, 0), "utf16": (UTF16, 0),
    "utf16le": (UTF16LE, 0), "utf32": (UTF32, 0), "swe7": (TABLE, 0),
}  # fmt: skip
"""The others are ASCII_TABLE. utf8mb3 may be utf8mb4: MariaDB's ``utf8`` is one or the other by ``old_mode``, which no
log has."""


@kernel
def put_binary(p, n_bytes, padded_bytes, o, room_until):
    """Write a binary value. ``padded_bytes``: n of BINARY(n), whose trailing zeros the server does not log; 0 for the
    other types."""
    n_out = max(n_bytes, padded_bytes)
    if o + n_out + 5 > room_until:
        return NO_ROOM
    o = put_binary_header(o, n_out)
    copy_at(o, p, n_bytes)
    for i in range(n_bytes, n_out):
        poke_u8(o + i, np.uint8(0))
    return o + n_out


@kernel
def put_text(p, n_bytes, form, parameter, code_points, o, room_until):
    """Write a text. code_points: the address of the tables of all character sets."""
    if form == UTF8:
        return put_utf8(p, n_bytes, parameter, o, room_until)
    table = code_points + 4 * parameter
    n_utf8 = _utf8_length(p, p + n_bytes, form, table)
    if n_utf8 < 0:
        return put_binary(p, n_bytes, 0, o, room_until)
    if o + n_utf8 + 5 > room_until:
        return NO_ROOM
    o = put_string_header(o, n_utf8)
    if n_utf8 == n_bytes and form == ASCII_TABLE and is_ascii(p, n_bytes):
        copy_at(o, p, n_bytes)
        return o + n_bytes
    return _put_code_points(p, p + n_bytes, form, table, o)


@kernel
def put_utf8(p, n_bytes, longest, o, room_until):
    if not is_utf8(p, n_bytes, longest):
        return put_binary(p, n_bytes, 0, o, room_until)
    if o + n_bytes + 5 > room_until:
        return NO_ROOM
    o = put_string_header(o, n_bytes)
    copy_at(o, p, n_bytes)
    return o + n_bytes


@kernel
def _utf8_length(p, end, form, table):
    """Bytes of the text in UTF-8; -1 if it is no text."""
    total = np.int64(0)
    while p < end:
        if form == ASCII_TABLE and p + 8 <= end and peek_u64(p) & HIGH_BITS == 0:
            total += 8
            p += 8
            continue
        point, p = _code_point(p, end, form, table)
        if point < 0:
            return np.int64(-1)
        total += 1 if point < 0x80 else 2 if point < 0x800 else 3 if point < 0x10000 else 4
    return total


@kernel
def _put_code_points(p, end, form, table, o):
    while p < end:
        if form == ASCII_TABLE and p + 8 <= end and peek_u64(p) & HIGH_BITS == 0:
            poke_u64(o, peek_u64(p))
            o += 8
            p += 8
            continue
        point, p = _code_point(p, end, form, table)
        o = _put_code_point(point, o)
    return o


@kernel
def _put_code_point(point, o):
    if point < 0x80:
        poke_u8(o, np.uint8(point))
        return o + 1
    if point < 0x800:
        poke_u8(o, np.uint8(0xC0 | point >> 6))
        o += 1
    else:
        if point < 0x10000:
            poke_u8(o, np.uint8(0xE0 | point >> 12))
        else:
            poke_u8(o, np.uint8(0xF0 | point >> 18))
            o += 1
            poke_u8(o, np.uint8(0x80 | point >> 12 & 0x3F))
        poke_u8(o + 1, np.uint8(0x80 | point >> 6 & 0x3F))
        o += 2
    poke_u8(o, np.uint8(0x80 | point & 0x3F))
    return o + 1


@kernel
def _code_point(p, end, form, table):
    """Return (the code point at p, or -1; address after it)."""
    if form == TABLE or form == ASCII_TABLE:
        return _table_code_point(p, end, table)
    if form == UTF32:
        if p + 4 > end:
            return np.int64(-1), end
        point = _big_endian_16(p) << 16 | _big_endian_16(p + 2)
        return (point if point <= 0x10FFFF and not 0xD800 <= point <= 0xDFFF else np.int64(-1)), p + 4
    return _utf16_code_point(p, end, form)


@kernel
def _utf16_code_point(p, end, form):
    if p + 2 > end:
        return np.int64(-1), end
    point = np.int64(peek_u16(p)) if form == UTF16LE else _big_endian_16(p)
    p += 2
    if not 0xD800 <= point <= 0xDFFF:
        return point, p
    if form == UCS2 or point > 0xDBFF or p + 2 > end:
        return np.int64(-1), end
    low = np.int64(peek_u16(p)) if form == UTF16LE else _big_endian_16(p)
    if not 0xDC00 <= low <= 0xDFFF:
        return np.int64(-1), end
    return 0x10000 + ((point - 0xD800) << 10 | low - 0xDC00), p + 2


@kernel
def _big_endian_16(p):
    return np.int64(peek_u8(p)) << 8 | np.int64(peek_u8(p + 1))


@kernel
def _table_code_point(p, end, table):
    row = table
    while p < end:
        entry = np.int64(item_u32(row, np.int64(peek_u8(p))))
        p += 1
        if entry < LINEAR:
            return entry, p
        if entry >= UNASSIGNED:
            return np.int64(-1), end
        if entry < NEXT:
            return _linear_code_point(p, end, entry - LINEAR, table)
        row = table + 1024 * (entry - NEXT)
    return np.int64(-1), end


@kernel
def _linear_code_point(p, end, number, table):
    """The last two bytes of a four-byte code of GB18030."""
    if p + 2 > end:
        return np.int64(-1), end
    third, fourth = np.int64(peek_u8(p)) - 0x81, np.int64(peek_u8(p + 1)) - 0x30
    if third < 0 or third > 0x7D or fourth < 0 or fourth > 9:
        return np.int64(-1), end
    number += 10 * third + fourth
    if number < LINEAR_POINTS:
        point = np.int64(item_u32(table, 256 + number))
        return (point if point < LINEAR else np.int64(-1)), p + 2
    point = 0x10000 + number - SUPPLEMENTARY_LINEAR
    return (point if 0x10000 <= point <= 0x10FFFF else np.int64(-1)), p + 2
