"""Count the bytes of log between two positions, for a progress bar."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import functions as F

from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.core.position import FILE_NUMBER_BITS, FIRST_EVENT_OFFSET, OFFSET_BITS, BinlogPosition, unpack_lsn
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.log_file import find_log_files

FileOffset = tuple[int, int]
"""File and offset; a file is its first lsn without the offset: incarnation and file number."""


@dataclass(frozen=True, slots=True)
class LogExtent:
    """sizes: bytes of each binlog file, as far as they are known. end: of what lies ahead."""

    sizes: Mapping[int, int]
    start: FileOffset
    end: FileOffset

    @classmethod
    def of_source(
        cls, source: BinlogSource, address: str | None, start: BinlogPosition, end: BinlogPosition, incarnation: int
    ) -> LogExtent:
        first = incarnation << FILE_NUMBER_BITS
        ends = (first + start.file_number, start.offset), (first + end.file_number, end.offset)
        if start.file_number == end.file_number:
            return cls({}, *ends)
        if isinstance(source, LiveSource):
            shown = source.control.log_sizes().items()
            return cls({first + BinlogPosition(name, 0).file_number: size for name, size in shown}, *ends)
        files = find_log_files(Path((address or "").removeprefix("files:")))
        sizes: dict[int, int] = {}
        for number, path in files.items():
            with suppress(FileNotFoundError):  # it has just been purged
                sizes[first + number] = path.stat().st_size
        return cls(sizes, *ends)

    @classmethod
    def of_bronze(cls, lake: Lake, lsn: int) -> LogExtent:
        """The extent from an lsn to the end of bronze."""
        number = F.shiftright("lsn", OFFSET_BITS).alias("number")
        ahead = lake.spark.table(lake.names.bronze_events).where(F.col("lsn") > lsn)
        rows = ahead.groupBy(number).agg(F.min("log_pos").alias("first"), F.max("end_log_pos").alias("size")).collect()
        sizes = {row.number: row.size for row in rows}
        if not sizes:
            return cls({}, (0, 0), (0, 0))
        start, last = min((row.number, row.first) for row in rows), max(sizes)
        return cls(sizes, start, (last, sizes[last]))

    @property
    def total(self) -> int:
        """Bytes from start to end."""
        return self.bytes_to(self.end)

    def bytes_to(self, to: FileOffset) -> int:
        """Bytes from the start; negative for a position before it."""
        return _scale(self.sizes, self.start[0], to) - self.start[1]


def offset_of(lsn: int) -> FileOffset:
    """The position at which an event begins; lsn -1: before the first one."""
    return (lsn >> OFFSET_BITS, unpack_lsn(lsn)[2]) if lsn >= 0 else (0, FIRST_EVENT_OFFSET)


def _scale(sizes: Mapping[int, int], first: int, to: FileOffset) -> int:
    """Bytes from the beginning of file ``first``."""
    number, offset = to
    if number >= first:
        return sum(size for n, size in sizes.items() if first <= n < number) + offset
    return offset - sum(size for n, size in sizes.items() if number <= n < first)
