"""Write the document of a tree (``json_tree``).

Its opened containers become large ones. All else is copied unchanged: an offset inside a value is relative to that
value.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import (
    copy_at,
    item_i64,
    kernel,
    peek_u8,
    peek_u16,
    peek_u32,
    poke_u8,
    poke_u16,
    poke_u32,
    poke_u64,
)
from mirrorlake.core.values.json_binary import KEY_ENTRY_BYTES, VALUE_ENTRY_BYTES, is_inlined, value_bytes
from mirrorlake.core.values.json_tree import (
    COUNT,
    KIND,
    NEXT,
    OPENED,
    OUTER,
    SLOT_BYTES,
    START,
    is_object,
    opened,
    root_of,
    slot_bytes,
    slot_of,
)
from mirrorlake.core.values.kinds import MALFORMED

_HEADER_BYTES = 8
_MAX_VALUE_BYTES = 1 << 32  # each value was checked when its container was opened


@kernel
def write_tree(tree, o, limit):
    """Write the document. Returns the address after it, or MALFORMED: it is longer than the limit."""
    table = opened(tree, root_of(tree))
    if table < 0:
        return table
    poke_u8(o, np.uint8(item_i64(table, KIND)))
    o = _begin(table, np.int64(0), o + 1, limit)
    while table and o > 0:
        o, inner = _write_values(table, o, limit)
        if inner:
            o = _begin(inner, table, o, limit)
            table = inner
        elif o > 0:
            start = item_i64(table, START)
            poke_u32(start + 4, np.uint32(o - start))
            table = item_i64(table, OUTER)
    return o


@kernel
def _write_values(table, o, limit):
    """Write the next values of a container, up to the end or to one that was opened, of which only the entry. Returns
    (address after the written bytes or MALFORMED, table of the opened one or 0)."""
    start, width, first = item_i64(table, START), slot_bytes(table), item_i64(table, NEXT)
    slot, entry = slot_of(table, first), _entries(table) + first * VALUE_ENTRY_BYTES
    for k in range(first, item_i64(table, COUNT)):
        kind, at = np.int64(peek_u8(slot)), item_i64(slot + 1, 0)
        if kind == OPENED:
            poke_u8(entry, np.uint8(item_i64(at, KIND)))
            poke_u32(entry + 1, np.uint32(o - start))
            poke_u64(table + 8 * NEXT, np.uint64(k + 1))
            return o, at
        o = _put_value(kind, at, start, entry, o, limit)
        if o < 0:
            return o, np.int64(0)
        slot, entry = slot + width, entry + VALUE_ENTRY_BYTES
    return o, np.int64(0)


@kernel
def _entries(table):
    """The value entries of a container that is being written."""
    n_names = item_i64(table, COUNT) if is_object(table) else 0
    return item_i64(table, START) + _HEADER_BYTES + n_names * KEY_ENTRY_BYTES


@kernel
def _begin(table, outer, start, limit):
    """Write a container up to its values. Returns the address after the written bytes, or MALFORMED."""
    count = item_i64(table, COUNT)
    poke_u64(table + 8 * OUTER, np.uint64(outer))
    poke_u64(table + 8 * START, np.uint64(start))
    poke_u64(table + 8 * NEXT, np.uint64(0))
    o = _entries(table) + count * VALUE_ENTRY_BYTES
    if o > limit:
        return MALFORMED
    poke_u32(start, np.uint32(count))
    for k in range(count if is_object(table) else 0):
        slot, entry = slot_of(table, k), start + _HEADER_BYTES + k * KEY_ENTRY_BYTES
        name, n_name = item_i64(slot + SLOT_BYTES, 0), np.int64(peek_u16(slot + SLOT_BYTES + 8))
        if o + n_name > limit:
            return MALFORMED
        poke_u32(entry, np.uint32(o - start))
        poke_u16(entry + 4, np.uint16(n_name))
        copy_at(o, name, n_name)
        o += n_name
    return o


@kernel
def _put_value(kind, p, start, entry, o, limit):
    """Write a value of the container at ``start``: its entry, and itself at ``o`` if it is not inside the entry.
    Returns the address after the written bytes, or MALFORMED."""
    n_bytes = value_bytes(kind, p, p + _MAX_VALUE_BYTES)
    if o + n_bytes > limit:
        return MALFORMED
    poke_u8(entry, np.uint8(kind))
    if is_inlined(kind, True):  # the sign of a shorter number need not be extended: nobody reads it
        poke_u32(entry + 1, np.uint32(peek_u8(p)) if n_bytes == 1 else peek_u16(p) if n_bytes == 2 else peek_u32(p))
        return o
    poke_u32(entry + 1, np.uint32(o - start))
    copy_at(o, p, n_bytes)
    return o + n_bytes
