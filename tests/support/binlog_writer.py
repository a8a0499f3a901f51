"""Spec values (``binlog_spec``) -> the binlog files that a server of that flavor would have written.

    paths = write_logs(folder, Log("mariadb", [Ddl(...), Transaction([...])]), max_file_bytes=4096)

``tests/server/test_binlog_writer.py`` has the servers' own tools read such files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from mirrorlake.core.schema.tables import TableSchema
from tests.support import binlog_events as events
from tests.support.binlog_spec import (
    Ddl,
    Incident,
    Item,
    Log,
    Query,
    RawEvent,
    Restart,
    Rotate,
    RowsPart,
    Statement,
    Transaction,
    Update,
)
from tests.support.compressed_events import as_mariadb_compressed, as_payload
from tests.support.fragmented_events import FRAGMENTED_TYPES, in_fragments, rows_event, server_cuts
from tests.support.table_map_encoding import logged_columns, present_bitmap, rows_images, table_map_body, value_options

_ROWS_EVENT_BYTES = 8192
_STATEMENT_END, _FOREIGN_KEYS_IN_SQL = 1, 16  # flags of a rows event; MySQL 9.7 sets the second in all of them
_FIRST_TABLE_ID = 90

Body = tuple[int, bytes, int]
"""Event type, body, header flags."""


@dataclass(frozen=True)
class EncodedFile:
    """item_offsets: (index in ``Log.items``, offset of its first event) of every event group in this file."""

    name: str
    data: bytes
    item_offsets: tuple[tuple[int, int], ...]


def write_logs(folder: Path, log: Log, max_file_bytes: int | None = None) -> list[Path]:
    """Writes the files into a folder; a file is ended after the item with which it reaches max_file_bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for encoded in encode_logs(log, max_file_bytes):
        paths.append(folder / encoded.name)
        paths[-1].write_bytes(encoded.data)
    return paths


def encode_logs(log: Log, max_file_bytes: int | None = None) -> list[EncodedFile]:
    writer = _Writer(log)
    for number, item in enumerate(log.items):
        writer.add(number, item)
        if max_file_bytes and writer.size >= max_file_bytes and number + 1 < len(log.items):
            writer.rotate()
    writer.finish()
    return writer.files


class _Writer:
    def __init__(self, log: Log):
        self.log, self.files = log, []
        self.version = log.server_version or events.SERVER_VERSIONS[log.flavor]
        self.rows_flags = _FOREIGN_KEYS_IN_SQL if self.version.startswith("9.") else 0
        self.executed: dict[UUID, set[int]] = {}  # MySQL
        self.last_gtids: dict[tuple[int, int], int] = {}  # MariaDB: (domain, server id) -> sequence number
        self.gtids_before_open: dict[tuple[int, int], int] | None = None
        self.table_ids: dict[TableSchema, int] = {}
        self.next_table_id, self.xid = _FIRST_TABLE_ID, 0
        self.now = log.first_timestamp
        self._open(created=self.now)

    @property
    def size(self) -> int:
        return len(self.data)

    # --- files

    def _open(self, created: int) -> None:
        log = self.log
        self.name = self._file_name(len(self.files))
        self.data, self.item_offsets, self.sequence = bytearray(events.MAGIC), [], 0
        body = events.format_description(log.flavor, self.version, created, log.checksum)
        self._event(events.FORMAT_DESCRIPTION, body, checksum=True)
        if log.flavor == "mysql":
            self._event(events.PREVIOUS_GTIDS, events.previous_gtids(self.executed), events.IGNORABLE)
        else:
            self._event(events.GTID_LIST, events.gtid_list(self.last_gtids))
            self._event(events.BINLOG_CHECKPOINT, events.binlog_checkpoint(self.name))

    def _file_name(self, index: int) -> str:
        return f"{self.log.basename}.{self.log.first_number + index:06d}"

    def _close(self) -> None:
        self.files.append(EncodedFile(self.name, bytes(self.data), tuple(self.item_offsets)))

    def rotate(self) -> None:
        self._event(events.ROTATE, events.rotate(self._file_name(len(self.files) + 1)))
        self._close()
        self._open(created=0)

    def restart(self, after_crash: bool) -> None:
        self._stop(is_clean=not after_crash)
        if after_crash and self.gtids_before_open is not None:  # MariaDB does not count what it rolls back
            self.last_gtids = self.gtids_before_open
        self._forget_table_ids()
        self._open(created=self.now)

    def finish(self) -> None:
        self._stop(is_clean=self.log.end == "stop")

    def _stop(self, is_clean: bool) -> None:
        if is_clean:
            self._event(events.STOP, b"")
        else:
            self._mark_in_use()
        self._close()

    def _mark_in_use(self) -> None:
        """The flag is set in place; the event's checksum is that of the closed file."""
        self.data[len(events.MAGIC) + 17] |= events.IN_USE

    def _event(
        self, event_type: int, body: bytes, flags: int = 0, checksum: bool | None = None, server_id: int | None = None
    ) -> None:
        checksum = self.log.checksum if checksum is None else checksum
        self.data += events.frame(event_type, body, timestamp=self.now, server_id=server_id or self.log.server_id,
                                  start=self.size, flags=flags, checksum=checksum)  # fmt: skip

    # --- items

    def add(self, number: int, item: Item) -> None:
        self.now += 1
        self.item_offsets.append((number, self.size))
        match item:
            case Transaction() | Ddl():
                self.now = item.timestamp or self.now
                self._group(item)
            case Query():
                self._event(events.QUERY, events.query(item, self.log.flavor))
            case Rotate():
                self.rotate()
            case Restart():
                self.restart(item.after_crash)
            case Incident():
                self._event(events.INCIDENT, events.incident(item.kind, item.message))
            case RawEvent():
                self._event(item.event_type, item.body, item.flags)

    def _group(self, item: Transaction | Ddl) -> None:
        self.xid += 1
        is_open = isinstance(item, Transaction) and not item.end
        self.gtids_before_open = dict(self.last_gtids) if is_open else None
        bodies = [self._ddl(item)] if isinstance(item, Ddl) else list(self._transaction(item))
        if self.log.fragment_bytes:
            bodies = [piece for body in bodies for piece in self._in_fragments(body)]
        if self.log.compression:
            bodies = self._compressed(item, bodies)
        server_id = item.origin if isinstance(item.origin, int) else None
        for body in (self._gtid(item, bodies), *bodies):
            self._event(*body, server_id=server_id)

    def _compressed(self, item: Transaction | Ddl, bodies: list[Body]) -> list[Body]:
        if self.log.flavor == "mariadb":
            return [as_mariadb_compressed(body) for body in bodies]
        is_whole = isinstance(item, Transaction) and item.end
        return [as_payload(bodies, self.now, self.log.server_id)] if is_whole else bodies

    def _in_fragments(self, body: Body) -> list[Body]:
        log = self.log
        if body[0] not in FRAGMENTED_TYPES or events.HEADER_BYTES + len(body[1]) <= log.fragment_bytes:
            return [body]
        event = rows_event(body, self.now, log.server_id, checksum=log.checksum, compression=log.compression)
        return in_fragments(event, server_cuts(len(event), log.fragment_bytes))

    def _ddl(self, ddl: Ddl) -> Body:
        self._forget_table_ids()
        return events.QUERY, events.query(ddl, self.log.flavor, ddl_xid=self.xid), 0

    def _forget_table_ids(self) -> None:
        """A changed or reopened table has a new id."""
        self.table_ids = {}

    def _gtid(self, item: Transaction | Ddl, bodies: Sequence[Body]) -> Body:
        return self._mariadb_gtid(item) if self.log.flavor == "mariadb" else self._mysql_gtid(item, bodies)

    def _mariadb_gtid(self, item: Transaction | Ddl) -> Body:
        last = [number for (domain, _), number in self.last_gtids.items() if domain == item.domain]
        number, place = (
            item.gtid_number or (last[-1] if last else 0) + 1,
            (item.domain, item.origin or self.log.server_id),
        )
        self.last_gtids.pop(place, None)
        self.last_gtids[place] = number
        return events.MARIADB_GTID, events.mariadb_gtid(number, item.domain, _mariadb_flags(item)), events.SUPPRESS_USE

    def _mysql_gtid(self, item: Transaction | Ddl, bodies: Sequence[Body]) -> Body:
        self.sequence += 1
        uuid, number, event_type = UUID(int=0), 0, events.ANONYMOUS_GTID
        if self.log.gtid_mode:
            uuid, event_type = UUID(str(item.origin or self.log.server_uuid)), events.MYSQL_GTID
            executed = self.executed.setdefault(uuid, set())
            number = item.gtid_number or max(executed, default=0) + 1
            executed.add(number)
        overhead = events.HEADER_BYTES + events.CHECKSUM_BYTES * self.log.checksum
        body = events.mysql_gtid(
            uuid, number, is_ddl=isinstance(item, Ddl), sequence=self.sequence, timestamp_us=self.now * 1_000_000,
            following_bytes=sum(overhead + len(body) for _, body, _ in bodies), version=self.version,
            checksum=self.log.checksum,
        )  # fmt: skip
        return event_type, body, 0

    def _transaction(self, item: Transaction) -> Iterator[Body]:
        flavor = self.log.flavor
        if flavor == "mysql":
            yield events.QUERY, events.query(Query("BEGIN"), flavor), events.SUPPRESS_USE
        for statement in item.statements:
            if isinstance(statement, Query):
                yield events.QUERY, events.query(statement, flavor), 0
            else:
                yield from self._statement(statement if isinstance(statement, Statement) else Statement([statement]))
        if item.end == "xid":
            yield events.XID, self.xid.to_bytes(8, "little"), 0
        elif item.end:
            yield events.QUERY, events.query(Query(item.end), flavor), events.SUPPRESS_USE

    # --- rows

    def _statement(self, statement: Statement) -> Iterator[Body]:
        if statement.sql is not None:
            yield self._annotation(statement.sql.encode())
        for table in dict.fromkeys(part.table for part in statement.parts):
            body = table_map_body(table, self._table_id(table), self.log.flavor, self.log.metadata)
            yield events.TABLE_MAP, body, 0
        bodies = [body for part in statement.parts for body in self._rows_events(part, statement.rows_per_event)]
        for number, (event_type, head, tail) in enumerate(bodies, 1):
            flags = (_STATEMENT_END if number == len(bodies) else 0) | self.rows_flags
            yield event_type, head + flags.to_bytes(2, "little") + tail, 0

    def _annotation(self, sql: bytes) -> Body:
        if self.log.flavor == "mariadb":
            return events.ANNOTATE_ROWS, sql, 0
        return events.ROWS_QUERY, bytes((min(len(sql), 255),)) + sql, events.IGNORABLE

    def _rows_events(self, part: RowsPart, rows_per_event: int | None) -> Iterator[tuple[int, bytes, bytes]]:
        """Event type, the body before its flags, the body after them."""
        sides = list(zip(*part.rows, strict=True)) if isinstance(part, Update) else [part.rows]
        logged = [logged_columns(part.table, side) for side in sides]
        both = zip(sides, logged, strict=True)
        images = [rows_images(part.table, side, names, self.log.flavor) for side, names in both]
        event_type = events.ROWS_EVENTS[self.log.flavor][type(part).__name__]
        if isinstance(part, Update) and part.partial_json:
            event_type = events.PARTIAL_UPDATE_ROWS
            options = (value_options(part.table, row) for row in sides[1])
            images[1] = [b"".join(pair) for pair in zip(options, images[1], strict=True)]
        rows = [b"".join(pair) for pair in zip(*images, strict=True)]
        tail = (2).to_bytes(2, "little") if self.log.flavor == "mysql" else b""  # length of no extra data
        tail += events.lenenc(len(part.table.columns))
        tail += b"".join(present_bitmap(part.table, names, self.log.flavor) for names in logged)
        for chunk in _chunks(rows, rows_per_event):
            yield event_type, self._table_id(part.table).to_bytes(6, "little"), tail + chunk

    def _table_id(self, table: TableSchema) -> int:
        if table not in self.table_ids:
            self.table_ids[table] = self.next_table_id
            self.next_table_id += 1
        return self.table_ids[table]


def _mariadb_flags(item: Transaction | Ddl) -> int:
    if isinstance(item, Ddl):
        return events.STANDALONE | events.ALLOW_PARALLEL | events.IS_DDL
    return events.ALLOW_PARALLEL | (events.TRANSACTIONAL if item.end == "xid" else 0)


def _chunks(rows: Sequence[bytes], rows_per_event: int | None) -> Iterator[bytes]:
    chunk: list[bytes] = []
    for row in rows:
        size = sum(map(len, chunk)) + len(row)
        if chunk and (len(chunk) == rows_per_event if rows_per_event else size > _ROWS_EVENT_BYTES):
            yield b"".join(chunk)
            chunk = []
        chunk.append(row)
    yield b"".join(chunk)
