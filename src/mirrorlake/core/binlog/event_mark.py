"""Identify an event by position and content: is a log still the one that was read?"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import pyarrow as pa

from mirrorlake.core.binlog.framing import EventBlock, without_in_use_flag
from mirrorlake.core.position import FILE_POSITION, BinlogPosition

_TEXT = re.compile(rf"({FILE_POSITION})-([0-9]+) ([0-9a-f]{{16}})")


@dataclass(frozen=True, slots=True)
class EventMark:
    """An event at ``start`` that ends at offset ``end``. digest: of its bytes, without the flag for a file in use.

    ``str`` and ``parse``: ``binlog.000003:154-231 8badf00d8badf00d``.
    """

    start: BinlogPosition
    end: int
    digest: str

    @classmethod
    def of_last(cls, batch: pa.RecordBatch) -> EventMark:
        """The mark of a batch's last event. batch: rows of ``EVENT_SCHEMA``, at least one."""
        log_file, offset, end, raw = (
            batch.column(name)[batch.num_rows - 1].as_py() for name in ("log_file", "log_pos", "end_log_pos", "raw")
        )
        return cls(BinlogPosition(log_file, offset), end, _digest(raw))

    @classmethod
    def of_block(cls, block: EventBlock) -> EventMark:
        """The mark of a block's first event."""
        raw, start = block.raw(0), block.position(0)
        return cls(start, start.offset + len(raw), _digest(raw))

    @classmethod
    def parse(cls, text: str) -> EventMark:
        """The inverse of ``str``. Raises ValueError."""
        if not (match := _TEXT.fullmatch(text)):
            raise ValueError(text)
        start, end, digest = match.groups()
        return cls(BinlogPosition.parse(start), int(end), digest)

    def __str__(self) -> str:
        return f"{self.start}-{self.end} {self.digest}"


def _digest(raw: bytes) -> str:
    """Hash the bytes. A CRC would not do: followed by its own CRC32, every event has the same one."""
    return hashlib.blake2b(without_in_use_flag(raw), digest_size=8).hexdigest()
