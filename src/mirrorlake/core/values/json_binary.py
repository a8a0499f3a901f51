"""MySQL's binary form of JSON: find the parts of a document.

A document is a type byte and its value; integers are little-endian (``sql-common/json_binary.h``):

    0, 1    object: small (numbers of 2 bytes), large (4)   number of members, size in bytes, key entries (offset,
    2, 3    array                                           u16 length; objects only), value entries (type, offset)
    4       literal: 0 null, 1 true, 2 false
    5 .. 10 int16, uint16, int32, uint32, int64, uint64
    11, 12  double; string: length, UTF-8
    15      opaque: column type, length, the value as that type stores it

An offset counts from the number of members. A literal, a number of 16 bits, and in a large container one of 32, is
stored in its value entry itself. Lengths of strings and opaque values take 7 bits of each byte, low bits first. The
keys of an object are in the order of their lengths, those of one length in that of their bytes.

All kernels take addresses; MALFORMED instead of one, or of a number of bytes: it does not fit in its container.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8, peek_u16, peek_u32
from mirrorlake.core.values.kinds import MALFORMED

LARGE, LARGE_OBJECT, LARGE_ARRAY = 1, 1, 3
"""The bit of the types of large containers; the last type of objects, and of containers."""
LITERAL, INT16, UINT16, INT32, UINT32, INT64, UINT64, DOUBLE, STRING = range(4, 13)
OPAQUE = 15
KEY_ENTRY_BYTES, VALUE_ENTRY_BYTES = 6, 5
"""Sizes of entries in a large container."""


@kernel
def number(p, is_large):
    return np.int64(peek_u32(p)) if is_large else np.int64(peek_u16(p))


@kernel
def container_bytes(kind, p, end):
    is_large = kind & LARGE
    width = 4 if is_large else 2
    if p + 2 * width > end:
        return MALFORMED
    n_bytes = number(p + width, is_large)
    entry_bytes = 1 + width + (width + 2 if kind <= LARGE_OBJECT else 0)
    if n_bytes > end - p or 2 * width + number(p, is_large) * entry_bytes > n_bytes:
        return MALFORMED
    return n_bytes


@kernel
def value_bytes(kind, p, end):
    """The bytes of the value at ``p``, in a value entry or outside."""
    if kind <= LARGE_ARRAY:
        return container_bytes(kind, p, end)
    if kind == STRING or kind == OPAQUE:
        n_bytes, data = load_length(p + np.int64(kind == OPAQUE), end)
        return data + n_bytes - p if 0 <= n_bytes <= end - data else MALFORMED
    n_bytes = 1 if kind == LITERAL else 2 if kind <= UINT16 else 4 if kind <= UINT32 else 8
    return n_bytes if kind <= DOUBLE and p + n_bytes <= end else MALFORMED


@kernel
def load_length(p, end):
    """Return (length, address after it); -1: it does not end."""
    n_bytes = np.int64(0)
    for i in range(5):
        if p + i >= end:
            break
        byte = np.int64(peek_u8(p + i))
        n_bytes |= (byte & 127) << 7 * i
        if byte < 128:
            return n_bytes, p + i + 1
    return np.int64(-1), p


@kernel
def is_inlined(kind, is_large):
    return LITERAL <= kind <= UINT16 or (is_large and INT32 <= kind <= UINT32)


@kernel
def _entries(kind, start):
    """The start and the end of the value entries of the container at ``start``."""
    is_large = kind & LARGE
    width = 4 if is_large else 2
    count = number(start, is_large)
    entries = start + 2 * width + (count * (width + 2) if kind <= LARGE_OBJECT else 0)
    return entries, entries + count * (width + 1)


@kernel
def key_of(kind, start, end, k):
    """Return (address, number of bytes) of key k of the object ``start .. end``."""
    is_large = kind & LARGE
    width = 4 if is_large else 2
    entry = start + 2 * width + k * (width + 2)
    key, n_bytes = start + number(entry, is_large), np.int64(peek_u16(entry + width))
    _, data = _entries(kind, start)
    return (key if data <= key and key + n_bytes <= end else MALFORMED), n_bytes


@kernel
def member_of(kind, start, end, k):
    """Value k of the container ``start .. end``: (its type, its address, end of its container)."""
    is_large = kind & LARGE
    width = 4 if is_large else 2
    entries, data = _entries(kind, start)
    entry = entries + k * (width + 1)
    of_value = np.int64(peek_u8(entry))
    if is_inlined(of_value, is_large):
        return of_value, entry + 1, entry + 1 + width
    value = start + number(entry + 1, is_large)
    return of_value, (value if data <= value < end else MALFORMED), end
