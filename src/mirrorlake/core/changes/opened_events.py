"""Bronze rows -> bronze rows in which every compressed event is replaced by the plain events it stands for, and
fragments by the event they are of.

A plain event keeps the place (lsn), the transaction and the GTID of the event it came in. It has no checksum.
Compressed transactions are mostly short and many: their events are put together into batches, for whatever takes a
batch has costs of its own for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.binlog.compression import MAX_EVENT_BYTES, PACKED_TYPES, Payload, plain_event
from mirrorlake.core.binlog.framing import HEADER_BYTES, SLACK_BYTES, EventIndex, index_events
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS, located, refusal
from mirrorlake.core.changes.joined_fragments import join_fragments
from mirrorlake.core.constants import EventType
from mirrorlake.errors import RefusedError

PIECE_BYTES = 8 << 20
"""About so much is inflated at once; a longer event makes its piece longer."""

_PAYLOAD = EventType.TRANSACTION_PAYLOAD
_IN_PAYLOAD = np.isin(
    np.arange(256), [2, 5, 13, 14, 16, 19, 23, 24, 25, 29, 30, 31, 32, 38, 39, 9, 11, 17, 18], assume_unique=True
)
_LAST_IN_PAYLOAD = (EventType.XID, EventType.QUERY, EventType.XA_PREPARE)
_PACKED = np.isin(np.arange(256), PACKED_TYPES, assume_unique=True)
_AS_OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class _Opened:
    """Plain events that lie one behind the other in ``data``. row: of the first one, as many rows of the batch as there
    are events, or the one row that they came in. timestamps: seconds; those of the rows where it is ``_AS_OUTSIDE``."""

    row: int
    data: bytes | memoryview
    lengths: np.ndarray
    kinds: np.ndarray
    timestamps: np.ndarray | int = _AS_OUTSIDE
    is_opened: bool = True

    @property
    def rows(self) -> np.ndarray:
        n = len(self.lengths)
        return np.full(n, self.row) if self.is_opened else np.arange(self.row, self.row + n)


def open_events(batches: Iterable[pa.RecordBatch], piece_bytes: int = PIECE_BYTES) -> Iterator[pa.RecordBatch]:
    """batches: with ``BRONZE_COLUMNS``, in log order, whole transactions; what it yields is cut anywhere.

    Raises RefusedError ``log-event`` for an event that cannot be opened, behind all that come before it.
    """
    for batch in join_fragments(batches):
        if _PACKED[_kinds(batch)].any():
            yield from _put_together(batch.select(list(BRONZE_COLUMNS)), piece_bytes)
        else:
            yield batch


def _put_together(batch: pa.RecordBatch, piece_bytes: int) -> Iterator[pa.RecordBatch]:
    held: list[_Opened] = []
    n_bytes = 0
    try:
        for part in _parts(batch, piece_bytes):
            if held and n_bytes + len(part.data) > piece_bytes:
                yield _batch_of(batch, held)
                held, n_bytes = [], 0
            held.append(part)
            n_bytes += len(part.data)
    except RefusedError:
        if held:
            yield _batch_of(batch, held)
        raise
    if held:
        yield _batch_of(batch, held)


def _parts(batch: pa.RecordBatch, piece_bytes: int) -> Iterator[_Opened]:
    raw, kinds = batch.column("raw").cast(pa.binary()), _kinds(batch)
    ends = np.frombuffer(raw.buffers()[1], np.int32)[raw.offset : raw.offset + len(raw) + 1].astype(np.int64)
    trailers = np.where(batch.column("crc_ok").is_valid().to_numpy(zero_copy_only=False), 4, 0).tolist()
    data, start = memoryview(raw.buffers()[2]), 0
    for i in [*np.flatnonzero(_PACKED[kinds]).tolist(), len(kinds)]:
        if start < i:
            lengths = np.diff(ends[start : i + 1])
            yield _Opened(start, data[ends[start] : ends[i]], lengths, kinds[start:i], is_opened=False)
        if i == len(kinds):
            return
        event, start = data[ends[i] : ends[i + 1]], i + 1
        if kinds[i] == _PAYLOAD:
            yield from _in_payload(batch, i, event[HEADER_BYTES : len(event) - trailers[i]], piece_bytes)
        else:
            yield _plain(i, located(batch, i, plain_event, bytes(event), trailers[i]))


def _plain(row: int, event: bytes, timestamp: int = _AS_OUTSIDE) -> _Opened:
    return _Opened(row, event, np.array([len(event)]), np.array([event[4]], np.uint8), timestamp)


def _in_payload(batch: pa.RecordBatch, i: int, body: memoryview, piece_bytes: int) -> Iterator[_Opened]:
    """The events inside the compressed transaction of row i."""
    stream = located(batch, i, Payload.parse, body).stream()
    rest, last, wanted = b"", None, piece_bytes
    while piece := located(batch, i, stream.read, wanted):
        inflated = b"".join((rest, piece, bytes(SLACK_BYTES)))
        buf, n_bytes = np.frombuffer(inflated, np.uint8), len(inflated) - SLACK_BYTES
        events, stop = located(batch, i, index_events, buf, 0, n_bytes)
        if len(events):
            _check_kinds(batch, i, events)
            yield from _inner(batch, i, inflated, events, stop)
            last = int(events.event_type[-1])
        rest = inflated[stop:n_bytes]
        wanted = max(piece_bytes, _event_bytes(batch, i, rest) - len(rest))
    if rest or last not in _LAST_IN_PAYLOAD:
        raise refusal(batch, "a compressed transaction is not whole", i)


def _inner(batch: pa.RecordBatch, i: int, inflated: bytes, events: EventIndex, stop: int) -> Iterator[_Opened]:
    if not _PACKED[events.event_type].any():
        yield _Opened(i, memoryview(inflated)[:stop], events.length, events.event_type, events.timestamp)
        return
    for k in range(len(events)):  # EXECUTE_LOAD_QUERY, which is rare
        start, n_bytes = int(events.offset[k]), int(events.length[k])
        event = inflated[start : start + n_bytes]
        if _PACKED[event[4]]:
            event = located(batch, i, plain_event, event, 0)
        yield _plain(i, event, int(events.timestamp[k]))


def _check_kinds(batch: pa.RecordBatch, i: int, events: EventIndex) -> None:
    foreign = events.event_type[~_IN_PAYLOAD[events.event_type]]
    if len(foreign):
        raise refusal(batch, f"a compressed transaction holds an event of type {foreign[0]}", i)


def _event_bytes(batch: pa.RecordBatch, i: int, rest: bytes) -> int:
    """Length of the event that begins with ``rest``; 0 when its header is not there yet."""
    n_bytes = int.from_bytes(rest[9:13], "little") if len(rest) >= HEADER_BYTES else 0
    if n_bytes > MAX_EVENT_BYTES:
        raise refusal(batch, "a compressed transaction holds an event longer than 1 GiB", i)
    return n_bytes


def _batch_of(batch: pa.RecordBatch, parts: list[_Opened]) -> pa.RecordBatch:
    if len(parts) == 1 and not parts[0].is_opened:
        return batch.slice(parts[0].row, len(parts[0].lengths))
    counts = [len(part.lengths) for part in parts]
    ends = np.concatenate([[0], np.cumsum(np.concatenate([part.lengths for part in parts]))]).astype(np.int32)
    data = b"".join([part.data for part in parts])
    is_opened = pa.array(np.repeat([part.is_opened for part in parts], counts))
    seconds = np.concatenate([np.broadcast_to(part.timestamps, n) for part, n in zip(parts, counts, strict=True)])
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
