"""Event blocks -> Arrow batches with the columns of ``bronze_events``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.framing import EventBlock
from mirrorlake.core.binlog.transactions import Groups
from mirrorlake.core.kernels.memory import gather_bytes, reusable_bytes

EVENT_SCHEMA = pa.schema(
    [
        ("lsn", pa.int64()),
        ("tx_lsn", pa.int64()),
        ("log_file", pa.string()),
        ("log_pos", pa.int64()),
        ("end_log_pos", pa.int64()),
        ("event_type", pa.int16()),
        ("event_ts", pa.timestamp("us", "UTC")),
        ("server_id", pa.int64()),
        ("flags", pa.int32()),
        ("gtid", pa.string()),
        ("crc_ok", pa.bool_()),
        ("raw", pa.binary()),
    ]
)
"""One event. log_pos, end_log_pos: offsets in the file of its first byte and of the byte after it. crc_ok: true, or
NULL when the log has no checksums (an event with a wrong one is refused). raw: the whole event as the server wrote
it."""

NO_EVENTS = pa.RecordBatch.from_pylist([], EVENT_SCHEMA)


def event_batch(block: EventBlock, groups: Groups) -> pa.RecordBatch:
    """The block's events as one batch of ``EVENT_SCHEMA``, over the block's own bytes where they are contiguous."""
    events, n = block.events, len(block.events)
    starts = block.start_positions
    gtids = pa.Array.from_buffers(
        pa.string(),
        len(groups.gtid_offsets) - 1,
        [None, pa.py_buffer(groups.gtid_offsets), pa.py_buffer(groups.gtid_text)],
    )
    no_gtid = groups.gtid_index < 0
    columns = [
        pa.array(groups.lsn),
        pa.array(groups.tx_lsn),
        pa.repeat(block.log_file, n),
        pa.array(starts),
        pa.array(starts + events.length),
        pa.array(events.event_type.astype(np.int16)),
        pa.array(events.timestamp.astype(np.int64) * 1_000_000).cast(pa.timestamp("us", "UTC")),
        pa.array(events.server_id.astype(np.int64)),
        pa.array(events.flags.astype(np.int32)),
        gtids.take(pa.array(np.where(no_gtid, 0, groups.gtid_index), mask=no_gtid)),
        pa.array(np.ones(n, bool)) if block.has_checksum else pa.nulls(n, pa.bool_()),
        _raw(block),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=EVENT_SCHEMA)


def _raw(block: EventBlock) -> pa.BinaryArray:
    events, data = block.events, block.buf
    first = int(events.offset[0]) if len(events) else 0
    ends = first + np.concatenate([[0], np.cumsum(events.length)])
    if not np.array_equal(ends[:-1], events.offset):  # packets: a header before each event
        ends -= first
        data = reusable_bytes(int(ends[-1]))
        gather_bytes(block.buf, events.offset, events.length, data)
    return pa.Array.from_buffers(
        pa.binary(), len(events), [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
    )
