"""Read triggers, because MySQL logs partial JSON updates without the changes of a BEFORE UPDATE trigger.

See ``core.binlog.rows.partial_json``.
"""

from __future__ import annotations

from mirrorlake.core.ddl.parse.lexer import Kind, LexError
from mirrorlake.core.ddl.parse.statements import CreateTrigger, DropTrigger, NoEffect
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.table_name import TableName

_MOST_DEFINER_TOKENS = 6  # DEFINER = user @ host TRIGGER


def sees_trigger(tokens: Tokens) -> bool:
    """After CREATE or DROP: does a trigger of MySQL come?"""
    if tokens.server.flavor != "mysql" or not (tokens.sees("TRIGGER") or tokens.sees("DEFINER")):
        return False
    return any(tokens.peek(i).is_word("TRIGGER") for i in range(_MOST_DEFINER_TOKENS))


def read_create_trigger(tokens: Tokens) -> CreateTrigger | NoEffect:
    while not tokens.accept("TRIGGER"):
        tokens.next()
    tokens.accept("IF", "NOT", "EXISTS")
    name = _trigger_name(tokens)
    if not tokens.accept("BEFORE", "UPDATE", "ON"):
        return NoEffect()
    return CreateTrigger(name.table, tokens.table_name(), _columns_of_new_row(tokens))


def read_drop_trigger(tokens: Tokens) -> DropTrigger:
    tokens.expect("TRIGGER")
    tokens.accept("IF", "EXISTS")
    name = _trigger_name(tokens)
    return DropTrigger(name.database, name.table)


def _trigger_name(tokens: Tokens) -> TableName:
    first = tokens.name()
    if not tokens.accept("."):
        return TableName(tokens.database, first)
    return TableName(tokens.server.name_case.fold(first), tokens.name())


def _columns_of_new_row(tokens: Tokens) -> tuple[str, ...] | None:
    """The names after ``NEW.`` in the body, in lower case; None: it could not be read."""
    found = set()
    try:
        while tokens.peek().kind is not Kind.END:
            if tokens.next().is_word("NEW") and tokens.accept("."):
                found.add(folded(tokens.name()))
    except LexError:
        return None
    return tuple(sorted(found))
