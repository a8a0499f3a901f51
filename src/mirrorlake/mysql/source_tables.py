"""The tables that a server has, and how it describes them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import NoneType

from mirrorlake.core.constants import SYSTEM_DATABASES
from mirrorlake.core.schema.column_patterns import ColumnName
from mirrorlake.core.schema.keys import parents_first
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import Sql, quote, server_literal
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.shown_texts import Ask, with_all_characters

_SYSTEM = ", ".join(server_literal(name) for name in sorted(SYSTEM_DATABASES))
_TABLES = f"""
    FROM information_schema.TABLES
    WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND TABLE_SCHEMA NOT IN ({_SYSTEM})
"""  # views and sequences have other types
_NAMES = f"SELECT TABLE_SCHEMA, TABLE_NAME {_TABLES}"
_LIST = f"SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE, DATA_LENGTH {_TABLES}"
_PARENTS = """
    SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME
    FROM information_schema.KEY_COLUMN_USAGE WHERE REFERENCED_TABLE_NAME IS NOT NULL AND ORDINAL_POSITION = 1
"""  # MariaDB shows REFERENTIAL_CONSTRAINTS only to users who may change the table
_CHARSETS = f"""
    SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME FROM information_schema.SCHEMATA
    WHERE SCHEMA_NAME NOT IN ({_SYSTEM})
"""
_TABLE: tuple[Sql, ...] = ("TABLE_SCHEMA", "TABLE_NAME")
PAGE_ROWS, MOST_PAGES = 30_000, 16
"""Five names of a row have at most 960 bytes, so that a page is below the limit of ``Session``."""
MOST_NAME_BYTES = 96 << 20
"""Of a list, in memory; a name that equals the one above it is held once and counts once."""
_NAME_LENGTH = 100
"""Of names that servers show: 64 characters, or more with a prefix."""
_VERSIONED_ENGINES = ("innodb", "rocksdb")


@dataclass(frozen=True, slots=True)
class SourceTable:
    """engine: in lower case. n_bytes: of data, approximately. parents: tables that its foreign keys name."""

    database: str
    table: str
    engine: str
    n_bytes: int
    parents: frozenset[TableName]

    @property
    def name(self) -> TableName:
        return TableName(self.database, self.table)

    @property
    def has_versions(self) -> bool:
        """Does the engine show a transaction the rows as they were when it began?"""
        return self.engine in _VERSIONED_ENGINES


class ListTooLong(RefusedError):
    """The server has more tables, foreign keys or databases than we list."""


def list_tables(ask: Ask, named: Callable[[str], str] = str) -> list[SourceTable]:
    """List the tables with rows of users, by name. named: gives the name that a database or table has here."""
    named, lower = lru_cache(64)(named), lru_cache(64)(str.lower)
    parents: dict[TableName, set[TableName]] = {}
    for row in _pages(ask, _PARENTS, (*_TABLE, "CONSTRAINT_NAME"), (str, str, str, str, str)):
        database, table, _, *parent = map(named, row)
        parents.setdefault(TableName(database, table), set()).add(TableName(*parent))
    tables = _pages(ask, _LIST, _TABLE, (str, str, (str, NoneType), (int, NoneType)))
    return [
        SourceTable(
            database, table, lower(engine or ""), size or 0, frozenset(parents.pop(TableName(database, table), ()))
        )
        for (database, table), (engine, size) in ((map(named, row[:2]), row[2:]) for row in tables)
    ]


def table_names(ask: Ask, named: Callable[[str], str] = str) -> set[TableName]:
    """The names of the same tables, by queries that open none of them."""
    named = lru_cache(64)(named)
    return {TableName(*map(named, row)) for row in _pages(ask, _NAMES, _TABLE, (str, str))}


def column_names(ask: Ask, name: TableName) -> set[ColumnName]:
    """The names of a table's columns."""
    rows = typed_rows(ask, f"SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE {_is(name)}", (str,))
    return {ColumnName(name, column) for (column,) in rows}


def ask_engine(login: ServerLogin, database: str, table: str) -> str | None:
    """A table's engine, in lower case; None: it does not exist. Raises what ``ServerConnection`` raises."""
    connection = ServerConnection(login)
    try:
        found = connection.query(
            f"SELECT ENGINE FROM information_schema.TABLES WHERE {_is(TableName(database, table))}"
        )
    finally:
        connection.close()
    return str(found[0][0] or "").lower() or None if found else None


def after_parents(tables: list[SourceTable]) -> Iterator[SourceTable]:
    """Yield each table after the tables that its foreign keys name, unless these form a circle."""
    named = {table.name: table for table in tables}
    ordered, others = parents_first({name: table.parents - {name} for name, table in named.items()})
    yield from map(named.__getitem__, (*ordered, *others))


def create_statement(ask: Ask, name: TableName, flavor: str) -> str:
    """The CREATE TABLE that the server shows now, with all its characters."""
    rows = ask(f"SHOW CREATE TABLE {quote(*name)}")
    if not rows or len(rows[0]) < 2 or not isinstance(rows[0][1], str):
        raise _unexpected()
    return with_all_characters(ask, name, rows[0][1], flavor)


def database_charsets(ask: Ask) -> dict[str, str]:
    """Return database -> character set of its new tables."""
    return dict(_pages(ask, _CHARSETS, ("SCHEMA_NAME",), (str, str)))


def _is(name: TableName) -> Sql:
    return f"TABLE_SCHEMA = {server_literal(name.database)} AND TABLE_NAME = {server_literal(name.table)}"


def _pages(ask: Ask, select: Sql, key: tuple[Sql, ...], kinds: tuple) -> Iterator[tuple]:
    """The rows of a query in the order of its first columns, the key, by as many queries as bounded answers need.

    Names are compared as bytes: MariaDB's order has ``T`` and ``t`` as equal. Raises ListTooLong.
    """
    order, after = ", ".join(f"CAST({name} AS BINARY)" for name in key), ""
    above, left = kinds, MOST_NAME_BYTES
    for _ in range(MOST_PAGES):
        page = typed_rows(ask, f"{select} {after} ORDER BY {order} LIMIT {PAGE_ROWS}", kinds)
        for row in page:
            left -= sum(sys.getsizeof(cell) for cell, last in zip(row, above, strict=True) if cell != last)
            if left < 0:
                raise ListTooLong("server-protocol", "the names of the server's tables take too much memory")
            yield row
            above = row
        if len(page) < PAGE_ROWS:
            return
        last = ", ".join(f"CAST({server_literal(name)} AS BINARY)" for name in page[-1][: len(key)])
        after = f"AND ({order}) > ({last})"
    what = f"the server has more than {MOST_PAGES * PAGE_ROWS:,} tables, foreign keys or databases"
    raise ListTooLong("server-protocol", what)


def typed_rows(ask: Ask, sql: Sql, kinds: tuple) -> list[tuple]:
    """The rows of a query whose columns have these types. Raises RefusedError ``server-protocol`` for others."""
    rows = ask(sql)
    if len(rows) <= PAGE_ROWS and all(len(row) == len(kinds) and all(map(_fits, row, kinds)) for row in rows):
        return rows
    raise _unexpected()


def _fits(cell: object, kind: type | tuple[type, ...]) -> bool:
    if isinstance(cell, int) and not 0 <= cell < 1 << 64:  # BIGINT UNSIGNED
        return False
    return isinstance(cell, kind) and (not isinstance(cell, str) or len(cell) <= _NAME_LENGTH)


def _unexpected() -> RefusedError:
    return RefusedError("server-protocol", "an answer about tables that is not what was asked for")
