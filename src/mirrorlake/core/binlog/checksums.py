"""The CRC32 at the end of each event: zlib's, over the event's bytes before it, by tables, eight bytes at a time."""

from __future__ import annotations

import zlib

import numpy as np

from mirrorlake.core.binlog.framing import CHECKSUM_BYTES, HEADER_BYTES, EventBlock, without_in_use_flag
from mirrorlake.core.constants import EventType
from mirrorlake.core.kernels.memory import item_i64, item_u32, kernel, peek_u8, peek_u32, peek_u64
from mirrorlake.errors import RefusedError

_POLYNOMIAL = 0xEDB88320
"""zlib's, without x**32: the lowest bit is the coefficient of x**31."""
_ALL_BITS = np.uint32(0xFFFFFFFF)


def _tables() -> np.ndarray:
    """uint32[8, 256]: ``[k, b]`` is the CRC, from 0 on and not inverted, of byte b and k zeros after it."""
    tables = np.zeros((8, 256), np.uint32)
    for value in range(256):
        crc = value
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        tables[0, value] = crc
    for k in range(1, 8):
        tables[k] = (tables[k - 1] >> 8) ^ tables[0][tables[k - 1] & 255]
    return tables


_TABLES = _tables()


def verify_checksums(block: EventBlock) -> None:
    """Raises RefusedError ``log-checksum`` at the first event whose CRC32 does not match its bytes, and if the log says
    that events have none but all have."""
    if not block.has_checksum:
        _verify_absence(block)
        return
    bad = _first_bad(block, 0)
    while bad >= 0 and _matches_without_in_use_flag(block, bad):
        bad = _first_bad(block, bad + 1)
    if bad >= 0:
        raise RefusedError(
            "log-checksum", "an event's CRC32 does not match its bytes", position=str(block.position(bad))
        )


def _verify_absence(block: EventBlock) -> None:
    first = int(block.events.event_type[0] == EventType.FORMAT_DESCRIPTION) if len(block.events) else 0
    if first < len(block.events) and _first_bad(block, first) < 0:
        what = "the log says that its events have no CRC32, but they have"
        raise RefusedError("log-checksum", what, position=str(block.position(first)))


def _first_bad(block: EventBlock, first: int) -> int:
    events = block.events
    arrays = (block.buf, events.offset, events.length, _TABLES)
    return int(_first_mismatch(first, len(events), *(array.ctypes.data for array in arrays)))


def _matches_without_in_use_flag(block: EventBlock, i: int) -> bool:
    raw = block.raw(i)
    cleared = without_in_use_flag(raw)
    body, checksum = cleared[:-CHECKSUM_BYTES], cleared[-CHECKSUM_BYTES:]
    return cleared != raw and zlib.crc32(body) == int.from_bytes(checksum, "little")


@kernel
def _first_mismatch(first, n_events, buf, offset, length, tables):
    """The first event from ``first`` on whose checksum is wrong, -1: none. buf, offset, length, tables: addresses."""
    for i in range(first, n_events):
        p = buf + item_i64(offset, i)
        end = p + item_i64(length, i) - CHECKSUM_BYTES
        if end - p < HEADER_BYTES or _crc(p, end, tables) != peek_u32(end):
            return i
    return -1


@kernel
def _crc(p, end, tables):
    crc = _ALL_BITS
    while p + 8 <= end:
        crc = _after_8(crc, peek_u64(p), tables)
        p += 8
    while p < end:
        crc = (crc >> np.uint32(8)) ^ _entry(tables, 0, crc ^ np.uint32(peek_u8(p)))
        p += 1
    return crc ^ _ALL_BITS


@kernel
def _after_8(crc, word, tables):
    """``crc`` after eight bytes."""
    a, b = np.uint32(word & np.uint64(0xFFFFFFFF)) ^ crc, np.uint32(word >> np.uint64(32))
    return (
        _entry(tables, 7, a) ^ _entry(tables, 6, a >> np.uint32(8))
        ^ _entry(tables, 5, a >> np.uint32(16)) ^ _entry(tables, 4, a >> np.uint32(24))
        ^ _entry(tables, 3, b) ^ _entry(tables, 2, b >> np.uint32(8))
        ^ _entry(tables, 1, b >> np.uint32(16)) ^ _entry(tables, 0, b >> np.uint32(24))
    )  # fmt: skip


@kernel
def _entry(tables, k, byte):
    return item_u32(tables, k * 256 + np.int64(byte & np.uint32(255)))
