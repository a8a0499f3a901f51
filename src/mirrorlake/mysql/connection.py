"""Query a server: one session at a time, opened when needed, and the questions that every job has for a server."""

from __future__ import annotations

import re
import time

from mirrorlake.core.constants import MOST_GTID_SET_BYTES
from mirrorlake.core.gtid import GtidSet, parse_gtid_set
from mirrorlake.core.position import BinlogPosition, is_log_name
from mirrorlake.core.sql_text import Sql, server_literal
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.same_server import ServerFacts, open_session
from mirrorlake.mysql.server_errors import protocol_error
from mirrorlake.mysql.session import Session

IDLE_LIMIT_S = 60
"""Reconnect after this much idle time: firewalls and wait_timeout drop idle connections silently."""


class ServerConnection:
    """One session with a server; opened when first needed and again after it was idle.

    Every method raises what ``open_session`` raises, ``server-protocol`` also for an answer of another shape.
    """

    def __init__(self, login: ServerLogin, *, receive_buffer_bytes: int = 0):
        self.login, self._receive_buffer_bytes = login, receive_buffer_bytes
        self._session: Session | None = None
        self._facts: ServerFacts | None = None
        self._used_s = 0.0

    @property
    def session(self) -> Session:
        """The open session."""
        if self._session is not None and (not self._session.open or time.monotonic() - self._used_s > IDLE_LIMIT_S):
            self.close()
        if self._session is None:
            self._session, self._facts = open_session(self.login, receive_buffer_bytes=self._receive_buffer_bytes)
        self._used_s = time.monotonic()
        return self._session

    def query(self, sql: Sql, n_columns: int = 1) -> list[tuple]:
        """Run a query. n_columns: minimum number of columns of the answer."""
        rows = self.session.rows(sql)
        if any(len(row) < n_columns for row in rows):
            raise protocol_error(self.login, "less columns than were asked for")
        return rows

    def number(self, name: str) -> int | None:
        """A global variable that is a number; None: this server does not have it."""
        text = self.variable(name)
        if text is not None and not re.fullmatch("[0-9]{1,18}", text):
            raise protocol_error(self.login, f"{name} is no number")
        return None if text is None else int(text)

    def cell(self, sql: Sql) -> str:
        """The only value of a query with one row; NULL as an empty text."""
        rows = self.query(sql)
        if len(rows) != 1 or len(rows[0]) != 1:
            raise protocol_error(self.login, "not the one value that was asked for")
        return "" if rows[0][0] is None else str(rows[0][0])

    def variable(self, name: str) -> str | None:
        """A global variable as text; None: this server does not have it."""
        rows = self.query(f"SHOW GLOBAL VARIABLES LIKE {server_literal(name)}", 2)
        return str(rows[0][1]) if rows else None

    @property
    def facts(self) -> ServerFacts:
        """Of the server that answered; asked once per session."""
        if self._facts is None:
            _ = self.session
        assert self._facts, "an open session has them"
        return self._facts

    @property
    def server_version(self) -> str:
        return self.facts.version

    @property
    def flavor(self) -> str:
        return self.facts.flavor

    @property
    def version_numbers(self) -> tuple[int, ...]:
        """(major, minor, patch)"""
        return self.facts.version_numbers

    @property
    def identity(self) -> str:
        """See ``ServerFacts``."""
        return self.facts.identity

    def log_sizes(self) -> dict[str, int]:
        """Bytes of each binlog file, oldest first."""
        found = log_positions(self.login, self.query("SHOW BINARY LOGS"))
        return {position.log_file: position.offset for position in found}

    def gtids(self, text: str) -> GtidSet:
        """Parse the GTID set in the text of an answer."""
        if len(text) > MOST_GTID_SET_BYTES:
            raise protocol_error(self.login, f"a GTID set of {len(text):,} characters")
        try:
            return parse_gtid_set(self.flavor, text)
        except UsageError:
            raise protocol_error(self.login, "a GTID set that is none") from None

    @property
    def log_status_sql(self) -> Sql:
        """See ``ServerFacts``."""
        return self.facts.log_status_sql

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.hang_up()


def log_end(login: ServerLogin, status: list[tuple]) -> BinlogPosition:
    """The end of the log. status: the rows of ``log_status_sql``. Raises RefusedError ``binlog-off``."""
    if not status or not status[0][0]:
        raise RefusedError("binlog-off", f"{login}: the server writes no binary log")
    return log_positions(login, status[:1])[0]


def log_positions(login: ServerLogin, rows: list[tuple]) -> list[BinlogPosition]:
    """Make positions of the rows of SHOW BINARY LOGS: file and number of bytes.

    The number is read from its text: to make an integer of a decimal such as 1e999999999 takes hours.
    """
    try:
        found = [BinlogPosition(str(row[0]), int(str(row[1]))) for row in rows]
        if all(0 <= position.offset < 1 << 63 and is_log_name(position.log_file) for position in found):
            return found
    except (IndexError, TypeError, ValueError, UsageError):
        pass
    raise protocol_error(login, "a position in the log that is none")
