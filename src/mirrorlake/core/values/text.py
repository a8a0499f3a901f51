"""CHAR, VARCHAR, TEXT: row image -> VARIANT string, in UTF-8.

Kernels return the address behind what was written, or -1 when the output has no room.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.memory import copy_at, item_u32, kernel, peek_u8, poke_u8
from mirrorlake.core.values.variant import put_string_header

UTF8, LATIN1 = 0, 1
ENCODINGS = {"utf8mb4": UTF8, "utf8mb3": UTF8, "ascii": UTF8, "latin1": LATIN1}
"""Character sets that are mirrored. MySQL's latin1 is Windows-1252 with its five holes kept as C1 controls."""


def _latin1_code_points() -> np.ndarray:
    points = np.arange(256, dtype=np.uint32)
    for byte in range(0x80, 0xA0):
        text = bytes([byte]).decode("cp1252", errors="ignore")
        points[byte] = ord(text) if text else byte
    return points


LATIN1_CODE_POINTS = _latin1_code_points()


@kernel
def put_utf8(p, n_bytes, o, room_until):
    if o + n_bytes + 5 > room_until:
        return np.int64(-1)
    o = put_string_header(o, n_bytes)
    copy_at(o, p, n_bytes)
    return o + n_bytes


@kernel
def _utf8_length(p, n_bytes, code_points):
    total = np.int64(0)
    for i in range(n_bytes):
        point = item_u32(code_points, np.int64(peek_u8(p + i)))
        total += 1 if point < 0x80 else 2 if point < 0x800 else 3
    return total


@kernel
def put_latin1(p, n_bytes, o, room_until, code_points):
    n_utf8 = _utf8_length(p, n_bytes, code_points)
    if o + n_utf8 + 5 > room_until:
        return np.int64(-1)
    o = put_string_header(o, n_utf8)
    for i in range(n_bytes):
        point = item_u32(code_points, np.int64(peek_u8(p + i)))
        if point < 0x80:
            poke_u8(o, np.uint8(point))
            o += 1
        elif point < 0x800:
            poke_u8(o, np.uint8(0xC0 | point >> 6))
            poke_u8(o + 1, np.uint8(0x80 | point & 0x3F))
            o += 2
        else:
            poke_u8(o, np.uint8(0xE0 | point >> 12))
            poke_u8(o + 1, np.uint8(0x80 | point >> 6 & 0x3F))
            poke_u8(o + 2, np.uint8(0x80 | point & 0x3F))
            o += 3
    return o
