"""Temporary tables whose statements are logged: with ``binlog_format`` STATEMENT, of MariaDB also with MIXED.

A later statement of the session may name the temporary table or the ordinary one; the log does not say which.
"""

from __future__ import annotations

from mirrorlake.core.ddl.effect.context import Before
from mirrorlake.core.ddl.parse.statements import (
    AlterTable,
    CreateTable,
    CreateTemporaryTable,
    RefusedStatement,
    RenameTable,
    RenameTables,
    Statement,
    TruncateTable,
)
from mirrorlake.core.schema.history import TEMPORARY, DefinitionChange
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema


def create_temporary(parsed: CreateTemporaryTable, before: Before) -> list[DefinitionChange]:
    if parsed.name in before.definitions.temporary:
        return []
    return [DefinitionChange(TEMPORARY, *parsed.name)]


def renamed_temporary(parsed: Statement, before: Before) -> list[DefinitionChange]:
    """The new names of tables that the statement renames, if they may be temporary ones."""
    known, found = before.definitions.temporary, dict[TableName, None]()
    for old, new in _renamed(parsed, before):
        if (old in known or old in found) and new not in known:
            found[new] = None
    return [DefinitionChange(TEMPORARY, *name) for name in found]


def _renamed(parsed: Statement, before: Before) -> list[tuple[TableName, TableName]]:
    """(former name, new name) of each table that the statement renames and that may be a temporary one."""
    if not _may_be_about_temporary(parsed, before):
        return []
    if isinstance(parsed, RenameTables):
        return list(parsed.pairs)
    if isinstance(parsed, AlterTable):
        return [(parsed.name, clause.name) for clause in parsed.clauses if isinstance(clause, RenameTable)]
    return []


def without_doubt(parsed: Statement, named: list[TableName], before: Before) -> Statement:
    """The statement, or its refusal if it may be about a temporary table. named: all tables in the statement."""
    doubted = next((name for name in _changed(parsed, before) if name in before.definitions.temporary), None)
    if doubted is None or not isinstance(before.known(doubted), TableSchema):
        return parsed
    reason = f"a temporary table {doubted} was logged, and the statement may be about that one"
    if isinstance(parsed, CreateTable):
        return RefusedStatement((parsed.name,), "ddl-unsupported", reason, even_unknown=True)
    followed = tuple(name for name in named if isinstance(before.known(name), TableSchema))
    return RefusedStatement(followed, "ddl-unsupported", reason)


def _changed(parsed: Statement, before: Before) -> list[TableName]:
    """Tables that the statement changes, or takes a definition from, if they may be temporary ones."""
    if not _may_be_about_temporary(parsed, before):
        return []
    if isinstance(parsed, RenameTables):
        return [old for old, _ in parsed.pairs]
    if isinstance(parsed, AlterTable | TruncateTable):
        return [parsed.name]
    return [parsed.like] if isinstance(parsed, CreateTable) and parsed.like else []


def _may_be_about_temporary(parsed: Statement, before: Before) -> bool:
    """MariaDB logs a RENAME TABLE of a temporary table without the flag (measured: 10.11, 11.8); MySQL has none."""
    return before.server.flavor == "mariadb" if isinstance(parsed, RenameTables) else before.session.may_use_temporary
