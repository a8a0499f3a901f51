"""Bronze rows -> bronze rows without compressed events and fragments.

Plain events replace a compressed event, and a whole row event replaces its fragments. A plain event keeps the
position (lsn), the transaction and the GTID of its outer event. It has no checksum. Compressed transactions are mostly
short and many: their events are combined into batches, because every batch has a fixed cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.binlog.compression import PACKED_TYPES, Payload, plain_event
from mirrorlake.core.binlog.framing import HEADER_BYTES, SLACK_BYTES, TYPE_AT, EventIndex, index_events, stated_length
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS, located, refusal
from mirrorlake.core.changes.joined_fragments import join_fragments
from mirrorlake.core.constants import PLAIN_ROWS, EventType, one_of
from mirrorlake.core.kernels.memory import reusable_bytes
from mirrorlake.errors import RefusedError

PIECE_BYTES = 8 << 20
"""About how many bytes are inflated at once; a longer event makes its piece longer."""

_PAYLOAD = EventType.TRANSACTION_PAYLOAD
_IN_PAYLOAD = one_of(
    EventType.QUERY, EventType.INTVAR, EventType.RAND, EventType.USER_VAR, EventType.XID, EventType.XA_PREPARE,
    EventType.TABLE_MAP, *PLAIN_ROWS, EventType.ROWS_QUERY,
    EventType.APPEND_BLOCK, EventType.DELETE_FILE, EventType.BEGIN_LOAD_QUERY, EventType.EXECUTE_LOAD_QUERY,
)  # fmt: skip
_LAST_IN_PAYLOAD = (EventType.XID, EventType.QUERY, EventType.XA_PREPARE)
_PACKED = one_of(*PACKED_TYPES)
_AS_OUTSIDE = -1
_ARRAYS_BYTES = 4 << 10
"""About what the arrays of a ``_Plain`` take, however short its events are."""
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class _Plain:
    """Plain events back to back, and the row of the batch of each. is_opened: it comes from a compressed
    one. timestamps: seconds; ``_AS_OUTSIDE`` means the row's."""

    rows: np.ndarray
    data: list[bytes | memoryview]
    lengths: np.ndarray
    kinds: np.ndarray
    is_opened: np.ndarray
    timestamps: np.ndarray | int = _AS_OUTSIDE

    @property
    def n_bytes(self) -> int:
        return _ARRAYS_BYTES + sum(map(len, self.data))


def open_events(batches: Iterable[pa.RecordBatch], piece_bytes: int = PIECE_BYTES) -> Iterator[pa.RecordBatch]:
    """Open events. batches: with ``BRONZE_COLUMNS``, in log order, whole transactions; results may be cut anywhere.

    Raises RefusedError ``log-event`` for an event that cannot be opened, after all events before it.
    """
    for batch in join_fragments(batches):
        if _PACKED[_kinds(batch)].any():
            yield from _put_together(batch.select(list(BRONZE_COLUMNS)), piece_bytes)
        else:
            yield batch


def _put_together(batch: pa.RecordBatch, piece_bytes: int) -> Iterator[pa.RecordBatch]:
    yield from map(partial(_batch_of, batch), _grouped(_parts(batch, piece_bytes), attrgetter("n_bytes"), piece_bytes))


def _grouped(items: Iterable[_Item], n_bytes: Callable[[_Item], int], limit: int) -> Iterator[list[_Item]]:
    """Yield lists of items, longer than ``limit`` only if one item is. Items before an error are yielded before it, and
    a long item before the next one is made: each may have 1 GiB."""
    held: list[_Item] = []
    size = 0
    try:
        for item in items:
            if held and size + n_bytes(item) > limit:
                yield held
                held, size = [], 0
            held.append(item)
            size += n_bytes(item)
            del item
            if size >= limit:
                yield held
                held, size = [], 0
    except RefusedError:
        if held:
            yield held
        raise
    if held:
        yield held


class _Rows:
    """The rows of a batch as bytes. ends: the end of each event in ``data``; the entry of row i is the i + 1st."""

    def __init__(self, batch: pa.RecordBatch):
        raw = batch.column("raw").cast(pa.binary())
        ends = np.frombuffer(raw.buffers()[1], np.int32)[raw.offset : raw.offset + len(raw) + 1]
        self.batch, self.kinds, self.ends = batch, _kinds(batch), ends.astype(np.int64)
        self.data = memoryview(raw.buffers()[2])
        self._has_checksum = batch.column("crc_ok").is_valid().to_numpy(zero_copy_only=False)

    def event(self, i: int) -> memoryview:
        return self.data[self.ends[i] : self.ends[i + 1]]

    def trailer(self, i: int) -> int:
        """Bytes of the checksum after an event."""
        return 4 if self._has_checksum[i] else 0


def _parts(batch: pa.RecordBatch, piece_bytes: int) -> Iterator[_Plain]:
    rows, start = _Rows(batch), 0
    for i in [*np.flatnonzero(rows.kinds == _PAYLOAD).tolist(), len(rows.kinds)]:
        if start < i:
            yield from _outside(rows, start, i, piece_bytes)
        if i < len(rows.kinds):
            yield from _in_payload(rows, i, piece_bytes)
        start = i + 1


def _outside(rows: _Rows, start: int, stop: int, piece_bytes: int) -> Iterator[_Plain]:
    """Open rows without a payload."""
    kinds, lengths = rows.kinds[start:stop].copy(), np.diff(rows.ends[start : stop + 1])
    numbers, is_opened = np.arange(start, stop), _PACKED[kinds]

    def pieces() -> Iterator[tuple[bytes | memoryview, int]]:
        """Yield bytes, and the row after them."""
        done = start
        for i in [*numbers[is_opened].tolist(), stop]:
            if done < i:
                yield rows.data[rows.ends[done] : rows.ends[i]], i
            if i < stop:
                event = located(rows.batch, i, plain_event, bytes(rows.event(i)), rows.trailer(i))
                lengths[i - start], kinds[i - start], done = len(event), event[TYPE_AT], i + 1
                yield event, done
                del event

    first = 0
    for found in _grouped(pieces(), lambda piece: len(piece[0]), piece_bytes):
        here = slice(first, found[-1][1] - start)
        first = here.stop
        yield _Plain(numbers[here], [data for data, _ in found], lengths[here], kinds[here], is_opened[here])
        del found


def _in_payload(rows: _Rows, i: int, piece_bytes: int) -> Iterator[_Plain]:
    """The events inside the compressed transaction of row i."""
    batch, event = rows.batch, rows.event(i)
    body = event[HEADER_BYTES : len(event) - rows.trailer(i)]
    stream = located(batch, i, Payload.parse, body).stream()
    rest, last, wanted = b"", None, piece_bytes
    while True:
        wanted = min(wanted, stream.room)  # transactions are mostly short, and many of them are held at once
        buf, n_bytes = reusable_bytes(len(rest) + wanted + SLACK_BYTES), len(rest)
        buf.data[:n_bytes] = rest
        n_new = located(batch, i, stream.read_into, buf.data[n_bytes : n_bytes + wanted])
        if not n_new:
            break
        n_bytes += n_new
        events, stop = located(batch, i, index_events, buf, 0, n_bytes)
        if len(events):
            _check_kinds(batch, i, events)
            yield _inner(batch, i, buf.data, events, stop)
            last = int(events.event_type[-1])
        rest = bytes(buf.data[stop:n_bytes])
        del buf  # it may be long
        wanted = max(piece_bytes, _event_bytes(rest) - len(rest))
    if rest or last not in _LAST_IN_PAYLOAD:
        raise refusal(batch, "a compressed transaction is not whole", i)


def _inner(batch: pa.RecordBatch, i: int, data: memoryview, events: EventIndex, stop: int) -> _Plain:
    lengths, kinds = events.length, events.event_type
    parts: list[bytes | memoryview] = [data[:stop]]
    if _PACKED[kinds].any():  # EXECUTE_LOAD_QUERY, which is rare
        parts = [data[start : start + n] for start, n in zip(events.offset, lengths, strict=True)]
        for k in np.flatnonzero(_PACKED[kinds]).tolist():
            parts[k] = located(batch, i, plain_event, bytes(parts[k]), 0)
        lengths, kinds = np.array([len(part) for part in parts]), np.array([part[TYPE_AT] for part in parts], np.uint8)
    return _Plain(np.full(len(lengths), i), parts, lengths, kinds, np.ones(len(lengths), bool), events.timestamp)


def _check_kinds(batch: pa.RecordBatch, i: int, events: EventIndex) -> None:
    foreign = events.event_type[~_IN_PAYLOAD[events.event_type]]
    if len(foreign):
        raise refusal(batch, f"a compressed transaction holds an event of type {foreign[0]}", i)


def _event_bytes(rest: bytes) -> int:
    """Length of the event that begins with ``rest``, which ``index_events`` has seen; 0 without a whole header."""
    return stated_length(rest) if len(rest) >= HEADER_BYTES else 0


def _batch_of(batch: pa.RecordBatch, parts: list[_Plain]) -> pa.RecordBatch:
    if len(parts) == 1 and not parts[0].is_opened.any():
        return batch.slice(int(parts[0].rows[0]), len(parts[0].rows))
    ends = np.concatenate([[0], np.cumsum(np.concatenate([part.lengths for part in parts]))]).astype(np.int32)
    pieces = [piece for part in parts for piece in part.data]
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    is_opened = pa.array(np.concatenate([part.is_opened for part in parts]))
    seconds = np.concatenate([np.broadcast_to(part.timestamps, len(part.rows)) for part in parts])
    rows = pa.array(np.concatenate([part.rows for part in parts]))
    columns = {name: batch.column(name).take(rows) for name in BRONZE_COLUMNS if name != "raw"}
    moments = pa.array(seconds.astype(np.int64) * 1_000_000).cast(pa.timestamp("us", "UTC"))
    columns |= {
        "event_type": pa.array(np.concatenate([part.kinds for part in parts]).astype(np.int16)),
        "event_ts": pc.if_else(
            pa.array(seconds != _AS_OUTSIDE), moments.cast(batch.schema.field("event_ts").type), columns["event_ts"]
        ),
        "crc_ok": pc.if_else(is_opened, pa.scalar(None, pa.bool_()), columns["crc_ok"]),
        "raw": pa.Array.from_buffers(pa.binary(), len(seconds), [None, pa.py_buffer(ends), pa.py_buffer(data)]),
    }
    return pa.RecordBatch.from_arrays([columns[name] for name in BRONZE_COLUMNS], names=list(BRONZE_COLUMNS))


def _kinds(batch: pa.RecordBatch) -> np.ndarray:
    return batch.column("event_type").to_numpy(zero_copy_only=False).astype(np.uint8)
