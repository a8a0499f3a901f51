"""A statement's text -> what kind of statement it is, and its tables. See ``statements`` for the values.

The first words decide the kind of a statement. One that is neither known to leave tables alone nor understood raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mirrorlake.core.ddl.parse.alter import read_alter_table
from mirrorlake.core.ddl.parse.create import read_create_table, skip_wait
from mirrorlake.core.ddl.parse.dml import read_dml
from mirrorlake.core.ddl.parse.keys import accept_index_word, read_index_type, read_key_options, read_key_parts
from mirrorlake.core.ddl.parse.lexer import Kind
from mirrorlake.core.ddl.parse.options import read_database_options, sees_database_option
from mirrorlake.core.ddl.parse.statements import (
    AddKey,
    AlterDatabase,
    AlterTable,
    Clause,
    CreateDatabase,
    CreateSequence,
    CreateTable,
    CreateTemporaryTable,
    DropDatabase,
    DropKey,
    DropSequences,
    DropTables,
    NoEffect,
    RenameTables,
    Statement,
    TableOptions,
    TruncateTable,
)
from mirrorlake.core.ddl.parse.tokens import ParseError, Tokens, UnreadName
from mirrorlake.core.ddl.parse.triggers import read_create_trigger, read_drop_trigger, sees_trigger
from mirrorlake.core.schema.charsets import charset_of_collation_name
from mirrorlake.core.schema.keys import UNIQUE
from mirrorlake.core.schema.table_name import TableName

_NO_EFFECT = frozenset(
    """BEGIN COMMIT ROLLBACK SAVEPOINT RELEASE START XA SET USE LOCK UNLOCK GRANT REVOKE FLUSH RESET PURGE CHANGE STOP
    OPTIMIZE CHECK CHECKSUM REPAIR CACHE INSTALL UNINSTALL KILL SHOW CLONE BACKUP""".split()
)
_OTHER_OBJECTS = frozenset(
    """VIEW TRIGGER PROCEDURE FUNCTION EVENT USER ROLE SERVER TABLESPACE LOGFILE UNDO SPATIAL RESOURCE AGGREGATE PACKAGE
    LIBRARY DEFINER ALGORITHM SQL JSON INSTANCE PREPARE MASKING""".split()
)
_OF_READING = ("SQL_MODE", "CHARACTER_SET_CLIENT", "CHARACTER_SET_CONNECTION", "COLLATION_CONNECTION")
"""Variables on which the reading of a text depends: the log has the statement's own values."""
_INDEX_WORDS = ("INDEX", "FULLTEXT", "VECTOR")


def parse_statement(tokens: Tokens) -> Statement:
    """Parse a statement. Raises LexError and ParseError; the tables named until then are in ``tokens.tables``. A
    CREATE TABLE with a name that cannot be read is ``unsupported``."""
    reads_otherwise = False
    while tokens.accept("SET", "STATEMENT"):
        while not tokens.accept("FOR"):
            reads_otherwise |= any(map(tokens.sees, _OF_READING))
            _step(tokens)
    statement = _parse(tokens)
    if reads_otherwise and not isinstance(statement, NoEffect):
        raise ParseError("SET STATEMENT of sql_mode or a character set: the server had read the statement before")
    if tokens.unread and not isinstance(statement, NoEffect | CreateTable):
        raise UnreadName(statement, tokens.unread)
    return statement


def _parse(tokens: Tokens) -> Statement:
    tokens.verb = first = tokens.peek().text.upper()
    if tokens.at_end or (tokens.peek().kind is Kind.WORD and first in _NO_EFFECT):
        return NoEffect()
    if first == "ANALYZE" and (tokens.sees("ANALYZE", "TABLE") or tokens.peek(2).is_word("TABLE")):
        return NoEffect()
    read = _STATEMENTS.get(first)
    if tokens.peek().kind is not Kind.WORD or not read:
        return read_dml(tokens)
    tokens.next()
    return read(tokens)


def _step(tokens: Tokens) -> None:
    if tokens.at_end:
        raise tokens.unexpected()
    tokens.next()


def _read_create(tokens: Tokens) -> Statement:
    or_replace = tokens.accept("OR", "REPLACE")
    tokens.accept_any("ONLINE", "OFFLINE")
    if tokens.accept("TEMPORARY", "TABLE"):
        tokens.accept("IF", "NOT", "EXISTS")
        return CreateTemporaryTable(tokens.table_name())
    if tokens.accept("TEMPORARY"):
        return NoEffect()
    if tokens.accept("TABLE"):
        return read_create_table(tokens, or_replace)
    if tokens.accept_any("DATABASE", "SCHEMA"):
        if_not_exists = tokens.accept("IF", "NOT", "EXISTS")
        name = tokens.database_name()
        return CreateDatabase(name, if_not_exists, or_replace, *_charset(read_database_options(tokens)))
    if tokens.accept("SEQUENCE"):
        if_not_exists = tokens.accept("IF", "NOT", "EXISTS")
        return CreateSequence(tokens.table_name(), if_not_exists, or_replace)
    kind = UNIQUE if tokens.accept("UNIQUE") else None
    if kind or any(tokens.sees(word) for word in _INDEX_WORDS) or tokens.sees("SPATIAL", "INDEX"):
        kind = accept_index_word(tokens) if kind is None else kind
        tokens.accept("INDEX")
        return _read_create_index(tokens, kind or UNIQUE, or_replace)
    return read_create_trigger(tokens) if sees_trigger(tokens) else _other_object(tokens)


def _charset(options: TableOptions) -> tuple[str | None, str | None]:
    charset = None if options.charset == "default" else options.charset
    if charset is None and options.collation and options.collation != "default":
        charset = charset_of_collation_name(options.collation)
    return charset, options.collation


def _read_create_index(tokens: Tokens, kind: str, or_replace: bool) -> Statement:
    if_not_exists, name = tokens.accept("IF", "NOT", "EXISTS"), tokens.name()
    uses_hash = read_index_type(tokens)
    tokens.expect("ON")
    table = tokens.table_name()
    skip_wait(tokens)
    key = read_key_parts(tokens, kind, name)
    key = replace(key, uses_hash=uses_hash or read_key_options(tokens))
    return AlterTable(table, [AddKey(key, if_not_exists, or_replace)])


def _read_alter(tokens: Tokens) -> Statement:
    tokens.accept_any("ONLINE", "OFFLINE")
    ignores_duplicates = tokens.accept("IGNORE")
    if tokens.accept("TABLE"):
        altered = read_alter_table(tokens)
        altered.ignores_duplicates = ignores_duplicates
        return altered
    if tokens.accept_any("DATABASE", "SCHEMA"):
        has_name = tokens.peek().kind is Kind.QUOTED or not sees_database_option(tokens)
        name = tokens.database_name() if has_name else tokens.database
        options = read_database_options(tokens)
        charset, collation = _charset(options)
        return AlterDatabase(name, charset, collation, takes_server_charset=options.charset == "default")
    return NoEffect() if tokens.accept("SEQUENCE") else _other_object(tokens)


def _read_drop(tokens: Tokens) -> Statement:
    if tokens.accept("TEMPORARY"):
        return NoEffect()
    if kind := tokens.accept_any("TABLE", "TABLES", "SEQUENCE"):
        if_exists = tokens.accept("IF", "EXISTS")
        dropped = DropSequences if kind == "SEQUENCE" else DropTables
        return dropped(tokens.separated(tokens.table_name), if_exists)
    if tokens.accept_any("DATABASE", "SCHEMA"):
        tokens.accept("IF", "EXISTS")
        return DropDatabase(tokens.database_name())
    if sees_trigger(tokens):
        return read_drop_trigger(tokens)
    tokens.accept_any("ONLINE", "OFFLINE")
    return _read_drop_index(tokens) if tokens.accept("INDEX") else _other_object(tokens)


def _read_drop_index(tokens: Tokens) -> Statement:
    if_exists, name = tokens.accept("IF", "EXISTS"), tokens.name()
    tokens.expect("ON")
    clauses: list[Clause] = [DropKey(name, if_exists)]
    return AlterTable(tokens.table_name(), clauses)


def _read_rename(tokens: Tokens) -> Statement:
    if not tokens.accept_any("TABLE", "TABLES"):
        return _other_object(tokens)
    if_exists = tokens.accept("IF", "EXISTS")
    return RenameTables(tokens.separated(lambda: _read_renamed(tokens)), if_exists)


def _read_renamed(tokens: Tokens) -> tuple[TableName, TableName]:
    old = tokens.table_name()
    skip_wait(tokens)
    tokens.expect("TO")
    return old, tokens.table_name()


def _read_truncate(tokens: Tokens) -> Statement:
    tokens.accept("TABLE")
    return TruncateTable(tokens.table_name())


def _other_object(tokens: Tokens) -> NoEffect:
    if tokens.peek().kind is Kind.WORD and tokens.peek().text.upper() in _OTHER_OBJECTS:
        return NoEffect()
    unexpected = tokens.unexpected()
    while not tokens.at_end:  # a kind of statement that is not known: which table does it name?
        if tokens.next().is_word("TABLE") and tokens.peek().kind in (Kind.WORD, Kind.QUOTED):
            tokens.accept("IF", "NOT", "EXISTS") or tokens.accept("IF", "EXISTS")
            tokens.table_name()
            break
    raise unexpected


_STATEMENTS: dict[str, Callable[[Tokens], Statement]] = {
    "CREATE": _read_create,
    "ALTER": _read_alter,
    "DROP": _read_drop,
    "RENAME": _read_rename,
    "TRUNCATE": _read_truncate,
}
