"""ENUM and SET: row image -> VARIANT string of the label, or of the labels joined by commas.

``labels`` is all label texts in UTF-8, back to back; label k of a column whose first label is number ``base``
is at ``label_offsets[base + k]``. Kernels take the addresses of both.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import copy_at, item_i64, kernel, peek_u8, poke_u8
from mirrorlake.core.values.variant import put_string_header


@kernel
def _load_little_endian(p, n_bytes):
    value = np.uint64(0)
    for i in range(n_bytes):
        value |= np.uint64(peek_u8(p + i)) << np.uint64(8 * i)
    return value


@kernel
def put_enum(p, n_bytes, base, n_labels, o, labels, label_offsets):
    """A 1-based index; 0 is the empty text of an invalid value. Address read = -1: an index beyond the labels."""
    index = np.int64(_load_little_endian(p, n_bytes))
    if index < 0 or index > n_labels:
        return np.int64(-1), o
    if index == 0:
        return p + n_bytes, put_string_header(o, 0)
    start, end = item_i64(label_offsets, base + index - 1), item_i64(label_offsets, base + index)
    o = put_string_header(o, end - start)
    copy_at(o, labels + start, end - start)
    return p + n_bytes, o + end - start


@kernel
def put_set(p, n_bytes, base, n_labels, o, labels, label_offsets):
    """A bit for each label. Address read = -1: a bit beyond the labels."""
    bits = _load_little_endian(p, n_bytes)
    if n_labels < 64 and bits >> np.uint64(n_labels):
        return np.int64(-1), o
    n_out = np.int64(-1) if bits else np.int64(0)
    for k in range(n_labels):
        if bits >> np.uint64(k) & np.uint64(1):
            n_out += 1 + item_i64(label_offsets, base + k + 1) - item_i64(label_offsets, base + k)
    o = put_string_header(o, n_out)
    is_first = True
    for k in range(n_labels):
        if bits >> np.uint64(k) & np.uint64(1):
            if not is_first:
                poke_u8(o, np.uint8(44))
                o += 1
            is_first = False
            start, end = item_i64(label_offsets, base + k), item_i64(label_offsets, base + k + 1)
            copy_at(o, labels + start, end - start)
            o += end - start
    return p + n_bytes, o
