"""The value of a hashed column: a VARIANT -> the digest of its text or bytes.

What is hashed: of a text its UTF-8 form, of bytes the bytes, of a whole number its decimal digits. Bytes that are no
text in their character set are hashed as they are.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import copy_at, kernel, peek_u8, peek_u16, peek_u32, peek_u64, poke_u8
from mirrorlake.core.values.hmac_sha256 import HEX_BYTES, MESSAGE, put_hmac
from mirrorlake.core.values.variant import BINARY, DECIMAL16, INT8, INT16, INT32, STRING, put_string_header

_MOST_DIGITS = 20
_SHORT = 1


@kernel
def put_digest(start, end, words):
    """Write the digest of the VARIANT at start..end over it; return the address after the digest."""
    header = np.int64(peek_u8(start))
    if header & 3 == _SHORT:
        p = start + 1
        n_bytes = end - p
    elif header >> 2 == STRING or header >> 2 == BINARY:
        p = start + 5
        n_bytes = end - p
    else:
        p = _digits(start, header >> 2, words + MESSAGE)
        n_bytes = words + MESSAGE + _MOST_DIGITS - p
    made = words + MESSAGE + 32
    put_hmac(p, n_bytes, words, made)
    o = put_string_header(start, HEX_BYTES)
    copy_at(o, made, HEX_BYTES)
    return o + HEX_BYTES


@kernel
def _digits(start, primitive, room):
    """Write a whole number's digits to the end of ``room``; return where they begin."""
    is_negative = False
    if primitive == DECIMAL16:
        rest = peek_u64(start + 2)
    else:
        value = _whole_number(start, primitive)
        is_negative = value < 0
        rest = np.uint64(0) - np.uint64(value) if is_negative else np.uint64(value)
    p = room + _MOST_DIGITS
    while rest > np.uint64(0) or p == room + _MOST_DIGITS:
        p -= 1
        poke_u8(p, np.uint8(np.uint64(48) + rest % np.uint64(10)))
        rest = rest // np.uint64(10)
    if is_negative:
        p -= 1
        poke_u8(p, np.uint8(45))
    return p


@kernel
def _whole_number(start, primitive):
    if primitive == INT8:
        return np.int64(np.int8(peek_u8(start + 1)))
    if primitive == INT16:
        return np.int64(np.int16(peek_u16(start + 1)))
    if primitive == INT32:
        return np.int64(np.int32(peek_u32(start + 1)))
    return np.int64(peek_u64(start + 1))
