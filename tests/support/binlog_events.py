"""Event bodies and the frame around them, as MySQL 8.0 and 9.7 and MariaDB 10.11 write them.

Formats: MySQL ``libs/mysql/binlog/event/control_events.h``, ``statement_events.h``, MariaDB ``sql/log_event.h``;
checked byte for byte against logs of MySQL 9.7.4 and MariaDB 10.11.19.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from uuid import UUID

from tests.support.binlog_spec import DEFAULT_COLLATION, DEFAULT_SQL_MODE, Query
from tests.support.table_map_encoding import lenenc

MAGIC = b"\xfebin"
HEADER_BYTES, CHECKSUM_BYTES = 19, 4

QUERY, STOP, ROTATE, FORMAT_DESCRIPTION, XID, TABLE_MAP, INCIDENT = 2, 3, 4, 15, 16, 19, 26
ROWS_QUERY, MYSQL_GTID, ANONYMOUS_GTID, PREVIOUS_GTIDS = 29, 33, 34, 35
PARTIAL_UPDATE_ROWS = 39
ANNOTATE_ROWS, BINLOG_CHECKPOINT, MARIADB_GTID, GTID_LIST = 160, 161, 162, 163
ROWS_EVENTS = {
    "mariadb": {"Insert": 23, "Update": 24, "Delete": 25},
    "mysql": {"Insert": 30, "Update": 31, "Delete": 32},
}

IN_USE, THREAD_SPECIFIC, SUPPRESS_USE, IGNORABLE = 0x01, 0x04, 0x08, 0x80
STANDALONE, TRANSACTIONAL, ALLOW_PARALLEL, IS_DDL = 1, 4, 8, 32  # flags of a MariaDB GTID

SERVER_VERSIONS = {"mysql": "9.7.4", "mariadb": "10.11.19-MariaDB-log"}
# Bytes of the fixed part of each event type, from type 1 on.
_POST_HEADERS = {
    "mysql 9": bytes.fromhex("000d0008000000000400040000006300041a08000000000000020000000a0a0a2a2a001234000a280000"),
    "mysql 8": bytes.fromhex("000d0008000000000400040000006200041a08000000080808020000000a0a0a2a2a001234000a2800"),
    "mariadb": bytes.fromhex(
        "380d000800120004040404120000e400041a08000000080808020000000a0a0a0000000000000a0a0a"
    ).ljust(160, b"\0")
    + bytes.fromhex("041304000d0808080a0a0a"),
}


def frame(event_type: int, body: bytes, *, timestamp: int, server_id: int, start: int | None, flags: int,
          checksum: bool) -> bytes:  # fmt: skip
    """A whole event that starts at offset ``start`` of its file; log_pos keeps the low 32 bits of its end. None: an
    event that has no place of its own, and log_pos 0."""
    length = HEADER_BYTES + len(body) + CHECKSUM_BYTES * checksum
    log_pos = 0 if start is None else (start + length) & 0xFFFFFFFF
    event = struct.pack("<IBIIIH", timestamp, event_type, server_id, length, log_pos, flags) + body
    return event + struct.pack("<I", zlib.crc32(event)) if checksum else event


def format_description(flavor: str, version: str, created: int, checksum: bool) -> bytes:
    """Ends with the checksum algorithm. created: seconds; 0 except in the first file of a server's run."""
    name = "mariadb" if flavor == "mariadb" else "mysql 8" if version.startswith("8.0.") else "mysql 9"
    return struct.pack("<H50sIB", 4, version.encode(), created, HEADER_BYTES) + _POST_HEADERS[name] + bytes((checksum,))


def rotate(next_file: str, position: int = 4) -> bytes:
    return struct.pack("<Q", position) + next_file.encode()


def mysql_gtid(uuid: UUID, number: int, *, is_ddl: bool, sequence: int, timestamp_us: int, following_bytes: int,
               version: str, checksum: bool) -> bytes:  # fmt: skip
    """following_bytes: of the events after this one. The event states the transaction's length with itself included,
    and the width of that number depends on its value."""
    head = struct.pack("<B16sQBQQ", is_ddl, uuid.bytes, number, 2, sequence - 1, sequence)
    head += timestamp_us.to_bytes(7, "little")
    fixed = HEADER_BYTES + len(head) + 4 + CHECKSUM_BYTES * checksum + following_bytes
    widths = (len(lenenc(fixed + width)) == width and width for width in (1, 3, 4, 9))
    major, minor, patch = (int(part) for part in version.split("-")[0].split("."))
    return head + lenenc(fixed + next(filter(None, widths))) + struct.pack("<I", major * 10000 + minor * 100 + patch)


TAGGED_GTID = bytes.fromhex(
    "0278000000025103" "44cd026c95038102" "22c5036902b90204" "f103000000020404" "060c6d795f746167" "08080a0c0c7fbfa8"
    "91e0c76006106d05" "1283120b"
)  # fmt: skip
"""Of MySQL 9.7.4: last_committed=2 sequence_number=3 immediate_commit_timestamp=1795261442664639"""


def previous_gtids(executed: dict[UUID, set[int]]) -> bytes:
    """executed: numbers by source."""
    sources = (
        _previous_of(uuid, numbers) for uuid, numbers in sorted(executed.items(), key=lambda pair: pair[0].bytes)
    )
    return struct.pack("<Q", len(executed)) + b"".join(sources)


def _previous_of(uuid: UUID, numbers: Iterable[int]) -> bytes:
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number:
            ranges[-1][1] += 1
        else:
            ranges.append([number, number + 1])
    return struct.pack("<16sQ", uuid.bytes, len(ranges)) + b"".join(struct.pack("<QQ", *each) for each in ranges)


def mariadb_gtid(sequence: int, domain: int, flags: int) -> bytes:
    return struct.pack("<QIB6x", sequence, domain, flags)


def gtid_list(last: dict[tuple[int, int], int]) -> bytes:
    """last: (domain, server id) -> sequence number; the domain's last one at the end."""
    entries = (struct.pack("<IIQ", domain, server, number) for (domain, server), number in last.items())
    return struct.pack("<I", len(last)) + b"".join(entries) + (b"" if last else b"\0\0")


def binlog_checkpoint(file_name: str) -> bytes:
    return struct.pack("<I", len(file_name)) + file_name.encode()


def incident(kind: int, message: str) -> bytes:
    text = message.encode()
    return struct.pack("<HB", kind, len(text)) + text


def query(spec: Query, flavor: str, ddl_xid: int | None = None) -> bytes:
    """ddl_xid: given for a DDL; also makes MySQL write the databases it updates and whether keys are required."""
    text = spec.text.encode() if isinstance(spec.text, str) else spec.text
    database = spec.database.encode()
    status = _status_variables(spec, flavor, ddl_xid)
    head = struct.pack("<IIBHH", spec.thread_id, 0, len(database), spec.error_code, len(status))
    return head + status + database + b"\0" + text


def _status_variables(spec: Query, flavor: str, ddl_xid: int | None) -> bytes:
    """In the order in which the servers write them."""
    collation = DEFAULT_COLLATION[flavor]
    charsets = spec.charsets or (collation, collation, 8 if flavor == "mariadb" else collation)
    sql_mode = DEFAULT_SQL_MODE[flavor] if spec.sql_mode is None else spec.sql_mode
    flags2 = 1 << 24 if flavor == "mariadb" else 0  # explicit_defaults_for_timestamp, MariaDB's default
    found = [(0, struct.pack("<I", flags2)), (1, struct.pack("<Q", sql_mode)), (6, _counted("std"))]
    found.append((4, struct.pack("<3H", *charsets)))
    if spec.time_zone is not None:
        found.append((5, _counted(spec.time_zone)))
    if spec.charset_database is not None:
        found.append((8, struct.pack("<H", spec.charset_database)))
    if flavor == "mariadb":
        found += [(129, struct.pack("<Q", ddl_xid))] if ddl_xid else []
    else:
        found += [(12, b"\1" + spec.database.encode() + b"\0"), (17, struct.pack("<Q", ddl_xid))] if ddl_xid else []
        found.append((18, struct.pack("<H", collation)))
        found += [(19, b"\0")] if ddl_xid else []
    return b"".join(bytes((code,)) + value for code, value in found)


def _counted(text: str) -> bytes:
    return bytes((len(text.encode()),)) + text.encode()
