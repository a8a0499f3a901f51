"""The value of a hashed column: a VARIANT -> the digest of its text or bytes.

What is hashed: of a text its UTF-8 form, of bytes the bytes, of a whole number its decimal digits, of a date or time
the text that the server shows, in UTC, of a FLOAT or DOUBLE its bytes, the sign first, with 0 for -0. Bytes that are no
text in their character set are hashed as they are. A DECIMAL comes as text.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import copy_at, kernel, peek_u8, peek_u16, peek_u32, peek_u64, poke_u8
from mirrorlake.core.values import variant
from mirrorlake.core.values.hmac_sha256 import HEX_BYTES, MESSAGE, put_hmac
from mirrorlake.core.values.shown_text import write_day, write_moment
from mirrorlake.core.values.variant import DECIMAL16, INT8, INT16, INT32, put_string_header

_BINARY, _STRING, _FLOAT, _DOUBLE = variant.BINARY, variant.STRING, variant.FLOAT, variant.DOUBLE
_DATE, _TIMESTAMP, _TIMESTAMP_NTZ = variant.DATE, variant.TIMESTAMP, variant.TIMESTAMP_NTZ
_MOST_DIGITS = 20
_SHORT = 1


@kernel
def put_digest(start, end, digits, words):
    """Write the digest of the VARIANT at start..end over it; return the address after the digest. digits: of the
    fraction that a time shows."""
    header = np.int64(peek_u8(start))
    if header & 3 == _SHORT:
        p = start + 1
    elif header >> 2 == _STRING or header >> 2 == _BINARY:
        p = start + 5
    else:
        p, end = _message(start, header >> 2, digits, words + MESSAGE)
    made = words + MESSAGE + 32
    put_hmac(p, end - p, words, made)
    o = put_string_header(start, HEX_BYTES)
    copy_at(o, made, HEX_BYTES)
    return o + HEX_BYTES


@kernel
def _message(start, primitive, digits, room):
    """Write what is hashed of a value of fixed size; return where it begins and ends."""
    if primitive == _DATE:
        return room, write_day(room, np.int64(np.int32(peek_u32(start + 1))))
    if primitive == _TIMESTAMP or primitive == _TIMESTAMP_NTZ:
        return room, write_moment(room, np.int64(peek_u64(start + 1)), digits)
    if primitive == _FLOAT or primitive == _DOUBLE:
        return room, _write_floating(start + 1, 4 if primitive == _FLOAT else 8, room)
    return _digits(start, primitive, room), room + _MOST_DIGITS


@kernel
def _write_floating(p, n_bytes, o):
    rest = np.int64(peek_u8(p + n_bytes - 1) & np.uint8(0x7F))
    for i in range(n_bytes):
        byte = peek_u8(p + n_bytes - 1 - i)
        poke_u8(o + i, byte)
        rest |= np.int64(byte) if i else np.int64(0)
    if rest == 0:
        poke_u8(o, np.uint8(0))
    return o + n_bytes


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
