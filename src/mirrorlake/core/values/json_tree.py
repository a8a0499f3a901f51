"""A JSON document whose members can be changed one by one: the containers that were opened, as tables of members.

Opening a container takes time for each member, and a later change in it hardly any: a member that is inserted or
removed moves those after it. A member is a slot in a table: its type, the address of its value, and in an object also
the address and bytes of its name. The type OPENED means that the address is that of the container's own table. All
else is read from where it is when the document is written (``json_tree_writer``).

tree: the address of its next free address, the end of the room, the end of what it may take, and the slot of the
document. It takes no more than ``tree_bound``, unless members share bytes: then the document is malformed.
"""

from __future__ import annotations

import numpy as np

from mirrorlake.core.kernels.memory import (
    copy_at,
    item_i64,
    kernel,
    move_at,
    peek_u8,
    peek_u16,
    poke_u8,
    poke_u16,
    poke_u64,
)
from mirrorlake.core.values.json_binary import (
    LARGE,
    LARGE_ARRAY,
    LARGE_OBJECT,
    key_of,
    member_of,
    number,
    value_bytes,
)  # fmt: skip
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM

OPENED = 255
_FREE, _ROOM, _MOST, _TREE_ITEMS = range(4)
KIND, COUNT, _CAPACITY, _MEMBERS, OUTER, START, NEXT, _TABLE_ITEMS = range(8)
_TABLE_BYTES, SLOT_BYTES, _NAMED_SLOT_BYTES = 8 * _TABLE_ITEMS, 9, 19
_MAX_KEY_BYTES = 0xFFFF


@kernel
def tree_bound(n_bytes, n_diff_bytes):
    """Maximum bytes of the tree of a document of n_bytes that such differences change. A member of an array has at
    least 3 bytes and its slot 9, of an object 7 and 19, three times with those of lists that became too short. An
    inserted member takes up to 4 slots, and its difference 8 bytes; a table with spare slots has 140 bytes, and the leg
    of the path that opens it 2."""
    return 64 + 9 * n_bytes + 80 * n_diff_bytes


@kernel
def plant(tree, p, n_bytes, most, room):
    """Begin with the document of ``n_bytes`` at ``p``. Returns ``tree``, MALFORMED or NO_ROOM."""
    free = tree + 8 * _TREE_ITEMS + SLOT_BYTES
    if free > room:
        return NO_ROOM
    kind = np.int64(peek_u8(p)) if n_bytes else np.int64(OPENED)
    if value_bytes(kind, p + 1, p + n_bytes) < 0:
        return MALFORMED
    poke_u64(tree + 8 * _FREE, np.uint64(free))
    poke_u64(tree + 8 * _ROOM, np.uint64(room))
    poke_u64(tree + 8 * _MOST, np.uint64(tree + most))
    set_value(root_of(tree), kind, p + 1)
    return tree


@kernel
def root_of(tree):
    return tree + 8 * _TREE_ITEMS


@kernel
def allocated(tree, n_bytes):
    """The address of ``n_bytes`` free bytes, MALFORMED or NO_ROOM."""
    free = item_i64(tree, _FREE)
    if free + n_bytes > item_i64(tree, _MOST):
        return MALFORMED
    if free + n_bytes > item_i64(tree, _ROOM):
        return NO_ROOM
    poke_u64(tree + 8 * _FREE, np.uint64(free + n_bytes))
    return free


@kernel
def set_value(slot, kind, p):
    poke_u8(slot, np.uint8(kind))
    poke_u64(slot + 1, np.uint64(p))


@kernel
def opened(tree, slot):
    """The table of the container in a slot, MALFORMED or NO_ROOM."""
    kind, at = np.int64(peek_u8(slot)), item_i64(slot + 1, 0)
    if kind == OPENED:
        return at
    if kind > LARGE_ARRAY:
        return MALFORMED
    is_large, has_names = kind & LARGE, kind <= LARGE_OBJECT
    count, end = number(at, is_large), at + number(at + (4 if is_large else 2), is_large)
    width = _NAMED_SLOT_BYTES if has_names else SLOT_BYTES
    table = allocated(tree, _TABLE_BYTES + count * width)
    if table < 0:
        return table
    member = table + _TABLE_BYTES
    poke_u64(table + 8 * KIND, np.uint64(kind | LARGE))
    poke_u64(table + 8 * COUNT, np.uint64(count))
    poke_u64(table + 8 * _CAPACITY, np.uint64(count))
    poke_u64(table + 8 * _MEMBERS, np.uint64(member))
    for k in range(count):
        of_value, value, value_end = member_of(kind, at, end, k)
        if value < 0 or value_bytes(of_value, value, value_end) < 0:
            return MALFORMED
        set_value(member, of_value, value)
        if has_names:
            name, n_name = key_of(kind, at, end, k)
            if name < 0:
                return MALFORMED
            _set_name(member, name, n_name)
        member += width
    set_value(slot, OPENED, table)
    return table


@kernel
def _set_name(slot, name, n_name):
    poke_u64(slot + SLOT_BYTES, np.uint64(name))
    poke_u16(slot + SLOT_BYTES + 8, np.uint16(n_name))


@kernel
def is_object(table):
    return item_i64(table, KIND) == LARGE_OBJECT


@kernel
def slot_bytes(table):
    return _NAMED_SLOT_BYTES if is_object(table) else SLOT_BYTES


@kernel
def slot_of(table, k):
    return item_i64(table, _MEMBERS) + k * slot_bytes(table)


@kernel
def member_at(table, name, n_name, is_insert):
    """The member of a container that a leg names, or before which it inserts; MALFORMED: there is none, or the name is
    taken. name, n_name: as ``read_leg`` returns them."""
    count = item_i64(table, COUNT)
    if (name != 0) != is_object(table):
        return MALFORMED
    if name != 0:
        k = _first_not_before(table, count, name, n_name)
        is_there = k < count and _compared_to_name(slot_of(table, k), name, n_name) == 0
        return MALFORMED if is_there == is_insert else k
    cell = n_name if n_name >= 0 else count + n_name
    if is_insert:
        return min(max(cell, 0), count)
    return cell if 0 <= cell < count else MALFORMED


@kernel
def _first_not_before(table, count, name, n_name):
    low, high = np.int64(0), count
    while low < high:
        middle = (low + high) >> 1
        if _compared_to_name(slot_of(table, middle), name, n_name) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _compared_to_name(slot, name, n_name):
    """Compare two names in the order of an object: below, at or above 0."""
    own, n_own = item_i64(slot + SLOT_BYTES, 0), np.int64(peek_u16(slot + SLOT_BYTES + 8))
    if n_own != n_name:
        return n_own - n_name
    for i in range(n_own):
        if peek_u8(own + i) != peek_u8(name + i):
            return np.int64(peek_u8(own + i)) - np.int64(peek_u8(name + i))
    return np.int64(0)


@kernel
def inserted(tree, table, k, name, n_name):
    """The slot of a new member before member k, MALFORMED or NO_ROOM."""
    count, width, members = item_i64(table, COUNT), slot_bytes(table), item_i64(table, _MEMBERS)
    if name != 0 and n_name > _MAX_KEY_BYTES:
        return MALFORMED
    if count == item_i64(table, _CAPACITY):
        capacity = 2 * count + 4
        longer = allocated(tree, capacity * width)
        if longer < 0:
            return longer
        copy_at(longer, members, count * width)
        members = longer
        poke_u64(table + 8 * _MEMBERS, np.uint64(members))
        poke_u64(table + 8 * _CAPACITY, np.uint64(capacity))
    slot = members + k * width
    move_at(slot + width, slot, (count - k) * width)
    poke_u64(table + 8 * COUNT, np.uint64(count + 1))
    if name != 0:
        _set_name(slot, name, n_name)
    return slot


@kernel
def remove(table, k):
    count, width, slot = item_i64(table, COUNT) - 1, slot_bytes(table), slot_of(table, k)
    move_at(slot, slot + width, (count - k) * width)
    poke_u64(table + 8 * COUNT, np.uint64(count))
