"""Differences between JSON documents, as PARTIAL_UPDATE_ROWS logs them: the old document -> the new one.

A difference (``sql-common/json_diff.cc``): operation (0 replace, 1 insert, 2 remove), path (``json_path``), and the new
value as a document, if there is one; path and value follow their lengths (length-encoded integers). All are applied in
order, each to the result of the one before it. A path that does not exist, or is taken, makes them malformed.

A difference gives a new document, whose containers along the path are large ones. Theirs are written from the outside
inwards: in each, all members but the one on the path are copied unchanged: an offset inside a value is relative to
that value. The one on the path comes last. So all these containers end at the same address.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import (
    copy_at,
    kernel,
    peek_u8,
    peek_u16,
    peek_u32,
    peek_u64,
    poke_u8,
    poke_u16,
    poke_u32,
)
from mirrorlake.core.values.json_binary import (
    KEY_ENTRY_BYTES,
    LARGE,
    LARGE_ARRAY,
    LARGE_OBJECT,
    VALUE_ENTRY_BYTES,
    container_bytes,
    is_inlined,
    key_of,
    member_of,
    number,
    value_bytes,
)  # fmt: skip
from mirrorlake.core.values.json_path import first_leg, read_leg
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM

REPLACE, INSERT, REMOVE = range(3)
_HEADER_BYTES, _MAX_KEY_BYTES = 8, 0xFFFF


@kernel
def patched_bound(n_bytes, n_diff_bytes):
    """Maximum bytes of a document of n_bytes after such differences. A member of a small container has at least 3
    bytes and becomes 2 bytes longer in a large one, of an object 7 and 4; a new one has 11 bytes besides its name and
    value, and its difference 6."""
    return 2 * n_bytes + 4 * n_diff_bytes


@kernel
def patched(p, n_bytes, diff, end, o, room):
    """The document of ``n_bytes`` at ``p`` after the differences ``diff .. end``.

    Returns (its address, at ``p`` or within ``o .. room``, or NO_ROOM or MALFORMED; its bytes).
    """
    names, bound = o, patched_bound(n_bytes, end - diff)
    target, other = names + (end - diff), names + (end - diff) + bound
    if other + bound > room:
        return NO_ROOM, np.int64(0)
    while diff < end:
        operation = np.int64(peek_u8(diff))
        path, path_end = _counted(diff + 1, end)
        if path < 0 or operation > REMOVE:
            return MALFORMED, np.int64(0)
        value, diff = path_end, path_end
        if operation != REMOVE:
            value, diff = _counted(path_end, end)
        if value < 0:
            return MALFORMED, np.int64(0)
        written = _apply(p, n_bytes, operation, path, path_end, value, diff, names, target, target + bound)
        if written < 0:
            return MALFORMED, np.int64(0)
        p, n_bytes = target, written - target
        target, other = other, target
    return p, n_bytes


@kernel
def _counted(p, end):
    """Return (first address, address after) of bytes that follow their length, or MALFORMED."""
    if p >= end:
        return MALFORMED, p
    n_bytes = np.int64(peek_u8(p))
    width = 2 if n_bytes == 252 else 3 if n_bytes == 253 else 8 if n_bytes == 254 else 0
    p += 1
    if n_bytes == 251 or n_bytes == 255 or p + width > end:
        return MALFORMED, p
    if width == 2:
        n_bytes = np.int64(peek_u16(p))
    elif width == 3:
        n_bytes = np.int64(peek_u16(p)) | np.int64(peek_u8(p + 2)) << 16
    elif width == 8:
        n_bytes = np.int64(peek_u64(p))
    p += width
    return (p if 0 <= n_bytes <= end - p else MALFORMED), p + n_bytes


@kernel
def _apply(document, n_bytes, operation, path, path_end, value, value_end, names, o, limit):
    """Write the document after one difference at ``o``. Returns the address after it, or MALFORMED."""
    path = first_leg(path, path_end)
    if path < 0 or n_bytes == 0:
        return MALFORMED
    kind, at, end = np.int64(peek_u8(document)), document + 1, document + n_bytes
    poke_u8(o, np.uint8(kind | LARGE))
    o += 1
    outer, start, entry = o, o, o
    while path < path_end:
        size = container_bytes(kind, at, end) if kind <= LARGE_ARRAY else MALFORMED
        path, name, n_name = read_leg(path, path_end, names)
        if size < 0 or path < 0:
            return MALFORMED
        end, change = at + size, operation if path == path_end else REPLACE
        k = _place(kind, at, end, name, n_name, change == INSERT)
        if k < 0:
            return MALFORMED
        outer, start = start, o
        entry, o = _put_others(kind, at, end, k, change, name, n_name, start, limit)
        if o < 0:
            return MALFORMED
        poke_u32(start + 4, np.uint32(start - outer))  # the container's size, once that is known
        if path < path_end:
            kind, at, end = member_of(kind, at, end, k)
            if at < 0 or kind > LARGE_ARRAY:
                return MALFORMED
            poke_u8(entry, np.uint8(kind | LARGE))
            poke_u32(entry + 1, np.uint32(o - start))
    if operation != REMOVE:
        if value == value_end:
            return MALFORMED
        kind = np.int64(peek_u8(value))
        o = _put_value(kind, value + 1, value_end, start, entry, o, limit, value_end - value - 1)
    return _close(start, o) if o > 0 else MALFORMED


@kernel
def _close(start, o):
    """Write the sizes of the containers that end at ``o``: the one at ``start``, and those around it."""
    distance = np.int64(-1)
    while distance != 0:
        distance = np.int64(peek_u32(start + 4))
        poke_u32(start + 4, np.uint32(o - start))
        start -= distance
    return o


@kernel
def _place(kind, start, end, name, n_name, is_insert):
    """The member of a container that a leg names, or before which it inserts; MALFORMED: there is none."""
    count = number(start, kind & LARGE)
    if (name != 0) != (kind <= LARGE_OBJECT):
        return MALFORMED
    if name != 0:
        return _place_of_key(kind, start, end, name, n_name, count, is_insert)
    cell = n_name if n_name >= 0 else count + n_name
    if is_insert:
        return min(max(cell, 0), count)
    return cell if 0 <= cell < count else MALFORMED


@kernel
def _place_of_key(kind, start, end, name, n_name, count, is_insert):
    for k in range(count):
        key, n_bytes = key_of(kind, start, end, k)
        if key < 0:
            return MALFORMED
        order = _compared(key, n_bytes, name, n_name)
        if order >= 0:
            return k if (order > 0) == is_insert else MALFORMED
    return count if is_insert else MALFORMED


@kernel
def _compared(a, n_a, b, n_b):
    """Compare two keys in the order of an object: below, at or above 0."""
    if n_a != n_b:
        return n_a - n_b
    for i in range(n_a):
        if peek_u8(a + i) != peek_u8(b + i):
            return np.int64(peek_u8(a + i)) - np.int64(peek_u8(b + i))
    return np.int64(0)


@kernel
def _put_others(kind, at, end, k, change, name, n_name, start, limit):
    """Write at ``start`` a large container with all members of the one at ``at`` but member k, for which there is an
    entry, unless it is to be removed. Returns (that entry, address after the written bytes or MALFORMED)."""
    is_object = kind <= LARGE_OBJECT
    count = number(at, kind & LARGE) + (change == INSERT) - (change == REMOVE)
    entries = start + _HEADER_BYTES + (count * KEY_ENTRY_BYTES if is_object else 0)
    o = entries + count * VALUE_ENTRY_BYTES
    if o > limit:
        return entries, MALFORMED
    poke_u32(start, np.uint32(count))
    if is_object:
        for i in range(count):
            key, n_bytes = name, n_name
            if i != k or change != INSERT:
                key, n_bytes = key_of(kind, at, end, _old_place(i, k, change))
            o = _put_key(key, n_bytes, start, i, o, limit)
            if o < 0:
                return entries, o
    for i in range(count):
        if i == k and change != REMOVE:
            continue
        of_value, p, behind = member_of(kind, at, end, _old_place(i, k, change))
        o = _put_value(of_value, p, behind, start, entries + i * VALUE_ENTRY_BYTES, o, limit, np.int64(-1))
        if o < 0:
            return entries, o
    return entries + k * VALUE_ENTRY_BYTES, o


@kernel
def _old_place(i, k, change):
    return i - np.int64(change == INSERT and i > k) + np.int64(change == REMOVE and i >= k)


@kernel
def _put_key(key, n_bytes, start, i, o, limit):
    if key < 0 or n_bytes > _MAX_KEY_BYTES or o + n_bytes > limit:
        return MALFORMED
    entry = start + _HEADER_BYTES + i * KEY_ENTRY_BYTES
    poke_u32(entry, np.uint32(o - start))
    poke_u16(entry + 4, np.uint16(n_bytes))
    copy_at(o, key, n_bytes)
    return o + n_bytes


@kernel
def _put_value(kind, p, end, start, entry, o, limit, n_wanted):
    """Write a value of the container at ``start``: its entry, and itself at ``o`` if it is not inside the entry.

    n_wanted: the bytes that it must have, or -1. Returns the address after the written bytes, or MALFORMED.
    """
    n_bytes = value_bytes(kind, p, end) if p > 0 else MALFORMED
    if n_bytes < 0 or (n_wanted >= 0 and n_bytes != n_wanted) or o + n_bytes > limit:
        return MALFORMED
    poke_u8(entry, np.uint8(kind))
    if is_inlined(kind, True):  # the sign of a shorter number need not be extended: nobody reads it
        poke_u32(entry + 1, np.uint32(peek_u8(p)) if n_bytes == 1 else peek_u16(p) if n_bytes == 2 else peek_u32(p))
        return o
    poke_u32(entry + 1, np.uint32(o - start))
    copy_at(o, p, n_bytes)
    return o + n_bytes
