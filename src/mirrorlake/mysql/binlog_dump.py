"""A live server as a source: one connection streams the log, another answers questions about it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from mirrorlake.core.binlog.description_event import read_format_description
from mirrorlake.core.binlog.events import parse_rotate
from mirrorlake.core.binlog.framing import CHECKSUM_BYTES, HEADER_BYTES, EventBlock, EventIndex
from mirrorlake.core.binlog.gtid_search import first_missing
from mirrorlake.core.binlog.log_reader import begins_run
from mirrorlake.core.constants import ChecksumAlgorithm, EventFlag, EventType
from mirrorlake.core.gtid import GtidSet
from mirrorlake.core.position import FIRST_EVENT_OFFSET, BinlogPosition
from mirrorlake.core.sql_text import server_literal
from mirrorlake.errors import MirrorlakeError, RefusedError
from mirrorlake.mysql.connection import ServerConnection, log_end
from mirrorlake.mysql.dump_stream import TRUNCATED, DumpStream
from mirrorlake.mysql.login import ServerLogin

QUIET_LIMIT_S = 120
"""A server that has events for us but sends only heartbeats, or no complete event, for this long is lost."""
SEARCH_LIMIT_S = 3600
"""This limit while it looks for the first transaction outside a GTID set: it sends nothing that it skips."""
_DUMP_OFFSET_LIMIT = 1 << 32
"""COM_BINLOG_DUMP and an event's header have 32 bits for an offset."""


class LiveSource:
    """A ``BinlogSource`` over one server. ``read`` continues its stream if it starts where the last one ended."""

    def __init__(self, login: ServerLogin):
        """Connect. Raises what ``open_session`` raises."""
        self._login, self._control = login, ServerConnection(login)
        self.identity, self.flavor = self._control.identity, self._control.flavor
        self._stream: DumpStream | None = None
        self._blocks: Iterator[EventBlock] = iter(())
        self._rest: EventBlock | None = None
        self._position: BinlogPosition | None = None
        self._is_file_done = False

    @property
    def control(self) -> ServerConnection:
        """The connection for queries: preflight, table definitions."""
        return self._control

    def heads(self) -> list[BinlogPosition]:
        """Raises RefusedError ``binlog-off``."""
        return [BinlogPosition(log_file, FIRST_EVENT_OFFSET) for log_file in self._control.log_sizes()]

    def earliest(self) -> BinlogPosition:
        """Raises RefusedError ``binlog-off``."""
        return self.heads()[0]

    def current(self) -> BinlogPosition:
        """Raises RefusedError ``binlog-off``."""
        return self._status()[0]

    def locate(self, gtids: GtidSet) -> BinlogPosition:
        """Raises RefusedError ``server-log-purged`` when transactions outside ``gtids`` are purged."""
        end, executed = self._status()
        if executed is None:
            asked = f"SELECT BINLOG_GTID_POS({server_literal(end.log_file)}, {end.offset})"
            executed = self._control.cell(asked)
        if gtids.contains(self._control.gtids(executed)):
            return end
        stream, cursor = DumpStream(self._login, gtids), LogCursor()
        stream.expect(SEARCH_LIMIT_S)
        try:
            while True:
                for block in cursor.blocks(*stream.read()):
                    i = first_missing(block, gtids)
                    if i is not None:
                        return self._start_of(block, i)
        finally:
            stream.close()

    def check_range(self, start: BinlogPosition, end: BinlogPosition) -> None:
        """Raises RefusedError ``server-log-purged``."""
        if self._control.log_sizes().get(start.log_file, -1) < start.offset:
            raise RefusedError("server-log-purged", "the server does not have this position", position=str(start))

    def read(self, start: BinlogPosition | GtidSet, end: BinlogPosition) -> Iterator[EventBlock]:
        """See ``BinlogSource.read``. Raises also what ``DumpStream`` raises."""
        position = start if isinstance(start, BinlogPosition) else self.locate(start)
        if position >= end:
            return
        if not self._goes_on_at(position):
            self._open_stream(position)
        while self._position < end:
            self._stream.expect(QUIET_LIMIT_S)
            block = self._next_block()
            taken = _events_until(block, end)
            if taken < len(block.events):
                self._rest = block.part(taken, len(block.events))
            if taken:
                part = block.part(0, taken)
                self._position = BinlogPosition(block.log_file, part.end_pos)
                self._is_file_done = part.events.event_type[-1] == EventType.ROTATE
                yield part
            if taken < len(block.events):
                return

    def close(self) -> None:
        self._close_stream()
        self._control.close()

    # --- the stream

    def _open_stream(self, start: BinlogPosition) -> None:
        self._close_stream()
        reachable = start if start.offset < _DUMP_OFFSET_LIMIT else BinlogPosition(start.log_file, FIRST_EVENT_OFFSET)
        self._stream = DumpStream(self._login, reachable)
        self._blocks = _blocks_from(self._stream, start)
        self._position, self._is_file_done = start, False

    def _goes_on_at(self, start: BinlogPosition) -> bool:
        """Does the stream continue at ``start``? After a file's ROTATE comes the first event of the next file."""
        if self._stream is None or self._position is None:
            return False
        is_next_file = start.file_number == self._position.file_number + 1 and start.offset == FIRST_EVENT_OFFSET
        return start == self._position or (self._is_file_done and is_next_file)

    def _close_stream(self) -> None:
        stream, self._stream, self._rest, self._position = self._stream, None, None, None
        if stream is not None:
            stream.close()

    def _next_block(self) -> EventBlock:
        block, self._rest = self._rest, None
        try:
            return block or next(self._blocks)
        except MirrorlakeError as error:
            last = self._position
            self._close_stream()
            if error.code != TRUNCATED or last is None:
                raise
            return self._first_after_crash(last, error)

    def _first_after_crash(self, last: BinlogPosition, error: MirrorlakeError) -> EventBlock:
        """The next file's first events, if MariaDB started with them after a crash had cut this file short; see
        ``LogReader``. Raises ``error`` if not."""
        following = [head for head in self.heads() if head.file_number == last.file_number + 1]
        if self.flavor != "mariadb" or not following:
            raise error
        self._open_stream(following[0])
        block = next(self._blocks)
        if not begins_run(block):
            self._close_stream()
            raise error
        return block

    # --- questions

    def _status(self) -> tuple[BinlogPosition, str | None]:
        """The end of the log, and the GTIDs executed at that moment if the server reports them (MySQL)."""
        rows = self._control.query(self._control.log_status_sql)
        return log_end(self._login, rows), str(rows[0][4] or "") if len(rows[0]) > 4 else None

    def _start_of(self, block: EventBlock, i: int) -> BinlogPosition:
        """The start of an event, from its own end position: a stream that leaves events out has no other."""
        if self._control.log_sizes().get(block.log_file, 0) >= _DUMP_OFFSET_LIMIT:
            what = f"{block.log_file} is longer than 4 GiB, so a GTID's offset is unsure; start by file and position"
            raise RefusedError("log-range", what)
        return BinlogPosition(block.log_file, int(block.events.log_pos[i]) - int(block.events.length[i]))


class LogCursor:
    """Follows file and offset through a stream, and takes the events out that are in no file.

    Those are: ROTATE at the stream's start and at every switch of files (it names the file), FORMAT_DESCRIPTION at a
    start within a file (it has the checksum algorithm), heartbeats, and all events with the artificial flag.
    """

    def __init__(self):
        self._log_file, self._offset, self._has_checksum = "", 0, True

    def blocks(self, buf: np.ndarray, events: EventIndex) -> Iterator[EventBlock]:
        is_description = events.event_type == EventType.FORMAT_DESCRIPTION
        is_artificial = _artificial(events)
        first = 0
        for i in np.flatnonzero(is_artificial | is_description).tolist():
            yield from self._block(buf, events[first:i])
            self._learn(buf, events, i)
            first = i + 1 if is_artificial[i] else i
        yield from self._block(buf, events[first:])

    def _block(self, buf: np.ndarray, events: EventIndex) -> Iterator[EventBlock]:
        if len(events):
            if not self._log_file:
                raise RefusedError("log-event", "the server sends events before it names their file")
            block = EventBlock(self._log_file, self._offset, buf, events, self._has_checksum)
            self._offset = block.end_pos
            yield block

    def _learn(self, buf: np.ndarray, events: EventIndex, i: int) -> None:
        start, length = int(events.offset[i]), int(events.length[i])
        event = buf[start : start + length].tobytes()
        if events.event_type[i] == EventType.ROTATE:
            rotate = parse_rotate(_without_checksum(event)[HEADER_BYTES:])
            self._log_file, self._offset = rotate.next_file, rotate.offset
        elif events.event_type[i] == EventType.FORMAT_DESCRIPTION:
            description = read_format_description(event, self._log_file)
            self._has_checksum = description.checksum_algorithm == ChecksumAlgorithm.CRC32


def _artificial(events: EventIndex) -> np.ndarray:
    kind = events.event_type
    without_place = (kind == EventType.ROTATE) | (kind == EventType.FORMAT_DESCRIPTION)
    heartbeat = (kind == EventType.HEARTBEAT) | (kind == EventType.HEARTBEAT_V2)
    return (events.flags & EventFlag.ARTIFICIAL != 0) | heartbeat | (without_place & (events.log_pos == 0))


def _without_checksum(event: bytes) -> bytes:
    """Remove the checksum. The first ROTATE comes before anything says whether events carry checksums."""
    body, crc = event[:-CHECKSUM_BYTES], event[-CHECKSUM_BYTES:]
    return body if zlib.crc32(body).to_bytes(4, "little") == crc else event


def _blocks_from(stream: DumpStream, start: BinlogPosition) -> Iterator[EventBlock]:
    """All blocks of a stream, without the events before ``start``."""
    cursor = LogCursor()
    while True:
        for block in cursor.blocks(*stream.read()):
            first = 0
            if block.log_file == start.log_file and block.start_pos < start.offset:
                first = int(np.searchsorted(block.start_positions, start.offset))
            if first < len(block.events):
                yield block.part(first, len(block.events)) if first else block


def _events_until(block: EventBlock, end: BinlogPosition) -> int:
    """Number of the block's events that end at or before ``end``."""
    number = BinlogPosition(block.log_file, block.start_pos).file_number
    if number != end.file_number:
        return len(block.events) if number < end.file_number else 0
    return int(np.searchsorted(block.start_positions + block.events.length, end.offset, side="right"))
