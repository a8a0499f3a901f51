"""A query's result as Arrow batches, read from the socket in large pieces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.framing import SLACK_BYTES
from mirrorlake.core.constants import Command
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RetryableError
from mirrorlake.mysql.receive_buffer import ReceiveBuffer
from mirrorlake.mysql.result_rows import (
    LARGE_PACKET,
    LAST_PACKET,
    MALFORMED,
    MAX_ROW_BYTES,
    MORE_DATA,
    ResultRows,
    RowLength,
)
from mirrorlake.mysql.server_errors import ServerSaid, protocol_error
from mirrorlake.mysql.session import Session

BATCH_BYTES = 16 << 20
SILENCE_LIMIT_S = 3600
_LARGE = 0xFFFFFF


def query_batches(session: Session, sql: Sql, types: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Run a query; yield batches of about ``BATCH_BYTES``. types: of the columns, text or bytes.

    Raises ServerSaid before or between batches; RetryableError ``server-lost``; RefusedError ``server-protocol``.
    """
    session.send(Command.QUERY, sql.encode())
    reader = _ResultSet(session, types)
    reader.skip_header(len(types))
    held: list[pa.RecordBatch] = []
    for batch in reader.batches():
        held.append(batch)
        if sum(each.nbytes for each in held) >= BATCH_BYTES:
            yield _joined(held)
            held = []
    if held:
        yield _joined(held)


class _ResultSet:
    def __init__(self, session: Session, types: pa.Schema):
        self._login, self._types, self._rows = session.login, types, ResultRows(types)
        self._received = ReceiveBuffer(session.socket, SILENCE_LIMIT_S, self._lost)

    def skip_header(self, n_columns: int) -> None:
        """Skip the number of columns, a definition of each, and the packet that ends them."""
        count = self._packet()
        if int.from_bytes(count[1:3] if count[:1] == b"\xfc" else count[:1], "little") != n_columns:
            raise protocol_error(self._login, "another number of columns than was asked for")
        for _ in range(n_columns + 1):
            self._packet()

    def batches(self) -> Iterator[pa.RecordBatch]:
        received, status = self._received, MORE_DATA
        while status != LAST_PACKET:
            batch, received.low, status = self._rows.read(received.array, received.low, received.high)
            if batch.num_rows:
                yield batch
            if status == LARGE_PACKET:
                yield self._large_row()
            elif status == MORE_DATA:
                received.receive_more()
            elif status == MALFORMED:
                raise protocol_error(self._login, "a row that is not as long as its cells")
        self._packet()

    def _packet(self) -> bytes:
        """Read the next packet, which is small."""
        size = int.from_bytes(self._received.take(4)[:3], "little")
        payload = self._received.take(size)
        if payload[:1] == b"\xff":  # u16 number, '#' and five characters, text
            raise ServerSaid(int.from_bytes(payload[1:3], "little"), payload[9:].decode("utf-8", "replace"))
        return payload

    def _large_row(self) -> pa.RecordBatch:
        payload, size, length = bytearray(), _LARGE, RowLength(len(self._types))
        while size == _LARGE:
            size = int.from_bytes(self._received.take(4)[:3], "little")
            if len(payload) + size > MAX_ROW_BYTES:
                raise protocol_error(self._login, "a row of more than 1 GiB")
            payload += self._received.take(size)
            if not length.allows(payload):
                raise protocol_error(self._login, "a row that is not as long as its cells")
        payload += bytes(SLACK_BYTES)
        row = self._rows.read_payload(np.frombuffer(payload, np.uint8), len(payload) - SLACK_BYTES)
        if row is None:
            raise protocol_error(self._login, "a row that is not as long as its cells")
        return row

    def _lost(self, why: str) -> RetryableError:
        return RetryableError("server-lost", f"{self._login}: {why}")


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
