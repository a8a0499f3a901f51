"""HMAC-SHA-256 as kernels (RFC 2104, FIPS 180-4), and the key in the form in which they take it.

``words`` is one uint32 array, so that a kernel needs one address. It has the two states that have taken in the key, the
constants of SHA-256, and room to work in: one thread uses it at a time.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mirrorlake.core.kernels.memory import addresses, copy_at, item_i64, item_u32, kernel, peek_u8, poke_u8, poke_u32
from mirrorlake.core.schema.hashing import DigestKey

BLOCK_BYTES, DIGEST_BYTES, HEX_BYTES = 64, 32, 64
_INNER, _OUTER, _STATE, _SCHEDULE, _CONSTANTS, _BLOCK, MESSAGE = 0, 32, 64, 96, 352, 608, 736
"""Byte offsets in ``words``. MESSAGE: 96 bytes, for a text that a caller makes and its digest."""
_WORDS = (MESSAGE + 32 + HEX_BYTES) // 4
_U32 = np.uint64(0xFFFFFFFF)
_HEX_A = ord("a") - 10
CHECKED = b"mirrorlake: the same secret of hashed columns"
"""The text whose digest a lake keeps, to notice another secret."""


@cache
def _prime_roots(root: int, n: int) -> list[int]:
    """The first 32 bits of the fractions of the roots of the first n primes."""
    primes = [p for p in range(2, 400) if all(p % q for q in range(2, p))][:n]
    return [_floor_root(p << 32 * root, root) & 0xFFFFFFFF for p in primes]


def _floor_root(value: int, root: int) -> int:
    low, high = 0, 1 << (value.bit_length() // root + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**root <= value else (low, middle)
    return low


@kernel
def _rotate(x, n):
    return (x >> np.uint64(n) | x << np.uint64(32 - n)) & _U32


@kernel
def _word(p):
    """The big-endian word at an address."""
    high = np.uint64(peek_u8(p)) << np.uint64(24) | np.uint64(peek_u8(p + 1)) << np.uint64(16)
    return high | np.uint64(peek_u8(p + 2)) << np.uint64(8) | np.uint64(peek_u8(p + 3))


@kernel
def _at(words, offset, k):
    return np.uint64(item_u32(words + offset, k))


@kernel
def _schedule(words, block):
    w = words + _SCHEDULE
    for k in range(16):
        poke_u32(w + 4 * k, np.uint32(_word(block + 4 * k)))
    for k in range(16, 64):
        a, b = _at(words, _SCHEDULE, k - 15), _at(words, _SCHEDULE, k - 2)
        small = _rotate(a, 7) ^ _rotate(a, 18) ^ a >> np.uint64(3)
        large = _rotate(b, 17) ^ _rotate(b, 19) ^ b >> np.uint64(10)
        total = _at(words, _SCHEDULE, k - 16) + small + _at(words, _SCHEDULE, k - 7) + large
        poke_u32(w + 4 * k, np.uint32(total & _U32))


@kernel
def _compress(words, block):
    """Take one block into the state."""
    _schedule(words, block)
    a, b, c, d = _at(words, _STATE, 0), _at(words, _STATE, 1), _at(words, _STATE, 2), _at(words, _STATE, 3)
    e, f, g, h = _at(words, _STATE, 4), _at(words, _STATE, 5), _at(words, _STATE, 6), _at(words, _STATE, 7)
    for k in range(64):
        chosen = (e & f) ^ ((e ^ _U32) & g)
        first = h + (_rotate(e, 6) ^ _rotate(e, 11) ^ _rotate(e, 25)) + chosen
        first += _at(words, _CONSTANTS, k) + _at(words, _SCHEDULE, k)
        second = (_rotate(a, 2) ^ _rotate(a, 13) ^ _rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
        h, g, f, e = g, f, e, (d + first) & _U32
        d, c, b, a = c, b, a, (first + second) & _U32
    _add(words, 0, a)
    _add(words, 1, b)
    _add(words, 2, c)
    _add(words, 3, d)
    _add(words, 4, e)
    _add(words, 5, f)
    _add(words, 6, g)
    _add(words, 7, h)


@kernel
def _add(words, k, value):
    poke_u32(words + _STATE + 4 * k, np.uint32(_at(words, _STATE, k) + value & _U32))


@kernel
def _finish(words, p, n_bytes):
    """Take a message after the block of the key, and its padding, into the state."""
    rest = n_bytes
    while rest >= BLOCK_BYTES:
        _compress(words, p)
        p += BLOCK_BYTES
        rest -= BLOCK_BYTES
    block = words + _BLOCK
    copy_at(block, p, rest)
    padded = BLOCK_BYTES if rest < BLOCK_BYTES - 8 else 2 * BLOCK_BYTES
    poke_u8(block + rest, np.uint8(0x80))
    for k in range(rest + 1, padded - 8):
        poke_u8(block + k, np.uint8(0))
    n_bits = np.uint64(n_bytes + BLOCK_BYTES) << np.uint64(3)
    for k in range(8):
        poke_u8(block + padded - 8 + k, np.uint8(n_bits >> np.uint64(56 - 8 * k) & np.uint64(255)))
    _compress(words, block)
    if padded > BLOCK_BYTES:
        _compress(words, block + BLOCK_BYTES)


@kernel
def put_hmac(p, n_bytes, words, o):
    """Write the digest of the bytes at ``p`` as hexadecimal digits; return the address after them."""
    copy_at(words + _STATE, words + _INNER, DIGEST_BYTES)
    _finish(words, p, n_bytes)
    inner = words + MESSAGE
    for k in range(DIGEST_BYTES):
        poke_u8(inner + k, np.uint8(_at(words, _STATE, k >> 2) >> np.uint64(24 - 8 * (k & 3)) & np.uint64(255)))
    copy_at(words + _STATE, words + _OUTER, DIGEST_BYTES)
    _finish(words, inner, DIGEST_BYTES)
    for k in range(HEX_BYTES):
        digit = np.int64(_at(words, _STATE, k >> 3) >> np.uint64(28 - 4 * (k & 7)) & np.uint64(15))
        poke_u8(o + k, np.uint8(digit + (48 if digit < 10 else _HEX_A)))
    return o + HEX_BYTES


@kernel
def _key_state(words, pad, target):
    """Make the state that has taken in a block of the key."""
    _compress(words, pad)
    copy_at(words + target, words + _STATE, DIGEST_BYTES)


class _Values(NamedTuple):
    """data: the values back to back; ends: int64[n + 1]; is_null: bytes; out: the digests back to back."""

    data: np.ndarray
    ends: np.ndarray
    is_null: np.ndarray
    out: np.ndarray


@kernel
def _put_all(n, values, words):
    o = values.out
    for i in range(n):
        if peek_u8(values.is_null + i) == 0:
            start = item_i64(values.ends, i)
            o = put_hmac(values.data + start, item_i64(values.ends, i + 1) - start, words, o)
    return o


def digest_key(secret: bytes) -> DigestKey:
    states = _states(hashlib.sha256(secret).digest() if len(secret) > BLOCK_BYTES else secret)
    return DigestKey(states, _digests(pa.array([CHECKED], pa.binary()), states)[0].as_py())


def words_of(key: DigestKey) -> np.ndarray:
    """A new array for kernels."""
    return _words(key.states)


def digests(key: DigestKey, values: pa.Array) -> pa.Array:
    """The digest of each value of a binary array as text; NULL of a NULL."""
    return _digests(values, key.states)


def _words(states: tuple[int, ...]) -> np.ndarray:
    words = np.zeros(_WORDS, np.uint32)
    words[: len(states)] = states
    words[_CONSTANTS // 4 : _BLOCK // 4] = _prime_roots(3, 64)
    return words


def _states(secret: bytes) -> tuple[int, ...]:
    words, block = _words(()), np.zeros(BLOCK_BYTES, np.uint8)
    block[: len(secret)] = np.frombuffer(secret, np.uint8)
    for pad, target in ((0x36, _INNER), (0x5C, _OUTER)):
        words[_STATE // 4 : _SCHEDULE // 4] = _prime_roots(2, 8)
        padded = block ^ np.uint8(pad)
        _key_state(np.int64(words.ctypes.data), np.int64(padded.ctypes.data), target)
    return tuple(map(int, words[: _STATE // 4]))


def _digests(values: pa.Array, states: tuple[int, ...]) -> pa.Array:
    n, words = len(values), _words(states)
    found = values.cast(pa.large_binary())
    _, ends, data = found.buffers()
    all_ends = np.frombuffer(ends, np.int64)[found.offset : found.offset + n + 1] if n else np.zeros(1, np.int64)
    is_null = np.asarray(found.is_null().to_numpy(zero_copy_only=False), np.uint8)
    out_ends = np.concatenate([[0], np.cumsum((1 - is_null.astype(np.int32)) * HEX_BYTES)]).astype(np.int32)
    out = np.empty(int(out_ends[-1]) + 1, np.uint8)
    bytes_of = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    arrays = _Values(bytes_of, np.ascontiguousarray(all_ends), np.append(is_null, np.uint8(0)), out)
    _put_all(n, addresses(arrays), np.int64(words.ctypes.data))
    validity = pa.py_buffer(np.packbits(is_null == 0, bitorder="little"))
    return pa.Array.from_buffers(pa.string(), n, [validity, pa.py_buffer(out_ends), pa.py_buffer(out)])
