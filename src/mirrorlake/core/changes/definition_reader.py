"""Read the definitions from a log's DDL, and those that only its table maps have, in log order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from operator import attrgetter

import numpy as np
import pyarrow as pa

from mirrorlake.core.binlog.events import Query, parse_format_description, parse_query
from mirrorlake.core.binlog.rows.layout import RowLayouts
from mirrorlake.core.binlog.rows.table_map_cache import TableSlots
from mirrorlake.core.changes.bronze_events import BronzeEvents, of_types
from mirrorlake.core.changes.kept_text import with_kept_reasons
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.changes.recovered_ddl import agreed, possible_sessions
from mirrorlake.core.constants import EventFlag, EventType
from mirrorlake.core.ddl.effect.context import refuse
from mirrorlake.core.ddl.effect.hidden_columns import with_hidden
from mirrorlake.core.ddl.effect.interpret import interpret
from mirrorlake.core.ddl.effect.override import Answer, definition_changes, put_in_place
from mirrorlake.core.ddl.effect.server_texts import without_lost_characters
from mirrorlake.core.ddl.effect.suspects import LongStatement, outside_comments
from mirrorlake.core.ddl.parse.create import may_be_of_server
from mirrorlake.core.ddl.parse.lexer import with_signs
from mirrorlake.core.ddl.parse.session import LoggedSession, SourceServer
from mirrorlake.core.ddl.parse.statements import STATEMENT_DML
from mirrorlake.core.ddl.parse.tokens import NO_CHARACTER
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.position import OFFSET_BITS
from mirrorlake.core.schema.charsets import (
    OTHER,
    charset_of_collation_id,
    decode_text,
    has_ascii_bytes_for_ascii_alone,
)
from mirrorlake.core.schema.column_patterns import NO_COLUMNS, ColumnPatterns
from mirrorlake.core.schema.engines import EngineOf, engine_not_known
from mirrorlake.core.schema.history import SEEN, DefinitionChange, Definitions
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN, NameCase
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.timeline import Timeline

QUERY, FORMAT_DESCRIPTION = 2, 15
_DEFINING = pa.array([QUERY, FORMAT_DESCRIPTION, int(EventType.TABLE_MAP)], pa.int16())
_LAST_MICROSECOND = 999_999
_MOST_WITHOUT_COMMENTS = 64 << 20
"""Of the comments of a longer statement each word counts. MySQL's own limit by default."""
_READ_AS_UTF8 = (None, "utf8mb3", "utf8mb4")


class DefinitionReader:
    """Follows one log. ``definitions``: those in force at the end of the log read so far.

    ddl_lsn: of the newest change from a DDL. Every DDL up to there is in ``definitions``; it must not be
    interpreted again on top of its own effect. refused_maps: in the range that was read last, by table, why the rows of
    the first unusable table map are refused.
    """

    def __init__(
        self,
        flavor: str,
        server_version: Callable[[int], int | None] = lambda log_file: None,
        answers: Iterable[Answer] = (),
        name_case: NameCase = AS_WRITTEN,
        default_engine: str | None = None,
        engine_of: EngineOf = engine_not_known,
        hidden: ColumnPatterns = NO_COLUMNS,
    ):
        """server_version: of the server that wrote a log file (its lsn without the offset) whose first event was read
        before. answers: to statements that are read from here on, and those positioned there between transactions."""
        self._flavor, self._server_version, self._answers = flavor, server_version, tuple(answers)
        self._between = sorted((a for a in self._answers if a.is_between_transactions), key=attrgetter("lsn", "number"))
        self._name_case, self._default_engine, self._engine_of = name_case, default_engine, engine_of
        self._hidden = hidden
        self.refused_maps: dict[TableName, tuple[str, str]] = {}
        self._versions: dict[int, int | None] = {}
        self.definitions, self.ddl_lsn = Definitions(), -1
        self._timeline, self._mapped = Timeline(), set[TableName]()

    def take(self, lsn: int, change: DefinitionChange) -> None:
        """Continue from a change that was read before. Call it in log order."""
        self.definitions.apply([change])
        if change.concerns_table:
            self.ddl_lsn = max(self.ddl_lsn, lsn)
            self._timeline.follow(lsn, change, self.definitions)

    def read(self, events: Iterable[pa.RecordBatch], end: int | None = None) -> list[tuple[int, DefinitionChange]]:
        """Return new changes from DDL and table maps of a range (bronze batches in log order), each with its lsn.

        events: iterated twice, unless they are an iterator: then the defining ones are all held.
        end: its last lsn; None: answers between transactions do not matter.
        Raises RefusedError for a malformed event of a table map or statement.
        """
        new = []
        self._mapped.clear()
        self.refused_maps.clear()
        events = list(_defining(events)) if isinstance(events, Iterator) else events
        for lsn, found in self._in_order(events, -1 if end is None else end):
            change = with_hidden(found, self.definitions.get(*found.name), self._hidden)
            self.take(lsn, change)
            new.append((lsn, change))
        return new

    def _in_order(self, events: Iterable[pa.RecordBatch], end: int) -> Iterator[tuple[int, DefinitionChange]]:
        for batch in map(BronzeEvents, _defining(events)):
            self._note_versions(batch)
            yield from self._replayed(batch)
            del batch  # it may be long, as the next one
        yield from self._between_transactions(end)
        for batch in map(BronzeEvents, _defining(events)):
            yield from self._seen(batch)

    def _between_transactions(self, end: int) -> Iterator[tuple[int, DefinitionChange]]:
        """Yield the changes of the answers between transactions up to ``end``."""
        while self._between and self._between[0].lsn <= end:
            answer = self._between.pop(0)
            found = definition_changes(answer, self._flavor, self.definitions, self._name_case)
            yield from ((answer.lsn, change) for change in found)

    def timeline(self, lsns: LsnRange) -> Timeline:
        """The timeline for decoding the range that was read last."""
        return self._timeline.of_range(lsns, self._mapped)

    def _note_versions(self, events: BronzeEvents) -> None:
        for i in np.flatnonzero(events.event_type == FORMAT_DESCRIPTION):
            version = parse_format_description(events.body(int(i))).version_number
            self._versions[int(events.lsn[i]) >> OFFSET_BITS] = version

    def _charset(self, collation_id: int | None) -> str | None:
        return charset_of_collation_id(collation_id, self._flavor) if collation_id else None

    def _version(self, lsn: int) -> int | None:
        log_file = lsn >> OFFSET_BITS
        if log_file not in self._versions:
            self._versions[log_file] = self._server_version(log_file)
        return self._versions[log_file]

    def _replayed(self, events: BronzeEvents) -> Iterator[tuple[int, DefinitionChange]]:
        for i in np.flatnonzero((events.event_type == QUERY) & (events.tx_lsn > self.ddl_lsn)).tolist():
            query = _query(events, i)
            if query.statement in ("BEGIN", "COMMIT", "ROLLBACK") or not query.is_in_force:
                continue
            yield from self._between_transactions(int(events.lsn[i]))
            server = self._server(int(events.lsn[i]))
            session = self._session(query, events, i, server.version)
            readings = possible_sessions(query, session, self._flavor)
            found = agreed((self._effect(text, server, of) for text, of in readings), self.definitions)
            answers = [answer for answer in self._answers if answer.lsn == events.lsn[i]]
            whole = replace(session, has_failed=False, connection_charset=None, client_charset=None)
            read = partial(interpret, server=server, session=whole, definitions=self.definitions)
            for change in put_in_place(found, answers, self.definitions, read):
                # rows changed by a statement: the table ends before the whole transaction, so that gold cuts none
                lsns = events.tx_lsn if change.code == STATEMENT_DML else events.lsn
                yield int(lsns[i]), change

    def _effect(self, query: Query, server: SourceServer, session: LoggedSession) -> list[DefinitionChange]:
        read = partial(interpret, server=server, session=session, definitions=self.definitions)
        found = read(query.statement, whole=_whole(query, server, session) if query.is_cut else None)
        if (in_utf8 := _in_utf8(query, session.client_charset)) is not None:
            both = {change.name: change for change in (*found, *read(in_utf8))}
            found = [_in_unclear_charset(change) for change in both.values()]
        found = list(without_lost_characters(found, query.statement, self._flavor))
        return with_kept_reasons(found, query.statement, self._hidden)

    def _server(self, lsn: int) -> SourceServer:
        return SourceServer(self._flavor, self._version(lsn), self._name_case, self._default_engine, self._engine_of)

    def _session(self, query: Query, events: BronzeEvents, i: int, version: int | None) -> LoggedSession:
        client, connection, server = (self._charset(number) for number in query.charset or (None, None, None))
        return LoggedSession(
            query.database,
            query.sql_mode or 0,
            server_charset=server,
            database_charset=self._charset(query.default_charset_id),
            connection_charset=None if connection == OTHER else connection,
            client_charset=client,
            explicit_timestamps=query.explicit_timestamps(self._flavor),
            now=_moment(query, int(events.timestamp[i])),
            time_zone=query.time_zone,
            has_failed=query.error_code != 0,
            has_made_table=query.has_made_table(self._flavor, version),
            may_use_temporary=events.has_flag(i, EventFlag.THREAD_SPECIFIC),
            has_invalid_codes=_has_invalid_codes(query, client),
        )

    def _seen(self, events: BronzeEvents) -> Iterator[tuple[int, DefinitionChange]]:
        """Yield definitions of table maps that no DDL gave."""
        layouts = RowLayouts(self._hidden.key)
        slots = TableSlots(self._flavor, layouts, self._timeline, self._name_case, self._hidden).resolve(
            events.buf, events.offset, events.length, events.trailer, events.event_type, events.lsn
        )
        maps = np.flatnonzero(events.event_type == EventType.TABLE_MAP)
        first_of_slot = {int(slots[i]): int(i) for i in maps[::-1]}
        for slot, i in first_of_slot.items():
            table = layouts.tables[slot]
            name = TableName(table.map.database, table.map.table)
            self._mapped.add(name)
            if table.refusal:
                self.refused_maps.setdefault(name, table.refusal)
            if table.schema is not None and table.schema_id not in self.definitions.schema_ids:
                yield int(events.lsn[i]), DefinitionChange(SEEN, *name, table.schema)


def _defining(events: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The events that a reader looks at, opened."""
    return filter(len, map(partial(of_types, event_types=_DEFINING), open_events(events)))


def _query(events: BronzeEvents, i: int) -> Query:
    """The statement of an event. MariaDB empties MEMORY tables after a restart by one in UTF-8, in any session."""
    query = parse_query(events.body_view(i))
    if query.is_cut or not (query.statement.startswith("TRUNCATE ") and events.has_flag(i, EventFlag.SUPPRESS_USE)):
        return query
    return replace(query, charset=None, statement=bytes(query.raw).decode("utf-8", "replace"))


def _whole(query: Query, server: SourceServer, session: LoggedSession) -> LongStatement:
    """All of a long statement. There is a character for each byte while comments are found, so that no long text is
    held."""
    n_bytes, client = len(query.raw), session.client_charset
    if n_bytes > _MOST_WITHOUT_COMMENTS or not has_ascii_bytes_for_ascii_alone(client):
        return LongStatement(n_bytes, query.pieces())
    pieces = outside_comments(str(query.raw, "latin-1"), server, replace(session, client_charset=None))
    return LongStatement(n_bytes, (with_signs(query.decoded(piece.encode("latin-1")), client) for piece in pieces))


def _in_utf8(query: Query, client: str | None) -> str | None:
    """The text of a CREATE TABLE that may be in UTF-8, although its session has another character set; else None. So
    are those that the server writes for CREATE TABLE .. SELECT, or LIKE a temporary table (measured: MySQL 9.7,
    MariaDB 10.11 and 11.8)."""
    may_differ = client not in _READ_AS_UTF8 and not query.statement.isascii() and not query.is_cut
    if not (may_differ and may_be_of_server(query.statement)):
        return None
    try:
        return bytes(query.raw).decode()
    except UnicodeDecodeError:
        return None


def _has_invalid_codes(query: Query, client: str | None) -> bool:
    return NO_CHARACTER in query.statement and decode_text(bytes(query.raw), client or "utf8mb4") is None


def _in_unclear_charset(change: DefinitionChange) -> DefinitionChange:
    """The refusal of a new table whose CREATE TABLE can be read in two ways."""
    if change.action != "create":
        return change
    return refuse(change.name, "ddl-unsupported", "CREATE TABLE in UTF-8 or in its session's character set")


def _moment(query: Query, seconds: int) -> str:
    """The time of a statement: ISO, UTC. seconds: of its event's header."""
    microseconds = min(query.microseconds, _LAST_MICROSECOND)
    moment = datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=microseconds, tzinfo=None)
    return moment.isoformat(sep=" ")
