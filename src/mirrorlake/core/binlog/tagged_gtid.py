"""GTID_TAGGED events (type 42, MySQL 8.3 and later): numbered fields of varying length.

The body is one message of MySQL's serialization library: *version*, length of the body, number of the last field that
a reader must know; then fields in ascending order, each a number and a value. All integers are of varying length: the
number of ones at the end of the first byte is the number of bytes after it, and the value is above those ones and one
zero; signed ones
are folded (0, -1, 1, -2, ...).

    0  flags                  3  tag: length, text         6  commit time, microseconds
    1  uuid: 16 integers      4  last committed, signed    7  original commit time; absent when equal
    2  number, signed         5  sequence number, signed   8..  length of the transaction, server versions

Sources: MySQL libs/mysql/binlog/event/control_events.h (Gtid_event::define_fields) and libs/mysql/serialization;
checked against MySQL 9.7.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import kernel, peek_u8, poke_u8, poke_u64

MAX_TAG_BYTES = 32
_A, _Z, _0, _9, _UNDERSCORE = b"az09_"

TAG, TAG_BYTES, PARTS_ITEMS = range(2, 5)
"""int64[PARTS_ITEMS], what ``read_tagged_gtid`` fills: the uuid's 16 bytes, the address of the tag, its length."""


@kernel
def _varying(p, end):
    """Return (address after the integer, -1 if it does not end before ``end``; uint64)."""
    if p < 0 or p >= end:
        return np.int64(-1), np.uint64(0)
    first = peek_u8(p)
    more = np.int64(0)
    while more < 8 and first >> np.uint8(more) & np.uint8(1):
        more += 1
    if p + 1 + more > end:
        return np.int64(-1), np.uint64(0)
    value = np.uint64(0) if more >= 7 else np.uint64(first >> np.uint8(more + 1))
    known_bits = max(np.int64(7) - more, np.int64(0))
    for k in range(more):
        value |= np.uint64(peek_u8(p + 1 + k)) << np.uint64(known_bits + 8 * k)
    return p + 1 + more, value


@kernel
def _signed(value):
    half = np.int64(value >> np.uint64(1))
    return -half - 1 if value & np.uint64(1) else half


@kernel
def _is_tag(p, n_bytes):
    """Is it a tag as MySQL writes it: lower-case letters, digits and _, no digit at the start?"""
    for k in range(n_bytes):
        byte = peek_u8(p + k)
        is_letter = _A <= byte <= _Z or byte == _UNDERSCORE
        if not is_letter and (k == 0 or not _0 <= byte <= _9):
            return False
    return True


@kernel
def read_tagged_gtid(start, end, parts, _d, _e, _f):
    """Read the body at addresses start..end. parts: the address of the array to fill; 0: not wanted.

    Returns (transaction number, -1 if the bytes are malformed; commit time in microseconds). Few logs have such
    events: it is a ``VALUE_KERNEL``, to be called by its address, with half of its arguments.
    """
    malformed = np.int64(-1), np.int64(0)
    number, tag, tag_bytes, commit_us = np.int64(-1), start, np.int64(0), np.int64(0)
    p, _ = _varying(start, end)
    p, n_bytes = _varying(p, end)
    p, _ = _varying(p, end)
    if p < 0 or n_bytes != np.uint64(end - start):
        return malformed
    last_field = np.int64(-1)
    while p < end and last_field < 6:
        p, field = _varying(p, end)
        if p < 0 or np.int64(field) <= last_field:
            return malformed
        last_field = np.int64(field)
        if last_field > 6:
            break
        for k in range(16 if last_field == 1 else 1):
            p, value = _varying(p, end)
            if last_field == 1 and parts != 0:
                poke_u8(parts + k, np.uint8(value & np.uint64(255)))
        if last_field == 2:
            number = _signed(value)
        elif last_field == 3:
            tag, tag_bytes = p, np.int64(value)
            if p < 0 or tag_bytes < 0 or tag_bytes > MAX_TAG_BYTES or p + tag_bytes > end or not _is_tag(p, tag_bytes):
                return malformed
            p += tag_bytes
        elif last_field == 6:
            commit_us = np.int64(value & np.uint64(0x7FFFFFFFFFFFFF))
        if p < 0:
            return malformed
    if parts != 0:
        poke_u64(parts + 8 * TAG, tag)
        poke_u64(parts + 8 * TAG_BYTES, tag_bytes)
    return number, commit_us
