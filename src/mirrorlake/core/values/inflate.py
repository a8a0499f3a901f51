"""Deflate (RFC 1951), with or without the zlib frame (RFC 1950): for values that a server compressed.

All arguments are addresses or numbers. ``bit`` counts the bits read since ``p``; -1 instead: the bytes are no such
stream. Huffman codes are kept as the number of codes of each length and the symbols in the order of their codes.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import copy_at, item_i64, kernel, peek_u8, poke_u8, poke_u64

MOST_BYTES_PER_BYTE = 1032
"""A match gives at most 258 bytes for 2 bits."""
_LENGTH_ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
_LITERAL_CODES, _DISTANCE_CODES, _MAX_CODE_BITS = 288, 32, 15

# Tables of int64: code lengths, then the two Huffman codes, each its counts and its symbols.
_LITERALS = (_LITERAL_CODES + _DISTANCE_CODES) * 8
_DISTANCES = _LITERALS + (16 + _LITERAL_CODES) * 8
TABLE_BYTES = _DISTANCES + (16 + _DISTANCE_CODES) * 8


@kernel
def inflate(p, end, out, n_out, has_frame, tables):
    """Inflate; is ``p .. end`` one stream of exactly ``n_out`` bytes? tables: ``TABLE_BYTES`` of scratch memory."""
    if not has_frame:
        bit, written = _inflate_blocks(p, end, out, n_out, tables)
        return bit >= 0 and written == n_out and p + (bit + 7) // 8 == end
    if p + 6 > end:
        return False
    first, second = np.int64(peek_u8(p)), np.int64(peek_u8(p + 1))
    if first & 15 != 8 or (first << 8 | second) % 31 or second & 32:
        return False
    bit, written = _inflate_blocks(p + 2, end - 4, out, n_out, tables)
    if bit < 0 or written != n_out or p + 2 + (bit + 7) // 8 != end - 4:
        return False
    stored = np.int64(0)
    for i in range(4):
        stored = stored << 8 | np.int64(peek_u8(end - 4 + i))
    return stored == _adler32(out, n_out)


@kernel
def _adler32(p, n_bytes):
    a, b = np.int64(1), np.int64(0)
    for i in range(n_bytes):
        a = (a + np.int64(peek_u8(p + i))) % 65521
        b = (b + a) % 65521
    return b << 16 | a


@kernel
def _take(p, end, bit, n_bits):
    """The next 0-16 bits, the first one lowest. Returns (value, bit)."""
    if bit < 0 or bit + n_bits > 8 * (end - p):
        return np.int64(0), np.int64(-1)
    at, value = p + (bit >> 3), np.int64(0)
    for i in range(3):
        if at + i < end:
            value |= np.int64(peek_u8(at + i)) << (8 * i)
    return value >> (bit & 7) & ((1 << n_bits) - 1), bit + n_bits


@kernel
def _inflate_blocks(p, end, out, n_out, tables):
    """Return (bit after the last block, bytes written)."""
    bit, written, is_last = np.int64(0), np.int64(0), np.int64(0)
    while not is_last and bit >= 0:
        is_last, bit = _take(p, end, bit, 1)
        kind, bit = _take(p, end, bit, 2)
        if bit < 0 or kind == 3:
            return np.int64(-1), written
        if kind == 0:
            bit, written = _copy_stored(p, end, bit, out, n_out, written)
            continue
        bit = _fixed_codes(bit, tables) if kind == 1 else _read_codes(p, end, bit, tables)
        bit, written = _inflate_block(p, end, bit, out, n_out, written, tables)
    return bit, written


@kernel
def _copy_stored(p, end, bit, out, n_out, written):
    at = p + (bit + 7) // 8
    if at + 4 > end:
        return np.int64(-1), written
    n_bytes = np.int64(peek_u8(at)) | np.int64(peek_u8(at + 1)) << 8
    complement = np.int64(peek_u8(at + 2)) | np.int64(peek_u8(at + 3)) << 8
    if n_bytes ^ complement != 0xFFFF or at + 4 + n_bytes > end or written + n_bytes > n_out:
        return np.int64(-1), written
    copy_at(out + written, at + 4, n_bytes)
    return 8 * (at + 4 + n_bytes - p), written + n_bytes


@kernel
def _fixed_codes(bit, tables):
    for k in range(_LITERAL_CODES):
        poke_u64(tables + 8 * k, np.uint64(8 if k < 144 else 9 if k < 256 else 7 if k < 280 else 8))
    for k in range(_DISTANCE_CODES):
        poke_u64(tables + 8 * (_LITERAL_CODES + k), np.uint64(5))
    _build(tables, _LITERAL_CODES, tables + _LITERALS)
    _build(tables + 8 * _LITERAL_CODES, _DISTANCE_CODES, tables + _DISTANCES)
    return bit


@kernel
def _build(lengths, n, code):
    """Build a code. False: more codes than possible of a length."""
    for k in range(16):
        poke_u64(code + 8 * k, np.uint64(0))
    for k in range(n):
        place = code + 8 * item_i64(lengths, k)
        poke_u64(place, np.uint64(item_i64(place, 0) + 1))
    n_free, n_before = np.int64(1), np.int64(0)
    for length in range(1, 16):
        n_free = 2 * n_free - item_i64(code, length)
        if n_free < 0:
            return False
        for k in range(n):
            if item_i64(lengths, k) == length:
                poke_u64(code + 8 * (16 + n_before), np.uint64(k))
                n_before += 1
    return True


@kernel
def _read_codes(p, end, bit, tables):
    """Read the two codes of a block that has its own. Returns bit."""
    n_literals, bit = _take(p, end, bit, 5)
    n_distances, bit = _take(p, end, bit, 5)
    n_lengths, bit = _take(p, end, bit, 4)
    n_literals, n_distances = n_literals + 257, n_distances + 1
    if bit < 0 or n_literals > 286 or n_distances > 30:
        return np.int64(-1)
    for k in range(19):
        length = np.int64(0)
        if k < n_lengths + 4:
            length, bit = _take(p, end, bit, 3)
        poke_u64(tables + 8 * _LENGTH_ORDER[k], np.uint64(length))
    if bit < 0 or not _build(tables, 19, tables + _DISTANCES):
        return np.int64(-1)
    bit = _read_lengths(p, end, bit, n_literals + n_distances, tables)
    if bit < 0 or not _build(tables, n_literals, tables + _LITERALS):
        return np.int64(-1)
    return bit if _build(tables + 8 * n_literals, n_distances, tables + _DISTANCES) else np.int64(-1)


@kernel
def _read_lengths(p, end, bit, n, tables):
    """Code lengths: 0-15 themselves; 16 the one before 3-6 times, 17 and 18 zeros 3-10 and 11-138 times."""
    k, before = np.int64(0), np.int64(-1)
    while k < n:
        symbol, bit = _symbol(p, end, bit, tables + _DISTANCES)
        if bit < 0:
            return bit
        times = np.int64(1)
        if symbol < 16:
            before = symbol
        elif symbol == 16:
            times, bit = _take(p, end, bit, 2)
            times += 3
        else:
            times, bit = _take(p, end, bit, 3 if symbol == 17 else 7)
            times += 3 if symbol == 17 else 11
            before = np.int64(0)
        if before < 0 or k + times > n:
            return np.int64(-1)
        for _ in range(times):
            poke_u64(tables + 8 * k, np.uint64(before))
            k += 1
    return bit


@kernel
def _symbol(p, end, bit, code):
    """The next symbol of a code. Returns (symbol, bit)."""
    value, first, n_before = np.int64(0), np.int64(0), np.int64(0)
    for length in range(1, _MAX_CODE_BITS + 1):
        if bit < 0 or bit >= 8 * (end - p):
            break
        value = value << 1 | np.int64(peek_u8(p + (bit >> 3))) >> (bit & 7) & 1
        bit += 1
        count = item_i64(code, length)
        if value - first < count:
            return item_i64(code, 16 + n_before + value - first), bit
        n_before += count
        first = (first + count) << 1
    return np.int64(-1), np.int64(-1)


@kernel
def _inflate_block(p, end, bit, out, n_out, written, tables):
    while bit >= 0:
        symbol, bit = _symbol(p, end, bit, tables + _LITERALS)
        if bit < 0 or symbol == 256:
            break
        if symbol < 256:
            if written == n_out:
                return np.int64(-1), written
            poke_u8(out + written, np.uint8(symbol))
            written += 1
            continue
        length, bit = _length(p, end, bit, symbol - 257)
        distance, bit = _distance(p, end, bit, tables)
        if bit < 0 or distance > written or written + length > n_out:
            return np.int64(-1), written
        for i in range(length):
            poke_u8(out + written + i, peek_u8(out + written + i - distance))
        written += length
    return bit, written


@kernel
def _length(p, end, bit, symbol):
    if symbol < 8:
        return symbol + 3, bit
    if symbol >= 28:
        return np.int64(258), bit if symbol == 28 else np.int64(-1)
    n_extra = (symbol >> 2) - 1
    extra, bit = _take(p, end, bit, n_extra)
    return ((4 + (symbol & 3)) << n_extra) + 3 + extra, bit


@kernel
def _distance(p, end, bit, tables):
    symbol, bit = _symbol(p, end, bit, tables + _DISTANCES)
    if bit < 0 or symbol < 4:
        return symbol + 1, bit
    if symbol >= 30:
        return np.int64(0), np.int64(-1)
    n_extra = (symbol >> 1) - 1
    extra, bit = _take(p, end, bit, n_extra)
    return ((2 + (symbol & 1)) << n_extra) + 1 + extra, bit
