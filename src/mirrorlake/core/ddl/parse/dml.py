"""Read statements that change rows, logged as text (binlog_format STATEMENT or MIXED): the tables they name.

A server that logs rows sends one of these only if there is no row format: after a restart it empties MEMORY
tables with a DELETE. Joins can name more tables than change; all of them are refused.
"""

from __future__ import annotations

from collections.abc import Callable

from mirrorlake.core.ddl.parse.lexer import Kind
from mirrorlake.core.ddl.parse.statements import STATEMENT_DML, RefusedStatement, RoutineCall
from mirrorlake.core.ddl.parse.tokens import Tokens

_CALLS = ("CALL", "DO", "SELECT")
"""Statements that are logged if a routine that they call changes rows."""
_MODIFIERS = ("LOW_PRIORITY", "HIGH_PRIORITY", "DELAYED", "CONCURRENT", "QUICK", "IGNORE", "INTO", "FROM")


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
    _READERS[word](tokens)
    return RefusedStatement(tuple(tokens.tables), STATEMENT_DML, f"{word} was logged as a statement", True)


def _step(tokens: Tokens) -> None:
    if tokens.at_end:
        raise tokens.unexpected()
    if tokens.sees("("):
        tokens.skip_parentheses()
    else:
        tokens.next()


def _read_one_table(tokens: Tokens) -> None:
    while tokens.accept_any(*_MODIFIERS):
        pass
    tokens.table_name()


def _read_load(tokens: Tokens) -> None:
    while not tokens.accept("INTO", "TABLE"):
        _step(tokens)
    tokens.table_name()


def _read_update(tokens: Tokens) -> None:
    _read_table_list(tokens, "SET")


def _read_delete(tokens: Tokens) -> None:
    _read_table_list(tokens, "WHERE", "ORDER", "LIMIT", "RETURNING", "PARTITION", "FOR")


def _read_table_list(tokens: Tokens, *end_words: str) -> None:
    """Read every name that can be a table, up to one of these words: the first, and those after a comma or a join."""
    while tokens.accept_any(*_MODIFIERS):
        pass
    is_table = True
    while not tokens.at_end and not any(tokens.sees(word) for word in end_words):
        if is_table and tokens.peek().kind in (Kind.WORD, Kind.QUOTED):
            tokens.table_name()
            is_table = False
        else:
            is_table = any(tokens.sees(word) for word in (",", "FROM", "USING", "JOIN", "STRAIGHT_JOIN", "("))
            tokens.next()
    if not tokens.tables:
        raise tokens.unexpected()


_READERS: dict[str, Callable[[Tokens], None]] = {
    "INSERT": _read_one_table,
    "REPLACE": _read_one_table,
    "UPDATE": _read_update,
    "DELETE": _read_delete,
    "LOAD": _read_load,
}
