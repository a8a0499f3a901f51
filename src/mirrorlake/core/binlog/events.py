"""Events that are read one at a time: body -> value.

A body is an event without its 19-byte header and without its checksum. Every parser raises RefusedError ``log-event``
when a body is shorter than its fields. Layouts: MySQL ``libs/mysql/binlog/event/{control,statement}_events.h``, MariaDB
``sql/log_event.h``; integers are little-endian.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from mirrorlake.core.binlog.byte_reader import ByteReader
from mirrorlake.core.binlog.tagged_gtid import PARTS_ITEMS, TAG, TAG_BYTES, read_tagged_gtid
from mirrorlake.core.constants import (
    EXPLICIT_TIMESTAMPS_FLAG,
    MOST_GTID_SET_BYTES,
    STATUS_VAR_BYTES,
    UPDATED_DB_NAMES_OVERFLOW,
    AlterPhase,
    ChecksumAlgorithm,
    StatusVar,
)
from mirrorlake.core.mariadb_gtid import MariadbGtidSet
from mirrorlake.core.mysql_gtid import MysqlGtidSet
from mirrorlake.core.position import is_log_name
from mirrorlake.core.schema.charsets import decode_statement
from mirrorlake.errors import RefusedError

_FIRST_MARIADB_ONLY_TYPES = 160
_FORMAT_DESCRIPTION_TYPE, _FIXED_PART_BYTES = 15, 57
_FIXED_PARTS_READ = {2: 13, 19: 8, 23: 8, 24: 8, 25: 8, 30: 10, 31: 10, 32: 10}
"""Event type -> bytes of its fixed part, or 0 if a server never writes the type. Older servers had others."""
_TIMESTAMP_FOLLOWS = 1 << 55
_MARIADB_LOGS_NO_VAIN_CREATE = 101100
_COMMIT_TIME_AT = 42  # in a GTID event of 8.0 and later


MAX_STATEMENT_BYTES = 16 << 20
"""Of a longer statement only so much is interpreted; a server may log up to 1 GiB."""
KEPT_STATEMENT_BYTES = 64 << 10
"""So much of a statement's text is kept in silver: a compressed log of 1 MB may have 1 GB of statements."""
_OVERLAP_BYTES = 1 << 10
_CHARSET_AND_COLLATION_BYTES = 4
_NOT_READ = -1
"""Instead of a code: all from a code on that is not known."""


@dataclass(frozen=True, slots=True)
class FormatDescription:
    """created_s: when the server started, if this file is its first, else 0. checksum_algorithm: 0 off,
    1 CRC32, None: of a server that knows no checksums."""

    server_version: str
    flavor: str
    created_s: int
    checksum_algorithm: int | None

    @property
    def version_number(self) -> int | None:
        """90704 for 9.7.4; None when the version does not begin with three numbers."""
        found = re.match(r"([0-9]{1,4})\.([0-9]{1,2})\.([0-9]{1,2})(?![0-9])", self.server_version)
        return int(found[1]) * 10000 + int(found[2]) * 100 + int(found[3]) if found else None


@dataclass(frozen=True, slots=True)
class Rotate:
    next_file: str
    offset: int


@dataclass(frozen=True, slots=True)
class Query:
    """A statement and the session it ran in; None = not logged.

    charset: collation ids (character_set_client, collation_connection, collation_server). default_charset_id: the
    collation of ``database``. microseconds: to add to the time in the event's header; 0 when the statement did not ask.
    alter_phase: a MariaDB with binlog_alter_two_phase logs an ALTER when it starts and when it ends, and only the end
    applies it. has_ddl_xid: MySQL since 8.0 has changed definitions with it. statement: decoded, its
    first ``MAX_STATEMENT_BYTES``; characters that the client's charset does not have become U+FFFD. raw: all its bytes,
    in the event. unread_status: status variables from the first one on that is not known.
    """

    thread_id: int
    database: str
    error_code: int
    sql_mode: int | None
    charset: tuple[int, int, int] | None
    default_charset_id: int | None
    time_zone: str | None
    microseconds: int
    flags2: int | None
    explicit_timestamps_var: int | None
    alter_phase: AlterPhase
    has_ddl_xid: bool
    statement: str
    raw: memoryview = field(repr=False)
    unread_status: bytes = b""

    @property
    def kept(self) -> str:
        """What silver keeps of the statement."""
        return self.statement[:KEPT_STATEMENT_BYTES]

    @property
    def is_cut(self) -> bool:
        return len(self.raw) > MAX_STATEMENT_BYTES

    def pieces(self) -> Iterator[str]:
        """Yield all of the statement in pieces. They overlap, so that each name is in one of them as a whole."""
        for start in range(0, len(self.raw), MAX_STATEMENT_BYTES):
            yield self.decoded(bytes(self.raw[max(0, start - _OVERLAP_BYTES) : start + MAX_STATEMENT_BYTES]))

    def decoded(self, piece: bytes) -> str:
        """A piece of the statement as text."""
        return decode_statement(piece, self.charset[0] if self.charset else None)

    @property
    def is_in_force(self) -> bool:
        return self.alter_phase in (AlterPhase.WHOLE, AlterPhase.COMMIT)

    def has_made_table(self, flavor: str, server_version: int | None) -> bool:
        """Is it certain that a CREATE TABLE IF NOT EXISTS found no table?

        MySQL 9.7 logs it in any case, with a DDL_XID if it made the table. MariaDB 10.11 and 11.8 do not log it
        if the table existed (both measured). server_version: None: not known.
        """
        if flavor == "mysql":
            return self.has_ddl_xid
        return server_version is not None and server_version >= _MARIADB_LOGS_NO_VAIN_CREATE

    def explicit_timestamps(self, flavor: str) -> bool | None:
        """explicit_defaults_for_timestamp of the session."""
        if flavor == "mariadb":
            return None if self.flags2 is None else bool(self.flags2 & EXPLICIT_TIMESTAMPS_FLAG)
        return None if self.explicit_timestamps_var is None else bool(self.explicit_timestamps_var)


@dataclass(frozen=True, slots=True)
class MysqlGtid:
    """source: uuid, or ``uuid:tag``. commit_us: microseconds since the epoch on the server that wrote this log (MySQL
    8.0 and later)."""

    source: str
    number: int
    commit_us: int | None

    def __str__(self) -> str:
        return f"{self.source}:{self.number}"


@dataclass(frozen=True, slots=True)
class MariadbGtid:
    domain: int
    server: int
    sequence: int
    flags: int

    def __str__(self) -> str:
        return f"{self.domain}-{self.server}-{self.sequence}"


def parse_format_description(body: bytes) -> FormatDescription:
    """u16 binlog version, 50 bytes server version, u32 created, u8 header length, one u8 per event type: length of its
    fixed part; then, from servers that know checksums, u8 algorithm.

    Such servers end the event with a CRC32 even when the file has no other: ``body`` may still carry it.
    """
    reader = ByteReader(body, "FORMAT_DESCRIPTION event")
    binlog_version = reader.uint(2)
    server_version = reader.take(50).rstrip(b"\0").decode("utf-8", "replace")
    created_s, header_bytes = reader.uint(4), reader.uint(1)
    if binlog_version != 4 or header_bytes != 19:
        raise reader.malformed(f"binlog version {binlog_version} with headers of {header_bytes} bytes is not read")
    fixed_parts = reader.take(_FORMAT_DESCRIPTION_TYPE)
    # the length of this event's own fixed part gives the number of types that the writer knew
    n_types = (fixed_parts[-1] - _FIXED_PART_BYTES) & 0xFF
    fixed_parts += reader.take(max(n_types - _FORMAT_DESCRIPTION_TYPE, 0))
    for event_type, n_bytes in _FIXED_PARTS_READ.items():
        if len(fixed_parts) >= event_type and fixed_parts[event_type - 1] not in (0, n_bytes):
            raise reader.malformed(f"events of type {event_type} begin with {fixed_parts[event_type - 1]} bytes")
    algorithm = None if reader.at_end else reader.uint(1)
    if algorithm not in (None, *ChecksumAlgorithm):
        raise reader.malformed(f"checksum algorithm {algorithm} is not known")
    flavor = "mariadb" if n_types >= _FIRST_MARIADB_ONLY_TYPES else "mysql"
    return FormatDescription(server_version, flavor, created_s, algorithm)


def parse_rotate(body: bytes) -> Rotate:
    """u64 offset of the first event in the next file, then the file's name to the end."""
    reader = ByteReader(body, "ROTATE event")
    offset, name = reader.uint(8), reader.name(len(body) - 8)
    if not is_log_name(name):
        raise reader.malformed("it names no binlog file")
    if offset >= 1 << 63:
        raise reader.malformed("its offset is beyond any file")
    return Rotate(name, offset)


def parse_query(body: bytes | memoryview) -> Query:
    """u32 thread, u32 seconds it ran, u8 bytes of the database's name, u16 error, u16 bytes of status variables; the
    status variables, the name and a zero byte, the statement to the end.
    """
    reader = ByteReader(body, "QUERY event")
    thread_id = reader.uint(4)
    reader.uint(4)
    database_bytes, error_code, status_bytes = reader.uint(1), reader.uint(2), reader.uint(2)
    found = _status_vars(reader.take(status_bytes))
    database = reader.name(database_bytes)
    reader.take(1)
    statement = memoryview(body)[reader.position :]
    raw_charset = found.get(StatusVar.CHARSET)
    charset = _collations(raw_charset) if raw_charset else None
    time_zone = found.get(StatusVar.TIME_ZONE)
    return Query(
        thread_id=thread_id,
        database=database,
        error_code=error_code,
        sql_mode=_integer(found.get(StatusVar.SQL_MODE)),
        charset=charset,
        default_charset_id=_integer(found.get(StatusVar.CHARSET_DATABASE)),
        time_zone=None if time_zone is None else time_zone.decode("utf-8", "replace"),
        microseconds=_integer(found.get(StatusVar.MICROSECONDS) or found.get(StatusVar.MARIADB_MICROSECONDS)) or 0,
        flags2=_integer(found.get(StatusVar.FLAGS2)),
        explicit_timestamps_var=_integer(found.get(StatusVar.EXPLICIT_TIMESTAMPS)),
        alter_phase=_alter_phase(found.get(StatusVar.ALTER_PHASE, b"\0")),
        has_ddl_xid=StatusVar.DDL_XID in found,
        statement=decode_statement(bytes(statement[:MAX_STATEMENT_BYTES]), charset[0] if charset else None),
        raw=statement,
        unread_status=found.get(_NOT_READ, b""),
    )


def _status_vars(raw: bytes) -> dict[int, bytes]:
    """Code u8 and value, repeated. A code that is not known ends the list: its length is not known either."""
    reader, found = ByteReader(raw, "QUERY event's status variables"), {}
    while not reader.at_end:
        start, code = reader.position, reader.uint(1)
        if code in STATUS_VAR_BYTES:
            found[code] = reader.take(STATUS_VAR_BYTES[code])
        elif code in (StatusVar.TIME_ZONE, StatusVar.CATALOG):
            found[code] = reader.take(reader.uint(1))
        elif code == StatusVar.CATALOG_WITH_ZERO:
            found[code] = reader.take(reader.uint(1) + 1)
        elif code == StatusVar.INVOKER:
            found[code] = reader.take(reader.uint(1)) + b"@" + reader.take(reader.uint(1))
        elif code == StatusVar.ALTER_PHASE:
            phase = reader.take(1)
            found[code] = phase + (reader.take(8) if phase[0] in (AlterPhase.COMMIT, AlterPhase.ROLLBACK) else b"")
        elif code == StatusVar.UPDATED_DB_NAMES:
            _skip_names(reader)
        elif code == StatusVar.CHARSET_COLLATIONS:  # MariaDB from 11.5 on writes it before CHARSET
            reader.take(reader.uint(1) * _CHARSET_AND_COLLATION_BYTES)
        else:
            found[_NOT_READ] = raw[start:]
            break
    return found


def _alter_phase(raw: bytes) -> AlterPhase:
    return AlterPhase(raw[0]) if raw[0] in AlterPhase._value2member_map_ else AlterPhase.WHOLE


def _skip_names(reader: ByteReader) -> None:
    count = reader.uint(1)
    for _ in range(0 if count == UPDATED_DB_NAMES_OVERFLOW else count):
        while reader.uint(1):
            pass


def _collations(raw: bytes) -> tuple[int, int, int]:
    client, connection, server = (int.from_bytes(raw[k : k + 2], "little") for k in (0, 2, 4))
    return client, connection, server


def _integer(raw: bytes | None) -> int | None:
    return None if raw is None else int.from_bytes(raw, "little")


def parse_mysql_gtid(body: bytes) -> MysqlGtid:
    """u8 flags, 16 bytes uuid, u64 number; u8 2, u64 last committed, u64 sequence number; u56 commit time in
    microseconds, whose top bit says that the time of the first server follows. 5.6 ends after the number, 5.7 after the
    sequence number. Also the body of ANONYMOUS_GTID (uuid and number are zero).
    """
    reader = ByteReader(body, "GTID event")
    reader.uint(1)
    uuid, number = str(UUID(bytes=reader.take(16))), reader.uint(8)
    commit_us = None
    if not reader.at_end and reader.uint(1) == 2:
        reader.take(16)
        if not reader.at_end:
            commit_us = reader.uint(7) & ~_TIMESTAMP_FOLLOWS
    return MysqlGtid(uuid, number, commit_us)


def original_commit_us(body: bytes) -> int | None:
    """The time of a transaction's first commit, on the server that ran it, from the same event: after the commit time
    if its top bit says so, else that time itself. Before 8.0: None."""
    if len(body) < _COMMIT_TIME_AT + 7:
        return None
    here = int.from_bytes(body[_COMMIT_TIME_AT : _COMMIT_TIME_AT + 7], "little")
    if not here & _TIMESTAMP_FOLLOWS:
        return here
    return int.from_bytes(body[_COMMIT_TIME_AT + 7 : _COMMIT_TIME_AT + 14], "little")


def parse_tagged_gtid(body: bytes) -> MysqlGtid:
    """Layout: ``tagged_gtid``."""
    buf, parts = np.frombuffer(body + b"\0", np.uint8), np.zeros(PARTS_ITEMS, np.int64)
    start = buf.ctypes.data
    number, commit_us = read_tagged_gtid(start, start + len(body), parts.ctypes.data, 0, 0, 0)
    if number < 1:
        raise RefusedError("log-event", "malformed GTID_TAGGED event")
    tag = int(parts[TAG]) - start
    text = body[tag : tag + int(parts[TAG_BYTES])].decode("ascii", "replace")
    source = str(UUID(bytes=parts.tobytes()[:16])) + (f":{text}" if text else "")
    return MysqlGtid(source, int(number), int(commit_us))


def parse_mariadb_gtid(body: bytes, server_id: int) -> MariadbGtid:
    """u64 sequence number, u32 domain, u8 flags, and more that depends on the flags; the server id is the header's."""
    reader = ByteReader(body, "GTID event")
    sequence, domain, flags = reader.uint(8), reader.uint(4), reader.uint(1)
    return MariadbGtid(domain, server_id, sequence, flags)


def parse_gtid_list(body: bytes) -> MariadbGtidSet:
    """u32, its low 28 bits a count; for each: u32 domain, u32 server, u64 sequence number. A domain's last entry is
    used: the server writes one entry for each of its servers, the latest transaction's at the end.
    """
    _check_set_bytes(body)
    reader, gtids = ByteReader(body, "GTID_LIST event"), MariadbGtidSet()
    for _ in range(reader.uint(4) & 0x0FFFFFFF):
        gtids.add(reader.uint(4), reader.uint(4), reader.uint(8))
    return gtids


def parse_previous_gtids(body: bytes) -> MysqlGtidSet:
    """All transactions of the files before this one; layout: ``MysqlGtidSet.encode``."""
    _check_set_bytes(body)
    return MysqlGtidSet.decode(body)


def _check_set_bytes(body: bytes) -> None:
    """Refuse a set that would take too much memory."""
    if len(body) > MOST_GTID_SET_BYTES:
        raise RefusedError("log-event", f"a GTID set of {len(body):,} bytes: at most {MOST_GTID_SET_BYTES:,} are read")
