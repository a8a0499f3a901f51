"""Compressed events -> the plain events inside them.

    TRANSACTION_PAYLOAD (40)   MySQL's binlog_transaction_compression: a transaction except its GTID. Its event
                               headers have log_pos 0, and they carry no checksums. Body: fields of number, length and
                               value, all packed (1 payload bytes, 2 algorithm, 3 bytes when inflated), number 0 at
                               their end; then the payload.
    QUERY_COMPRESSED (165),    MariaDB's log_bin_compress: a QUERY whose text, or a row event whose part after the
    rows (166-171)             bitmaps, is replaced by: u8 0x80 | algorithm << 4 | n; the length in n bytes,
                               big-endian; a zlib stream.
    EXECUTE_LOAD_QUERY (18)    not compressed: a QUERY with 13 more bytes after its first 13.

Sources: MySQL ``libs/mysql/binlog/event/compression``, ``codecs/binary.cpp``; MariaDB ``sql/log_event.cc``
(binlog_buf_compress, row_log_event_uncompress).
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from mirrorlake.core.binlog.byte_reader import ByteReader
from mirrorlake.core.binlog.framing import (
    HEADER_BYTES,
    LENGTH_AT,
    MAX_EVENT_BYTES,
    NEXT_POSITION_AT,
    SERVER_ID_AT,
    TYPE_AT,
)
from mirrorlake.core.constants import EventType
from mirrorlake.errors import RefusedError

_ZSTD, _NONE = 0, 255
_SIZE, _ALGORITHM, _INFLATED_SIZE = 1, 2, 3
_FIRST_V2_COMPRESSED = 169
_TO_PLAIN = {165: 2, 18: 2, 166: 23, 167: 24, 168: 25, 169: 30, 170: 31, 171: 32}
_UPDATES = (167, 170)
_QUERY_FIXED_BYTES, _LOAD_BYTES = 13, 13
_INPUT_BYTES, _OUTPUT_BYTES = 64 << 10, 1 << 20
"""At once: what zlib has not taken is kept by it, and what it gives is held twice for a moment."""

PACKED_TYPES = (EventType.TRANSACTION_PAYLOAD, *_TO_PLAIN)
"""Types of the events that ``plain_event`` and ``Payload`` open."""


@dataclass(frozen=True, slots=True)
class Payload:
    """A TRANSACTION_PAYLOAD event. inflated_bytes: of all events in it."""

    algorithm: int
    inflated_bytes: int
    payload: memoryview

    @classmethod
    def parse(cls, body: memoryview) -> Payload:
        """Parse the event. body: without header and checksum. Raises RefusedError ``log-event``."""
        reader, found = ByteReader(bytes(body[:64]), "TRANSACTION_PAYLOAD event"), {}
        while number := reader.packed():
            value = ByteReader(reader.take(reader.packed()), "TRANSACTION_PAYLOAD field")
            found[number] = value.packed()
        algorithm = found.get(_ALGORITHM, _NONE)
        payload = body[reader.position :]
        inflated_bytes = found.get(_INFLATED_SIZE, len(payload))
        if found.get(_SIZE) != len(payload) or (algorithm == _NONE and inflated_bytes != len(payload)):
            raise reader.malformed("its lengths do not add up")
        if algorithm not in (_ZSTD, _NONE):
            raise reader.malformed(f"compression algorithm {algorithm} is not known")
        return cls(algorithm, inflated_bytes, payload)

    def stream(self) -> InflatedStream:
        return InflatedStream(self)


class InflatedStream:
    """The events inside a payload, read like a file; never more than the payload states."""

    def __init__(self, payload: Payload):
        self._stream = pa.BufferReader(pa.py_buffer(payload.payload))
        if payload.algorithm == _ZSTD:
            self._stream = pa.CompressedInputStream(self._stream, "zstd")
        self._left = payload.inflated_bytes

    @property
    def room(self) -> int:
        """Bytes that a buffer for the rest needs: one more than stated, which shows a payload that is longer."""
        return self._left + 1

    def read_into(self, out: memoryview) -> int:
        """Fill ``out``, or less at the end; return the number of bytes. Raises RefusedError ``log-event``."""
        try:
            n_bytes = self._stream.readinto(out[: self.room])
        except OSError as error:
            raise _malformed(f"its payload cannot be inflated: {error}") from None
        self._left -= n_bytes
        if self._left < 0 or (self._left and not n_bytes):
            raise _malformed("its payload has another length than stated")
        return n_bytes


def plain_event(raw: bytes, trailer: int) -> bytes | bytearray:
    """A whole event of a type in ``PACKED_TYPES`` except TRANSACTION_PAYLOAD -> the plain one, without checksum.

    trailer: bytes of the checksum. Raises RefusedError ``log-event``.
    """
    kind, body = raw[TYPE_AT], raw[HEADER_BYTES : len(raw) - trailer]
    if kind == EventType.EXECUTE_LOAD_QUERY:
        plain = body[:_QUERY_FIXED_BYTES] + body[_QUERY_FIXED_BYTES + _LOAD_BYTES :]
        return _header(raw, kind, len(plain)) + plain
    at = _query_text(body) if kind == EventType.QUERY_COMPRESSED else _row_images(body, kind)
    packed = ByteReader(body[at:], "compressed event")
    length = _inflated_bytes(packed)
    whole = bytearray(_header(raw, kind, at + length) + body[:at])
    _inflate(packed, memoryview(body)[at + packed.position :], whole, len(whole) + length)
    return whole


def _header(raw: bytes, kind: int, n_bytes: int) -> bytes:
    """n_bytes: of the plain event after its header."""
    return b"".join((
        raw[:TYPE_AT], bytes((_TO_PLAIN[kind],)), raw[SERVER_ID_AT:LENGTH_AT],
        (HEADER_BYTES + n_bytes).to_bytes(4, "little"), raw[NEXT_POSITION_AT:HEADER_BYTES],
    ))  # fmt: skip


def _query_text(body: bytes) -> int:
    reader = ByteReader(body, "QUERY_COMPRESSED event")
    reader.take(8)
    database_bytes = reader.uint(1)
    reader.take(2)
    reader.take(reader.uint(2) + database_bytes + 1)
    return reader.position


def _row_images(body: bytes, kind: int) -> int:
    reader = ByteReader(body, "compressed rows event")
    reader.take(8)
    if kind >= _FIRST_V2_COMPRESSED:
        reader.take(max(reader.uint(2) - 2, 0))
    bitmap_bytes = (reader.packed() + 7) // 8
    reader.take(bitmap_bytes * (2 if kind in _UPDATES else 1))
    return reader.position


def _inflated_bytes(reader: ByteReader) -> int:
    """Read the header of the compressed part: the number of bytes that it becomes."""
    head = reader.uint(1)
    if head & 0xF0 != 0x80 or not 1 <= head & 0x07 <= 4 or head & 0x08:
        raise reader.malformed("its compression header has no meaning")
    length = int.from_bytes(reader.take(head & 0x07), "big")
    if length > MAX_EVENT_BYTES:
        raise reader.malformed(f"{length} bytes when inflated")
    return length


def _inflate(reader: ByteReader, packed: memoryview, whole: bytearray, end: int) -> None:
    """Inflate up to the length ``end``, after what ``whole`` has. It may be 1 GiB, so nothing is held twice."""
    stream = zlib.decompressobj()
    try:
        for piece in _pieces(stream, packed):
            whole += piece
            if len(whole) > end:
                break
    except zlib.error as error:
        raise reader.malformed(f"it cannot be inflated: {error}") from None
    if len(whole) != end or not stream.eof or stream.unused_data:
        raise reader.malformed("it has another length than stated")


def _pieces(stream: zlib._Decompress, packed: memoryview) -> Iterator[bytes]:
    """Inflate a little at a time. Ends with the input; what comes after the end of a stream is its ``unused_data``."""
    for at in range(0, len(packed), _INPUT_BYTES):
        rest: bytes | memoryview = packed[at : at + _INPUT_BYTES]
        while piece := stream.decompress(rest, _OUTPUT_BYTES):
            yield piece
            rest = stream.unconsumed_tail
        if stream.eof and at + _INPUT_BYTES < len(packed):
            raise zlib.error("more bytes after its end")


def _malformed(why: str) -> RefusedError:
    return RefusedError("log-event", f"malformed TRANSACTION_PAYLOAD event: {why}")
