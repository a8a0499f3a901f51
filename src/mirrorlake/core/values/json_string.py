"""A string inside JSON text. Kernels return the address after the written bytes, NO_ROOM or MALFORMED."""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8, poke_u8
from mirrorlake.core.values.digits import write_byte
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM
from mirrorlake.core.values.utf8 import is_utf8


@kernel
def write_quoted(p, n_bytes, o, limit):
    if not is_utf8(p, n_bytes, 4):
        return np.int64(MALFORMED)
    if o + n_bytes + 2 > limit:
        return NO_ROOM
    o = write_byte(o, 34)
    for i in range(n_bytes):
        code = peek_u8(p + i)
        if code >= 32 and code != 34 and code != 92:
            poke_u8(o, code)
            o += 1
            continue
        if o + 6 + (n_bytes - i) > limit:
            return NO_ROOM
        o = _write_escaped(o, np.int64(code))
    return write_byte(o, 34)


@kernel
def _write_escaped(o, code):
    o = write_byte(o, 92)
    if code == 34 or code == 92:
        return write_byte(o, code)
    if code == 8:
        return write_byte(o, 98)
    if code == 9:
        return write_byte(o, 116)
    if code == 10:
        return write_byte(o, 110)
    if code == 12:
        return write_byte(o, 102)
    if code == 13:
        return write_byte(o, 114)
    o = write_byte(write_byte(write_byte(o, 117), 48), 48)
    low = code & 15
    return write_byte(write_byte(o, 48 + (code >> 4)), 48 + low if low < 10 else 87 + low)
