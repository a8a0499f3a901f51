"""What a source gives, as the bytes of its files."""

from __future__ import annotations

from mirrorlake.core.binlog.checksums import verify_checksums
from mirrorlake.core.binlog.framing import EventBlock, verify_continuity
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.core.position import BinlogPosition, GtidSet


def read_files(source: BinlogSource, start: BinlogPosition | GtidSet, end: BinlogPosition) -> dict[str, bytes]:
    """File name -> bytes read from it; every block is checked as ingest checks it."""
    found: dict[str, bytes] = {}
    expected = start if isinstance(start, BinlogPosition) else None
    for block in source.read(start, end):
        verify_continuity(block, expected)
        verify_checksums(block)
        expected = BinlogPosition(block.log_file, block.end_pos)
        found[block.log_file] = found.get(block.log_file, b"") + raw_of(block)
    return found


def raw_of(block: EventBlock) -> bytes:
    """Its events, back to back."""
    pairs = zip(block.events.offset.tolist(), block.events.length.tolist(), strict=True)
    return b"".join(block.buf[offset : offset + length].tobytes() for offset, length in pairs)
