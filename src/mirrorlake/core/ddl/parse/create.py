"""CREATE TABLE: columns, keys, table options, and what may follow them."""

from __future__ import annotations

import re

from mirrorlake.core.ddl.parse.columns import read_column
from mirrorlake.core.ddl.parse.keys import read_constraint
from mirrorlake.core.ddl.parse.lexer import NO_BACKSLASH_ESCAPES, LexError
from mirrorlake.core.ddl.parse.options import read_table_options
from mirrorlake.core.ddl.parse.partitions import read_partitioning
from mirrorlake.core.ddl.parse.statements import ColumnSpec, CreateTable
from mirrorlake.core.ddl.parse.tokens import ParseError, Tokens
from mirrorlake.core.schema.keys import PLAIN, PRIMARY, PRIMARY_NAME, UNIQUE, Key, KeyPart
from mirrorlake.core.schema.tables import Period

MAX_COLUMNS = 4096
"""Maximum number of columns of a table, on both servers."""
MAX_KEYS = 1024
"""Keys and foreign keys together. Servers have 64 keys and no limit of foreign keys."""
_BEGINNING_OF_SERVERS = re.compile(r"CREATE (?:OR REPLACE )?TABLE [^\n]*\(\n  ")
"""The beginning of a statement that the server itself wrote: CREATE TABLE .. SELECT, or LIKE a temporary table."""
_ESCAPES_OF_SERVERS = re.compile(r"(?:[^\\]|\\[\\nr0])*", re.DOTALL)
_SELECT_WORDS = ("AS", "SELECT", "IGNORE", "REPLACE", "WITH", "VALUES", "TABLE")


def read_create_table(tokens: Tokens, or_replace: bool) -> CreateTable:
    """Read the text after CREATE TABLE."""
    if_not_exists = tokens.accept("IF", "NOT", "EXISTS")
    table = CreateTable(tokens.table_name(), if_not_exists, or_replace)
    table.may_be_of_server = may_be_of_server(tokens.statement)
    try:
        _read_definition(tokens, table)
        _check_backslashes(tokens)
    except (LexError, ParseError) as error:
        table.unsupported = str(error)
    table.unsupported = table.unsupported or tokens.unread
    return table


def may_be_of_server(statement: str) -> bool:
    """May the server itself have written the statement?"""
    return _BEGINNING_OF_SERVERS.match(statement) is not None


def _check_backslashes(tokens: Tokens) -> None:
    """Raise ParseError for a text that may have more backslashes than the table on the server. In the statements that
    servers write, they are escapes in any sql_mode (measured: MySQL 9.7, MariaDB 10.11 and 11.8)."""
    if not (tokens.session.sql_mode & NO_BACKSLASH_ESCAPES and may_be_of_server(tokens.statement)):
        return
    escaped = [text for text in tokens.texts_read() if "\\" in text]
    if escaped and all(map(_ESCAPES_OF_SERVERS.fullmatch, escaped)):
        raise ParseError("sql_mode NO_BACKSLASH_ESCAPES: the server may have doubled the backslashes of a text")


def _read_definition(tokens: Tokens, table: CreateTable) -> None:
    skip_wait(tokens)
    if tokens.accept("LIKE") or tokens.accept("(", "LIKE"):
        table.like = tokens.table_name()
        tokens.tables.pop()
        return
    if tokens.sees("(", "SELECT") or tokens.sees("(", "WITH") or tokens.sees("(", "("):
        table.has_select = True
        return
    if tokens.sees("("):
        _read_items(tokens, table)
    table.options = read_table_options(tokens)
    if tokens.accept("PARTITION", "BY"):
        table.partitioning = read_partitioning(tokens)
    if any(tokens.sees(word) for word in _SELECT_WORDS) or tokens.sees("("):
        table.has_select = True
    elif not tokens.at_end:
        raise tokens.unexpected()


def skip_wait(tokens: Tokens) -> None:
    """Skip WAIT n or NOWAIT after a table's name, if present."""
    if tokens.accept("WAIT"):
        tokens.number()
    else:
        tokens.accept("NOWAIT")


def _read_items(tokens: Tokens, table: CreateTable) -> None:
    tokens.enclosed(lambda: _read_item(tokens, table))


def _read_item(tokens: Tokens, table: CreateTable) -> None:
    if len(table.keys) + len(table.foreign_keys) > MAX_KEYS:
        raise ParseError(f"a table with more than {MAX_KEYS} keys")
    if tokens.accept("PERIOD", "FOR"):
        table.periods.append(read_period(tokens))
    elif constraint := read_constraint(tokens):
        if constraint.key:
            table.keys.append(constraint.key)
        if constraint.foreign_key:
            table.foreign_keys.append(constraint.foreign_key)
    else:
        column = read_column(tokens)
        if len(table.columns) == MAX_COLUMNS:
            raise ParseError(f"a table with more than {MAX_COLUMNS} columns")
        table.columns.append(column)
        table.keys += keys_of_column(column)
        table.unsupported = table.unsupported or column.unsupported
        if column.reference:
            table.foreign_keys.append(column.reference)


def read_period(tokens: Tokens) -> Period:
    """Read the text after PERIOD FOR."""
    name = tokens.name()
    tokens.expect("(")
    start = tokens.name()
    tokens.expect(",")
    end = tokens.name()
    tokens.expect(")")
    return Period(name, start, end)


def keys_of_column(column: ColumnSpec) -> list[Key]:
    """The keys after a column's type, with the one that the server makes for REFERENCES."""
    part = (KeyPart(column.name),)
    keys = [Key(PRIMARY_NAME, PRIMARY, part)] if column.is_primary else []
    keys += [Key("", UNIQUE, part)] if column.is_unique else []
    return [*keys, Key("", PLAIN, part, is_generated=True)] if column.reference else keys
