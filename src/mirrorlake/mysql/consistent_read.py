"""All tables of a server as they were at one place of its log, while it goes on: a transaction that only reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pymysql

from mirrorlake.core.position import BinlogPosition
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.connection import ServerConnection, ServerLogin, open_session, server_error, server_errors
from mirrorlake.mysql.result_set import ServerSaid, query_batches

LOCK_WAIT_S = 10
"""So long the server may wait for statements that are under way, and others for us, before we give up."""
QUERY_LIMIT_S = 24 * 3600
_SETTINGS = (
    f"SET SESSION wait_timeout = {QUERY_LIMIT_S}",
    f"SET SESSION net_write_timeout = {QUERY_LIMIT_S}",
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION sql_mode = ''",
    f"SET SESSION lock_wait_timeout = {LOCK_WAIT_S}",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
)
_HOLD = "SELECT 1 FROM {} LIMIT 0"
"""Takes a metadata lock to the end of the transaction."""
_START = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
_CHANGED = {1412, 1146, 1054}  # ER_TABLE_DEF_CHANGED, ER_NO_SUCH_TABLE, ER_BAD_FIELD_ERROR


class TableChanged(Exception):
    """DDL has changed the table since: it cannot be read as it was."""


class CurrentRead:
    """All tables of a server as they are when they are asked for. Times are in UTC."""

    def __init__(self, login: ServerLogin):
        """Raises what ``ServerConnection`` raises."""
        self._login, self._session = login, open_session(login, read_timeout_s=QUERY_LIMIT_S)
        try:
            for setting in _SETTINGS:
                self.rows(setting)
        except BaseException:
            self.close()
            raise

    def rows(self, sql: Sql, *values: str) -> list[tuple]:
        """values: for the %s in it. Raises TableChanged for a table that is not there; what ``ServerConnection.query``
        raises."""
        return _rows(self._session, self._login, sql, *values)

    def close(self) -> None:
        if self._session.open:
            self._session._force_close()


class _Holder:
    """Keeps DDL away from tables until the consistent read has them itself."""

    def __init__(self, login: ServerLogin, names: Sequence[tuple[str, str]]):
        self._session = open_session(login)
        try:
            for sql in (*_SETTINGS, "START TRANSACTION READ ONLY", *(_HOLD.format(quote(*name)) for name in names)):
                _rows(self._session, login, sql)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self._session.open:
            self._session._force_close()


class ConsistentRead:
    """position: all transactions before it can be seen, none behind. Times are in UTC.

    MariaDB tells the place of a snapshot. On MySQL a global read lock holds all commits for the moment between the two,
    which needs the privilege RELOAD.
    """

    def __init__(self, login: ServerLogin, *, holding: Sequence[tuple[str, str]] = ()):
        """holding: tables that no DDL changes from the position on until the end, which has to wait meanwhile.

        Raises TableChanged for one that is not there; what ``ServerConnection`` raises; RetryableError ``server-lost``
        when a lock is not to be had.
        """
        self._login, control = login, ServerConnection(login)
        try:
            self.identity, self._flavor, status_sql = control.identity, control.flavor, control.log_status_sql
        finally:
            control.close()
        self._session = open_session(login, read_timeout_s=QUERY_LIMIT_S)
        holder = _Holder(login, holding) if holding else None
        try:
            self.position = self._begin(status_sql)
            for name in holding:
                self.rows(_HOLD.format(quote(*name)))
        except BaseException:
            self.close()
            raise
        finally:
            if holder:
                holder.close()

    def rows(self, sql: Sql, *values: str) -> list[tuple]:
        """values: for the %s in it. Raises TableChanged; what ``ServerConnection.query`` raises."""
        return _rows(self._session, self._login, sql, *values)

    def batches(self, sql: Sql, types: pa.Schema) -> Iterator[pa.RecordBatch]:
        """The same, a column at a time. types: of the columns, text or bytes."""
        try:
            with server_errors(self._login):
                yield from query_batches(self._session, self._login, sql, types)
        except ServerSaid as error:
            number, text = error.args
            if number in _CHANGED:
                raise TableChanged from None
            raise server_error(number, text, self._login) from None

    def close(self) -> None:
        if self._session.open:
            self._session._force_close()

    def _begin(self, status_sql: Sql) -> BinlogPosition:
        for setting in _SETTINGS:
            self.rows(setting)
        if self._flavor == "mariadb":
            self.rows(_START)
            told = dict(self.rows("SHOW STATUS LIKE 'binlog_snapshot_%'"))
            log_file, offset = told.get("Binlog_snapshot_file"), told.get("Binlog_snapshot_position")
        else:
            self.rows("FLUSH TABLES WITH READ LOCK")
            self.rows(_START)
            status = self.rows(status_sql)
            self.rows("UNLOCK TABLES")
            log_file, offset = status[0][:2] if status else (None, None)
        if not log_file:
            raise RefusedError("binlog-off", f"{self._login}: the server writes no binary log")
        return BinlogPosition(log_file, int(offset))


def _rows(session: pymysql.Connection, login: ServerLogin, sql: Sql, *values: str) -> list[tuple]:
    with server_errors(login):
        try:
            with session.cursor() as cursor:
                cursor.execute(sql, values or None)
                return list(cursor.fetchall())
        except pymysql.err.MySQLError as error:
            if error.args and error.args[0] in _CHANGED:
                raise TableChanged from None
            raise
