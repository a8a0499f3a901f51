"""Is a VARIANT whole? Kernels that go through an encoded row image byte by byte, written from the specification of the
format (Parquet ``VariantEncoding.md``) and not from our encoder."""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8, peek_u16, peek_u32

NOT_WHOLE = -1
PRIMITIVE_BYTES = np.full(64, NOT_WHOLE, np.int8)
"""Bytes of the value after its first byte, by the primitive's id."""
PRIMITIVE_BYTES[[0, 3, 4, 5, 6, 7]] = 0, 1, 2, 4, 8, 8  # null, int8 .. int64, double
PRIMITIVE_BYTES[[8, 9, 10, 11, 12, 13, 14]] = 5, 9, 17, 4, 8, 8, 4  # decimals, date, timestamps, float
_BINARY, _STRING = 15, 16


@kernel
def first_broken(images, ends, n_names, is_image, primitive_bytes):
    """The first row whose bytes, at ``images + ends[r]``, are not what they should be; -1: none. See below."""
    for r in range(len(n_names)):
        start, end = images + np.int64(ends[r]), images + np.int64(ends[r + 1])
        if is_image[r] and not is_whole_object(start, end, n_names[r], primitive_bytes):
            return r
    return -1


@kernel
def is_whole_object(start, end, n_names, primitive_bytes):
    """Whether the bytes at addresses start..end are one object, of fields that follow each other without a gap.

    n_names: of its dictionary. primitive_bytes: the address of ``PRIMITIVE_BYTES``.
    """
    if start >= end:
        return False
    header = np.int64(peek_u8(start))
    count_bytes, id_bytes, offset_bytes = 4 if header >> 6 & 1 else 1, (header >> 4 & 3) + 1, (header >> 2 & 3) + 1
    if header & 3 != 2 or id_bytes > 2 or offset_bytes != 4 or start + 1 + count_bytes > end:
        return False
    n = np.int64(peek_u32(start + 1)) if count_bytes == 4 else np.int64(peek_u8(start + 1))
    ids = start + 1 + count_bytes
    offsets = ids + n * id_bytes
    values = offsets + 4 * (n + 1)
    if n > n_names or values > end or np.int64(peek_u32(offsets + 4 * n)) != end - values:
        return False
    n_bytes, last_id = np.int64(0), np.int64(-1)
    for k in range(n):
        field_id = np.int64(peek_u16(ids + 2 * k)) if id_bytes == 2 else np.int64(peek_u8(ids + k))
        value = values + np.int64(peek_u32(offsets + 4 * k))
        stop = _value_end(value, end, primitive_bytes)
        if field_id <= last_id or field_id >= n_names or stop < 0:
            return False
        last_id = field_id
        n_bytes += stop - value
    return n_bytes == end - values


@kernel
def _value_end(p, end, primitive_bytes):
    """The address after a value that is neither object nor array, or NOT_WHOLE."""
    if p >= end:
        return np.int64(NOT_WHOLE)
    header = np.int64(peek_u8(p))
    kind, p = header >> 2, p + 1
    if header & 3 == 1:
        return _text_end(p, kind, end)
    if header & 3 != 0:
        return np.int64(NOT_WHOLE)
    if kind == _BINARY or kind == _STRING:
        if p + 4 > end:
            return np.int64(NOT_WHOLE)
        n_bytes, p = np.int64(peek_u32(p)), p + 4
        if kind == _STRING:
            return _text_end(p, n_bytes, end)
    else:
        n_bytes = np.int64(np.int8(peek_u8(primitive_bytes + kind)))
        if n_bytes < 0:
            return np.int64(NOT_WHOLE)
    return p + n_bytes if p + n_bytes <= end else np.int64(NOT_WHOLE)


@kernel
def _text_end(p, n_bytes, end):
    stop = p + n_bytes
    if stop > end:
        return np.int64(NOT_WHOLE)
    while p < stop:
        p = _character_end(p, stop)
        if p < 0:
            return np.int64(NOT_WHOLE)
    return p


@kernel
def _character_end(p, stop):
    """The address after a character of UTF-8 (RFC 3629: no surrogates, no long forms, up to U+10FFFF)."""
    first = np.int64(peek_u8(p))
    if first < 0x80:
        return p + 1
    more = 1 if 0xC2 <= first <= 0xDF else 2 if first >> 4 == 0xE else 3 if 0xF0 <= first <= 0xF4 else 0
    if more == 0 or p + more >= stop:
        return np.int64(NOT_WHOLE)
    second = np.int64(peek_u8(p + 1))
    low = 0xA0 if first == 0xE0 else 0x90 if first == 0xF0 else 0x80
    high = 0x9F if first == 0xED else 0x8F if first == 0xF4 else 0xBF
    if second < low or second > high:
        return np.int64(NOT_WHOLE)
    for k in range(2, more + 1):
        if np.int64(peek_u8(p + k)) >> 6 != 2:
            return np.int64(NOT_WHOLE)
    return p + more + 1
