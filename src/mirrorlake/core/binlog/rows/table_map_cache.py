"""Find the slot (table map and definition in force) of each row event of a batch.

A server repeats a table's map before each statement's rows. The kernel compares it with the newest one of the same
table id; only a map that differs is compared in Python, by its bytes after the id, because a server gives a new id
whenever it opens the table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mirrorlake.core.binlog.framing import HEADER_BYTES, has_rows
from mirrorlake.core.binlog.rows.layout import RowLayouts
from mirrorlake.core.binlog.rows.mapped_table import describe
from mirrorlake.core.binlog.rows.table_map import TableMap, parse_table_map
from mirrorlake.core.constants import EventType
from mirrorlake.core.kernels.memory import (
    addresses,
    are_equal,
    item_i64,
    kernel,
    peek_u8,
    peek_u16,
    peek_u32,
    poke_u32,
    poke_u64,
)  # fmt: skip
from mirrorlake.core.schema.column_patterns import NO_COLUMNS, ColumnPatterns
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN, NameCase
from mirrorlake.core.schema.timeline import Timeline

_TABLE_MAP = int(EventType.TABLE_MAP)
_ID_AND_FLAGS_BYTES = 8
_FREE = -1
_FIRST_PLACES = 256
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class _Events(NamedTuple):
    """One entry per event. offset: int64, relative to the batch's bytes. slot: int32, the result."""

    offset: np.ndarray
    length: np.ndarray
    trailer: np.ndarray
    event_type: np.ndarray
    lsn: np.ndarray
    slot: np.ndarray


class _NewestMaps(NamedTuple):
    """int64 each: the newest table map of each table id, in a hash table of 2**k buckets, at least half of them free.

    table_id: ``_FREE`` if there is none. start, n_bytes: address and length of the map after id and flags. era: see
    ``Timeline.edges``.
    """

    table_id: np.ndarray
    start: np.ndarray
    n_bytes: np.ndarray
    era: np.ndarray
    slot: np.ndarray

    @classmethod
    def empty(cls, n_places: int) -> _NewestMaps:
        return cls(*(np.full(n_places, _FREE, np.int64) for _ in cls._fields))


@kernel
def _place_of(table_id, newest, n_places):
    """The bucket of a table id, present or not."""
    place = np.int64(np.uint64(table_id) * _HASH_FACTOR >> np.uint64(32)) & (n_places - 1)
    while item_i64(newest.table_id, place) != table_id and item_i64(newest.table_id, place) != _FREE:
        place = (place + 1) & (n_places - 1)
    return place


@kernel
def _put_all(old, n_old, newest, n_places):
    """Put each entry of a smaller hash table into a larger one."""
    for k in range(n_old):
        table_id = item_i64(old.table_id, k)
        if table_id == _FREE:
            continue
        place = _place_of(table_id, newest, n_places)
        poke_u64(newest.table_id + 8 * place, table_id)
        poke_u64(newest.start + 8 * place, item_i64(old.start, k))
        poke_u64(newest.n_bytes + 8 * place, item_i64(old.n_bytes, k))
        poke_u64(newest.era + 8 * place, item_i64(old.era, k))
        poke_u64(newest.slot + 8 * place, item_i64(old.slot, k))


@kernel
def _era_of(lsn, edges, n_edges):
    """Number of edges before an lsn."""
    low, high = np.int64(0), np.int64(n_edges)
    while low < high:
        middle = (low + high) >> 1
        if item_i64(edges, middle) < lsn:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def follow(first, n_events, buf, events, edges, n_edges, newest, n_places):
    """Find the slots of the events from ``first`` on, up to a table map that is not the newest one of its id, or none.

    buf, edges: addresses; events, newest: of ``_Events`` and ``_NewestMaps``. Returns (the event of that table map, its
    bucket in ``newest``); (n_events, 0): all are found.
    """
    for i in range(first, n_events):
        kind, slot = peek_u8(events.event_type + i), np.int64(-1)
        start = buf + item_i64(events.offset, i)
        end = start + item_i64(events.length, i) - item_i64(events.trailer, i)
        start += HEADER_BYTES
        is_long_enough = start + _ID_AND_FLAGS_BYTES <= end
        if kind == _TABLE_MAP and not is_long_enough:
            return i, np.int64(0)
        if (kind == _TABLE_MAP or has_rows(kind)) and is_long_enough:
            table_id = np.int64(peek_u32(start)) | np.int64(peek_u16(start + 4)) << 32
            place = _place_of(table_id, newest, n_places)
            if kind == _TABLE_MAP:
                start += _ID_AND_FLAGS_BYTES
                is_newest = (
                    item_i64(newest.table_id, place) == table_id
                    and item_i64(newest.n_bytes, place) == end - start
                    and item_i64(newest.era, place) == _era_of(item_i64(events.lsn, i), edges, n_edges)
                    and are_equal(item_i64(newest.start, place), start, end - start)
                )
                if not is_newest:
                    return i, place
            slot = item_i64(newest.slot, place)
        poke_u32(events.slot + 4 * i, slot)
    return n_events, np.int64(0)


class TableSlots:
    """Reads the table maps of a log in order; each distinct one is parsed once.

    timeline: the definitions in force, of all tables that need them; later additions to it are not used.
    """

    def __init__(
        self, flavor: str, layouts: RowLayouts, timeline: Timeline, name_case: NameCase = AS_WRITTEN,
        hidden: ColumnPatterns = NO_COLUMNS,
    ):  # fmt: skip
        """hidden: see ``describe``."""
        self._name_case, self._hidden = name_case, hidden
        self._flavor, self._layouts, self._timeline, self._edges = flavor, layouts, timeline, timeline.edges
        self._maps: dict[bytes, tuple[TableMap, np.ndarray]] = {}
        self._slots: dict[tuple[bytes, int], int] = {}
        self._newest, self._n_ids = _NewestMaps.empty(_FIRST_PLACES), 0
        self._addresses = addresses(self._newest)

    def resolve(self, buf, offset, length, trailer, event_type, lsn) -> np.ndarray:
        """int32 per event: the slot of a rows event or a table map, -1 for others. Equal maps of different definitions
        have different slots.

        Raises RefusedError ``log-event`` for a table map that cannot be parsed.
        """
        n, slot = len(offset), np.empty(len(offset), np.int32)
        of_events = addresses(_Events(offset, length, trailer, event_type, lsn, slot))
        of_batch = buf.ctypes.data, of_events, self._edges.ctypes.data, len(self._edges)
        i = 0
        while i < n:
            i, place = follow(i, n, *of_batch, self._addresses, len(self._newest.slot))
            if i < n:
                start = int(offset[i]) + HEADER_BYTES
                body = buf[start : int(offset[i]) + int(length[i]) - int(trailer[i])].tobytes()
                self._learn(body, int(lsn[i]), int(place))
        return slot

    def _learn(self, body: bytes, lsn: int, place: int) -> None:
        """Make a table map the newest one of its id."""
        table_id, text = int.from_bytes(body[:6], "little"), body[_ID_AND_FLAGS_BYTES:]
        if text not in self._maps:
            seen = parse_table_map(body, self._flavor)
            database, table = self._name_case.fold_all(seen.database, seen.table)
            self._maps[text] = replace(seen, database=database, table=table), np.frombuffer(text, np.uint8)
        seen, kept = self._maps[text]
        known = self._timeline.at(seen.database, seen.table, lsn)
        key = (text, id(known))
        if key not in self._slots:
            self._slots[key] = self._layouts.add(describe(seen, known, self._flavor, self._hidden))
        self._n_ids += int(self._newest.table_id[place] == _FREE)
        era = int(np.searchsorted(self._edges, lsn))
        entry = (table_id, kept.ctypes.data, len(text), era, self._slots[key])
        for array, value in zip(self._newest, entry, strict=True):
            array[place] = value
        if 2 * self._n_ids > len(self._newest.slot):
            self._grow()

    def _grow(self) -> None:
        n = len(self._newest.slot)
        grown = _NewestMaps.empty(4 * n)
        _put_all(self._addresses, n, addresses(grown), 4 * n)
        self._newest, self._addresses = grown, addresses(grown)
