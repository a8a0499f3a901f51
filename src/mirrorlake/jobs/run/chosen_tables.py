"""The tables of a server that --tables chooses: which there are, and patterns that fit none. No Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mirrorlake.config import Options
from mirrorlake.core.schema.column_patterns import nearest_columns
from mirrorlake.core.schema.lower_case_names import NAME_CASE, NameCase
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.table_patterns import nearest
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.grants import Grants
from mirrorlake.mysql.source_tables import SourceTable, column_names, list_tables


def chosen_tables(control: ServerConnection, options: Options) -> list[SourceTable]:
    """List the tables of the server that the options choose, by name.

    Raises UsageError for a pattern of ``columns`` without a wildcard that fits no column; what ``require_select``,
    ``require_used`` and ``ServerConnection`` raise.
    """
    options, tables = seen_tables(control, options)
    names = {table.name for table in tables}
    require_select(control, names)
    require_used(options, names)
    for fault in unused_columns(control, options, names):
        raise UsageError("usage", fault)
    return [table for table in tables if options.wants(*table.name)]


def seen_tables(control: ServerConnection, options: Options) -> tuple[Options, list[SourceTable]]:
    """The options, with patterns that compare names as the server does, and all tables that it shows this user."""
    name_case = NameCase(control.number(NAME_CASE) or 0)
    options = options.model_copy(update={NAME_CASE: name_case.setting})
    return options, list_tables(control.query, name_case.fold)


def require_select(control: ServerConnection, seen: Collection[TableName]) -> None:
    """Raise RefusedError ``server-privilege`` for a user who sees no table, because SELECT is granted nowhere."""
    if not seen and not Grants.of_user(control.query).may_select:
        raise RefusedError("server-privilege", f"{control.login}: SELECT is missing, this user sees no table")


def require_used(options: Options, names: Collection[TableName]) -> None:
    """Raise UsageError for a pattern that fits none of these tables. options: from ``as_compared``."""
    for pattern in options.patterns.unused(names):
        raise UsageError("usage", fits_none(pattern, names))


def fits_none(pattern: str, names: Collection[TableName]) -> str:
    """Why a pattern cannot be used, with the nearest names."""
    return _none("table", pattern, nearest(pattern, names))


def _none(what: str, pattern: str, like: list[str]) -> str:
    return f"{pattern} fits no {what} that this user sees" + (f"; the nearest: {', '.join(like)}" if like else "")


def unused_columns(control: ServerConnection, options: Options, names: Collection[TableName]) -> Iterator[str]:
    """Yield what is wrong with each pattern of ``columns`` that should fit a column of these tables, and fits none.

    Only the tables that the patterns name are asked for: a list of all columns has no bound.
    """
    if not options.columns:
        return
    hidden = options.hidden(NameCase(options.lower_case_table_names))
    tables = sorted(hidden.named_tables(names))
    seen = {column for name in tables for column in column_names(control.query, name)}
    for pattern in hidden.unused(seen):
        yield _none("column", pattern, nearest_columns(pattern, seen))
