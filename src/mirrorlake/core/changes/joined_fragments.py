"""Bronze rows -> bronze rows in which each row event replaces its fragments.

The event keeps the position (lsn), the transaction and the GTID of its first fragment. It has no checksum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.fragments import Fragment, FragmentedEvent
from mirrorlake.core.binlog.framing import HEADER_BYTES, TYPE_AT
from mirrorlake.core.changes.bronze_events import located, refusal, replaced
from mirrorlake.core.constants import EventType


def join_fragments(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join fragments. batches: with ``BRONZE_COLUMNS``, in log order, whole transactions, like the results.

    Raises RefusedError ``log-event`` for fragments that are not one whole event, back to back.
    """
    event, first = FragmentedEvent(), None
    for batch in batches:
        kinds = batch.column("event_type").to_numpy(zero_copy_only=False)
        start = 0
        for i in np.flatnonzero(kinds == EventType.PARTIAL_ROW_DATA).tolist():
            yield from _others(batch.slice(start, i - start), event)
            start = i + 1
            located(batch, i, event.add, located(batch, i, Fragment.parse, _body(batch, i)))
            first = _without_bytes(batch, i) if first is None else first
            if not event.is_open:
                yield _event_row(first, located(batch, i, event.plain))
                event, first = FragmentedEvent(), None
        yield from _others(batch.slice(start), event)
    if first is not None:
        raise refusal(first, event.cut("the end").message)


def _others(batch: pa.RecordBatch, event: FragmentedEvent) -> Iterator[pa.RecordBatch]:
    """Yield a batch without its fragments."""
    if not batch.num_rows:
        return
    if event.is_open:
        raise refusal(batch, event.cut(f"an event of type {batch.column('event_type')[0]}").message)
    yield batch


def _body(batch: pa.RecordBatch, i: int) -> memoryview:
    trailer = 4 if batch.column("crc_ok")[i].is_valid else 0
    raw = memoryview(batch.column("raw")[i].as_buffer())
    return raw[HEADER_BYTES : len(raw) - trailer]


def _without_bytes(batch: pa.RecordBatch, i: int) -> pa.RecordBatch:
    """Copy row i to its own memory, without ``raw``: it keeps no batch alive while fragments are read."""
    row = replaced(batch.slice(i, 1), raw=pa.array([b""], pa.binary()))
    return row.take(pa.array([0]))


def _event_row(first: pa.RecordBatch, event: bytes | bytearray) -> pa.RecordBatch:
    ends = np.array([0, len(event)], np.int32)
    return replaced(
        first,
        event_type=pa.array([event[TYPE_AT]], first.column("event_type").type),
        crc_ok=pa.nulls(1, pa.bool_()),
        raw=pa.Array.from_buffers(pa.binary(), 1, [None, pa.py_buffer(ends), pa.py_buffer(event)]),
    )
