"""The tables of a server that --tables chooses: which there are, patterns that fit none, tables without a mirror."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from mirrorlake.config import Options
from mirrorlake.core.schema.column_patterns import nearest_columns
from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.table_patterns import nearest
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.jobs.run.password import warn
from mirrorlake.lake.delta.lake import NAME_CASE, Lake
from mirrorlake.lake.gold.control.register import STREAMING, TableRegister
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.grants import Grants
from mirrorlake.mysql.source_tables import SourceTable, column_names, list_tables, table_names


def chosen_tables(control: ServerConnection, options: Options) -> list[SourceTable]:
    """List the tables of the server that the options choose, by name.

    Raises UsageError for a pattern of ``columns`` without a wildcard that fits no column; what ``require_select``,
    ``require_used`` and ``ServerConnection`` raise.
    """
    options, tables = seen_tables(control, options)
    names = {table.name for table in tables}
    require_select(control, names)
    require_used(options, names)
    for fault in _unused_columns(control, options):
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
        raise UsageError("usage", _fits_none(pattern, names))


def warn_of_unused(lake: Lake, control: ServerConnection, options: Options) -> None:
    """Warn of patterns that fit no table of the server or the lake, and of patterns of ``columns`` that fit no column:
    one may be created later, or be misspelled.

    A user without SELECT sees no table, and gets no warning. options: from ``as_compared``.
    """
    seen = table_names(control.query, lake.name_case.fold)
    if seen and options.patterns.unused(seen):
        names = seen | {entry.name for entry in TableRegister.read(lake)}
        for pattern in options.patterns.unused(names):
            warn(_fits_none(pattern, names))
    for fault in _unused_columns(control, options) if seen else ():
        warn(fault)


def count_not_mirrored(lake: Lake, control: ServerConnection, options: Options) -> int:
    """How many tables of the server the options choose and no mirror follows. options: from ``as_compared``."""
    seen = table_names(control.query, lake.name_case.fold)
    streaming = {entry.name for entry in TableRegister.read(lake) if entry.state == STREAMING}
    return sum(options.wants(*name) for name in seen - streaming)


def _fits_none(pattern: str, names: Collection[TableName]) -> str:
    return _none("table", pattern, nearest(pattern, names))


def _none(what: str, pattern: str, like: list[str]) -> str:
    return f"{pattern} fits no {what} that this user sees" + (f"; the nearest: {', '.join(like)}" if like else "")


def _unused_columns(control: ServerConnection, options: Options) -> Iterator[str]:
    """Yield what is wrong with each pattern of ``columns`` that should fit a column of the server, and fits none."""
    if not options.columns:
        return
    hidden = options.hidden(NameCase(options.lower_case_table_names))
    seen = column_names(control.query, hidden.name_case.fold)
    for pattern in hidden.unused(seen):
        yield _none("column", pattern, nearest_columns(pattern, seen))
