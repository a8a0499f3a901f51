"""Which files of a lake hold a text, whatever compresses it."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq


def values(file: Path) -> bytes:
    """The bytes of all values of a Parquet file, not compressed."""
    table = pq.read_table(file).combine_chunks().flatten().flatten()
    buffers = (buffer for column in table.columns for chunk in column.chunks for buffer in chunk.buffers())
    return b"".join(bytes(buffer) for buffer in buffers if buffer)


def files_with(folder: Path, text: str) -> list[str]:
    """The files of silver, gold and the control tables that have the text, in values, names, statistics or notes."""
    found = []
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_relative_to(folder / "bronze"):
            content = file.read_bytes() + (values(file) if file.suffix == ".parquet" else b"")
            found += [str(file.relative_to(folder))] if text.encode() in content else []
    return found
