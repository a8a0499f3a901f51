"""Packets of a text result set -> Arrow, a column at a time.

Packet: u24 length, u8 sequence number, payload; one of 0xffffff bytes continues in the next. Payload of a row: a cell
for each column. Cell: 0xfb is NULL; else its length (below 0xfb the byte itself, 0xfc and u16, 0xfd and u24, 0xfe and
u64), then the bytes. After the last row 0xfe and less than 8 bytes; 0xff is an error. (MySQL's internals manual, "Text
Resultset"; sql/protocol_classic.cc.)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mirrorlake.core.kernels.memory import copy_at, kernel, peek_u8, peek_u16, peek_u32, peek_u64

MORE_DATA, MANY_ROWS, LARGE_PACKET, LAST_PACKET, MALFORMED = range(5)
"""Reasons for the end of ``ResultRows.read``. LAST_PACKET: the end or an error."""

MAX_CELLS = 4_000_000
"""Maximum number of cells in a batch; 16 bytes each while it is made."""
MAX_ROW_BYTES = 1 << 30  # MySQL's and MariaDB's largest max_allowed_packet
_LARGE = 0xFFFFFF
_LONGEST_HEAD = 9
"""Bytes of a cell before its own: 0xfe and u64."""


@kernel
def _index_row(address, at, end, n_columns, row, max_rows, starts, lengths):
    for column in range(n_columns):
        if at >= end:
            return False
        length, cell = np.int64(peek_u8(address + at)), column * max_rows + row
        at += 1
        if length == 0xFB:
            lengths[cell] = -1
            continue
        if length == 0xFC:
            length = np.int64(peek_u16(address + at))
            at += 2
        elif length == 0xFD:
            length = np.int64(peek_u32(address + at)) & 0xFFFFFF
            at += 3
        elif length == 0xFE:
            length = np.int64(peek_u64(address + at))
            at += 8
        if length < 0 or length > end - at:
            return False
        starts[cell] = at
        lengths[cell] = length
        at += length
    return at == end


@kernel
def _index_rows(address, low, high, n_columns, max_rows, starts, lengths):
    for row in range(max_rows):
        if high - low < 4:
            return row, low, MORE_DATA
        size = np.int64(peek_u32(address + low)) & 0xFFFFFF
        if size == _LARGE:
            return row, low, LARGE_PACKET
        if low + 4 + size > high:
            return row, low, MORE_DATA
        first = peek_u8(address + low + 4)
        if first == 0xFF or (first == 0xFE and size < 9):
            return row, low, LAST_PACKET
        if not _index_row(address, low + 4, low + 4 + size, n_columns, row, max_rows, starts, lengths):
            return row, low, MALFORMED
        low += 4 + size
    return max_rows, low, MANY_ROWS


@kernel
def _gather(address, starts, lengths, out, offsets, is_valid):
    total = 0
    for i in range(lengths.shape[0]):
        offsets[i] = total
        is_valid[i] = lengths[i] >= 0
        if lengths[i] > 0:
            copy_at(out + total, address + starts[i], lengths[i])
            total += lengths[i]
    offsets[lengths.shape[0]] = total


class RowLength:
    """Maximum length of a row in several packets, from the lengths that its cells state."""

    def __init__(self, n_columns: int):
        self._cells_left, self._known = n_columns, 0

    def allows(self, row: bytearray) -> bool:
        """Is ``row``, as far as it arrived, no longer than its cells, and are they within ``MAX_ROW_BYTES``?"""
        while self._cells_left and self._known + _LONGEST_HEAD <= len(row):
            first, head = row[self._known], self._known + 1
            n_bytes = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(first, 0)
            stated = int.from_bytes(row[head : head + n_bytes], "little")
            self._known = head + n_bytes + (first if first < 0xFB else stated)
            self._cells_left -= 1
        if self._cells_left:
            return self._known <= MAX_ROW_BYTES
        return len(row) <= self._known <= MAX_ROW_BYTES


class ResultRows:
    """types: of the columns, text or bytes. Buffers have ``SLACK_BYTES`` after their last byte."""

    def __init__(self, types: pa.Schema, max_rows: int = 65_536):
        self._types, self._max_rows = types, max(1, min(max_rows, MAX_CELLS // len(types)))
        self._starts, self._lengths = (np.empty(len(types) * self._max_rows, np.int64) for _ in range(2))

    def read(self, buf: np.ndarray, low: int, high: int) -> tuple[pa.RecordBatch, int, int]:
        """Read the complete packets of rows between low and high; the start of the first one not taken, and why."""
        n_columns, address = len(self._types), buf.ctypes.data
        n, low, status = _index_rows(address, low, high, n_columns, self._max_rows, self._starts, self._lengths)
        return self._batch(address, n), low, status

    def read_payload(self, buf: np.ndarray, n_bytes: int) -> pa.RecordBatch | None:
        """Read one row, whose payload is at the start of ``buf``; None: it is malformed."""
        address = buf.ctypes.data
        n_columns = len(self._types)
        if not _index_row(address, 0, n_bytes, n_columns, 0, self._max_rows, self._starts, self._lengths):
            return None
        return self._batch(address, 1)

    def _batch(self, address: int, n: int) -> pa.RecordBatch:
        columns = [self._column(address, n, number, field.type) for number, field in enumerate(self._types)]
        return pa.RecordBatch.from_arrays(columns, schema=self._types)

    def _column(self, address: int, n: int, number: int, kind: pa.DataType) -> pa.Array:
        cells = slice(number * self._max_rows, number * self._max_rows + n)
        lengths = self._lengths[cells]
        out, offsets = np.empty(int(lengths.clip(0).sum()), np.uint8), np.empty(n + 1, np.int32)
        is_valid = np.empty(n, np.bool_)
        _gather(address, self._starts[cells], lengths, out.ctypes.data, offsets, is_valid)
        validity = pa.py_buffer(np.packbits(is_valid, bitorder="little"))
        return pa.Array.from_buffers(kind, n, [validity, pa.py_buffer(offsets), pa.py_buffer(out)])
