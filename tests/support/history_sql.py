"""A history as SQL, for a real server: one statement per row, in the history's order and transactions."""

from __future__ import annotations

from collections.abc import Iterable

import pymysql

from tests.support.binlog_spec import Ddl, Rotate, Transaction
from tests.support.histories import History
from tests.support.oracle import ExpectedChange, ExpectedTransaction, TableName, primary_keys
from tests.support.random_tables import quoted
from tests.support.row_change import DELETE, INSERT

_SESSION = ("SET time_zone = '+00:00'", "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'")


def run_history(connection: pymysql.Connection, history: History) -> None:
    """connection: utf8mb4, autocommit. The session's time zone and sql_mode are changed."""
    expected = iter(history.transactions)
    with connection.cursor() as cursor:
        for sql in _SESSION:
            cursor.execute(sql)
        for item in history.items:
            if isinstance(item, Rotate):
                cursor.execute("FLUSH BINARY LOGS")
            elif isinstance(item, Ddl):
                next(expected)
                _run_ddl(cursor, item.text, item.database)
            elif isinstance(item, Transaction):
                _run_transaction(cursor, next(expected), primary_keys(item))


def _run_ddl(cursor, text: str, database: str) -> None:
    if not text.startswith("CREATE DATABASE"):
        cursor.execute(f"USE {quoted(database)}")
    cursor.execute(text)


def _run_transaction(cursor, transaction: ExpectedTransaction, keys: dict[TableName, tuple[str, ...]]) -> None:
    cursor.execute("BEGIN")
    for change in transaction.changes:
        sql, args = _statement(change, keys[change.table])
        if cursor.execute(sql, args) != 1:
            raise AssertionError(f"{change.op} on {change.table} did not change one row")
    cursor.execute("COMMIT")


def _statement(change: ExpectedChange, key: tuple[str, ...]) -> tuple[str, list]:
    table = quoted(*change.table)
    where = " AND ".join(f"{quoted(name)} = %s" for name in key)
    if change.op == INSERT:
        names = ", ".join(map(quoted, change.after))
        return f"INSERT INTO {table} ({names}) VALUES ({_marks(change.after)})", list(change.after.values())
    identity = [change.before[name] for name in key]
    if change.op == DELETE:
        return f"DELETE FROM {table} WHERE {where}", identity
    values = ", ".join(f"{quoted(name)} = %s" for name in change.after)
    return f"UPDATE {table} SET {values} WHERE {where}", [*change.after.values(), *identity]


def _marks(names: Iterable[str]) -> str:
    return ", ".join("%s" for _ in names)
