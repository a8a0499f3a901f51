"""Event blocks -> checked Arrow batches, each with the position at which reading may continue.

A reader has two positions. The *read position* is the end of the bytes taken. The *resume position* is the last
boundary at or before it, and the only one that may ever be made durable.

A MariaDB server that crashes while it writes a transaction leaves the beginning in its log, and rolls the transaction
back when it starts again, with a new file. A replica rolls it back there, and so does this reader. (MySQL cuts such a
beginning off its log.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.checksums import verify_checksums
from mirrorlake.core.binlog.event_batch import NO_EVENTS, event_batch
from mirrorlake.core.binlog.events import parse_format_description, parse_rotate
from mirrorlake.core.binlog.framing import EventBlock, verify_continuity
from mirrorlake.core.binlog.gtid_search import LISTS_GTIDS, PARSE_LIST
from mirrorlake.core.binlog.transactions import IDLE, Groups, GroupState, add_gtids, assign_groups
from mirrorlake.core.constants import EventType
from mirrorlake.core.gtid import GtidSet
from mirrorlake.core.mariadb_gtid import MariadbGtidSet
from mirrorlake.core.mysql_gtid import MysqlGtidSet
from mirrorlake.core.position import FIRST_EVENT_OFFSET, BinlogPosition, Until, unpack_lsn


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """lsn: of the last event before it (-1: none yet). gtids: every transaction before it, as far as the log has it, as
    ``state`` of a GTID set; skip: later transactions that are already known, in the same form."""

    position: BinlogPosition
    gtids: str
    lsn: int
    skip: str = ""


@dataclass(frozen=True, slots=True)
class LogChunk:
    """batch: rows of ``EVENT_SCHEMA``; none of transactions that are left out. resume: where reading may resume; None
    inside a transaction. torn_at: where the transaction begins whose rows so far were rolled back by a crash."""

    batch: pa.RecordBatch
    resume: ResumePoint | None
    torn_at: BinlogPosition | None = None


def begins_run(block: EventBlock) -> bool:
    """Is its first event the first one that a server wrote after it had started?"""
    is_head = block.start_pos == FIRST_EVENT_OFFSET and block.events.event_type[0] == EventType.FORMAT_DESCRIPTION
    return is_head and parse_format_description(block.body(0)).created_s > 0


class LogReader:
    """Follows one log from a boundary on; keeps the state from one block to the next."""

    def __init__(
        self, start: BinlogPosition | None, gtids: GtidSet, *, skip: GtidSet | None = None, incarnation: int = 0,
        until: Until | None = None,
    ):  # fmt: skip
        """start: where the first block must begin; None when a GTID decides. skip: known transactions that are still
        ahead, which are left out; see ``failover``. until: a GTID set or a time to stop at."""
        self._expected, self._gtids, self._incarnation = start, gtids.copy(), incarnation
        self._skip = skip.copy() if skip else type(gtids)()
        self._until = until if isinstance(until, (MysqlGtidSet, MariadbGtidSet, datetime)) else None
        self._state = GroupState()
        self._before_open: tuple[int, GtidSet] | None = None  # tx_lsn of a group, and the GTIDs before it
        self.is_finished = False

    def read(self, blocks: Iterable[EventBlock]) -> Iterator[LogChunk]:
        """Yield chunks of whole events until the blocks end or ``until`` is reached (then ``is_finished``).

        Raises RefusedError: see ``verify_checksums``, ``verify_continuity``, ``assign_groups``.
        """
        for block in blocks:
            if not len(block.events):
                continue
            verify_checksums(block)
            verify_continuity(block, self._expected)
            if self._state.state != IDLE and self._begins_after_crash(block):
                yield self._roll_back(self._expected)
            self._expected = BinlogPosition(block.log_file, block.end_pos)
            groups = assign_groups(block, self._state, self._incarnation)
            for first, stop, is_known in self._runs(groups):
                part, part_groups = block.part(first, stop), groups.part(first, stop)
                yield from (self._pass if is_known else self._take)(part, part_groups)
                if self.is_finished:
                    return

    def _begins_after_crash(self, block: EventBlock) -> bool:
        """Did MariaDB start with this block, after a file in which nothing says that it had stopped?"""
        return isinstance(self._gtids, MariadbGtidSet) and begins_run(block)

    def _roll_back(self, end: BinlogPosition) -> LogChunk:
        """Leave out the transaction that is open where its file ends."""
        torn, self._state = self._state, GroupState()
        if self._before_open and self._before_open[0] == torn.tx_lsn:
            self._gtids = self._before_open[1]
        return LogChunk(NO_EVENTS, None, BinlogPosition(end.log_file, unpack_lsn(torn.tx_lsn)[2]))

    def _runs(self, groups: Groups) -> Iterator[tuple[int, int, bool]]:
        """Yield (first, stop, are they known?) of consecutive events. When a run is yielded, ``skip`` is the set at its
        last boundary."""
        start, was_known = 0, False
        for first, stop in groups.ranges if self._skip else ():
            gtid = groups.gtid(first)
            is_known = gtid is not None and self._skip.holds(gtid)
            if is_known != was_known and first > start:
                yield start, first, was_known
                start = first
            was_known = is_known
            if is_known and groups.is_boundary[stop - 1]:
                self._skip.strike(gtid)
        yield start, len(groups.lsn), was_known

    def _pass(self, block: EventBlock, groups: Groups) -> Iterator[LogChunk]:
        boundaries = np.flatnonzero(groups.is_boundary)
        if len(boundaries):
            yield LogChunk(NO_EVENTS, self._resume_after(block, groups, int(boundaries[-1])))

    def _take(self, block: EventBlock, groups: Groups) -> Iterator[LogChunk]:
        stop = self._stop_before(block, groups)
        if stop is not None:
            block, groups, self.is_finished = block.part(0, stop), groups.part(0, stop), True
        yield from self._chunks(block, groups)

    def _chunks(self, block: EventBlock, groups: Groups) -> Iterator[LogChunk]:
        boundaries = np.flatnonzero(groups.is_boundary)
        n, closed = len(block.events), int(boundaries[-1]) + 1 if len(boundaries) else 0
        if closed:
            whole, whole_groups = block.part(0, closed), groups.part(0, closed)
            self._note_gtids(whole, whole_groups)
            yield LogChunk(event_batch(whole, whole_groups), self._resume_after(whole, whole_groups, closed - 1))
        if closed < n:
            rest, rest_groups = block.part(closed, n), groups.part(closed, n)
            if isinstance(self._gtids, MariadbGtidSet) and rest_groups.tx_lsn[0] == rest_groups.lsn[0]:
                self._before_open = int(rest_groups.tx_lsn[0]), self._gtids.copy()
            self._note_gtids(rest, rest_groups)
            yield LogChunk(event_batch(rest, rest_groups), None)

    def _note_gtids(self, block: EventBlock, groups: Groups) -> None:
        """GTIDs of an open group count from its start on: they are only ever saved with a later boundary."""
        for i in np.flatnonzero(LISTS_GTIDS[block.events.event_type]).tolist():
            known = PARSE_LIST[block.events.event_type[i]](block.body(i))
            if known and not self._gtids:
                self._gtids = known.copy()
        add_gtids(self._gtids, block, groups)

    def _resume_after(self, block: EventBlock, groups: Groups, i: int) -> ResumePoint:
        return ResumePoint(self._after(block, i), self._gtids.state, int(groups.lsn[i]), self._skip.state)

    def _after(self, block: EventBlock, i: int) -> BinlogPosition:
        """The position after event i; after a file's last event, the start of the next file."""
        kind = block.events.event_type[i]
        if kind == EventType.ROTATE:
            rotate = parse_rotate(block.body(i))
            return BinlogPosition(rotate.next_file, rotate.offset)
        if kind == EventType.STOP:
            stem, _, number = block.log_file.rpartition(".")
            return BinlogPosition(f"{stem}.{int(number) + 1:0{len(number)}d}", FIRST_EVENT_OFFSET)
        return BinlogPosition(block.log_file, block.end_pos)

    def _stop_before(self, block: EventBlock, groups: Groups) -> int | None:
        """The first event after ``until``."""
        if self._until is None:
            return None
        if isinstance(self._until, datetime):
            opens = groups.lsn == groups.tx_lsn
            late = opens & (block.events.timestamp > int(self._until.timestamp())) & (block.events.timestamp > 0)
            return int(np.argmax(late)) if late.any() else None
        return self._after_gtids(groups, self._until)

    def _after_gtids(self, groups: Groups, until: GtidSet) -> int | None:
        left = until.minus(self._gtids)
        starts_between_groups = groups.lsn[0] == groups.tx_lsn[0]
        if starts_between_groups and not left:
            return 0
        for first, stop in groups.ranges:
            gtid = groups.gtid(first)
            if gtid is not None:
                left.reach(gtid)
            if groups.is_boundary[stop - 1] and not left:
                return stop
        return None
