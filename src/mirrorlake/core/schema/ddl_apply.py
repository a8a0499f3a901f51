"""A statement of the log, and what is known before it -> what changes. What does not follow for certain is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mirrorlake.core.schema.ddl_definition import define_table
from mirrorlake.core.schema.ddl_evolve import CannotEvolve, evolve
from mirrorlake.core.schema.ddl_lexer import LexError
from mirrorlake.core.schema.ddl_parser import parse_statement
from mirrorlake.core.schema.ddl_statements import (
    AlterDatabase,
    AlterTable,
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropTables,
    NoEffect,
    RefusedStatement,
    Statement,
)
from mirrorlake.core.schema.ddl_tokens import ParseError, TableName, Tokens
from mirrorlake.core.schema.history import ABSENT, DefinitionChange, Definitions
from mirrorlake.core.schema.tables import TableSchema, why_not_mirrored
from mirrorlake.errors import RefusedError

_SYSTEM_DATABASES = frozenset(("mysql", "sys", "information_schema", "performance_schema"))
_UNSUPPORTED, _MISMATCH = "ddl-unsupported", "definition-mismatch"
_NEWEST_SERVER = {"mysql": 90999, "mariadb": 129999}


@dataclass(frozen=True, slots=True)
class _Before:
    """What holds before the statement. server_charset: what a database gets when its CREATE names none."""

    definitions: Definitions
    flavor: str
    server_charset: str | None


def interpret(
    statement: str,
    *,
    database: str,
    sql_mode: int | None,
    flavor: str,
    default_charset: str | None,
    definitions: Definitions,
    server_version: int | None = None,
) -> list[DefinitionChange]:
    """What a QUERY event's text does to the tables, in order; [] when it leaves definitions and rows alone.

    database: the event's own, for unqualified names. default_charset: character set of the event's collation_server,
    which a CREATE DATABASE without CHARACTER SET takes. server_version: 90704 for 9.7.4, decides versioned comments;
    None: as new as can be. ``definitions`` is not changed: apply the result to it.

    Raises RefusedError ``ddl-unsupported`` for a text that is not understood and names no table.
    """
    tokens = Tokens(
        statement,
        database=database,
        sql_mode=sql_mode or 0,
        flavor=flavor,
        server_version=server_version or _NEWEST_SERVER[flavor],
    )
    before = _Before(definitions, flavor, default_charset)
    parsed = _parse(tokens)
    return [change for change in _EFFECTS[type(parsed)](parsed, before) if change.database not in _SYSTEM_DATABASES]


def _parse(tokens: Tokens) -> Statement:
    try:
        return parse_statement(tokens)
    except (LexError, ParseError) as error:
        if not tokens.tables:
            raise RefusedError(_UNSUPPORTED, f"a statement was not understood: {error}") from None
        return RefusedStatement(tuple(tokens.tables), _UNSUPPORTED, str(error))


def _refuse(name: TableName, code: str, reason: str, schema: TableSchema | None = None) -> DefinitionChange:
    return DefinitionChange("refuse", name.database, name.table, schema, code=code, reason=reason)


def _known(name: TableName, before: _Before):
    return before.definitions.get(name.database, name.table)


def _no_effect(parsed: NoEffect, before: _Before) -> list[DefinitionChange]:
    return []


def _refuse_all(parsed: RefusedStatement, before: _Before) -> list[DefinitionChange]:
    names = dict.fromkeys(parsed.names)
    if not parsed.even_unknown and all(_known(name, before) is None for name in names):
        return []
    return [_refuse(name, parsed.code, parsed.reason) for name in names]


def _create(parsed: CreateTable, before: _Before) -> list[DefinitionChange]:
    name, known = parsed.name, _known(parsed.name, before)
    if parsed.if_not_exists and known is None:
        return [_refuse(name, "ddl-ambiguous", "CREATE TABLE IF NOT EXISTS of a table that may have existed")]
    if known is not None and known is not ABSENT:
        return [] if parsed.if_not_exists else _create_again(parsed, known)
    if parsed.unsupported:
        return [_refuse(name, _UNSUPPORTED, parsed.unsupported)]
    if parsed.cascade:
        return [_refuse(name, "foreign-key-cascade", f"a foreign key {parsed.cascade}")]
    home = before.definitions.database(name.database)
    try:
        schema = define_table(parsed, before.flavor, home.charset if home else None)
    except ParseError as error:
        return [_refuse(name, _UNSUPPORTED, str(error))]
    refusal = why_not_mirrored(schema)
    if refusal:
        return [_refuse(name, *refusal, schema)]
    return [DefinitionChange("create", name.database, name.table, schema)]


def _create_again(parsed: CreateTable, known) -> list[DefinitionChange]:
    """A table that is refused stays so until a DROP is logged."""
    if not isinstance(known, TableSchema):
        return []
    if parsed.or_replace:
        return [_refuse(parsed.name, _UNSUPPORTED, "CREATE OR REPLACE TABLE of a table that exists")]
    return [_refuse(parsed.name, _MISMATCH, "CREATE TABLE of a table that exists already")]


def _drop(parsed: DropTables, before: _Before) -> list[DefinitionChange]:
    names = dict.fromkeys(name for name in parsed.names if _known(name, before) is not ABSENT)
    return [DefinitionChange("drop", name.database, name.table) for name in names]


def _alter(parsed: AlterTable, before: _Before) -> list[DefinitionChange]:
    old, name = _known(parsed.name, before), parsed.name
    if not isinstance(old, TableSchema):
        return []
    try:
        new, steps = evolve(old, parsed.clauses, before.flavor)
    except CannotEvolve as stop:
        return [_refuse(name, stop.code, stop.reason)]
    except ParseError as error:
        return [_refuse(name, _UNSUPPORTED, str(error))]
    refusal = why_not_mirrored(new)
    if refusal:
        return [_refuse(name, *refusal, new)]
    if not steps and new.default_charset == old.default_charset:
        return []
    return [DefinitionChange("alter", name.database, name.table, new, steps)]


def _create_database(parsed: CreateDatabase, before: _Before) -> list[DefinitionChange]:
    home = before.definitions.database(parsed.name)
    if parsed.if_not_exists and (home is None or home.exists):
        return []
    charset = parsed.charset or before.server_charset
    dropped = _drop_tables_of(parsed.name, before) if parsed.or_replace else []
    return [*dropped, DefinitionChange("create_database", parsed.name, "", steps=(("charset", charset),))]


def _alter_database(parsed: AlterDatabase, before: _Before) -> list[DefinitionChange]:
    if parsed.charset is None:
        return []
    return [DefinitionChange("alter_database", parsed.name, "", steps=(("charset", parsed.charset),))]


def _drop_database(parsed: DropDatabase, before: _Before) -> list[DefinitionChange]:
    dropped = _drop_tables_of(parsed.name, before)
    return [*dropped, DefinitionChange("drop_database", parsed.name, "", steps=(("charset", None),))]


def _drop_tables_of(database: str, before: _Before) -> Iterable[DefinitionChange]:
    return [DefinitionChange("drop", database, table) for table in before.definitions.tables_of(database)]


_EFFECTS: dict[type, Callable[..., list[DefinitionChange]]] = {
    NoEffect: _no_effect,
    RefusedStatement: _refuse_all,
    CreateTable: _create,
    DropTables: _drop,
    AlterTable: _alter,
    CreateDatabase: _create_database,
    AlterDatabase: _alter_database,
    DropDatabase: _drop_database,
}
