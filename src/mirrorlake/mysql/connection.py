"""Query a server: one session at a time, opened when needed, and the questions that every job has for a server."""

from __future__ import annotations

import re
import time
from functools import cached_property

from mirrorlake.core.gtid import GtidSet, parse_gtid_set
from mirrorlake.core.position import BinlogPosition, is_log_name
from mirrorlake.core.sql_text import Sql, server_literal
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.server_errors import protocol_error
from mirrorlake.mysql.session import Session

IDLE_LIMIT_S = 60
"""Reconnect after this much idle time: firewalls and wait_timeout drop idle connections silently."""


class ServerConnection:
    """One session with a server; opened when first needed and again after it was idle.

    Every method raises what ``Session`` raises, ``server-protocol`` also for an answer of another shape.
    """

    def __init__(self, login: ServerLogin, *, receive_buffer_bytes: int = 0):
        self.login, self._receive_buffer_bytes = login, receive_buffer_bytes
        self._session: Session | None = None
        self._used_s = 0.0

    @property
    def session(self) -> Session:
        """The open session."""
        if self._session is not None and (not self._session.open or time.monotonic() - self._used_s > IDLE_LIMIT_S):
            self.close()
        if self._session is None:
            self._session = Session(self.login, receive_buffer_bytes=self._receive_buffer_bytes)
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

    @cached_property
    def server_version(self) -> str:
        return self.cell("SELECT VERSION()")

    @cached_property
    def flavor(self) -> str:
        is_mariadb = "mariadb" in f"{self.server_version} {self.variable('version_comment')}".lower()
        return "mariadb" if is_mariadb else "mysql"

    @cached_property
    def version_numbers(self) -> tuple[int, ...]:
        """(major, minor, patch)"""
        found = re.match(r"([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})", self.server_version.removeprefix("5.5.5-"))
        return tuple(map(int, found.groups())) if found else (0, 0, 0)

    @cached_property
    def identity(self) -> str:
        """``mysql:<server_uuid>``; ``mariadb:<server_uid>``, before 10.10 ``mariadb:<server_id>@<hostname>:<port>``."""
        unique = self.variable("server_uuid") if self.flavor == "mysql" else self.variable("server_uid")
        if unique is None:
            unique = f"{self.variable('server_id')}@{self.variable('hostname')}:{self.variable('port')}"
        return f"{self.flavor}:{unique}"

    def log_sizes(self) -> dict[str, int]:
        """Bytes of each binlog file, oldest first."""
        found = log_positions(self.login, self.query("SHOW BINARY LOGS"))
        return {position.log_file: position.offset for position in found}

    def gtids(self, text: str) -> GtidSet:
        """Parse the GTID set in the text of an answer."""
        try:
            return parse_gtid_set(self.flavor, text)
        except UsageError:
            raise protocol_error(self.login, "a GTID set that is none") from None

    @cached_property
    def log_status_sql(self) -> Sql:
        """The statement that shows the end of the log: file, offset, and on MySQL as the fifth column the GTIDs."""
        is_new = self.flavor == "mysql" and self.version_numbers >= (8, 2, 0)
        return "SHOW BINARY LOG STATUS" if is_new else "SHOW MASTER STATUS"

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
    """Make positions of the rows of SHOW BINARY LOGS: file and number of bytes."""
    try:
        found = [BinlogPosition(str(row[0]), int(row[1])) for row in rows]
        if all(0 <= position.offset < 1 << 63 and is_log_name(position.log_file) for position in found):
            return found
    except (IndexError, TypeError, ValueError, UsageError):
        pass
    raise protocol_error(login, "a position in the log that is none")
