"""Numbers of the binlog format and of the client protocol, under the servers' own names."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

BINLOG_MAGIC = b"\xfebin"
"""MySQL ``sql/log_event.h``, BINLOG_MAGIC."""
ENCRYPTED_BINLOG_MAGIC = b"\xfdbin"
"""MySQL ``sql/rpl_log_encryption.h``, Rpl_encryption_header::ENCRYPTION_MAGIC."""
SYSTEM_DATABASES = frozenset(("mysql", "sys", "information_schema", "performance_schema"))
"""Databases of the server itself; they are not mirrored."""


class EventType(IntEnum):
    """MySQL ``libs/mysql/binlog/event/binlog_event.h``, Log_event_type; from 160 on MariaDB ``sql/log_event.h``."""

    START_V3 = 1
    QUERY = 2
    STOP = 3
    ROTATE = 4
    INTVAR = 5
    LOAD = 6
    SLAVE = 7
    CREATE_FILE = 8
    APPEND_BLOCK = 9
    EXEC_LOAD = 10
    DELETE_FILE = 11
    NEW_LOAD = 12
    RAND = 13
    USER_VAR = 14
    FORMAT_DESCRIPTION = 15
    XID = 16
    BEGIN_LOAD_QUERY = 17
    EXECUTE_LOAD_QUERY = 18
    TABLE_MAP = 19
    PRE_GA_WRITE_ROWS = 20
    PRE_GA_UPDATE_ROWS = 21
    PRE_GA_DELETE_ROWS = 22
    WRITE_ROWS_V1 = 23
    UPDATE_ROWS_V1 = 24
    DELETE_ROWS_V1 = 25
    INCIDENT = 26
    HEARTBEAT = 27
    IGNORABLE = 28
    ROWS_QUERY = 29
    WRITE_ROWS = 30
    UPDATE_ROWS = 31
    DELETE_ROWS = 32
    GTID = 33
    ANONYMOUS_GTID = 34
    PREVIOUS_GTIDS = 35
    TRANSACTION_CONTEXT = 36
    VIEW_CHANGE = 37
    XA_PREPARE = 38
    PARTIAL_UPDATE_ROWS = 39
    TRANSACTION_PAYLOAD = 40
    HEARTBEAT_V2 = 41
    GTID_TAGGED = 42
    ANNOTATE_ROWS = 160
    BINLOG_CHECKPOINT = 161
    MARIADB_GTID = 162
    MARIADB_GTID_LIST = 163
    START_ENCRYPTION = 164
    QUERY_COMPRESSED = 165
    WRITE_ROWS_COMPRESSED_V1 = 166
    UPDATE_ROWS_COMPRESSED_V1 = 167
    DELETE_ROWS_COMPRESSED_V1 = 168
    WRITE_ROWS_COMPRESSED = 169
    UPDATE_ROWS_COMPRESSED = 170
    DELETE_ROWS_COMPRESSED = 171
    PARTIAL_ROW_DATA = 172


PLAIN_ROWS = (
    EventType.WRITE_ROWS_V1, EventType.UPDATE_ROWS_V1, EventType.DELETE_ROWS_V1,
    EventType.WRITE_ROWS, EventType.UPDATE_ROWS, EventType.DELETE_ROWS, EventType.PARTIAL_UPDATE_ROWS,
)  # fmt: skip
"""Row events that are neither compressed nor in fragments."""


def one_of(*event_types: int) -> np.ndarray:
    """bool[256]: whether an event type is one of these, for an array of event types to be looked up in."""
    return np.isin(np.arange(256), event_types)


IS_GTID = one_of(EventType.GTID, EventType.GTID_TAGGED, EventType.MARIADB_GTID)


class EventFlag(IntEnum):
    """MySQL ``libs/mysql/binlog/event/binlog_event.h``, LOG_EVENT_*_F."""

    IN_USE = 0x01
    """On a FORMAT_DESCRIPTION event only: the file is being written, or was not closed cleanly."""
    THREAD_SPECIFIC = 0x04
    """On a QUERY event: the session's call, of a procedure perhaps, has used a temporary table. All later statements of
    the procedure have it, too (measured: MySQL 9.7, MariaDB 10.11)."""
    SUPPRESS_USE = 0x08
    """On a QUERY event: its database does not matter. Of a TRUNCATE: the server wrote it, in UTF-8 (measured: MariaDB
    10.11, 11.8); a user's own has no such flag, whatever its text is."""
    ARTIFICIAL = 0x20
    """Made by the server for this connection; it is in no file."""
    IGNORABLE = 0x80


MOST_GTID_SET_BYTES = 8 << 20
"""Of a set in the log or in a server's answer: half a million intervals. Python has up to 80 times as much for it."""
MOST_GTID_PARTS = 1 << 18
"""Of a set that grows with the log: its intervals, or MariaDB's last transactions."""


class ChecksumAlgorithm(IntEnum):
    """MySQL ``libs/mysql/binlog/event/binlog_event.h``, enum_binlog_checksum_alg."""

    OFF = 0
    CRC32 = 1


class StatusVar(IntEnum):
    """Codes in a QUERY event: MySQL ``libs/mysql/binlog/event/statement_events.h``, Query_event_status_vars."""

    FLAGS2 = 0
    SQL_MODE = 1
    CATALOG_WITH_ZERO = 2
    CHARSET = 4
    TIME_ZONE = 5
    CATALOG = 6
    CHARSET_DATABASE = 8
    INVOKER = 11
    UPDATED_DB_NAMES = 12
    MICROSECONDS = 13
    EXPLICIT_TIMESTAMPS = 16
    DDL_XID = 17
    MARIADB_MICROSECONDS = 128
    ALTER_PHASE = 130
    CHARSET_COLLATIONS = 131


STATUS_VAR_BYTES = {
    0: 4, 1: 8, 3: 4, 4: 6, 7: 2, 8: 2, 9: 8, 10: 4, 13: 3, 16: 1, 17: 8, 18: 2, 19: 1, 20: 1, 128: 3, 129: 8,
}  # fmt: skip
"""Sizes of the status variables that have one; from 128 on MariaDB ``sql/log_event.h``."""

EXPLICIT_TIMESTAMPS_FLAG = 1 << 24
"""Bit of FLAGS2 on MariaDB (OPTION_EXPLICIT_DEF_TIMESTAMP); MySQL has a status variable instead."""


class AlterPhase(IntEnum):
    """The part of an ALTER in a QUERY event (MariaDB ``sql/log_event.h``, Gtid_log_event's FL_START_ALTER_E1 ..)."""

    WHOLE = 0
    START = 2
    COMMIT = 4
    ROLLBACK = 8


UPDATED_DB_NAMES_OVERFLOW = 254
"""Instead of a count: too many databases, none is listed (MySQL ``OVER_MAX_DBS_IN_EVENT_MTS``)."""


class MariadbGtidFlag(IntEnum):
    """MariaDB ``sql/log_event.h``, Gtid_log_event."""

    STANDALONE = 1
    GROUP_COMMIT_ID = 2
    TRANSACTIONAL = 4
    DDL = 32
    PREPARED_XA = 64
    COMPLETED_XA = 128


class Command(IntEnum):
    """MySQL ``include/my_command.h``, enum_server_command."""

    QUERY = 0x03
    BINLOG_DUMP = 0x12
    REGISTER_SLAVE = 0x15
    BINLOG_DUMP_GTID = 0x1E


DUMP_SEND_ANNOTATE_ROWS = 0x02
"""MariaDB ``sql/log_event.h``, BINLOG_SEND_ANNOTATE_ROWS_EVENT; MySQL gives this bit another meaning."""
