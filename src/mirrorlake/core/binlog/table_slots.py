"""Which slot (table map and definition in force) each rows event of a batch belongs to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.mapped_table import describe
from mirrorlake.core.binlog.row_layout import RowLayouts
from mirrorlake.core.binlog.table_map import TableMap, parse_table_map
from mirrorlake.core.memory import addresses, item_i64, kernel, peek_u8, peek_u16, peek_u32, poke_u64
from mirrorlake.core.schema.timeline import Timeline
from mirrorlake.core.xxh64 import xxh64

TABLE_MAP = 19
_HEADER_BYTES = 19
_ERA_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class _Events(NamedTuple):
    """One entry per event; what ``_identify`` reads and fills."""

    offset: np.ndarray
    length: np.ndarray
    trailer: np.ndarray
    event_type: np.ndarray
    table_id: np.ndarray
    body_hash: np.ndarray


@kernel
def _identify(n_events, buf, events):
    """Table id of TABLE_MAP and rows events (-1: neither), and the XXH64 of each TABLE_MAP body.

    buf: an address, to which ``offset`` is relative. events: addresses of ``_Events``.
    """
    for i in range(n_events):
        kind, start = peek_u8(events.event_type + i), item_i64(events.offset, i)
        end = start + item_i64(events.length, i) - item_i64(events.trailer, i)
        table_id = np.int64(-1)
        if (kind == 19 or 23 <= kind <= 25 or 30 <= kind <= 32 or kind == 39) and end >= start + 19 + 8:
            table_id = np.int64(peek_u32(buf + start + 19)) | np.int64(peek_u16(buf + start + 23)) << 32
            if kind == 19:
                poke_u64(events.body_hash + 8 * i, xxh64(np.uint64(0), buf + start + 19, buf + end))
        poke_u64(events.table_id + 8 * i, np.uint64(table_id))


@kernel
def _follow(event_type, table, slot_of_map, current, slot_of_event):
    """``current[table]``: the slot of the newest table map of each table id; carried on through the batch."""
    for i in range(event_type.shape[0]):
        slot_of_event[i] = -1
        if table[i] >= 0:
            if event_type[i] == 19:
                current[table[i]] = slot_of_map[i]
            slot_of_event[i] = current[table[i]]


def _distinct(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(each value once, where it is first, which of them every value is)"""
    found = pa.array(values).dictionary_encode()
    which, n = found.indices.to_numpy(), len(values)
    first = np.empty(len(found.dictionary), np.int64)
    first[which[::-1]] = np.arange(n - 1, -1, -1)
    return found.dictionary.to_numpy(), first, which


class TableSlots:
    """Reads table maps as a log goes by; each distinct one is parsed once.

    timeline: the definitions in force, of all tables that need them.
    """

    def __init__(self, flavor: str, layouts: RowLayouts, timeline: Timeline):
        self._flavor, self._layouts, self._timeline = flavor, layouts, timeline
        self._maps: dict[int, TableMap] = {}
        self._slots: dict[tuple[int, int], int] = {}
        self._slot_by_table_id: dict[int, int] = {}

    def resolve(self, buf, offset, length, trailer, event_type, lsn) -> np.ndarray:
        """int32 per event: the slot of a rows event or a table map, -1 for others. Equal maps of different definitions
        have different slots.

        Raises RefusedError ``log-event`` for a table map that cannot be parsed.
        """
        n = len(offset)
        table_id, body_hash = np.empty(n, np.int64), np.zeros(n, np.uint64)
        _identify(n, buf.ctypes.data, addresses(_Events(offset, length, trailer, event_type, table_id, body_hash)))
        slot_of_map = np.full(n, -1, np.int32)
        maps = np.flatnonzero((event_type == TABLE_MAP) & (table_id >= 0))
        if len(maps):
            eras = self._timeline.eras(lsn[maps]) * _ERA_FACTOR
            _, first, inverse = _distinct(body_hash[maps] ^ eras)
            slots = [self._slot(int(body_hash[i]), buf, offset, length, trailer, i, int(lsn[i])) for i in maps[first]]
            slot_of_map[maps] = np.array(slots, np.int32)[inverse]
        ids, _, compact = _distinct(table_id)
        table = np.where(table_id < 0, -1, compact).astype(np.int64)
        current = np.array([self._slot_by_table_id.get(int(key), -1) for key in ids], np.int32)
        slot_of_event = np.empty(n, np.int32)
        _follow(event_type, table, slot_of_map, current, slot_of_event)
        self._slot_by_table_id.update(zip(ids.tolist(), current.tolist(), strict=True))
        return slot_of_event

    def _slot(self, body_hash: int, buf, offset, length, trailer, i, lsn: int) -> int:
        seen = self._maps.get(body_hash)
        if seen is None:
            start = int(offset[i])
            body = buf[start + _HEADER_BYTES : start + int(length[i]) - int(trailer[i])].tobytes()
            seen = self._maps[body_hash] = parse_table_map(body, self._flavor)
        known = self._timeline.at(seen.database, seen.table, lsn)
        key = (body_hash, id(known))
        if key not in self._slots:
            self._slots[key] = self._layouts.add(describe(seen, known, self._flavor))
        return self._slots[key]
