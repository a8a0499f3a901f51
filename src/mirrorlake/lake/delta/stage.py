"""Arrow batches of a hop -> Parquet files that Spark appends in one commit."""

from __future__ import annotations

import re
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from mirrorlake.core.sql_text import Sql

_BATCH = re.compile(r"[0-9a-f]{32}")
_FILE = re.compile(r"[0-9]{5,}\.parquet")
_AS_PATTERN = "__globPaths__"
"""Spark takes a path for a pattern otherwise, and a folder's name may have any of ``{}[]*?`` and the backslash."""
FILE_BYTES = 128 << 20
"""A new file begins after this many bytes of Arrow data, so that Spark reads a large batch in parallel."""
SMALL_BYTES, MOST_SMALL = 1 << 20, 1000
"""Bytes below which batches are joined, and how many at most: each takes 17 kB of memory until its file ends."""


def is_batch(folder: Path) -> bool:
    """Has a ``Stage`` made this folder, as far as its name and what is in it can tell?"""
    if not _BATCH.fullmatch(folder.name) or folder.is_symlink() or not folder.is_dir():
        return False
    return all(_FILE.fullmatch(file.name) and file.is_file() for file in folder.iterdir())


class Stage:
    """The files of one batch; they are deleted when it is committed or abandoned.

    folder: where a hop stages, on a file system that both this process and Spark reach.
    keep_bytes: batches up to this size together also stay in memory, for the next hop (``batches``).
    """

    def __init__(self, folder: str, schema: pa.Schema, *, keep_bytes: int = 0):
        self._folder = Path(folder) / uuid.uuid4().hex
        self._schema, self._keep_bytes = schema, keep_bytes
        self._writer: pq.ParquetWriter | None = None
        self._file_bytes = self._files = 0
        self._small: list[pa.RecordBatch] = []
        self._small_bytes = 0
        self.rows = self.bytes = self.bytes_on_disk = 0
        self.batches: list[pa.RecordBatch] | None = []

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        self.bytes += batch.nbytes
        if batch.nbytes >= SMALL_BYTES:
            self._write_small()
            self._write(batch)
            return
        self._small.append(batch)
        self._small_bytes += batch.nbytes
        if self._small_bytes >= SMALL_BYTES or len(self._small) == MOST_SMALL:
            self._write_small()

    def _write_small(self) -> None:
        small, self._small, self._small_bytes = self._small, [], 0
        if small:
            self._write(small[0] if len(small) == 1 else pa.concat_batches(small))

    def _write(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._path(self._files)
            texts = [field.name for field in self._schema if pa.types.is_string(field.type)]
            self._writer = pq.ParquetWriter(
                path, self._schema, compression="lz4", use_dictionary=texts, write_statistics=False
            )
            self._files += 1
        self._writer.write_batch(batch)
        self._file_bytes += batch.nbytes
        if self.batches is not None:
            self.batches.append(batch)
            if self.bytes > self._keep_bytes:
                self.batches = None
        if self._file_bytes >= FILE_BYTES:
            self._close_file()

    def read(self, spark: SparkSession, columns: Sql) -> DataFrame:
        """The staged rows, with the columns of a DDL string."""
        if not self.rows:
            return spark.createDataFrame([], columns)
        self.finish()
        return spark.read.option(_AS_PATTERN, "false").schema(columns).parquet(str(self._folder))

    def finish(self) -> None:
        """Write what is left. From then on ``batches`` has all of them, or is None."""
        self._write_small()
        self._close_file()

    def discard(self) -> None:
        with suppress(OSError):  # a full disk, again
            self._close_file()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _close_file(self) -> None:
        writer, self._writer, self._file_bytes = self._writer, None, 0
        if writer is not None:
            writer.close()
            self.bytes_on_disk += self._path(self._files - 1).stat().st_size

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:05d}.parquet"
