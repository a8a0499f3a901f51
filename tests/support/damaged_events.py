"""Damaged events through the decoder's kernels, all of it in machine code: a million inputs in some seconds.

An input is an event group of a log, opened and without checksums, damaged; it goes through framing, groups, table ids
and rows, with the table maps of its log. Table maps are read in Python, so damage to those is for ``damaged_logs``.
Every image that comes out must be a whole VARIANT. Every buffer of bytes that a kernel reads or fills ends at a page
that faults when it is touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from mirrorlake.core.binlog.framing import SLACK_BYTES, EventIndex, _scan_events
from mirrorlake.core.binlog.rows import decode
from mirrorlake.core.binlog.rows.decode import ChangeArrays, EventArrays, decode_events
from mirrorlake.core.binlog.rows.layout import RowLayouts
from mirrorlake.core.binlog.rows.partial_json import plain_after_image
from mirrorlake.core.binlog.rows.table_map_cache import TableSlots, _Events, follow
from mirrorlake.core.binlog.tagged_gtid import PARTS_ITEMS, read_tagged_gtid
from mirrorlake.core.binlog.transactions import EVENT_ROLES, TRANSITIONS, _assign, _EventArrays, _GroupArrays
from mirrorlake.core.changes.bronze_events import BronzeEvents
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.kernels.compiling import address_of
from mirrorlake.core.kernels.memory import addresses, kernel, poke_u64
from tests.support.damage_kernels import EDGES, MOST_BYTES, TYPES, below, damage, is_rows_event, seed_random
from tests.support.guarded import Guarded
from tests.support.seed_logs import WholeLog, whole_logs
from tests.support.variant_check import PRIMITIVE_BYTES, is_whole_object

OUTCOMES = ("decoded", "rows refused", "log refused", "torn or undecoded", "no room")
_DECODED, _ROWS_REFUSED, _LOG_REFUSED, _GROUP_REFUSED, _NO_ROOM = range(5)
FINDINGS = {1: "rows do not follow each other", 2: "an image is no whole VARIANT", 3: "an op that there is not"}

_MAX_EVENTS, _MAX_BYTES, _MAX_DAMAGES = 500, 1 << 17, 4
_N_ROWS, _IMAGE_BYTES = 256, 1 << 18
_GTID_BYTES = 200


class Groups(NamedTuple):
    """Group g has the events first[g] .. first[g + 1] - 1; event e the bytes start[e] .. start[e + 1] - 1 of ``data``
    and the table of slot[e], -1 none."""

    data: np.ndarray
    start: np.ndarray
    slot: np.ndarray
    first: np.ndarray


class Work(NamedTuple):
    """The group that is damaged (``damage_kernels``), and what the kernels make of it."""

    random: np.ndarray
    damaged: np.ndarray
    ends: np.ndarray
    framed: np.ndarray
    raw: np.ndarray
    slot: np.ndarray
    trailer: np.ndarray
    state: np.ndarray


class Constants(NamedTuple):
    edges: np.ndarray
    types: np.ndarray
    roles: np.ndarray
    transitions: np.ndarray
    primitive_bytes: np.ndarray
    n_columns: np.ndarray


def groups_of(logs: list[WholeLog], layouts: RowLayouts) -> Groups:
    """layouts: gets a slot for every table map of the logs."""
    data, slots, firsts = [], [], [0]
    for log in logs:
        table_slots = TableSlots(log.flavor, layouts, log.timeline)
        for group in _slotted_groups(log, table_slots):
            n_bytes = sum(len(event) for event, _ in group)
            if len(group) <= _MAX_EVENTS and n_bytes <= _MAX_BYTES - _MAX_DAMAGES * MOST_BYTES:
                data += [event for event, _ in group]
                slots += [slot for _, slot in group]
                firsts.append(len(slots))
    starts = np.concatenate([[0], np.cumsum([len(event) for event in data])])
    joined = np.frombuffer(b"".join(data), np.uint8)
    return Groups(joined, starts, np.array(slots, np.int64), np.array(firsts, np.int64))


def _after(log: WholeLog) -> TableSlots:
    """What is known of table ids at the end of a log."""
    table_slots = TableSlots(log.flavor, RowLayouts(), log.timeline)
    for _ in _slotted_groups(log, table_slots):
        pass
    return table_slots


def _slotted_groups(log: WholeLog, table_slots: TableSlots) -> Iterator[list[tuple[bytes, int]]]:
    for batch in open_events(log.events):
        events = BronzeEvents(batch)
        slot = table_slots.resolve(
            events.buf, events.offset, events.length, events.trailer, events.event_type, events.lsn
        )
        edges = [0, *(np.flatnonzero(np.diff(events.tx_lsn)) + 1).tolist(), len(events.lsn)]
        for first, stop in zip(edges, edges[1:], strict=False):
            yield [(_plain(events, i), int(slot[i])) for i in range(first, stop)]


def _plain(events: BronzeEvents, i: int) -> bytes:
    """An event without its checksum and its place in the file."""
    body, start = events.body(i), int(events.offset[i])
    header = bytearray(events.buf[start : start + 19])
    header[9:17] = (19 + len(body)).to_bytes(4, "little") + bytes(4)
    return bytes(header) + body


@kernel
def _take(groups, work):
    """A group is copied to be damaged: (its first event, how many it has)."""
    g = below(work.random, len(groups.first) - 1)
    first, stop = groups.first[g], groups.first[g + 1]
    start = groups.start[first]
    for k in range(groups.start[stop] - start):
        work.damaged[k] = groups.data[start + k]
    for e in range(first, stop):
        work.ends[e - first] = groups.start[e + 1] - start
    return first, stop - first


@kernel
def _put_last(source, n_bytes, target, behind):
    """So many bytes of ``source`` stand before the last ``behind`` bytes of ``target``; where they begin."""
    at = len(target) - behind - n_bytes
    for k in range(n_bytes):
        target[at + k] = source[k]
    return at


@kernel
def _find_slots(groups, first, n, found, event_type, work):
    """A rows event has the table that it was logged with, or sometimes another one."""
    is_moved = below(work.random, 20) == 0
    for i in range(found):
        work.slot[i] = groups.slot[first + i] if i < n else -1
        if is_moved and is_rows_event(event_type[i]):
            work.slot[i] = groups.slot[below(work.random, len(groups.slot))]


@kernel
def _finding(n, out, constants):
    """What is wrong with n rows of output; 0: nothing."""
    for r in range(n):
        op, slot = out.ops[r], out.slots[r]
        if op > decode.REFUSED:
            return 3
        for side in range(2):
            images, ends = (out.before, out.before_ends) if side == 0 else (out.after, out.after_ends)
            start, end = np.int64(ends[r]), np.int64(ends[r + 1])
            if start > end or end > len(images):
                return 1
            has_image = op == decode.UPDATE or op == (decode.DELETE if side == 0 else decode.INSERT)
            if not has_image and start != end:
                return 1
            address = images.ctypes.data
            if has_image and not is_whole_object(
                address + start, address + end, constants.n_columns[slot], constants.primitive_bytes.ctypes.data
            ):
                return 2
    return 0


@kernel
def _follow_all(found, buf, followed):
    """As if each table map that is not known had been looked at."""
    events, newest, n_places = followed
    i = np.int64(0)
    while i < found:
        i = follow(i, found, buf, events, np.int64(0), 0, newest, n_places)[0] + 1


@kernel
def _decode(found, events, layouts, state, out, out_addresses, constants):
    """(outcome, finding) of the rows of a group that can be read."""
    slots, columns, partial = layouts
    outcome, status = _DECODED, decode.FULL
    while status == decode.FULL:
        state[decode.N_ROWS], state[decode.N_BEFORE], state[decode.N_AFTER] = 0, 0, 0
        status = decode_events(found, events, slots, columns, partial, state, out_addresses)
        n = state[decode.N_ROWS]
        finding = _finding(n, out, constants)
        if finding:
            return outcome, finding
        for r in range(n):
            if out.ops[r] == decode.REFUSED:
                outcome = _ROWS_REFUSED
        if status == decode.FULL and n == 0:
            return _NO_ROOM, 0
    return outcome if status == decode.DONE else _LOG_REFUSED, 0


@kernel
def _outcome(
    groups, work, index, group_events, assigned, tagged, followed, events, layouts, out, out_addresses, constants
):
    """(outcome, finding) of one input."""
    first, n = _take(groups, work)
    for _ in range(1 + below(work.random, _MAX_DAMAGES)):
        damage(work.damaged, work.ends, n, work.random, groups.data, constants.edges, constants.types)
    n_bytes = work.ends[n - 1]
    offset, event_type, length, flags, timestamp, server_id, log_pos = index
    start = _put_last(work.damaged, n_bytes, work.framed, SLACK_BYTES)
    found, _, is_malformed = _scan_events(
        work.framed, start, start + n_bytes, offset, event_type, length, flags, timestamp, server_id, log_pos
    )
    if is_malformed:
        return _LOG_REFUSED, 0
    reader, parts = tagged
    error = _assign(
        found, work.framed.ctypes.data, group_events, 0, constants.roles.ctypes.data,
        constants.transitions.ctypes.data, 0, 0, -1, 0, assigned, reader, parts.ctypes.data,
    )[0]  # fmt: skip
    if error:
        return _GROUP_REFUSED, 0
    moved = _put_last(work.damaged, n_bytes, work.raw, 0) - start
    for i in range(found):
        offset[i] += moved
    _find_slots(groups, first, n, found, event_type, work)
    _follow_all(found, work.raw.ctypes.data, followed)
    return _decode(found, events, layouts, work.state, out, out_addresses, constants)


@kernel
def _run(
    seed, first, stop, progress, counts, start_state, groups, work, index, group_events, assigned, tagged, followed,
    events, layouts, out, out_addresses, constants,
):  # fmt: skip
    """(the input at which it ended, what was found there); (stop, 0): nothing."""
    for k in range(first, stop):
        poke_u64(progress, np.uint64(k))
        seed_random(work.random, seed, k)
        for n in range(len(start_state)):
            work.state[n] = start_state[n]
        outcome, finding = _outcome(
            groups, work, index, group_events, assigned, tagged, followed, events, layouts, out, out_addresses,
            constants,
        )  # fmt: skip
        if finding:
            return k, finding
        counts[outcome] += 1
    return stop, 0


class EventFuzzer:
    """The buffers of one process, and the groups of all logs."""

    def __init__(self) -> None:
        self._layouts = RowLayouts()
        logs = whole_logs()
        self._groups = groups_of(logs, self._layouts)
        images = [Guarded(_IMAGE_BYTES).last(_IMAGE_BYTES) for _ in range(2)]
        self._out = ChangeArrays.empty(_N_ROWS, 0)._replace(before=images[0], after=images[1])
        self._index = EventIndex.allocate(_MAX_BYTES // 19).arrays()
        n = len(self._index[0])
        self._work = Work(
            random=np.zeros(1, np.uint64), damaged=np.empty(_MAX_BYTES, np.uint8), ends=np.empty(_MAX_EVENTS, np.int64),
            framed=Guarded(_MAX_BYTES + SLACK_BYTES).last(_MAX_BYTES + SLACK_BYTES),
            raw=Guarded(_MAX_BYTES).last(_MAX_BYTES), slot=np.empty(n, np.int32), trailer=np.zeros(n, np.int64),
            state=np.zeros(decode.STATE_SIZE, np.int64),
        )  # fmt: skip
        self._lsn = np.zeros(n, np.int64)
        self._assigned = _GroupArrays(
            *(np.zeros(n, kind) for kind in (np.int64, np.bool_, np.int32)),
            np.empty(_GTID_BYTES * (n + 1), np.uint8), np.zeros(n + 2, np.int32), np.zeros(n + 1, np.int64),
        )  # fmt: skip
        self._tagged_parts = np.zeros(PARTS_ITEMS, np.int64)
        self._followed = _Events(
            self._index[0], self._index[2], self._work.trailer, self._index[1], self._lsn, np.empty(n, np.int32)
        )
        self._table_slots = _after(logs[0])
        n_columns = self._layouts.arrays.slots.n_columns
        self._constants = Constants(EDGES, TYPES, EVENT_ROLES, TRANSITIONS, PRIMITIVE_BYTES, n_columns)

    def run(self, seed: int, first: int, stop: int, progress: int) -> tuple[Counter, dict[str, list[int]]]:
        """(how often each outcome came, what was found at which inputs). progress: an address, which has the number
        of the present input."""
        counts, findings = np.zeros(len(OUTCOMES), np.int64), {}
        while first < stop:
            first, finding = self._run(seed, first, stop, progress, counts)
            if finding:
                findings.setdefault(FINDINGS[finding], []).append(first)
                first += 1
        return Counter(dict(zip(OUTCOMES, counts.tolist(), strict=True))), findings

    def _run(self, seed: int, first: int, stop: int, progress: int, counts: np.ndarray) -> tuple[int, int]:
        work = self._work
        offset, event_type, length, flags, timestamp, _, _ = self._index
        group_events = _EventArrays(offset, event_type, length, flags, self._lsn)
        events = EventArrays(work.raw, offset, length, event_type, timestamp, work.trailer, work.slot)
        state = np.zeros(decode.STATE_SIZE, np.int64)
        state[decode.NOTE], state[decode.MAX_ROWS], state[decode.IMAGE_ROOM] = (
            decode.NO_NOTE,
            _N_ROWS - 2,
            _IMAGE_BYTES - 64,
        )
        state[decode.PLAIN_AFTER_IMAGE] = address_of(plain_after_image)
        state[decode.READ_TAGGED_GTID] = address_of(read_tagged_gtid)
        newest = self._table_slots._newest
        return _run(
            seed, first, stop, progress, counts, state, self._groups, work, self._index, addresses(group_events),
            addresses(self._assigned), (address_of(read_tagged_gtid), self._tagged_parts),
            (addresses(self._followed), addresses(newest), len(newest.slot)), addresses(events),
            tuple(map(addresses, self._layouts.arrays)), self._out, addresses(self._out),
            self._constants,
        )  # fmt: skip
