"""BINARY, VARBINARY, BLOB: row image -> VARIANT binary. Kernels as in ``text``."""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import copy_at, kernel, poke_u8
from mirrorlake.core.values.kinds import NO_ROOM
from mirrorlake.core.values.variant import put_binary_header


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
