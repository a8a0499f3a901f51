"""A statement of the log, and what is known before it -> what changes. What does not follow for certain is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mirrorlake.core.schema.ddl_definition import Dialect, define_table
from mirrorlake.core.schema.ddl_evolve import CannotEvolve, evolve
from mirrorlake.core.schema.ddl_lexer import LexError
from mirrorlake.core.schema.ddl_parser import parse_statement
from mirrorlake.core.schema.ddl_statements import (
    AlterDatabase,
    AlterTable,
    CreateDatabase,
    CreateSequence,
    CreateTable,
    DropDatabase,
    DropTables,
    ExchangePartition,
    NoEffect,
    PartitionToTable,
    RefusedStatement,
    RenameTable,
    RenameTables,
    Statement,
    TableToPartition,
    TruncateTable,
)
from mirrorlake.core.schema.ddl_tokens import ParseError, TableName, Tokens
from mirrorlake.core.schema.engines import why_engine_loses_rows
from mirrorlake.core.schema.history import ABSENT, DefinitionChange, Definitions
from mirrorlake.core.schema.tables import TableSchema, why_not_mirrored
from mirrorlake.errors import RefusedError

_SYSTEM_DATABASES = frozenset(("mysql", "sys", "information_schema", "performance_schema"))
_UNSUPPORTED, _MISMATCH = "ddl-unsupported", "definition-mismatch"
_NEWEST_SERVER = {"mysql": 90999, "mariadb": 129999}
_EXPLICIT_TIMESTAMPS_SINCE = {"mysql": 80002, "mariadb": 101000}  # the default of the variable


@dataclass(frozen=True, slots=True)
class _Before:
    """What holds before the statement. server_charset: what a database gets when its CREATE names none."""

    definitions: Definitions
    flavor: str
    server_version: int
    server_charset: str | None
    explicit_timestamps: bool

    def dialect(self, database: str) -> Dialect:
        home = self.definitions.database(database)
        charset = home.charset if home else None
        return Dialect(self.flavor, self.server_version, self.explicit_timestamps, charset)


def interpret(
    statement: str,
    *,
    database: str,
    sql_mode: int | None,
    flavor: str,
    default_charset: str | None,
    definitions: Definitions,
    server_version: int | None = None,
    explicit_timestamps: bool | None = None,
) -> list[DefinitionChange]:
    """What a QUERY event's text does to the tables, in order; [] when it leaves definitions and rows alone.

    database: the event's own, for unqualified names. default_charset: character set of the event's collation_server,
    which a CREATE DATABASE without CHARACTER SET takes. server_version: 90704 for 9.7.4, decides versioned comments;
    None: as new as can be. explicit_timestamps: the session's explicit_defaults_for_timestamp; None: not logged.
    ``definitions`` is not changed: apply the result to it.

    Raises RefusedError ``ddl-unsupported`` for a text that is not understood and names no table.
    """
    version = server_version or _NEWEST_SERVER[flavor]
    tokens = Tokens(statement, database=database, sql_mode=sql_mode or 0, flavor=flavor, server_version=version)
    if explicit_timestamps is None:
        explicit_timestamps = version >= _EXPLICIT_TIMESTAMPS_SINCE[flavor]
    before = _Before(definitions, flavor, version, default_charset, explicit_timestamps)
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


def _refuse_rename(parsed: RenameTables, before: _Before) -> list[DefinitionChange]:
    names = tuple(name for pair in parsed.pairs for name in pair)
    return _refuse_all(RefusedStatement(names, _UNSUPPORTED, "RENAME TABLE"), before)


def _refuse_truncate(parsed: TruncateTable, before: _Before) -> list[DefinitionChange]:
    return _refuse_all(RefusedStatement((parsed.name,), _UNSUPPORTED, "TRUNCATE TABLE"), before)


def _create_sequence(parsed: CreateSequence, before: _Before) -> list[DefinitionChange]:
    return _refuse_all(RefusedStatement((parsed.name,), _UNSUPPORTED, "CREATE SEQUENCE", even_unknown=True), before)


def _create(parsed: CreateTable, before: _Before) -> list[DefinitionChange]:
    name, known = parsed.name, _known(parsed.name, before)
    if parsed.if_not_exists and known is None:
        return [_refuse(name, "ddl-ambiguous", "CREATE TABLE IF NOT EXISTS of a table that may have existed")]
    if known is not None and known is not ABSENT:
        return [] if parsed.if_not_exists else _create_again(parsed, known)
    refused = _why_create_refused(parsed)
    if refused:
        return [_refuse(name, *refused)]
    try:
        schema = define_table(parsed, before.dialect(name.database))
    except ParseError as error:
        return [_refuse(name, _UNSUPPORTED, str(error))]
    refusal = why_not_mirrored(schema)
    if refusal:
        return [_refuse(name, *refusal, schema)]
    return [DefinitionChange("create", name.database, name.table, schema)]


def _why_create_refused(parsed: CreateTable) -> tuple[str, str] | None:
    options = parsed.options
    unsupported = (
        parsed.unsupported
        or ("CREATE TABLE ... LIKE" if parsed.like else None)
        or ("CREATE TABLE ... SELECT" if parsed.has_select or parsed.has_rows else None)
        or ("a system versioning column" if any(column.row_period for column in parsed.columns) else None)
        or ("system versioning" if options.is_versioned or any(c.is_table_versioned for c in parsed.columns) else None)
        or next((f"PERIOD FOR {period.name}" for period in parsed.periods), None)
        or ("SEQUENCE" if options.is_sequence else options.unsupported or why_engine_loses_rows(options.engine))
    )
    if unsupported:
        return _UNSUPPORTED, unsupported
    action = next((key.row_changing_action for key in parsed.foreign_keys if key.row_changing_action), None)
    return ("foreign-key-cascade", f"a foreign key {action}") if action else None


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
    refused = _why_alter_refused(parsed)
    if refused:
        return _refuse_all(refused, before)
    old, name = _known(parsed.name, before), parsed.name
    if not isinstance(old, TableSchema):
        return []
    try:
        new, steps = evolve(old, parsed.clauses, before.dialect(name.database))
    except CannotEvolve as stop:
        return [_refuse(name, stop.code, stop.reason)]
    except ParseError as error:
        return [_refuse(name, _UNSUPPORTED, str(error))]
    refusal = why_not_mirrored(new)
    if refusal:
        return [_refuse(name, *refusal, new)]
    if not steps and new.to_json() == old.to_json():
        return []
    return [DefinitionChange("alter", name.database, name.table, new, steps)]


def _why_alter_refused(parsed: AlterTable) -> RefusedStatement | None:
    """What concerns more tables than the one that is altered, or the statement as a whole."""
    others = {RenameTable: ("name", "RENAME"), PartitionToTable: ("table", "CONVERT"),
              TableToPartition: ("table", "CONVERT"), ExchangePartition: ("table", "EXCHANGE PARTITION")}  # fmt: skip
    for clause in parsed.clauses:
        if type(clause) in others:
            field, word = others[type(clause)]
            names = (parsed.name, getattr(clause, field))
            return RefusedStatement(names, _UNSUPPORTED, f"ALTER TABLE ... {word}")
    if parsed.ignores_duplicates:
        return RefusedStatement((parsed.name,), _UNSUPPORTED, "ALTER IGNORE TABLE")
    return None


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
    CreateSequence: _create_sequence,
    RenameTables: _refuse_rename,
    TruncateTable: _refuse_truncate,
    DropTables: _drop,
    AlterTable: _alter,
    CreateDatabase: _create_database,
    AlterDatabase: _alter_database,
    DropDatabase: _drop_database,
}
