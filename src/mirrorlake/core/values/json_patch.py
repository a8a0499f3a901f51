"""Differences between JSON documents, as PARTIAL_UPDATE_ROWS logs them: the old document -> the new one.

A difference (``sql-common/json_diff.cc``): operation (0 replace, 1 insert, 2 remove), path (``json_path``), and the new
value as a document, if there is one; path and value follow their lengths (length-encoded integers). All are applied in
order, each to the result of the one before it. A path that does not exist, or is taken, makes them malformed.

One statement can have any number of them, so they change a tree (``json_tree``), and the document is written once. The
containers along the paths are large ones then.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import copy_at, kernel, peek_u8, peek_u16, peek_u64
from mirrorlake.core.values.json_binary import value_bytes
from mirrorlake.core.values.json_path import first_leg, read_leg
from mirrorlake.core.values.json_tree import (
    allocated,
    inserted,
    member_at,
    opened,
    plant,
    remove,
    root_of,
    set_value,
    slot_of,
    tree_bound,
)
from mirrorlake.core.values.json_tree_writer import write_tree
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM

REPLACE, INSERT, REMOVE = range(3)


@kernel
def patched_bound(n_bytes, n_diff_bytes):
    """Maximum bytes of a document of n_bytes after such differences. A member of a small container has at least 3
    bytes and becomes 2 bytes longer in a large one, of an object 7 and 4; a new one has 11 bytes besides its name and
    value, and its difference 6."""
    return 2 * n_bytes + 4 * n_diff_bytes


@kernel
def put_patched(p, n_bytes, diff, end, o, room):
    """Write the document of ``n_bytes`` at ``p`` after the differences ``diff .. end``. All of ``o .. room`` is used.

    Returns the address after the written bytes, NO_ROOM or MALFORMED.
    """
    tree = o + patched_bound(n_bytes, end - diff)
    if tree > room:
        return NO_ROOM
    if diff == end:
        copy_at(o, p, n_bytes)
        return o + n_bytes
    planted = plant(tree, p, n_bytes, tree_bound(n_bytes, end - diff), room)
    if planted < 0:
        return planted
    while 0 < diff < end:
        diff = _apply(tree, diff, end)
    return write_tree(tree, o, tree) if diff > 0 else diff


@kernel
def _apply(tree, diff, end):
    """Apply one difference. Returns the address after it, NO_ROOM or MALFORMED."""
    operation = np.int64(peek_u8(diff))
    path, path_end = _counted(diff + 1, end)
    if path < 0 or operation > REMOVE:
        return MALFORMED
    value, behind = path_end, path_end
    if operation != REMOVE:
        value, behind = _counted(path_end, end)
        if value < 0 or not _is_document(value, behind):
            return MALFORMED
    path = first_leg(path, path_end)
    names = allocated(tree, path_end - path) if path > 0 else MALFORMED
    if names < 0:
        return names
    slot, table, k = root_of(tree), tree, tree
    while path < path_end:
        table = opened(tree, slot)
        if table < 0:
            return table
        path, name, n_name = read_leg(path, path_end, names)
        is_insert = operation == INSERT and path == path_end
        k = member_at(table, name, n_name, is_insert) if path > 0 else MALFORMED
        if k < 0:
            return k
        slot = inserted(tree, table, k, name, n_name) if is_insert else slot_of(table, k)
        if slot < 0:
            return slot
    if operation == REMOVE:
        remove(table, k)
    else:
        set_value(slot, np.int64(peek_u8(value)), value + 1)
    return behind


@kernel
def _is_document(p, end):
    return p < end and value_bytes(np.int64(peek_u8(p)), p + 1, end) == end - p - 1


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
