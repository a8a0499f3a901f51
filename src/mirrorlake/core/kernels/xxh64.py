"""XXH64: the checksum of silver's row images (Yann Collet's specification, doc/xxhash_spec.md of xxHash).

A CRC by tables takes ten times as long in a kernel.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8, peek_u32, peek_u64

_P1, _P2, _P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_P4, _P5 = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)
_WORD_BITS = np.uint64(64)


@kernel
def _rotate(value, bits):
    return value << np.uint64(bits) | value >> (_WORD_BITS - np.uint64(bits))


@kernel
def _round(lane, word):
    return _rotate(lane + word * _P2, 31) * _P1


@kernel
def _merge(value, lane):
    return (value ^ _round(np.uint64(0), lane)) * _P1 + _P4


@kernel
def _stripes(seed, p, end):
    """Process all whole 32-byte stripes."""
    a, b, c, d = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
    while p + 32 <= end:
        a, b = _round(a, peek_u64(p)), _round(b, peek_u64(p + 8))
        c, d = _round(c, peek_u64(p + 16)), _round(d, peek_u64(p + 24))
        p += 32
    value = _rotate(a, 1) + _rotate(b, 7) + _rotate(c, 12) + _rotate(d, 18)
    return _merge(_merge(_merge(_merge(value, a), b), c), d)


@kernel
def xxh64(seed, start, end):
    """Hash (uint64) of the bytes at addresses start..end."""
    n_bytes, p = end - start, start
    value = seed + _P5
    if n_bytes >= 32:
        value = _stripes(seed, start, end)
        p = start + (n_bytes & ~31)
    value += np.uint64(n_bytes)
    while p + 8 <= end:
        value = _rotate(value ^ _round(np.uint64(0), peek_u64(p)), 27) * _P1 + _P4
        p += 8
    if p + 4 <= end:
        value = _rotate(value ^ np.uint64(peek_u32(p)) * _P1, 23) * _P2 + _P3
        p += 4
    while p < end:
        value = _rotate(value ^ np.uint64(peek_u8(p)) * _P5, 11) * _P1
        p += 1
    value = (value ^ value >> np.uint64(33)) * _P2
    value = (value ^ value >> np.uint64(29)) * _P3
    return value ^ value >> np.uint64(32)
