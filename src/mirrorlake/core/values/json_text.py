"""JSON: MySQL's binary form (``json_binary``) -> the text that the server shows, as VARIANT string.

Kernels return the address after the written bytes, NO_ROOM or MALFORMED.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import item_i64, kernel, peek_u8, peek_u16, peek_u32, peek_u64, poke_u64
from mirrorlake.core.values.digits import write_byte, write_letters, write_signed, write_unsigned
from mirrorlake.core.values.double_text import write_double
from mirrorlake.core.values.json_binary import (
    DOUBLE,
    INT16,
    INT32,
    INT64,
    LARGE,
    LARGE_ARRAY,
    LARGE_OBJECT,
    LITERAL,
    OPAQUE,
    STRING,
    UINT16,
    UINT32,
    container_bytes,
    key_of,
    load_length,
    member_of,
    number,
    value_bytes,
)  # fmt: skip
from mirrorlake.core.values.json_opaque import OPAQUE_BOUND_BYTES, write_opaque
from mirrorlake.core.values.json_string import write_quoted
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM
from mirrorlake.core.values.variant import close_string

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
    """Write the document of ``n_bytes`` at ``p``. The free end of the output has the stack of open containers."""
    stack = room_until - _STACK_BYTES
    most = o + 5 + _TEXT_BYTES_PER_BYTE * n_bytes + 2 * _TOKEN_BOUND_BYTES
    limit = min(stack, most)
    end = _write_document(p, p + n_bytes, o + 5, limit, stack, digit_bytes, powers_128)
    if end == NO_ROOM and limit == most:
        return MALFORMED
    return close_string(o, end) if end > 0 else end


@kernel
def _write_document(p, end, o, limit, stack, digit_bytes, powers_128):
    if p == end:  # the server's meaning of an empty document
        return _write_literal(o, 0) if o + _TOKEN_BOUND_BYTES <= limit else NO_ROOM
    kind, at, depth = np.int64(peek_u8(p)), p + 1, 0
    while True:
        if o + _TOKEN_BOUND_BYTES > limit:
            return NO_ROOM
        if kind <= LARGE_ARRAY:
            if depth == MAX_DEPTH or not _open_container(kind, at, end, stack + depth * _FRAME_BYTES):
                return MALFORMED
            depth += 1
            o = write_byte(o, 123 if kind <= LARGE_OBJECT else 91)
        else:
            o = _write_scalar(kind, at, end, o, limit, digit_bytes, powers_128)
            if o < 0:
                return o
        frame = stack + (depth - 1) * _FRAME_BYTES
        while depth and _is_complete(frame):
            if o >= limit:
                return NO_ROOM
            o = write_byte(o, 125 if item_i64(frame, 2) & 3 <= LARGE_OBJECT else 93)
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
def _open_container(kind, p, end, frame):
    """Open a container. False: it does not fit in the outer one."""
    n_bytes = container_bytes(kind, p, end)
    if n_bytes < 0:
        return False
    poke_u64(frame, np.uint64(p))
    poke_u64(frame + 8, np.uint64(p + n_bytes))
    poke_u64(frame + 16, np.uint64(kind))
    return True


@kernel
def _is_complete(frame):
    progress = item_i64(frame, 2)
    return progress >> 2 == number(item_i64(frame, 0), progress & LARGE)


@kernel
def _next_member(frame, o, limit):
    """Write the text before the next value. Returns (address written or an error, its type, address and end)."""
    start, end, progress = item_i64(frame, 0), item_i64(frame, 1), item_i64(frame, 2)
    poke_u64(frame + 16, np.uint64(progress + 4))
    kind, k = progress & 3, progress >> 2
    if k:
        o = write_byte(write_byte(o, 44), 32)
    if kind <= LARGE_OBJECT:
        key, n_bytes = key_of(kind, start, end, k)
        o = write_quoted(key, n_bytes, o, limit) if key > 0 else MALFORMED
        if o < 0:
            return o, np.int64(0), start, end
        o = write_byte(write_byte(o, 58), 32)
    of_value, value, end = member_of(kind, start, end, k)
    return (o if value > 0 else MALFORMED), of_value, value, end


@kernel
def _write_scalar(kind, p, end, o, limit, digit_bytes, powers_128):
    if value_bytes(kind, p, end) < 0:
        return MALFORMED
    if kind == STRING or kind == OPAQUE:
        is_opaque = np.int64(kind == OPAQUE)
        n_bytes, data = load_length(p + is_opaque, end)
        if is_opaque:
            return write_opaque(np.int64(peek_u8(p)), data, n_bytes, o, limit, digit_bytes)
        return write_quoted(data, n_bytes, o, limit)
    if kind == LITERAL:
        return _write_literal(o, peek_u8(p)) if peek_u8(p) <= 2 else MALFORMED
    if kind == DOUBLE:
        bits = peek_u64(p)
        if bits >> np.uint64(52) & np.uint64(0x7FF) == np.uint64(0x7FF):
            return MALFORMED
        return write_double(o, bits, powers_128)
    if kind == INT16:
        return write_signed(o, np.int64(np.int16(peek_u16(p))))
    if kind == UINT16:
        return write_unsigned(o, np.uint64(peek_u16(p)))
    if kind == INT32:
        return write_signed(o, np.int64(np.int32(peek_u32(p))))
    if kind == UINT32:
        return write_unsigned(o, np.uint64(peek_u32(p)))
    if kind == INT64:
        return write_signed(o, np.int64(peek_u64(p)))
    return write_unsigned(o, peek_u64(p))
