"""Read all tables of a server as of one position in its log, in a read-only transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from mirrorlake.core.position import BinlogPosition
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.connection import log_end
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.result_set import query_batches
from mirrorlake.mysql.same_server import ServerFacts, open_session
from mirrorlake.mysql.server_errors import ServerSaid, server_error
from mirrorlake.mysql.session import Session

LOCK_WAIT_S = 10
"""Seconds that the server may wait for running statements, and others for us, before we give up."""
QUERY_LIMIT_S = 24 * 3600
"""Seconds for a query that reads all rows of a table; every other query has the limit of ``Session``."""
_NO_QUERY_LIMIT: Sql = " /*!50708 , max_execution_time = 0 */ /*M!100101 , max_statement_time = 0 */"
"""Of the server; each flavor takes the other one's for a comment."""
_SETTINGS = (
    f"SET SESSION wait_timeout = {QUERY_LIMIT_S}",
    f"SET SESSION net_write_timeout = {QUERY_LIMIT_S}",
    "SET SESSION time_zone = '+00:00'",
    "SET SESSION sql_mode = ''",
    f"SET SESSION lock_wait_timeout = {LOCK_WAIT_S}{_NO_QUERY_LIMIT}",
    "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
)
_HOLD = "SELECT 1 FROM {} LIMIT 0"
"""Takes a metadata lock to the end of the transaction."""
_START = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
_CHANGED = {1412, 1146, 1054}  # ER_TABLE_DEF_CHANGED, ER_NO_SUCH_TABLE, ER_BAD_FIELD_ERROR


class TableChanged(RefusedError):
    """DDL has changed the table since: its former rows cannot be read.

    Its code is for a server that answers so to what asks for no table, or for one whose DDL is blocked.
    """

    def __init__(self):
        super().__init__("server-protocol", "an error about a table or column at a moment when no DDL can have run")


class CurrentRead:
    """Reads tables of a server in their present state. Times are in UTC."""

    def __init__(self, login: ServerLogin):
        """Connect. Raises what ``open_session`` raises."""
        self._session, _ = open_session(login)
        try:
            for setting in _SETTINGS:
                self.rows(setting)
        except BaseException:
            self.close()
            raise

    def rows(self, sql: Sql, *values: str) -> list[tuple]:
        """Run a query. values: for its %s. Raises TableChanged for a table that does not exist; what ``Session``
        raises."""
        return _rows(self._session, sql, *values)

    def rows_of_scan(self, sql: Sql) -> list[tuple]:
        """Run a query that reads a whole table. Raises what ``rows`` raises."""
        return _rows(self._session, sql, silence_limit_s=QUERY_LIMIT_S)

    def close(self) -> None:
        self._session.hang_up()


class _Holder:
    """Blocks DDL on tables until the consistent read itself has their locks."""

    def __init__(self, login: ServerLogin, names: Sequence[TableName]):
        self._session, _ = open_session(login)
        try:
            for sql in (*_SETTINGS, "START TRANSACTION READ ONLY", *(_HOLD.format(quote(*name)) for name in names)):
                _rows(self._session, sql)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._session.hang_up()


class ConsistentRead:
    """position: all transactions before it are visible, none after it. Times are in UTC.

    MariaDB reports the position of a consistent read. On MySQL a global read lock blocks all commits between the start
    of the read and the query for the position, which needs the privilege FLUSH_TABLES (before 8.0.23 RELOAD).
    """

    def __init__(self, login: ServerLogin, *, holding: Sequence[TableName] = ()):
        """holding: tables whose DDL must wait from the position until the end.

        Raises TableChanged for one that does not exist; what ``open_session`` raises; RetryableError
        ``server-lost`` if a lock cannot be obtained.
        """
        self._login, holder = login, None
        self._session, server = open_session(login)
        self.identity = server.identity
        try:
            holder = _Holder(login, holding) if holding else None
            self.position = self._begin(server)
            for name in holding:
                self.rows(_HOLD.format(quote(*name)))
        except BaseException:
            self.close()
            raise
        finally:
            if holder:
                holder.close()

    def rows(self, sql: Sql, *values: str) -> list[tuple]:
        """Run a query. values: for its %s. Raises TableChanged; what ``Session`` raises."""
        return _rows(self._session, sql, *values)

    def rows_of_scan(self, sql: Sql) -> list[tuple]:
        """Run a query that reads a whole table. Raises what ``rows`` raises."""
        return _rows(self._session, sql, silence_limit_s=QUERY_LIMIT_S)

    def batches(self, sql: Sql, types: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Run a query, and yield its rows as columns. types: of the columns, text or bytes."""
        try:
            yield from query_batches(self._session, sql, types)
        except ServerSaid as error:
            number, text = error.args
            if number in _CHANGED:
                raise TableChanged from None
            raise server_error(number, text, self._login) from None

    def close(self) -> None:
        self._session.hang_up()

    def _begin(self, server: ServerFacts) -> BinlogPosition:
        for setting in _SETTINGS:
            self.rows(setting)
        if server.flavor == "mariadb":
            self.rows(_START)
            found = {row[0]: row[-1] for row in self.rows("SHOW STATUS LIKE 'binlog_snapshot_%'")}
            status = [(found.get("Binlog_snapshot_file"), found.get("Binlog_snapshot_position"))]
        else:
            self.rows("FLUSH TABLES WITH READ LOCK")
            self.rows(_START)
            status = self.rows(server.log_status_sql)
            self.rows("UNLOCK TABLES")
        return log_end(self._login, status)


def _rows(session: Session, sql: Sql, *values: str, silence_limit_s: float | None = None) -> list[tuple]:
    try:
        return session.rows(sql, *values, expected=_CHANGED, silence_limit_s=silence_limit_s)
    except ServerSaid:
        raise TableChanged from None
