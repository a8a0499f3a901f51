"""Plain events -> compressed ones, as MySQL (binlog_transaction_compression) and MariaDB (log_bin_compress) write them.

Formats: ``mirrorlake.core.binlog.compression``; checked against logs of MySQL 9.7.4 and MariaDB 10.11.19.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import pyarrow as pa

from tests.support import binlog_events as events
from tests.support.table_map_encoding import lenenc

TRANSACTION_PAYLOAD, QUERY_COMPRESSED, EXECUTE_LOAD_QUERY = 40, 165, 18
_COMPRESSED_ROWS = {23: 166, 24: 167, 25: 168, 30: 169, 31: 170, 32: 171}
_UPDATES = (24, 31)
_MIN_BYTES = 30

Body = tuple[int, bytes, int]


def payload_body(inner: bytes, algorithm: int = 0) -> bytes:
    """Body of a TRANSACTION_PAYLOAD event. algorithm: 0 zstd, 255 none."""
    packed = inner if algorithm == 255 else pa.Codec("zstd").compress(inner, asbytes=True)
    fields = ((1, len(packed)), (2, algorithm), (3, len(inner)))
    head = b"".join(lenenc(number) + lenenc(len(lenenc(value))) + lenenc(value) for number, value in fields)
    return head + b"\0" + packed


def as_payload(bodies: Sequence[Body], timestamp: int, server_id: int) -> Body:
    """All events of a transaction but its GTID as one event."""
    framed = (
        events.frame(kind, body, timestamp=timestamp, server_id=server_id, start=None, flags=flags, checksum=False)
        for kind, body, flags in bodies
    )
    return TRANSACTION_PAYLOAD, payload_body(b"".join(framed)), 0


def deflated(data: bytes) -> bytes:
    n_bytes = next(n for n in (1, 2, 3, 4) if len(data) < 256**n)
    return bytes((0x80 | n_bytes,)) + len(data).to_bytes(n_bytes, "big") + zlib.compress(data)


def as_mariadb_compressed(body: Body) -> Body:
    """The event itself when it is short or of a type that is not compressed."""
    kind, data, flags = body
    at = _query_text(data) if kind == events.QUERY else _row_images(kind, data) if kind in _COMPRESSED_ROWS else None
    if at is None or len(data) - at < _MIN_BYTES:
        return body
    return _COMPRESSED_ROWS.get(kind, QUERY_COMPRESSED), data[:at] + deflated(data[at:]), flags


def _query_text(data: bytes) -> int:
    return 13 + int.from_bytes(data[11:13], "little") + data[8] + 1


def _row_images(kind: int, data: bytes) -> int:
    """For tables of fewer than 251 columns."""
    at = 8 if kind < 30 else 8 + int.from_bytes(data[8:10], "little")
    return at + 1 + (data[at] + 7) // 8 * (2 if kind in _UPDATES else 1)
