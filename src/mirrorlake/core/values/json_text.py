"""JSON: MySQL's binary form -> the text that the server shows, as VARIANT string.

A document is a type byte and its value; integers are little-endian (``sql-common/json_binary.h``):

    0, 1    object: small (numbers of 2 bytes), large (4)   number of members, size in bytes, key entries (offset,
    2, 3    array                                           u16 length; objects only), value entries (type, offset)
    4       literal: 0 null, 1 true, 2 false
    5 .. 10 int16, uint16, int32, uint32, int64, uint64
    11, 12  double; string: length, UTF-8
    15      opaque: column type, length, the value as that type stores it

An offset counts from the number of members. A literal, a number of 16 bits, and in a large container one of 32, stands
in its value entry itself. Lengths of strings and opaque values take 7 bits of each byte, low bits first.

Kernels return the address behind what was written, NO_ROOM or MALFORMED.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.memory import item_i64, kernel, peek_u8, peek_u16, peek_u32, peek_u64, poke_u64
from mirrorlake.core.values.digits import write_byte, write_letters, write_signed, write_unsigned
from mirrorlake.core.values.double_text import write_double
from mirrorlake.core.values.json_opaque import OPAQUE_BOUND_BYTES, write_opaque
from mirrorlake.core.values.json_string import write_quoted
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM
from mirrorlake.core.values.variant import close_string

_LARGE_OBJECT, _LARGE_ARRAY = 1, 3
_LITERAL, _INT16, _UINT16, _INT32, _UINT32, _INT64, _UINT64, _DOUBLE, _STRING, _OPAQUE = (
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    15,
)
_NULL, _TRUE, _FALSE = np.uint64(0x6C6C756E), np.uint64(0x65757274), np.uint64(0x65736C6166)

MAX_DEPTH = 100
_FRAME_BYTES = 24  # of an open container: its first byte, its end, members written << 2 | type
_STACK_BYTES = MAX_DEPTH * _FRAME_BYTES
_TOKEN_BOUND_BYTES = OPAQUE_BOUND_BYTES + 8
_TEXT_BYTES_PER_BYTE = 12
"""No part of a document is read twice, so its text is never longer than this many times its bytes: ``"": false, `` is a
key entry and a value entry, 7 bytes."""


@kernel
def put_json(p, n_bytes, o, room_until, digit_bytes, powers_128):
    """The document of ``n_bytes`` at ``p``. The free end of the output holds the containers that are open."""
    stack = room_until - _STACK_BYTES
    most = o + 5 + _TEXT_BYTES_PER_BYTE * n_bytes + 2 * _TOKEN_BOUND_BYTES
    limit = min(stack, most)
    end = _write_document(p, p + n_bytes, o + 5, limit, stack, digit_bytes, powers_128)
    if end == NO_ROOM and limit == most:
        return MALFORMED
    return close_string(o, end) if end > 0 else end


@kernel
def _write_document(p, end, o, limit, stack, digit_bytes, powers_128):
    if p == end:  # what an empty document means to the server
        return _write_literal(o, 0) if o + _TOKEN_BOUND_BYTES <= limit else NO_ROOM
    kind, at, depth = np.int64(peek_u8(p)), p + 1, 0
    while True:
        if o + _TOKEN_BOUND_BYTES > limit:
            return NO_ROOM
        if kind <= _LARGE_ARRAY:
            if depth == MAX_DEPTH or not _open_container(kind, at, end, stack + depth * _FRAME_BYTES):
                return MALFORMED
            depth += 1
            o = write_byte(o, 123 if kind <= _LARGE_OBJECT else 91)
        else:
            o = _write_scalar(kind, at, end, o, limit, digit_bytes, powers_128)
            if o < 0:
                return o
        frame = stack + (depth - 1) * _FRAME_BYTES
        while depth and _is_complete(frame):
            if o >= limit:
                return NO_ROOM
            o = write_byte(o, 125 if item_i64(frame, 2) & 3 <= _LARGE_OBJECT else 93)
            depth -= 1
            frame -= _FRAME_BYTES
        if depth == 0:
            return o
        o, kind, at, end = _next_member(frame, o, limit)
        if o < 0:
            return o


@kernel
def _write_literal(o, which):
    return write_letters(o, _NULL if which == 0 else _TRUE if which == 1 else _FALSE)


@kernel
def _number(p, is_large):
    return np.int64(peek_u32(p)) if is_large else np.int64(peek_u16(p))


@kernel
def _open_container(kind, p, end, frame):
    """False: it does not fit in what holds it."""
    is_large = kind & 1
    width = 4 if is_large else 2
    if p + 2 * width > end:
        return False
    count, size = _number(p, is_large), _number(p + width, is_large)
    entry_bytes = 1 + width + (width + 2 if kind <= _LARGE_OBJECT else 0)
    if size > end - p or 2 * width + count * entry_bytes > size:
        return False
    poke_u64(frame, np.uint64(p))
    poke_u64(frame + 8, np.uint64(p + size))
    poke_u64(frame + 16, np.uint64(kind))
    return True


@kernel
def _is_complete(frame):
    progress = item_i64(frame, 2)
    return progress >> 2 == _number(item_i64(frame, 0), progress & 1)


@kernel
def _next_member(frame, o, limit):
    """Write what stands before the next value. Returns (address written or an error, its type, address and end)."""
    start, end, progress = item_i64(frame, 0), item_i64(frame, 1), item_i64(frame, 2)
    poke_u64(frame + 16, np.uint64(progress + 4))
    is_large, is_object, k = progress & 1, progress & 3 <= _LARGE_OBJECT, progress >> 2
    width = 4 if is_large else 2
    count = _number(start, is_large)
    keys = start + 2 * width
    entries = keys + (count * (width + 2) if is_object else 0)
    first_value = entries + count * (width + 1)
    if k:
        o = write_byte(write_byte(o, 44), 32)
    if is_object:
        key_entry = keys + k * (width + 2)
        key, n_bytes = start + _number(key_entry, is_large), np.int64(peek_u16(key_entry + width))
        if key < first_value or key + n_bytes > end:
            return MALFORMED, np.int64(0), start, end
        o = write_quoted(key, n_bytes, o, limit)
        if o < 0:
            return o, np.int64(0), start, end
        o = write_byte(write_byte(o, 58), 32)
    entry = entries + k * (width + 1)
    kind = np.int64(peek_u8(entry))
    if _LITERAL <= kind <= _UINT16 or (is_large and kind <= _UINT32 and kind >= _INT32):
        return o, kind, entry + 1, entry + 1 + width
    value = start + _number(entry + 1, is_large)
    if value < first_value or value >= end:
        return MALFORMED, np.int64(0), start, end
    return o, kind, value, end


@kernel
def _write_scalar(kind, p, end, o, limit, digit_bytes, powers_128):
    if kind == _STRING or kind == _OPAQUE:
        is_opaque = np.int64(kind == _OPAQUE)
        if p + is_opaque > end:
            return MALFORMED
        n_bytes, data = _load_length(p + is_opaque, end)
        if n_bytes < 0 or n_bytes > end - data:
            return MALFORMED
        if is_opaque:
            return write_opaque(np.int64(peek_u8(p)), data, n_bytes, o, limit, digit_bytes)
        return write_quoted(data, n_bytes, o, limit)
    if kind == _LITERAL:
        return _write_literal(o, peek_u8(p)) if p < end and peek_u8(p) <= 2 else MALFORMED
    if kind > _DOUBLE or p + (2 if kind <= _UINT16 else 4 if kind <= _UINT32 else 8) > end:
        return MALFORMED
    if kind == _DOUBLE:
        bits = peek_u64(p)
        if bits >> np.uint64(52) & np.uint64(0x7FF) == np.uint64(0x7FF):
            return MALFORMED
        return write_double(o, bits, powers_128)
    if kind == _INT16:
        return write_signed(o, np.int64(np.int16(peek_u16(p))))
    if kind == _UINT16:
        return write_unsigned(o, np.uint64(peek_u16(p)))
    if kind == _INT32:
        return write_signed(o, np.int64(np.int32(peek_u32(p))))
    if kind == _UINT32:
        return write_unsigned(o, np.uint64(peek_u32(p)))
    if kind == _INT64:
        return write_signed(o, np.int64(peek_u64(p)))
    return write_unsigned(o, peek_u64(p))


@kernel
def _load_length(p, end):
    """(length, address behind it); -1: it does not end."""
    n_bytes = np.int64(0)
    for i in range(5):
        if p + i >= end:
            break
        byte = np.int64(peek_u8(p + i))
        n_bytes |= (byte & 127) << 7 * i
        if byte < 128:
            return n_bytes, p + i + 1
    return np.int64(-1), p
