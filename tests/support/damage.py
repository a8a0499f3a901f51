"""Deliberate damage to binlog files."""

from __future__ import annotations

from pathlib import Path


def flip_byte(path: Path, offset: int, mask: int = 0xFF) -> None:
    """Changes one byte; a negative offset counts from the end."""
    data = bytearray(path.read_bytes())
    data[offset] ^= mask
    path.write_bytes(bytes(data))


def cut(path: Path, size: int) -> None:
    """Keeps the first ``size`` bytes; a negative size cuts so many off the end."""
    path.write_bytes(path.read_bytes()[:size])
