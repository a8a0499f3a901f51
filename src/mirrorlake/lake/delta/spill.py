"""Re-iterable Arrow batches that spill to disk above a limit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator

import pyarrow as pa

KEEP_BYTES = 32 << 20


class SpilledBatches:
    """Reads all batches at once: up to keep_bytes stay in memory, the others go to a temporary file."""

    def __init__(self, batches: Iterable[pa.RecordBatch], keep_bytes: int = KEEP_BYTES):
        self._kept: list[pa.RecordBatch] = []
        self._file = tempfile.TemporaryFile()
        self._writer: pa.RecordBatchStreamWriter | None = None
        n_bytes = 0
        for batch in batches:
            n_bytes += batch.nbytes
            if n_bytes <= keep_bytes:
                self._kept.append(batch)
            else:
                self._writer = self._writer or pa.ipc.new_stream(self._file, batch.schema)
                self._writer.write_batch(batch)
        if self._writer:
            self._writer.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._kept
        if self._writer:
            self._file.seek(0)
            yield from pa.ipc.open_stream(self._file)

    def __enter__(self) -> SpilledBatches:
        return self

    def __exit__(self, *_) -> None:
        self._file.close()
