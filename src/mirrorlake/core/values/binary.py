"""BINARY, VARBINARY, BLOB: row image -> VARIANT binary. Kernels as in ``text``."""

from __future__ import annotations

import numpy as np

from mirrorlake.core.memory import copy_bytes, kernel
from mirrorlake.core.values.variant import put_binary_header


@kernel
def put_binary(buf, p, n_bytes, padded_bytes, out, o, room_until):
    """``padded_bytes``: n of BINARY(n), whose trailing zeros the server does not log; 0 for the other types."""
    n_out = max(n_bytes, padded_bytes)
    if o + n_out + 5 > room_until:
        return np.int64(-1)
    o = put_binary_header(out, o, n_out)
    copy_bytes(out, o, buf, p, n_bytes)
    for i in range(n_bytes, n_out):
        out[o + i] = 0
    return o + n_out
