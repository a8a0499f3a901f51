"""A batch of bronze rows as the arrays that kernels take."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.binlog.events import KEPT_STATEMENT_BYTES
from mirrorlake.core.binlog.framing import FLAGS_AT, HEADER_BYTES
from mirrorlake.core.constants import EventFlag
from mirrorlake.core.kernels.memory import gather_bytes
from mirrorlake.errors import RefusedError

_ROWS_QUERY = 29

BRONZE_COLUMNS = ("lsn", "tx_lsn", "event_type", "event_ts", "gtid", "crc_ok", "log_file", "log_pos", "raw")
"""Columns that are read of ``bronze_events``."""


class BronzeEvents:
    """offset: where each event begins in ``buf``, the bytes of all raw events. trailer: bytes of its checksum."""

    def __init__(self, batch: pa.RecordBatch):
        raw = batch.column("raw")
        if raw.type == pa.large_binary():
            raw = raw.cast(pa.binary())
        _, offsets, data = raw.buffers()
        ends = np.frombuffer(offsets, np.int32)[raw.offset : raw.offset + len(raw) + 1].astype(np.int64)
        self.buf = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        self.offset, self.length = ends[:-1], np.diff(ends)
        self.lsn, self.tx_lsn = (batch.column(name).to_numpy(zero_copy_only=False) for name in ("lsn", "tx_lsn"))
        self.event_type = batch.column("event_type").to_numpy(zero_copy_only=False).astype(np.uint8)
        seconds = batch.column("event_ts").cast(pa.timestamp("s", "UTC"), safe=False).cast(pa.int64())
        self.timestamp = seconds.to_numpy(zero_copy_only=False).astype(np.uint32)
        has_checksum = batch.column("crc_ok").is_valid().to_numpy(zero_copy_only=False)
        self.trailer = np.where(has_checksum, 4, 0).astype(np.int64)
        self.gtid = batch.column("gtid").cast(pa.string())
        self._log_file, self._log_pos = batch.column("log_file"), batch.column("log_pos")

    def texts(self, chosen: np.ndarray) -> pa.BinaryArray:
        """The text of each chosen ROWS_QUERY or ANNOTATE_ROWS event, at most ``KEPT_STATEMENT_BYTES`` of it. The first
        byte of the former is a length that nobody reads."""
        skipped = HEADER_BYTES + (self.event_type[chosen] == _ROWS_QUERY).astype(np.int64)
        length = np.clip(self.length[chosen] - self.trailer[chosen] - skipped, 0, KEPT_STATEMENT_BYTES)
        ends = np.concatenate([[0], np.cumsum(length)])
        out = np.empty(int(ends[-1]), np.uint8)
        gather_bytes(self.buf, self.offset[chosen] + skipped, length, out)
        return pa.Array.from_buffers(
            pa.binary(), len(chosen), [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(out)]
        )

    def position(self, i: int) -> str:
        return f"{self._log_file[i]}:{self._log_pos[i]}"

    def has_flag(self, i: int, flag: EventFlag) -> bool:
        start = int(self.offset[i]) + FLAGS_AT
        return bool(int.from_bytes(self.buf[start : start + 2].tobytes(), "little") & flag)

    def body(self, i: int) -> bytes:
        return bytes(self.body_view(i))

    def body_view(self, i: int) -> memoryview:
        """The body in the batch's own bytes."""
        start = int(self.offset[i])
        return self.buf[start + HEADER_BYTES : start + int(self.length[i]) - int(self.trailer[i])].data


def of_types(batch: pa.RecordBatch, event_types: pa.Array) -> pa.RecordBatch:
    """The rows with these event types. A batch with no others is returned as it is: one event may have 1 GiB."""
    chosen = pc.is_in(batch.column("event_type"), event_types)
    return batch if pc.all(chosen).as_py() else batch.filter(chosen)


def replaced(batch: pa.RecordBatch, **columns: pa.Array) -> pa.RecordBatch:
    """A batch of bronze rows with these columns replaced."""
    arrays = [columns.get(name, batch.column(name)) for name in batch.schema.names]
    fields = [batch.schema.field(k).with_type(array.type) for k, array in enumerate(arrays)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def located(batch: pa.RecordBatch, i: int, read, *args):
    """Return the result of ``read``; a refusal names the position of row i."""
    try:
        return read(*args)
    except RefusedError as error:
        raise refusal(batch, error.message, i) from None


def refusal(batch: pa.RecordBatch, what: str, i: int = 0) -> RefusedError:
    position = f"{batch.column('log_file')[i]}:{batch.column('log_pos')[i]}"
    return RefusedError("log-event", what, position=position)
