"""A statement of the log, and the definitions before it -> the changes. An uncertain effect is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from mirrorlake.core.constants import SYSTEM_DATABASES
from mirrorlake.core.ddl.effect.algorithm import MEASURED_SINCE, copies_rows
from mirrorlake.core.ddl.effect.alter import CannotEvolve, evolve
from mirrorlake.core.ddl.effect.context import Before, refuse
from mirrorlake.core.ddl.effect.convert_partition import partition_to_table, table_to_partition
from mirrorlake.core.ddl.effect.definition import define_like, define_table
from mirrorlake.core.ddl.effect.engines import by_engines, engine_of_new, why_engine
from mirrorlake.core.ddl.effect.foreign_keys import children_of, with_references
from mirrorlake.core.ddl.effect.name_doubts import with_doubts
from mirrorlake.core.ddl.effect.server_texts import of_create
from mirrorlake.core.ddl.effect.suspects import (
    LongStatement,
    followed,
    meant_by_unread,
    outside_comments,
    suspects,
    suspects_of_long,
)
from mirrorlake.core.ddl.effect.temporary_tables import create_temporary, renamed_temporary, without_doubt
from mirrorlake.core.ddl.effect.triggers import create_trigger, drop_trigger
from mirrorlake.core.ddl.effect.whole_tables import (
    exchange_partition,
    rename,
    rename_tables,
    renamed_table,
    truncate_table,
)
from mirrorlake.core.ddl.parse.lexer import LexError
from mirrorlake.core.ddl.parse.parser import parse_statement
from mirrorlake.core.ddl.parse.session import LoggedSession, SourceServer
from mirrorlake.core.ddl.parse.statements import (
    STATEMENT_DML,
    AddColumn,
    AlterDatabase,
    AlterTable,
    Clause,
    CreateDatabase,
    CreateSequence,
    CreateTable,
    CreateTemporaryTable,
    CreateTrigger,
    DropDatabase,
    DropSequences,
    DropTables,
    DropTrigger,
    ExchangePartition,
    NoEffect,
    PartitionToTable,
    RefusedStatement,
    RenameTable,
    RenameTables,
    RoutineCall,
    SetAlgorithm,
    Statement,
    TableToPartition,
    TruncateTable,
)
from mirrorlake.core.ddl.parse.tokens import ParseError, Tokens, UnreadName
from mirrorlake.core.schema.engines import why_engine_loses_rows
from mirrorlake.core.schema.history import ABSENT, DefinitionChange, Definitions
from mirrorlake.core.schema.keys import NOT_FOLLOWED
from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import SEQUENCE, TableSchema, why_not_mirrored
from mirrorlake.errors import MirrorlakeError

_MANY_TABLES = ("DROP", "RENAME", "UPDATE", "DELETE", "WITH")
"""Statements with many tables: if one is not understood to its end, some of its tables are not read."""
_UNSUPPORTED, _MISMATCH = "ddl-unsupported", "definition-mismatch"
_LOGS_DDL_XID = _KEEPS_RENAMED_KEYS = 80000


def interpret(
    statement: str, server: SourceServer, session: LoggedSession, definitions: Definitions,
    whole: LongStatement | None = None,
) -> list[DefinitionChange]:  # fmt: skip
    """The changes of tables by a QUERY event's text, in order; [] if it changes neither definitions nor rows.
    ``definitions`` is not changed: apply the result to it. whole: if ``statement`` is only its beginning.

    Any error in the statement, or in its consequences, refuses the tables that it names. If none can be
    found, it refuses followed tables whose names are words of it.
    """
    tokens = Tokens(statement, server, session)
    changes = _without_failing(tokens, Before(definitions, server, session), whole)
    return [change for change in changes if change.database not in SYSTEM_DATABASES]


def interpret_shown(
    text: str, database: str, flavor: str, definitions: Definitions, name_case: NameCase
) -> list[DefinitionChange]:
    """The definition from SHOW CREATE TABLE of a table that is not in ``definitions``. That text does not depend on a
    session."""
    session = LoggedSession(database, explicit_timestamps=True)
    return interpret(text, SourceServer(flavor, name_case=name_case), session, definitions)


def why_not_understood(text: str, database: str, flavor: str, name_case: NameCase) -> str | None:
    """Return why a statement of an operator cannot be read, or None."""
    try:
        parse_statement(Tokens(text, SourceServer(flavor, name_case=name_case), LoggedSession(database)))
    except (LexError, ParseError) as error:
        return str(error)
    return None


def _without_failing(tokens: Tokens, before: Before, whole: LongStatement | None) -> list[DefinitionChange]:
    """Interpret, and turn unexpected errors into a refusal: they must stop no other table."""
    try:
        parsed = _parse_long(tokens, whole, before) if whole else _parse(tokens, before)
        return _changes(parsed, tokens, before)
    except (MemoryError, MirrorlakeError):  # the latter: a server that was asked
        raise
    except Exception as error:  # of a class that no part of the parser raises on purpose
        return _refuse_all(_refused(tokens, before, f"the statement raised {type(error).__name__}"), before)


def _changes(parsed: Statement, tokens: Tokens, before: Before) -> list[DefinitionChange]:
    if before.session.has_failed:
        parsed = _effect_of_failed(parsed, tokens)
    temporary = renamed_temporary(parsed, before)
    parsed = without_doubt(parsed, tokens.tables, before)
    changes = by_engines(_EFFECTS[type(parsed)](parsed, before), parsed, before)
    if tokens.server.name_case.setting is None:
        changes = with_doubts(changes, parsed, tokens, before.definitions)
    return [*with_references(changes, before.definitions), *temporary]


def _parse(tokens: Tokens, before: Before) -> Statement:
    try:
        return parse_statement(tokens)
    except UnreadName as error:
        dropped = error.statement.name if isinstance(error.statement, DropDatabase) else None
        names = meant_by_unread(tokens.tables, dropped, before.definitions)
        return RefusedStatement(tuple(names), _UNSUPPORTED, str(error))
    except (LexError, ParseError) as error:
        return _refused(tokens, before, str(error))


def _parse_long(tokens: Tokens, whole: LongStatement, before: Before) -> Statement:
    """A statement that is too long, from what its beginning says. Unless its first words decide its effect, it refuses
    the followed tables whose names are words of it. tokens: of the beginning."""
    parsed = None
    with suppress(LexError, ParseError):
        parsed = parse_statement(tokens)
    if isinstance(parsed, NoEffect | RoutineCall):
        return parsed
    if isinstance(parsed, CreateTrigger):
        return replace(parsed, columns=None)
    is_dml = isinstance(parsed, RefusedStatement) and parsed.code == STATEMENT_DML
    reason = f"a statement of {whole.n_bytes:,} bytes that has the table's name among its words is too long"
    names = suspects_of_long(whole.pieces, tokens.database, before.definitions)
    return RefusedStatement(tuple(names), STATEMENT_DML if is_dml else _UNSUPPORTED, reason)


def _refused(tokens: Tokens, before: Before, reason: str) -> RefusedStatement:
    """Refuse a statement. tokens: read as far as it was understood."""
    many = tokens.verb in _MANY_TABLES
    if tokens.unread:
        tokens.tables += meant_by_unread(tokens.tables, None, before.definitions)
    if tokens.tables and not many:
        return RefusedStatement(tuple(tokens.tables), _UNSUPPORTED, reason)
    readable = "".join(outside_comments(tokens.statement, before.server, before.session))
    words = suspects(readable, tokens.database, before.definitions)
    if not tokens.tables:
        reason = f"a statement that has the table's name among its words was not understood: {reason}"
    tables = tokens.tables
    if tokens.verb == "DROP":  # it makes no table, and may name a million that nobody has
        tables = [name for name in tables if before.known(name) not in (None, ABSENT)]
    return RefusedStatement((*tables, *words), _UNSUPPORTED, reason)


def _effect_of_failed(parsed: Statement, tokens: Tokens) -> Statement:
    """The effect of a failed statement. MariaDB's CREATE OR REPLACE dropped the old table first; the log says no
    more."""
    if isinstance(parsed, NoEffect | RefusedStatement | CreateTemporaryTable):
        return parsed
    if isinstance(parsed, DropTables):  # its error is about tables that it lacked
        return parsed
    if isinstance(parsed, CreateTable) and parsed.or_replace:
        return DropTables((parsed.name,), if_exists=True)
    return RefusedStatement(tuple(tokens.tables), _UNSUPPORTED, "a statement that failed after a part of its work")


def _no_effect(parsed: NoEffect, before: Before) -> list[DefinitionChange]:
    return []


def _refuse_all(parsed: RefusedStatement, before: Before) -> list[DefinitionChange]:
    names = dict.fromkeys(parsed.names)
    if not parsed.even_unknown and all(before.known(name) is None for name in names):
        return []
    return [refuse(name, parsed.code, parsed.reason) for name in names]


def _call(parsed: RoutineCall, before: Before) -> list[DefinitionChange]:
    return [refuse(name, STATEMENT_DML, parsed.reason) for name in followed(before.definitions)]


def _create_sequence(parsed: CreateSequence, before: Before) -> list[DefinitionChange]:
    name, known = parsed.name, before.known(parsed.name)
    if isinstance(known, TableSchema) and not (parsed.or_replace or parsed.if_not_exists):
        return [refuse(name, _MISMATCH, "CREATE SEQUENCE of a table that exists already")]
    may_exist = parsed.if_not_exists and not before.session.has_made_table
    if may_exist and known is None:
        return [refuse(name, "ddl-ambiguous", "CREATE SEQUENCE IF NOT EXISTS of a name that may have existed")]
    is_free = known is None or known is ABSENT or parsed.or_replace
    return [refuse(name, SEQUENCE, "CREATE SEQUENCE")] if is_free else []


def _create(parsed: CreateTable, before: Before) -> list[DefinitionChange]:
    name, known = parsed.name, before.known(parsed.name)
    is_certain = before.session.has_made_table or not parsed.if_not_exists or parsed.options.has_rows_to_come
    if not is_certain and known is None:
        return [refuse(name, "ddl-ambiguous", "CREATE TABLE IF NOT EXISTS of a table that may have existed")]
    if known is not None and known is not ABSENT and not parsed.or_replace:
        return _create_again(parsed, known) if is_certain else []
    model = before.known(parsed.like) if parsed.like and not parsed.unsupported else None
    if not is_certain and before.server.flavor == "mysql" and before.server.assumed_version >= _LOGS_DDL_XID:
        engine = model.engine if isinstance(model, TableSchema) else parsed.options.engine
        if (engine or before.server.engine_of(name.database, name.table)) in (None, "innodb"):
            return _perhaps_in_vain(name, engine)
    if isinstance(model, TableSchema):
        schema = replace(define_like(model, *name), engine=model.engine or before.server.engine_of(*name))
        reason = why_engine_loses_rows(schema.engine)
        return [refuse(name, _UNSUPPORTED, reason) if reason else DefinitionChange("create", *name, schema)]
    dialect = of_create(parsed, before)  # asks whether the text names an engine
    parsed.options.engine = engine_of_new(parsed, before)
    refused = _why_create_refused(parsed, before)
    if refused:
        return [refuse(name, *refused)]
    try:
        schema = define_table(parsed, dialect)
    except ParseError as error:
        return [refuse(name, _UNSUPPORTED, str(error))]
    refusal = why_not_mirrored(schema)
    if refusal:
        return [refuse(name, *refusal, schema)]
    return [DefinitionChange("create", name.database, name.table, schema)]


def _perhaps_in_vain(name: TableName, engine: str | None) -> list[DefinitionChange]:
    """A CREATE TABLE IF NOT EXISTS without a DDL_XID: MySQL logs one for a table of InnoDB that it makes, and none for
    a table of another engine, or if it found a view (measured: 9.7). engine: named by the statement."""
    if engine == "innodb":
        return []
    return [refuse(name, "ddl-ambiguous", "CREATE TABLE IF NOT EXISTS of a name that may be a view's")]


def _why_create_refused(parsed: CreateTable, before: Before) -> tuple[str, str] | None:
    options = parsed.options
    if options.is_sequence:
        return SEQUENCE, "CREATE TABLE ... SEQUENCE"
    unsupported = (
        parsed.unsupported
        or ("CREATE TABLE ... LIKE" if parsed.like else None)
        or ("CREATE TABLE ... SELECT" if parsed.has_select else None)
        or options.unsupported
        or why_engine(parsed, before)
    )
    return (_UNSUPPORTED, unsupported) if unsupported else None


def _create_again(parsed: CreateTable, known) -> list[DefinitionChange]:
    """A table that is refused stays so until a DROP is logged."""
    if not isinstance(known, TableSchema):
        return []
    return [refuse(parsed.name, _MISMATCH, "CREATE TABLE of a table that exists already")]


def _drop(parsed: DropTables, before: Before) -> list[DefinitionChange]:
    names = dict.fromkeys(name for name in parsed.names if before.known(name) is not ABSENT)
    return [DefinitionChange("drop", name.database, name.table) for name in names]


def _drop_sequences(parsed: DropSequences, before: Before) -> list[DefinitionChange]:
    names = parsed.names
    if parsed.if_exists:
        names = tuple(name for name in names if getattr(before.known(name), "code", None) == SEQUENCE)
    return _drop(DropTables(names), before)


def _alter(parsed: AlterTable, before: Before) -> list[DefinitionChange]:
    old, name = before.known(parsed.name), parsed.name
    exchange = next((clause for clause in parsed.clauses if isinstance(clause, ExchangePartition)), None)
    if exchange:
        return exchange_partition(name, exchange, before)
    for clause in parsed.clauses:
        if isinstance(clause, PartitionToTable):
            return partition_to_table(name, clause, before)
        if isinstance(clause, TableToPartition):
            return table_to_partition(name, clause, before)
    renames = [clause.name for clause in parsed.clauses if isinstance(clause, RenameTable)]
    moved = renames[-1] if renames else name  # only the last one counts
    if not isinstance(old, TableSchema):
        return rename([(name, moved)], before) if moved != name else []
    gone = [DefinitionChange("moved", name.database, name.table)] if moved != name else []
    try:
        if parsed.ignores_duplicates:
            raise CannotEvolve(_UNSUPPORTED, "ALTER IGNORE TABLE")
        new, steps = evolve(old, parsed.clauses, before.dialect(name.database), before.session)
    except CannotEvolve as stop:
        return [refuse(moved, stop.code, stop.reason), *gone]
    except ParseError as error:
        return [refuse(moved, _UNSUPPORTED, str(error)), *gone]
    refusal = why_not_mirrored(new)
    if refusal:
        return [refuse(moved, *refusal, new), *gone]
    if gone and _may_lose_foreign_keys(old, new, parsed.clauses, before):
        reason = "ALTER TABLE .. RENAME with further clauses, which may lose foreign keys"
        children = [child.name for child in children_of(name, before.definitions)]
        return [*(refuse(table, NOT_FOLLOWED, reason) for table in (moved, *children)), *gone]
    if gone:
        return [renamed_table(moved, name, new, steps), *gone]
    if not steps and new.to_json() == old.to_json():
        return []
    return [DefinitionChange("alter", name.database, name.table, new, steps)]


def _may_lose_foreign_keys(old: TableSchema, new: TableSchema, clauses: Sequence[Clause], before: Before) -> bool:
    """A server that copies the rows keeps the keys under the former name (MariaDB 10.11 and 11.8, MySQL 5.6)."""
    if before.server.flavor == "mysql" and before.server.assumed_version >= _KEEPS_RENAMED_KEYS:
        return False
    if all(isinstance(clause, RenameTable) for clause in clauses):
        return False
    is_measured = before.server.flavor == "mariadb" and before.server.assumed_version >= MEASURED_SINCE
    adds_columns = all(isinstance(clause, RenameTable | AddColumn | SetAlgorithm) for clause in clauses)
    is_in_place = is_measured and adds_columns and copies_rows(old, new, clauses, ()) is False
    return not is_in_place and bool(old.row_changing_keys or children_of(old.name, before.definitions))


def _create_database(parsed: CreateDatabase, before: Before) -> list[DefinitionChange]:
    home = before.definitions.database(parsed.name)
    if parsed.if_not_exists and (home is None or home.exists):
        return []
    charset = parsed.charset or before.session.server_charset
    dropped = _drop_tables_of(parsed.name, before) if parsed.or_replace else []
    return [*dropped, DefinitionChange("create_database", parsed.name, "", steps=(("charset", charset),))]


def _alter_database(parsed: AlterDatabase, before: Before) -> list[DefinitionChange]:
    charset = before.session.server_charset if parsed.takes_server_charset else parsed.charset
    if charset is None and not parsed.takes_server_charset:
        return []
    return [DefinitionChange("alter_database", parsed.name, "", steps=(("charset", charset),))]


def _drop_database(parsed: DropDatabase, before: Before) -> list[DefinitionChange]:
    dropped = _drop_tables_of(parsed.name, before)
    return [*dropped, DefinitionChange("drop_database", parsed.name, "", steps=(("charset", None),))]


def _drop_tables_of(database: str, before: Before) -> Iterable[DefinitionChange]:
    return [DefinitionChange("drop", database, table) for table in before.definitions.tables_of(database)]


_EFFECTS: dict[type, Callable[..., list[DefinitionChange]]] = {
    NoEffect: _no_effect,
    RefusedStatement: _refuse_all,
    RoutineCall: _call,
    CreateTable: _create,
    CreateSequence: _create_sequence,
    CreateTemporaryTable: create_temporary,
    RenameTables: rename_tables,
    TruncateTable: truncate_table,
    DropTables: _drop,
    DropSequences: _drop_sequences,
    AlterTable: _alter,
    CreateDatabase: _create_database,
    AlterDatabase: _alter_database,
    DropDatabase: _drop_database,
    CreateTrigger: create_trigger,
    DropTrigger: drop_trigger,
}
