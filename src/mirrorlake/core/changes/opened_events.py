"""Bronze rows -> bronze rows in which every compressed event is replaced by the plain events it stands for, and
fragments by the event they are of.

A plain event keeps the place (lsn), the transaction and the GTID of the event it came in. It has no checksum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.binlog.compression import MAX_EVENT_BYTES, PACKED_TYPES, Payload, plain_event
from mirrorlake.core.binlog.framing import HEADER_BYTES, SLACK_BYTES, EventIndex, index_events
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS, located, refusal, replaced
from mirrorlake.core.changes.joined_fragments import join_fragments
from mirrorlake.core.constants import EventType

PIECE_BYTES = 8 << 20
"""About so much is inflated at once; a longer event makes its piece longer."""

_PAYLOAD = EventType.TRANSACTION_PAYLOAD
_IN_PAYLOAD = np.isin(
    np.arange(256), [2, 5, 13, 14, 16, 19, 23, 24, 25, 29, 30, 31, 32, 38, 39, 9, 11, 17, 18], assume_unique=True
)
_LAST_IN_PAYLOAD = (EventType.XID, EventType.QUERY, EventType.XA_PREPARE)


def open_events(batches: Iterable[pa.RecordBatch], piece_bytes: int = PIECE_BYTES) -> Iterator[pa.RecordBatch]:
    """batches: with ``BRONZE_COLUMNS``, in log order, whole transactions; so are those it yields.

    Raises RefusedError ``log-event`` for an event that cannot be opened.
    """
    for batch in join_fragments(batches):
        kinds = batch.column("event_type").to_numpy(zero_copy_only=False)
        packed = np.flatnonzero(np.isin(kinds, PACKED_TYPES))
        if not len(packed):
            yield batch
            continue
        batch = batch.select(list(BRONZE_COLUMNS))
        start = 0
        for i in packed[kinds[packed] == _PAYLOAD].tolist():
            yield from _open_rows(batch.slice(start, i - start), piece_bytes)
            yield from _open_payload(batch.slice(i, 1), piece_bytes)
            start = i + 1
        yield from _open_rows(batch.slice(start), piece_bytes)


def _open_rows(batch: pa.RecordBatch, piece_bytes: int) -> Iterator[pa.RecordBatch]:
    """A batch without payloads."""
    kinds = batch.column("event_type").to_numpy(zero_copy_only=False)
    start = size = 0
    plain: dict[int, bytes] = {}
    for i in np.flatnonzero(np.isin(kinds, PACKED_TYPES)).tolist():
        trailer = 4 if batch.column("crc_ok")[i].is_valid else 0
        plain[i] = located(batch, i, plain_event, batch.column("raw")[i].as_py(), trailer)
        size += len(plain[i])
        if size >= piece_bytes:
            yield _with_plain(batch, start, i + 1, plain)
            start, size, plain = i + 1, 0, {}
    if start < batch.num_rows:
        yield _with_plain(batch, start, batch.num_rows, plain)


def _with_plain(batch: pa.RecordBatch, start: int, stop: int, plain: dict[int, bytes]) -> pa.RecordBatch:
    part = batch.slice(start, stop - start)
    if not plain:
        return part
    at = np.zeros(stop - start, bool)
    at[np.array(list(plain)) - start] = True
    mask = pa.array(at)
    kinds = pa.array([raw[4] for raw in plain.values()], part.schema.field("event_type").type)
    raws = pa.array(list(plain.values()), part.schema.field("raw").type)
    return replaced(
        part,
        event_type=pc.replace_with_mask(part.column("event_type"), mask, kinds),
        crc_ok=pc.if_else(mask, pa.scalar(None, pa.bool_()), part.column("crc_ok")),
        raw=pc.replace_with_mask(part.column("raw"), mask, raws),
    )


def _open_payload(row: pa.RecordBatch, piece_bytes: int) -> Iterator[pa.RecordBatch]:
    """A batch of one event."""
    raw = row.column("raw")[0].as_buffer()
    trailer = 4 if row.column("crc_ok")[0].is_valid else 0
    body = memoryview(raw)[HEADER_BYTES : raw.size - trailer]
    stream = located(row, 0, Payload.parse, body).stream()
    rest, last, wanted = b"", None, piece_bytes
    while piece := located(row, 0, stream.read, wanted):
        inflated = b"".join((rest, piece, bytes(SLACK_BYTES)))
        buf, n_bytes = np.frombuffer(inflated, np.uint8), len(inflated) - SLACK_BYTES
        events, stop = located(row, 0, index_events, buf, 0, n_bytes)
        if len(events):
            _check_kinds(row, events)
            yield from _open_rows(_inner_events(row, buf, events, stop), piece_bytes)
            last = int(events.event_type[-1])
        rest = inflated[stop:n_bytes]
        wanted = max(piece_bytes, _event_bytes(row, rest) - len(rest))
    if rest or last not in _LAST_IN_PAYLOAD:
        raise refusal(row, "a compressed transaction is not whole")


def _check_kinds(row: pa.RecordBatch, events: EventIndex) -> None:
    foreign = events.event_type[~_IN_PAYLOAD[events.event_type]]
    if len(foreign):
        raise refusal(row, f"a compressed transaction holds an event of type {foreign[0]}")


def _event_bytes(row: pa.RecordBatch, rest: bytes) -> int:
    """Length of the event that begins with ``rest``; 0 when its header is not there yet."""
    n_bytes = int.from_bytes(rest[9:13], "little") if len(rest) >= HEADER_BYTES else 0
    if n_bytes > MAX_EVENT_BYTES:
        raise refusal(row, "a compressed transaction holds an event longer than 1 GiB")
    return n_bytes


def _inner_events(row: pa.RecordBatch, buf: np.ndarray, events: EventIndex, stop: int) -> pa.RecordBatch:
    n = len(events)
    repeated = row.take(pa.array(np.zeros(n, np.int64)))
    offsets = np.append(events.offset, stop).astype(np.int32)
    moments = pa.array(events.timestamp.astype(np.int64) * 1_000_000).cast(pa.timestamp("us", "UTC"))
    return replaced(
        repeated,
        event_type=pa.array(events.event_type.astype(np.int16)),
        event_ts=moments.cast(row.schema.field("event_ts").type),
        crc_ok=pa.nulls(n, pa.bool_()),
        raw=pa.Array.from_buffers(pa.binary(), n, [None, pa.py_buffer(offsets), pa.py_buffer(buf)]),
    )
