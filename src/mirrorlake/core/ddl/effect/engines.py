"""Refusals of a statement because of its table's storage engine, or because a table shows rows of others."""

from __future__ import annotations

from collections.abc import Iterable

from mirrorlake.core.ddl.effect.context import Before, refuse
from mirrorlake.core.ddl.parse.statements import AlterTable, CreateTable, RefusedClause, Statement
from mirrorlake.core.schema.engines import may_be_replaced, why_engine_loses_rows, why_keys_are_unsure
from mirrorlake.core.schema.history import MERGED, THROUGH_MERGE, DefinitionChange
from mirrorlake.core.schema.keys import NOT_FOLLOWED
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema

_MAY_BE_MERGED = ("myisam", None)


def by_engines(changes: Iterable[DefinitionChange], parsed: Statement, before: Before) -> list[DefinitionChange]:
    """The changes of a statement; refuses tables whose foreign keys may not exist, and tables in a UNION."""
    sure = [_unless_merged(_with_sure_keys(change, before), before) for change in changes]
    return [*sure, *(_in_union(name, before) for name in _union(parsed))]


def why_engine(parsed: CreateTable, before: Before) -> str | None:
    """Why a table does not have exactly its own rows; None: it does."""
    named = parsed.options.engine
    reason = why_engine_loses_rows(named or before.server.default_engine)
    return f"{reason}, the server's default" if reason and named is None else reason


def engine_of_new(parsed: CreateTable, before: Before) -> str | None:
    """The engine that the text names, else the server's report. A name that may have been replaced does not count where
    it decides about foreign keys."""
    named = parsed.options.engine
    decides = parsed.foreign_keys and not why_engine_loses_rows(named)
    if decides and may_be_replaced(named, before.session.sql_mode):
        named = None
    return named or before.server.engine_of(*parsed.name)


def _with_sure_keys(change: DefinitionChange, before: Before) -> DefinitionChange:
    if not change.schema or change.action == "refuse":
        return change
    reason = why_keys_are_unsure(change.schema, before.server.default_engine)
    return refuse(change.name, NOT_FOLLOWED, reason, change.schema) if reason else change


def _unless_merged(change: DefinitionChange, before: Before) -> DefinitionChange:
    """The change; the refusal of a table that takes a name in a UNION. A table of engine MERGE finds its tables by
    their names, also one that was made later (measured: MySQL 9.7, MariaDB 10.11)."""
    if change.action == "refuse" or change.name not in before.definitions.merged or not _may_be_merged(change.schema):
        return change
    if _may_be_merged(before.known(change.name)):  # a resync brought it back
        return change
    return refuse(change.name, "ddl-unsupported", THROUGH_MERGE, change.schema)


def _in_union(name: TableName, before: Before) -> DefinitionChange:
    """The refusal of a table in a UNION. One of another engine than MyISAM cannot be used through it as long as it has
    that engine."""
    known = before.known(name)
    if isinstance(known, TableSchema) and known.engine not in _MAY_BE_MERGED:
        return DefinitionChange(MERGED, *name)
    return refuse(name, "ddl-unsupported", THROUGH_MERGE)


def _may_be_merged(known: object) -> bool:
    return isinstance(known, TableSchema) and known.engine in _MAY_BE_MERGED


def _union(parsed: Statement) -> Iterable[TableName]:
    """Tables whose rows change from now on without their own row events."""
    if isinstance(parsed, AlterTable):
        refused = (clause for clause in parsed.clauses if isinstance(clause, RefusedClause))
        return [name for clause in refused for name in clause.others]
    return parsed.options.union if isinstance(parsed, CreateTable) else ()
