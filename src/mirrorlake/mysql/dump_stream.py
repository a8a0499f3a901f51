"""The replication protocol: request a server's log, and read its events from the socket in large pieces.

Packets: u24 length, u8 sequence number, payload. Payload: 0x00 and one event, 0xff and an error, 0xfe the end. A packet
of 0xffffff bytes continues in the next one, which does not begin with 0x00.
"""

from __future__ import annotations

import random
import struct
import time
from uuid import uuid4

import numpy as np

from mirrorlake.core.binlog.framing import (
    HEADER_BYTES,
    MAX_EVENT_BYTES,
    SLACK_BYTES,
    SPECIAL_PACKET,
    EventIndex,
    impossible_length,
    index_events,
    index_packets,
)
from mirrorlake.core.constants import DUMP_SEND_ANNOTATE_ROWS, Command
from mirrorlake.core.gtid import GtidSet
from mirrorlake.core.mariadb_gtid import MariadbGtidSet
from mirrorlake.core.mysql_gtid import MysqlGtidSet
from mirrorlake.core.position import FIRST_EVENT_OFFSET, BinlogPosition
from mirrorlake.core.sql_text import Sql, server_literal
from mirrorlake.errors import MirrorlakeError, RefusedError, RetryableError
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.receive_buffer import ReceiveBuffer
from mirrorlake.mysql.server_errors import server_error

RECEIVE_BUFFER_BYTES = 4 << 20
HEARTBEAT_S = 2
SILENCE_LIMIT_S = 30
"""A server that sends neither events nor heartbeats for this many seconds is lost."""
SERVER_WRITE_TIMEOUT_S = 3600
"""Seconds for which the server waits while we read nothing."""

TRUNCATED = "log-truncated"
"""Code of the error when the server's log ends inside an event."""

_MAX_PACKET = 0xFFFFFF
_READ_FAILED = 1236  # ER_SOURCE_FATAL_ERROR_READING_BINLOG: everything that is wrong with the log or the request


class DumpStream:
    """An open dump connection. It never writes again to the parts of returned buffers that have events.

    Raises RetryableError ``server-lost``, RefusedError ``server-log-purged``, ``server-privilege``, ``log-event``,
    ``log-truncated``, ``binlog-off``, and what ``open_session`` raises.
    """

    def __init__(self, login: ServerLogin, start: BinlogPosition | GtidSet):
        self._login = login
        self._connection = ServerConnection(login, receive_buffer_bytes=RECEIVE_BUFFER_BYTES)
        try:
            self._request(start)
        except BaseException:
            self.close()
            raise
        self._received = ReceiveBuffer(self._connection.session.socket, SILENCE_LIMIT_S, self._lost)

    def expect(self, limit_s: float) -> None:
        """Expect an event within ``limit_s`` seconds, because the log has one that was not read."""
        self._received.deadline_s = time.monotonic() + limit_s

    def read(self) -> tuple[np.ndarray, EventIndex]:
        """Wait for events, and return at least one, artificial ones included."""
        received = self._received
        while True:
            events, received.low, status = index_packets(received.array, received.low, received.high)
            if len(events):
                return received.array, events
            if status == SPECIAL_PACKET:
                return self._take_special()
            received.receive_more()

    def close(self) -> None:
        self._connection.close()

    # --- the request

    def _request(self, start: BinlogPosition | GtidSet) -> None:
        """COM_REGISTER_SLAVE: u32 server id, three empty strings, u16 port, u32 rank, u32 source id; then the dump."""
        connection, server_id = self._connection, random.randrange(1 << 30, 1 << 32)
        for statement in _session_settings(connection.flavor, start):
            connection.query(statement)
        session = connection.session
        session.command(Command.REGISTER_SLAVE, struct.pack("<I3xHII", server_id, 0, 0, 0))
        session.send(*_dump_command(connection.flavor, start, server_id))

    # --- packets that are not one plain event

    def _take_special(self) -> tuple[np.ndarray, EventIndex]:
        payload_bytes = int.from_bytes(self._received.take(4)[:3], "little")
        if payload_bytes == _MAX_PACKET:
            return self._take_large_event()
        payload = self._received.take(payload_bytes)
        if payload[:1] == b"\xff":
            raise _stream_error(payload, self._login)
        if payload[:1] == b"\xfe" and payload_bytes < 9:
            raise self._lost("the server ended the stream")
        raise RefusedError("log-event", f"{self._login}: a packet that is neither an event nor an error")

    def _take_large_event(self) -> tuple[np.ndarray, EventIndex]:
        """Read an event of several packets; the length of the first one, 0xffffff, was already read."""
        head = self._received.take(1 + HEADER_BYTES)
        length = int.from_bytes(head[10:14], "little")
        if length > MAX_EVENT_BYTES:
            raise impossible_length(length)
        buf = np.empty(length + SLACK_BYTES, np.uint8)
        buf[:HEADER_BYTES] = np.frombuffer(head, np.uint8, offset=1)
        view, filled, part_bytes = buf.data, HEADER_BYTES, _MAX_PACKET
        rest_bytes = _MAX_PACKET - len(head)
        while True:
            if filled + rest_bytes > length:
                raise RefusedError("log-event", "an event's length field is not the length of its packets")
            self._received.take_into(view[filled : filled + rest_bytes])
            filled += rest_bytes
            if part_bytes < _MAX_PACKET:
                break
            part_bytes = rest_bytes = int.from_bytes(self._received.take(4)[:3], "little")
        events, stop = index_events(buf, 0, filled)
        if stop != filled or len(events) != 1:
            raise RefusedError("log-event", "an event's length field is not the length of its packets")
        return buf, events

    def _lost(self, why: str) -> RetryableError:
        return RetryableError("server-lost", f"{self._login}: {why}")


def _session_settings(flavor: str, start: BinlogPosition | GtidSet) -> list[Sql]:
    """Session settings under both generations of names: a server reads only the one it knows."""
    beat_ns = HEARTBEAT_S * 1_000_000_000
    settings = [
        "SET @master_binlog_checksum = 'CRC32', @source_binlog_checksum = 'CRC32'",
        f"SET @master_heartbeat_period = {beat_ns}, @source_heartbeat_period = {beat_ns}",
        f"SET SESSION net_write_timeout = {SERVER_WRITE_TIMEOUT_S}",
    ]
    if flavor == "mysql":
        unique = server_literal(str(uuid4()))
        return [*settings, f"SET @slave_uuid = {unique}, @replica_uuid = {unique}"]
    settings.append("SET @mariadb_slave_capability = 4")
    if isinstance(start, MariadbGtidSet):
        settings.append(f"SET @slave_connect_state = {server_literal(str(start))}, @slave_gtid_strict_mode = 0")
    return settings


def _dump_command(flavor: str, start: BinlogPosition | GtidSet, server_id: int) -> tuple[int, bytes]:
    """COM_BINLOG_DUMP: u32 position, u16 flags, u32 server id, file name.

    COM_BINLOG_DUMP_GTID: u16 flags, u32 server id, u32 name's bytes, name, u64 position, u32 set's bytes, set.
    """
    if isinstance(start, MysqlGtidSet):
        gtids = start.encode()
        fields = struct.pack("<HIIQI", 0, server_id, 0, FIRST_EVENT_OFFSET, len(gtids))
        return Command.BINLOG_DUMP_GTID, fields + gtids
    flags = DUMP_SEND_ANNOTATE_ROWS if flavor == "mariadb" else 0
    log_file, offset = (start.log_file, start.offset) if isinstance(start, BinlogPosition) else ("", FIRST_EVENT_OFFSET)
    return Command.BINLOG_DUMP, struct.pack("<IHI", offset, flags, server_id) + log_file.encode()


def _stream_error(payload: bytes, login: ServerLogin) -> MirrorlakeError:
    """0xff, u16 number, '#' and five characters, text."""
    number, text = int.from_bytes(payload[1:3], "little"), payload[9:].decode("utf-8", "replace")
    if number != _READ_FAILED:
        return server_error(number, text, login)
    message, said = f"{login}: {text}", text.lower()
    if "same server_uuid" in said or "server_id" in said and "same" in said:
        return RetryableError("server-lost", message)
    if "binary log is not open" in said:
        return RefusedError("binlog-off", message)
    if "truncated" in said:
        return RefusedError(TRUNCATED, message)
    if any(word in said for word in ("max_allowed_packet", "bogus", "corrupt", "checksum")):
        return RefusedError("log-event", message)
    return RefusedError("server-log-purged", message)
