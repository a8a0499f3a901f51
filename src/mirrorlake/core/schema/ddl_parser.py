"""A statement's text -> what kind of statement it is, and its tables. See ``ddl_statements`` for the values.

Statements are told apart by their first words. What is neither known to leave tables alone nor understood raises.
"""

from __future__ import annotations

from collections.abc import Callable

from mirrorlake.core.schema.ddl_alter import read_alter_table, read_drop_index
from mirrorlake.core.schema.ddl_create import read_create_table, read_table_option
from mirrorlake.core.schema.ddl_dml import read_dml
from mirrorlake.core.schema.ddl_lexer import Kind
from mirrorlake.core.schema.ddl_statements import (
    AlterDatabase,
    AlterTable,
    ChangeUniqueKey,
    CreateDatabase,
    DropDatabase,
    DropTables,
    NoEffect,
    RefusedStatement,
    Statement,
)
from mirrorlake.core.schema.ddl_tokens import Tokens

_UNSUPPORTED = "ddl-unsupported"
_NO_EFFECT = frozenset(
    """BEGIN COMMIT ROLLBACK SAVEPOINT RELEASE START XA SET USE LOCK UNLOCK GRANT REVOKE FLUSH RESET PURGE CHANGE STOP
    OPTIMIZE CHECK CHECKSUM REPAIR CACHE INSTALL UNINSTALL KILL SHOW CLONE BACKUP""".split()
)
_OTHER_OBJECTS = frozenset(
    """VIEW TRIGGER PROCEDURE FUNCTION EVENT USER ROLE SERVER TABLESPACE LOGFILE UNDO SPATIAL RESOURCE AGGREGATE PACKAGE
    LIBRARY DEFINER ALGORITHM SQL JSON INSTANCE PREPARE MASKING""".split()
)
_INDEX_WORDS = frozenset(("INDEX", "UNIQUE", "FULLTEXT", "VECTOR"))


def parse_statement(tokens: Tokens) -> Statement:
    """Raises LexError and ParseError; the tables named until then are in ``tokens.tables``."""
    while tokens.accept("SET", "STATEMENT"):
        while not tokens.accept("FOR"):
            _step(tokens)
    first = tokens.peek().text.upper()
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
    if tokens.accept("TEMPORARY"):
        return NoEffect()
    if tokens.accept("TABLE"):
        return read_create_table(tokens, or_replace)
    if tokens.accept_any("DATABASE", "SCHEMA"):
        if_not_exists = tokens.accept("IF", "NOT", "EXISTS")
        return CreateDatabase(tokens.name(), if_not_exists, or_replace, _read_database_charset(tokens))
    if tokens.accept("SEQUENCE"):
        tokens.accept("IF", "NOT", "EXISTS")
        return RefusedStatement((tokens.table_name(),), _UNSUPPORTED, "CREATE SEQUENCE", even_unknown=True)
    word = tokens.peek().text.upper()
    if word in _INDEX_WORDS or tokens.sees("SPATIAL", "INDEX"):
        return _read_create_index(tokens, or_replace)
    return _other_object(tokens)


def _read_create_index(tokens: Tokens, or_replace: bool) -> Statement:
    is_unique = tokens.accept("UNIQUE")
    while not tokens.accept("ON"):
        _step(tokens)
    return _alter_keys(tokens, [ChangeUniqueKey("CREATE UNIQUE INDEX")] if is_unique or or_replace else [])


def _read_alter(tokens: Tokens) -> Statement:
    tokens.accept_any("ONLINE", "OFFLINE")
    loses_duplicates = tokens.accept("IGNORE")
    if tokens.accept("TABLE"):
        altered = read_alter_table(tokens)
        if loses_duplicates:
            return RefusedStatement(tuple(tokens.tables), _UNSUPPORTED, "ALTER IGNORE TABLE")
        return altered
    if tokens.accept_any("DATABASE", "SCHEMA"):
        has_name = tokens.peek().kind is Kind.QUOTED or not _sees_database_option(tokens)
        return AlterDatabase(tokens.name() if has_name else tokens.database, _read_database_charset(tokens))
    return NoEffect() if tokens.accept("SEQUENCE") else _other_object(tokens)


def _sees_database_option(tokens: Tokens) -> bool:
    words = ("DEFAULT", "CHARSET", "COLLATE", "ENCRYPTION", "COMMENT", "UPGRADE")
    return any(tokens.sees(word) for word in words) or tokens.sees("CHARACTER", "SET") or tokens.sees("READ", "ONLY")


def _read_database_charset(tokens: Tokens) -> str | None:
    charset = None
    while not tokens.at_end:
        if tokens.accept("READ", "ONLY") or tokens.accept("UPGRADE") or tokens.accept("DEFAULT", "ENCRYPTION"):
            while not (tokens.at_end or tokens.sees("DEFAULT")):
                tokens.next()
            continue
        option = read_table_option(tokens)
        if option is None:
            raise tokens.unexpected()
        charset = option.get("charset", charset)
    return charset


def _read_drop(tokens: Tokens) -> Statement:
    if tokens.accept("TEMPORARY"):
        return NoEffect()
    if tokens.accept_any("TABLE", "TABLES", "SEQUENCE"):
        tokens.accept("IF", "EXISTS")
        names = [tokens.table_name()]
        while tokens.accept(","):
            names.append(tokens.table_name())
        return DropTables(tuple(names))
    if tokens.accept_any("DATABASE", "SCHEMA"):
        tokens.accept("IF", "EXISTS")
        return DropDatabase(tokens.name())
    tokens.accept_any("ONLINE", "OFFLINE")
    if tokens.accept("INDEX"):
        clauses = read_drop_index(tokens)
        tokens.expect("ON")
        return _alter_keys(tokens, clauses)
    return _other_object(tokens)


def _alter_keys(tokens: Tokens, clauses: list) -> AlterTable:
    return AlterTable(tokens.table_name(), clauses)


def _read_rename(tokens: Tokens) -> Statement:
    if not tokens.accept_any("TABLE", "TABLES"):
        return _other_object(tokens)
    tokens.accept("IF", "EXISTS")
    while not tokens.at_end:
        tokens.table_name()
        while not (tokens.accept("TO") or tokens.accept(",") or tokens.at_end):
            tokens.next()
    return RefusedStatement(tuple(tokens.tables), _UNSUPPORTED, "RENAME TABLE")


def _read_truncate(tokens: Tokens) -> Statement:
    tokens.accept("TABLE")
    return RefusedStatement((tokens.table_name(),), _UNSUPPORTED, "TRUNCATE TABLE")


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
