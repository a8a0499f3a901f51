"""Read statements that change rows, logged as text (binlog_format STATEMENT or MIXED): the tables they name.

A server that logs rows sends one of these only if there is no row format: after a restart it empties MEMORY
tables with a DELETE. Joins can name more tables than change; all of them are refused.
"""

from __future__ import annotations

from collections.abc import Callable

from mirrorlake.core.ddl.parse.lexer import Kind
from mirrorlake.core.ddl.parse.statements import STATEMENT_DML, RefusedStatement, RoutineCall
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.schema.table_name import TableName

_CALLS = ("CALL", "DO", "SELECT")
"""Statements that are logged if a routine that they call changes rows."""
_BEFORE_TABLE = {
    "INSERT": ("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"),
    "REPLACE": ("LOW_PRIORITY", "DELAYED", "INTO"),
    "UPDATE": ("LOW_PRIORITY", "IGNORE"),
    "DELETE": ("LOW_PRIORITY", "QUICK", "IGNORE", "FROM"),
}
"""Of each statement, since some are names elsewhere: ``UPDATE quick SET ..``."""
_END_OF_TABLES = (("SET",), ("WHERE",), ("ORDER", "BY"), ("LIMIT",), ("FOR", "PORTION"))
_BEFORE_A_TABLE = (",", "FROM", "USING", "JOIN", "STRAIGHT_JOIN", "(")


def read_dml(tokens: Tokens) -> RefusedStatement | RoutineCall:
    """Read a statement. Raises ParseError if it is none of these, or if no table is found."""
    while tokens.accept("("):
        pass
    if tokens.accept("WITH"):
        while not any(tokens.sees(word) for word in ("UPDATE", "DELETE", "INSERT", "REPLACE", "SELECT")):
            _step(tokens)
    word = tokens.accept_any(*_CALLS)
    if word:
        return RoutineCall(f"{word} was logged as a statement, and what its routines changed is not known")
    word = next((word for word in _READERS if tokens.accept(word)), None)
    if word is None:
        raise tokens.unexpected()
    while tokens.accept_any(*_BEFORE_TABLE.get(word, ())):
        pass
    _READERS[word](tokens)
    return RefusedStatement(tuple(tokens.tables), STATEMENT_DML, f"{word} was logged as a statement", True)


def _step(tokens: Tokens) -> None:
    if tokens.at_end:
        raise tokens.unexpected()
    if tokens.sees("("):
        tokens.skip_parentheses()
    else:
        tokens.next()


def _read_load(tokens: Tokens) -> None:
    while not tokens.accept("INTO", "TABLE"):
        _step(tokens)
    tokens.table_name()


def _read_table_list(tokens: Tokens) -> None:
    """Read every name that can be a table: the first, and those after a comma or a join. A name after another one is an
    alias, and parentheses after it have no table that changes."""
    is_table = True
    while not tokens.at_end and (is_table or not _sees_end(tokens)):
        if is_table and tokens.peek().kind in (Kind.WORD, Kind.QUOTED):
            _read_listed(tokens)
            is_table = False
        elif is_table and tokens.accept("{"):  # ODBC's {OJ a LEFT JOIN b ON ..}
            tokens.name()
        elif tokens.accept("FOR", "JOIN") or tokens.accept("FOR", "ORDER", "BY"):  # of USE INDEX
            is_table = False
        elif tokens.sees("(", "SELECT") or (tokens.sees("(") and not is_table):
            tokens.skip_parentheses()
            is_table = False
        else:
            is_table = any(map(tokens.sees, _BEFORE_A_TABLE))
            tokens.next()
    if not tokens.tables:
        raise tokens.unexpected()


def _sees_end(tokens: Tokens) -> bool:
    ends = any(tokens.sees(*words) for words in _END_OF_TABLES)
    return ends or (tokens.server.flavor == "mariadb" and tokens.sees("RETURNING"))  # a name elsewhere


def _read_listed(tokens: Tokens) -> None:
    """Read ``a``, ``d.a``, ``a.*`` or ``d.a.*``."""
    if tokens.peek(1).is_symbol(".") and tokens.peek(2).is_symbol("*"):
        tokens.tables.append(TableName(tokens.database, tokens.database_name()))
    else:
        tokens.table_name()
    tokens.accept(".", "*")


_READERS: dict[str, Callable[[Tokens], object]] = {
    "INSERT": Tokens.table_name,
    "REPLACE": Tokens.table_name,
    "UPDATE": _read_table_list,
    "DELETE": _read_table_list,
    "LOAD": _read_load,
}
