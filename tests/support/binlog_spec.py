"""What a binlog holds, as values: write these in a test, give them to ``binlog_writer.write_logs``.

orders = TableSchema("shop", "orders", (...), ("id",))
Log("mysql", [
    Ddl("CREATE DATABASE shop", database="shop"),
    Ddl("CREATE TABLE orders (...)", database="shop"),
    Transaction([Insert(orders, [{"id": 1, "total": Decimal("9.50")}]), Delete(orders, [...])]),
])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mirrorlake.core.schema.tables import TableSchema

Row = Mapping[str, Any]

SERVER_UUID = "6c1f7e0a-11d2-11ef-9a3b-0242ac120002"
DEFAULT_SQL_MODE = {"mysql": 0x45A00020, "mariadb": 0x54200000}
DEFAULT_COLLATION = {"mysql": 255, "mariadb": 45}  # utf8mb4_0900_ai_ci, utf8mb4_general_ci


@dataclass(frozen=True)
class Insert:
    """Rows as {column: value}. A column that a row leaves out is not logged; all rows leave out the same ones."""

    table: TableSchema
    rows: Sequence[Row]


class Differences(bytes):
    """In an after image: what is logged in place of a JSON column's value (``json_differences``)."""


@dataclass(frozen=True)
class Update:
    """rows: (before, after) pairs. partial_json: logged as MySQL does with PARTIAL_JSON; a JSON column of an after
    image may have ``Differences``."""

    table: TableSchema
    rows: Sequence[tuple[Row, Row]]
    partial_json: bool = False


@dataclass(frozen=True)
class Delete:
    table: TableSchema
    rows: Sequence[Row]


RowsPart = Insert | Update | Delete


@dataclass(frozen=True)
class Statement:
    """One SQL statement that wrote rows: every table map first, then the row events; the last one ends the statement.

    A bare Insert, Update or Delete means a statement of one part. sql: logged as ROWS_QUERY or ANNOTATE_ROWS.
    rows_per_event: None cuts at 8 KiB as the servers do.
    """

    parts: Sequence[RowsPart]
    sql: str | None = None
    rows_per_event: int | None = None


@dataclass(frozen=True)
class Query:
    """A QUERY event, of its own or inside a transaction (SAVEPOINT, a row change in STATEMENT format).

    charsets: collation ids of client, connection and server. charset_database: the rarely written status variable 8.
    """

    text: str | bytes
    database: str = ""
    sql_mode: int | None = None
    charsets: tuple[int, int, int] | None = None
    charset_database: int | None = None
    time_zone: str | None = None
    error_code: int = 0
    thread_id: int = 8


@dataclass(frozen=True)
class Transaction:
    """statements: Statement, Query, or a bare RowsPart.

    end: "xid", the text of the QUERY that ends it, or "" for none: a transaction torn by a crash.
    gtid_number: None = one more than the last. origin: server that ran it first, MySQL: uuid, MariaDB: server id; None:
    the one that wrote the log.
    """

    statements: Sequence[Statement | RowsPart | Query]
    end: str = "xid"
    domain: int = 0
    gtid_number: int | None = None
    timestamp: int | None = None
    origin: str | int | None = None


@dataclass(frozen=True)
class Ddl(Query):
    """A statement with a GTID and an event group of its own."""

    domain: int = 0
    gtid_number: int | None = None
    timestamp: int | None = None
    origin: str | int | None = None


@dataclass(frozen=True)
class Rotate:
    """End the file here (FLUSH BINARY LOGS)."""


@dataclass(frozen=True)
class Restart:
    """The server stops and starts: the file ends with STOP, or after a crash as it is; the next begins a new run."""

    after_crash: bool = False


@dataclass(frozen=True)
class Incident:
    message: str = "lost events"
    kind: int = 1


@dataclass(frozen=True)
class RawEvent:
    """Any event of which the writer knows nothing."""

    event_type: int
    body: bytes = b""
    flags: int = 0


Item = Transaction | Ddl | Rotate | Restart | Incident | RawEvent


@dataclass(frozen=True)
class Log:
    """A sequence of log files of one server.

    metadata: what TABLE_MAP says about columns: "FULL", "MINIMAL" (MySQL's default) or "NO_LOG" (MariaDB's).
    compression: MySQL writes transactions, MariaDB events compressed.
    fragment_bytes: MariaDB 12.3 writes longer rows events in fragments (binlog_row_event_fragment_threshold); 0: never.
    gtid_mode: MySQL without it writes ANONYMOUS_GTID. end: how the last file ends: "stop" or "open" (in use).
    first_timestamp: seconds; each item is a second later.
    """

    flavor: str
    items: Sequence[Item] = field(default_factory=tuple)
    checksum: bool = True
    metadata: str = "FULL"
    compression: bool = False
    fragment_bytes: int = 0
    gtid_mode: bool = True
    server_id: int = 7
    server_uuid: str = SERVER_UUID
    server_version: str = ""
    basename: str = "binlog"
    first_number: int = 1
    first_timestamp: int = 1_700_000_000
    end: str = "stop"
