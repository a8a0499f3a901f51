"""Bytes -> event index: where each event of a buffer starts, what it is, and whether it is whole.

Event header (19 bytes, little-endian; MySQL ``libs/mysql/binlog/event/binlog_event.h``, MariaDB ``sql/log_event.h``):

    offset size  field
    0      4     timestamp, seconds since the epoch
    4      1     event type
    5      4     server id of the server that wrote the event first
    9      4     event length in bytes, header and checksum included
    13     4     log_pos: end position in the file modulo 2**32; 0 = not a position
    17     2     flags
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mirrorlake.core.constants import EventFlag, EventType
from mirrorlake.core.kernels.memory import kernel, load_u8, load_u16, load_u32
from mirrorlake.core.position import BinlogPosition
from mirrorlake.errors import RefusedError

HEADER_BYTES = 19
TYPE_AT, SERVER_ID_AT, LENGTH_AT, NEXT_POSITION_AT, FLAGS_AT = 4, 5, 9, 13, 17
"""Fields of the header, after the timestamp (MySQL ``binlog_event.h``)."""
CHECKSUM_BYTES = 4
SLACK_BYTES = 64
"""Kernels may read this many bytes after the last event of a buffer."""

MAX_EVENT_BYTES = 1 << 30
"""The servers' own limit (max_allowed_packet); a larger claim is refused."""

MORE_DATA, SPECIAL_PACKET = 0, 2
"""Reasons for the end of ``index_packets``: bytes run out, or a packet that is not one plain event."""

_PACKET_HEADER_BYTES, _LONGEST_PAYLOAD = 4, 0xFFFFFF
"""Of the client protocol: length u24 and sequence number; a payload as long as this continues in the next packet."""
_OK = 0
_FIRST_V1, _LAST_V1, _FIRST_V2, _LAST_V2, _PARTIAL_UPDATE_ROWS = map(
    int,
    (
        EventType.WRITE_ROWS_V1, EventType.DELETE_ROWS_V1, EventType.WRITE_ROWS, EventType.DELETE_ROWS,
        EventType.PARTIAL_UPDATE_ROWS,
    ),
)  # fmt: skip
_MOST_INDEXED = 1 << 20
"""Events that one call indexes, more than 8 MiB can hold: the index of a buffer of 1 GiB would take 1.7 GB."""


@dataclass(frozen=True, slots=True)
class EventIndex:
    """Headers of n events of one buffer, in log order, as arrays of length n.

    offset: int64, of the header in the buffer. length: int64, bytes with header and checksum. event_type: uint8.
    flags: uint16. timestamp: uint32, seconds. server_id: uint32. log_pos: uint32, as written.
    """

    offset: np.ndarray
    event_type: np.ndarray
    length: np.ndarray
    flags: np.ndarray
    timestamp: np.ndarray
    server_id: np.ndarray
    log_pos: np.ndarray

    def __len__(self) -> int:
        return len(self.offset)

    def __getitem__(self, chosen: slice | np.ndarray) -> EventIndex:
        return EventIndex(*(getattr(self, name)[chosen] for name in self.__slots__))

    @classmethod
    def allocate(cls, n: int) -> EventIndex:
        kinds = (np.int64, np.uint8, np.int64, np.uint16, np.uint32, np.uint32, np.uint32)
        return cls(*(np.empty(n, kind) for kind in kinds))

    def arrays(self) -> tuple[np.ndarray, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)


@dataclass(frozen=True, slots=True)
class EventBlock:
    """A run of complete events of one binlog file, in log order; none of them artificial.

    start_pos: offset in the file of the first event. buf: uint8, with ``SLACK_BYTES`` after the last event.
    """

    log_file: str
    start_pos: int
    buf: np.ndarray
    events: EventIndex
    has_checksum: bool

    @property
    def end_pos(self) -> int:
        return self.start_pos + int(self.events.length.sum())

    @property
    def start_positions(self) -> np.ndarray:
        """int64[n]: offset in the file of each event."""
        ends = np.cumsum(self.events.length)
        return self.start_pos + ends - self.events.length

    @property
    def trailer_bytes(self) -> int:
        return CHECKSUM_BYTES if self.has_checksum else 0

    def position(self, i: int) -> BinlogPosition:
        return BinlogPosition(self.log_file, self.start_pos + int(self.events.length[:i].sum()))

    def raw(self, i: int) -> bytes:
        """Event i as the server wrote it."""
        start = int(self.events.offset[i])
        return self.buf[start : start + int(self.events.length[i])].tobytes()

    def body(self, i: int) -> bytes:
        """Event i without its header and checksum."""
        start = int(self.events.offset[i])
        return self.buf[start + HEADER_BYTES : start + int(self.events.length[i]) - self.trailer_bytes].tobytes()

    def part(self, first: int, stop: int) -> EventBlock:
        """Events first..stop-1 over the same buffer."""
        start = self.start_pos + int(self.events.length[:first].sum())
        return EventBlock(self.log_file, start, self.buf, self.events[first:stop], self.has_checksum)


def without_in_use_flag(raw: bytes) -> bytes:
    """A FORMAT_DESCRIPTION event with the flag clear, as it was when the server computed its checksum; any other event
    unchanged."""
    if len(raw) < HEADER_BYTES or raw[TYPE_AT] != EventType.FORMAT_DESCRIPTION:
        return raw
    return raw[:FLAGS_AT] + bytes([raw[FLAGS_AT] & ~EventFlag.IN_USE & 0xFF]) + raw[FLAGS_AT + 1 :]


def stated_length(event: bytes | bytearray | memoryview) -> int:
    """The length that a header gives; the event may be cut off after its header."""
    return int.from_bytes(event[LENGTH_AT:NEXT_POSITION_AT], "little")


@kernel
def has_rows(event_type):
    """Whether an event is one of ``PLAIN_ROWS``."""
    return (
        _FIRST_V1 <= event_type <= _LAST_V1 or _FIRST_V2 <= event_type <= _LAST_V2 or event_type == _PARTIAL_UPDATE_ROWS
    )


@kernel
def _read_header(buf, p, i, event_type, length, flags, timestamp, server_id, log_pos):
    timestamp[i] = load_u32(buf, p)
    event_type[i] = load_u8(buf, p + TYPE_AT)
    server_id[i] = load_u32(buf, p + SERVER_ID_AT)
    length[i] = load_u32(buf, p + LENGTH_AT)
    log_pos[i] = load_u32(buf, p + NEXT_POSITION_AT)
    flags[i] = load_u16(buf, p + FLAGS_AT)


@kernel
def _scan_events(buf, start, end, offset, event_type, length, flags, timestamp, server_id, log_pos):
    p = start
    n = 0
    while p + HEADER_BYTES <= end and n < offset.shape[0]:
        n_bytes = np.int64(load_u32(buf, p + LENGTH_AT))
        if n_bytes < HEADER_BYTES or n_bytes > MAX_EVENT_BYTES:
            return n, p, True
        if p + n_bytes > end:
            break
        offset[n] = p
        _read_header(buf, p, n, event_type, length, flags, timestamp, server_id, log_pos)
        n += 1
        p += n_bytes
    return n, p, False


@kernel
def _scan_packets(buf, start, end, offset, event_type, length, flags, timestamp, server_id, log_pos):
    p = start
    n = 0
    while n < offset.shape[0] and p + _PACKET_HEADER_BYTES <= end:
        payload = np.int64(load_u32(buf, p) & np.uint32(_LONGEST_PAYLOAD))
        if payload == _LONGEST_PAYLOAD:
            return n, p, SPECIAL_PACKET, False
        status = p + _PACKET_HEADER_BYTES
        event = status + 1
        if status + payload > end:
            break
        if payload < 1 + HEADER_BYTES or load_u8(buf, status) != _OK:
            return n, p, SPECIAL_PACKET, False
        if np.int64(load_u32(buf, event + LENGTH_AT)) != payload - 1:
            return n, p, SPECIAL_PACKET, True
        offset[n] = event
        _read_header(buf, event, n, event_type, length, flags, timestamp, server_id, log_pos)
        n += 1
        p = status + payload
    return n, p, MORE_DATA, False


def index_events(buf: np.ndarray, start: int, end: int, at: BinlogPosition | None = None) -> tuple[EventIndex, int]:
    """Index contiguous events in ``buf[start:end]``; return them and the offset of the first one not taken.

    That one is incomplete, or comes after a million others. at: the position in the log of ``start``. Raises
    RefusedError ``log-event`` when a header gives a length that no event has.
    """
    index = EventIndex.allocate(min(_MOST_INDEXED, max(16, (end - start) // HEADER_BYTES + 1)))
    n, stop, malformed = _scan_events(buf, start, end, *index.arrays())
    if malformed:
        where = BinlogPosition(at.log_file, at.offset + stop - start) if at else f"byte {stop} of the block"
        raise impossible_length(int.from_bytes(buf[stop + 9 : stop + 13].tobytes(), "little"), str(where))
    return index[:n], stop


def impossible_length(n_bytes: int, position: str | None = None) -> RefusedError:
    what = "shorter than its header" if n_bytes < HEADER_BYTES else "longer than 1 GiB, which no server writes"
    return RefusedError("log-event", f"by its length field an event is {what} ({n_bytes} bytes)", position=position)


def index_packets(buf: np.ndarray, start: int, end: int) -> tuple[EventIndex, int, int]:
    """Index events inside client/server packets (3-byte length, sequence, status 0, event) in ``buf[start:end]``.

    Returns the index, the offset of the first packet not taken, and ``MORE_DATA`` or ``SPECIAL_PACKET`` (EOF, ERR,
    or the first part of a packet of 16 MiB and more).
    Raises RefusedError ``log-event`` when the first event's length is not its packet's.
    """
    index = EventIndex.allocate(min(_MOST_INDEXED, max(16, (end - start) // (HEADER_BYTES + 5) + 1)))
    n, stop, status, malformed = _scan_packets(buf, start, end, *index.arrays())
    if malformed and not n:
        raise RefusedError("log-event", "an event's length field is not the length of its packet")
    return index[:n], stop, status


def verify_continuity(block: EventBlock, expected: BinlogPosition | None) -> None:
    """Check that the block starts where the one before ended, and that every event ends where its header says.

    Raises RefusedError ``log-gap``.
    """
    start = BinlogPosition(block.log_file, block.start_pos)
    if expected is not None and not _continues(expected, start):
        raise RefusedError(
            "log-gap", f"the log continues at {start}, but {expected} was to come next", position=str(expected)
        )
    ends = block.start_positions + block.events.length
    differs = (block.events.log_pos != 0) & (block.events.log_pos != (ends & 0xFFFFFFFF).astype(np.uint32))
    if differs.any():
        bad = int(np.argmax(differs))
        raise RefusedError("log-gap", "an event does not end where its header says", position=str(block.position(bad)))


def _continues(expected: BinlogPosition, start: BinlogPosition) -> bool:
    """The next event of the file, or the first one of the next file (the source vouches for a closed file's end)."""
    return start == expected or (start.file_number == expected.file_number + 1 and start.offset == 4)
