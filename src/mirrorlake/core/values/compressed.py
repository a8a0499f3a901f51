"""Compressed columns of MariaDB: the plain value, in the free end of the output.

Stored (``sql/field_comp.cc``): a byte 0 and the value; or a byte 0x80 | 8 if zlib's frame is missing | n, the value's
length in n bytes, big-endian, and a deflate stream. An empty value has no byte at all.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8
from mirrorlake.core.values.inflate import MOST_BYTES_PER_BYTE, TABLE_BYTES, inflate
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM
from mirrorlake.core.values.numeric import load_big_endian


@kernel
def plain_value(p, n_bytes, o, room_until):
    """Return (address of the plain value, MALFORMED or NO_ROOM; its length; the new end of the room)."""
    if n_bytes == 0:
        return p, n_bytes, room_until
    header = np.int64(peek_u8(p))
    if header == 0:
        return p + 1, n_bytes - 1, room_until
    n_length_bytes = header & 7
    if header >> 4 != 8 or not 1 <= n_length_bytes <= 4 or n_length_bytes >= n_bytes:
        return MALFORMED, n_bytes, room_until
    n_plain = load_big_endian(p + 1, n_length_bytes)
    if n_plain > MOST_BYTES_PER_BYTE * n_bytes:
        return MALFORMED, n_bytes, room_until
    plain = room_until - n_plain
    tables = plain - TABLE_BYTES
    if tables < o:
        return NO_ROOM, n_bytes, room_until
    if not inflate(p + 1 + n_length_bytes, p + n_bytes, plain, n_plain, header & 8 == 0, tables):
        return MALFORMED, n_bytes, room_until
    return plain, n_plain, plain
