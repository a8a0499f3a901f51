"""PARTIAL_ROW_DATA events (172) of MariaDB 12.3 and later -> the row event that was cut into them.

A rows event longer than ``binlog_row_event_fragment_threshold`` is written as consecutive fragments: events
with their own header and checksum, and the body

    offset size  field
    0      4     number of fragments
    4      4     number of this one, from 1
    8      1     flags: 1 in the first fragment, 0 in the others
    9      8     in the first fragment: length of the rows event, its header included
    ..     ..    the next bytes of the rows event

The rows event has a header and no checksum, but the length in that header, modulo 2**32, includes one if the server
writes checksums. With log_bin_compress it has a compressed type, and its rows are not compressed.

Sources: MariaDB ``sql/log_event_server.cc`` (Partial_rows_log_event, Rows_log_event_fragmenter), ``sql/log_event.cc``;
the comment in ``sql/log_event.h`` has the first two fields the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass

from mirrorlake.core.binlog.byte_reader import ByteReader
from mirrorlake.core.binlog.compression import plain_event
from mirrorlake.core.binlog.framing import (
    CHECKSUM_BYTES,
    HEADER_BYTES,
    LENGTH_AT,
    MAX_EVENT_BYTES,
    NEXT_POSITION_AT,
    TYPE_AT,
    stated_length,
)
from mirrorlake.core.constants import EventType
from mirrorlake.errors import RefusedError

_FIXED_BYTES = 17
_PLAIN_TYPE = {
    EventType.WRITE_ROWS_V1: EventType.WRITE_ROWS_V1, EventType.UPDATE_ROWS_V1: EventType.UPDATE_ROWS_V1,
    EventType.DELETE_ROWS_V1: EventType.DELETE_ROWS_V1,
    166: EventType.WRITE_ROWS_V1, 167: EventType.UPDATE_ROWS_V1, 168: EventType.DELETE_ROWS_V1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fragment:
    """number: from 1 to total. event_bytes: length of the rows event, 0 after the first fragment."""

    total: int
    number: int
    event_bytes: int
    data: memoryview

    @classmethod
    def parse(cls, body: memoryview) -> Fragment:
        """Parse the event. body: without header and checksum. Raises RefusedError ``log-event``."""
        reader = ByteReader(bytes(body[:_FIXED_BYTES]), "PARTIAL_ROW_DATA event")
        total, number, flags = reader.uint(4), reader.uint(4), reader.uint(1)
        if total < 2 or not 1 <= number <= total:
            raise reader.malformed(f"fragment {number} of {total}")
        if flags != (number == 1):
            raise reader.malformed(f"fragment {number} with flags {flags}")
        event_bytes = reader.uint(8) if flags else 0
        data = body[reader.position :]
        if not data:
            raise reader.malformed("it carries nothing")
        return cls(total, number, event_bytes, data)


class FragmentedEvent:
    """A row event, as far as its fragments were read. It keeps only bytes that arrived, whatever length the first
    states."""

    def __init__(self) -> None:
        self._total = self._number = self._event_bytes = 0
        self._data = bytearray()

    @property
    def is_open(self) -> bool:
        """Was a fragment read, and are more expected?"""
        return 0 < self._number < self._total

    def add(self, fragment: Fragment) -> None:
        """Add the next fragment. Raises RefusedError ``log-event`` for another one, and for other bytes than stated."""
        total, number = fragment.total, fragment.number
        if number != self._number + 1 or (self.is_open and total != self._total):
            raise self.cut(f"fragment {number} of {total}")
        if number == 1:
            self._total, self._event_bytes = total, fragment.event_bytes
        if self._event_bytes > MAX_EVENT_BYTES:
            raise _malformed(f"it is longer than 1 GiB: {self._event_bytes} bytes")
        self._number = number
        self._data += fragment.data
        missing = self._event_bytes - len(self._data)
        if missing < 0 or (missing and not self.is_open):
            raise _malformed(f"{len(self._data)} bytes up to fragment {number} of {total}, of {self._event_bytes}")

    def cut(self, what: str) -> RefusedError:
        """The error for another event instead of the next fragment."""
        return _malformed(f"{what} comes behind {self._number} of {self._total} fragments")

    def plain(self) -> bytes | bytearray:
        """The row event after all fragments were read, not compressed, without checksum. Raises RefusedError
        ``log-event``."""
        event = self._data
        if len(event) < HEADER_BYTES:
            raise _malformed("it ends inside its header")
        if event[TYPE_AT] not in _PLAIN_TYPE:
            raise _malformed(f"its fragments hold an event of type {event[TYPE_AT]}")
        stated = stated_length(event)
        if (stated - len(event)) & 0xFFFFFFFF not in (0, CHECKSUM_BYTES):
            raise _malformed(f"its header states {stated} bytes, its fragments {len(event)}")
        return _plain_rows(event)


def _plain_rows(event: bytearray) -> bytes | bytearray:
    """The event with its plain type; rows that are not compressed, as their type says, stay unchanged, as in
    MariaDB."""
    kind = _PLAIN_TYPE[event[TYPE_AT]]
    if event[TYPE_AT] != kind:
        try:
            return plain_event(bytes(event), 0)
        except RefusedError:
            event[TYPE_AT] = kind
    event[LENGTH_AT:NEXT_POSITION_AT] = len(event).to_bytes(4, "little")
    return event


def _malformed(why: str) -> RefusedError:
    return RefusedError("log-event", f"malformed rows event in fragments: {why}")
