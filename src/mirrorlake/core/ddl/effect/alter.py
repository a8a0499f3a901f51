"""A known definition and the clauses of an ALTER TABLE -> the definition after it, and the effect on rows.

``redefine`` makes the definition; this module finds the source of each column's values, and the rows to delete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mirrorlake.core.ddl.effect.algorithm import MEASURED_SINCE, copies_rows
from mirrorlake.core.ddl.effect.conflicting_clauses import why_clauses_conflict
from mirrorlake.core.ddl.effect.definition import Dialect
from mirrorlake.core.ddl.effect.generated import with_renamed
from mirrorlake.core.ddl.effect.redefine import Contradiction, redefine
from mirrorlake.core.ddl.parse import statements as ddl
from mirrorlake.core.ddl.parse.constants import constant
from mirrorlake.core.ddl.parse.session import LoggedSession
from mirrorlake.core.schema.engines import may_be_replaced, why_engine_loses_rows
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.row_steps import NOW, ZERO, Add, Keep, Remove, ServerMode, Step
from mirrorlake.core.schema.tables import Column, Default, TableSchema

_UNSUPPORTED = "ddl-unsupported"
_STRICT_MODES = 1 << 21 | 1 << 22  # STRICT_TRANS_TABLES, STRICT_ALL_TABLES
_NO_ZERO_DATES = 1 << 23 | 1 << 24  # NO_ZERO_IN_DATE, NO_ZERO_DATE
_ALLOW_INVALID_DATES = 1 << 25
_PAD_CHAR = 1 << 31  # PAD_CHAR_TO_FULL_LENGTH
_ROUND_FRACTIONAL = 1 << 34  # MariaDB's TIME_ROUND_FRACTIONAL
_TRUNCATE_FRACTIONAL = 1 << 32  # MySQL's TIME_TRUNCATE_FRACTIONAL


class CannotEvolve(Exception):
    """A clause that is not replayed, or that contradicts the known definition although the server executed it."""

    def __init__(self, code: str, reason: str):
        super().__init__(code, reason)
        self.code, self.reason = code, reason


def evolve(
    old: TableSchema, clauses: Sequence[ddl.Clause], dialect: Dialect, session: LoggedSession
) -> tuple[TableSchema, tuple[Step, ...]]:
    """Return (definition after, steps for rows). Raises CannotEvolve, and ParseError for a column's type."""
    for clause in clauses:
        _refuse_clause(clause)
    if reason := why_clauses_conflict(old, clauses) or _why_keys_are_unsure(old, clauses, session.sql_mode):
        raise CannotEvolve(_UNSUPPORTED, reason)
    try:
        new = redefine(old, clauses, dialect)
    except Contradiction as error:
        raise CannotEvolve("definition-mismatch", str(error)) from None
    removed = [
        _removed(clause, old, dialect)
        for clause in clauses
        if isinstance(clause, ddl.DropPartitions | ddl.TruncatePartitions)
    ]
    if removed:
        return new, tuple(removed)
    return new, _column_steps(old, new, clauses, dialect, session)


def _refuse_clause(clause: ddl.Clause) -> None:
    if isinstance(clause, ddl.RefusedClause):
        raise CannotEvolve(clause.code, clause.reason)
    reason = _why_refused(clause)
    if reason:
        raise CannotEvolve(_UNSUPPORTED, reason)


def _why_refused(clause: ddl.Clause) -> str | None:
    if isinstance(clause, ddl.ChangeTablespace):
        return f"{clause.action} TABLESPACE"
    if isinstance(clause, ddl.SetEngine):
        return why_engine_loses_rows(clause.engine)
    if isinstance(clause, ddl.ReorganizePartitions) and not clause.partitions:
        return "REORGANIZE PARTITION without names, which changes how many there are"
    return clause.column.unsupported if isinstance(clause, ddl.AddColumn | ddl.ChangeColumn) else None


def _why_keys_are_unsure(old: TableSchema, clauses: Sequence[ddl.Clause], sql_mode: int) -> str | None:
    """Why it is not known whether the table keeps its foreign keys: it may keep its engine."""
    if not old.row_changing_keys:
        return None
    named = (clause.engine for clause in clauses if isinstance(clause, ddl.SetEngine))
    unsure = next((engine for engine in named if may_be_replaced(engine, sql_mode)), None)
    return unsure and f"ENGINE={unsure} without NO_ENGINE_SUBSTITUTION, of a table with foreign keys"


def _removed(clause: ddl.DropPartitions | ddl.TruncatePartitions, old: TableSchema, dialect: Dialect) -> Remove:
    if old.partitioning is None:
        raise CannotEvolve("definition-mismatch", "the table has no partitions")
    return Remove(old.partitioning.on_server(dialect.row_end), clause.names)


def _server_mode(session: LoggedSession, flavor: str) -> ServerMode:
    sql_mode = session.sql_mode
    if flavor == "mariadb":
        truncates = not sql_mode & _ROUND_FRACTIONAL
    else:
        truncates = bool(sql_mode & _TRUNCATE_FRACTIONAL)
    is_strict, pads_char = (bool(sql_mode & modes) for modes in (_STRICT_MODES, _PAD_CHAR))
    lets_dates_in = flavor == "mariadb" or bool(sql_mode & _ALLOW_INVALID_DATES)
    changes_dates = not is_strict and (bool(sql_mode & _NO_ZERO_DATES) or not lets_dates_in)
    return ServerMode(flavor, is_strict, session.time_zone, truncates, pads_char, changes_dates=changes_dates)


def _column_steps(
    old: TableSchema, new: TableSchema, clauses: Sequence[ddl.Clause], dialect: Dialect, session: LoggedSession
) -> tuple[Step, ...]:
    """The steps of columns; () for an ALTER that leaves them unchanged. A PRIMARY KEY makes its columns NOT NULL."""
    sources, mode = _sources(old, clauses), _server_mode(session, dialect.flavor)
    is_copied = any(map(_is_copying, clauses))
    names_columns = any(isinstance(clause, _OF_COLUMNS) for clause in clauses)
    if not (names_columns or _loses_null(old, new) or is_copied and _changes_in_a_copy(old, mode)):
        return ()
    added = {folded(clause.column.name): clause.column for clause in clauses if isinstance(clause, ddl.AddColumn)}
    steps: list[Step] = []
    for column in new.columns:
        name = folded(column.name)
        source = sources.get(name)
        steps.append(Keep(column.name, source) if source else _add(column, added.get(name), session, dialect.flavor))
    is_measured = dialect.flavor == "mariadb" and dialect.server_version >= MEASURED_SINCE
    decides = is_measured and not mode.is_strict  # whether a NULL becomes the zero of its type, or the DEFAULT
    copied = _copies_rows(old, new, clauses, sources, is_copied or None, decides)
    return replace(mode, copies_rows=copied), *steps


def _is_copying(clause: ddl.Clause) -> bool:
    return isinstance(clause, ddl.PartitionBy | ddl.RemovePartitioning) or clause == ddl.SetAlgorithm("COPY")


def _changes_in_a_copy(old: TableSchema, mode: ServerMode) -> bool:
    """May a copy have other values, although no column is another?"""
    types = {column.type.name for column in old.columns}
    is_computed = any(column.generated is not None and column.is_stored for column in old.columns)
    depends = any(mode.setting_of(column.type) for column in old.columns)
    return mode.changes_dates and not types.isdisjoint(("date", "datetime")) or is_computed and depends


def _copies_rows(
    old: TableSchema, new: TableSchema, clauses: Sequence[ddl.Clause], sources: dict[str, Column],
    copied: bool | None, decides: bool,
) -> bool | None:  # fmt: skip
    """Were rows copied? copied: what the clauses alone say; it counts if no column becomes NOT NULL. decides: if one
    does, the algorithm decides about its values."""
    kept = [(sources[name], column) for column in new.columns if (name := folded(column.name)) in sources]
    without_null = [(before, after) for before, after in kept if before.nullable and not after.nullable]
    if not without_null:
        return copied
    if not decides:
        return None
    changed = {folded(clause.column.name) for clause in clauses if isinstance(clause, ddl.ChangeColumn)}
    return copies_rows(old, new, clauses, [*without_null, *(pair for pair in kept if folded(pair[1].name) in changed)])


def _loses_null(old: TableSchema, new: TableSchema) -> bool:
    """Does one of the columns become NOT NULL? Both tables have the same columns."""
    return any(before.nullable and not after.nullable for before, after in zip(old.columns, new.columns, strict=True))


_OF_COLUMNS = (
    ddl.AddColumn | ddl.DropColumn | ddl.ChangeColumn | ddl.RenameColumn | ddl.ConvertCharset | ddl.SetVersioning
)


def _sources(old: TableSchema, clauses: Sequence[ddl.Clause]) -> dict[str, Column]:
    """Return new name, case folded -> the old column, with other columns' new names in its expression."""
    names: dict[str, str | None] = {}
    for clause in clauses:
        if isinstance(clause, ddl.DropColumn):
            names[folded(clause.name)] = None
        elif isinstance(clause, ddl.ChangeColumn):
            names[folded(clause.name)] = clause.column.name
        elif isinstance(clause, ddl.RenameColumn):
            names[folded(clause.name)] = clause.new_name
    kept = ((names.get(folded(column.name), column.name), with_renamed(column, names)) for column in old.columns)
    return {folded(name): column for name, column in kept if name is not None}


def _add(column: Column, spec: ddl.ColumnSpec | None, session: LoggedSession, flavor: str) -> Add:
    """spec: how the statement writes the column."""
    default = column.default
    if session.explicit_timestamps is None and _may_have_a_default_of_its_own(spec):
        return Add(column.name, needs_empty="rows that exist get what explicit_defaults_for_timestamp says")
    if column.row_period or column.generated is not None:
        return Add(column.name, needs_empty="rows that exist get what an expression gives")
    if column.is_auto_increment:
        return Add(column.name, needs_empty="rows that exist get numbers in an order that the log does not have")
    if default is None:
        return Add(column.name, None if column.nullable else Default(ZERO))
    if default.kind == "null":
        return Add(column.name, needs_empty=None if column.nullable else "rows that exist get no NULL, the default")
    if default.kind == "now":
        if session.now is None:
            return Add(column.name, needs_empty="rows that exist get the time of the statement")
        return Add(column.name, Default(NOW, _with_digits(session.now, int(default.text), flavor)))
    if default.kind == "expression":
        value = constant(default.text)
        return Add(column.name, value, None if value else "rows that exist get what an expression gives")
    return Add(column.name, default)


def _with_digits(now: str, digits: int, flavor: str) -> str:
    """The time as CURRENT_TIMESTAMP(digits) has it. MariaDB gives the column's digits to one that names none."""
    whole, _, fraction = now.partition(".")
    if not digits and flavor == "mariadb":
        return now
    return f"{whole}.{fraction[:digits]}" if digits and fraction else whole


def _may_have_a_default_of_its_own(spec: ddl.ColumnSpec | None) -> bool:
    return spec is not None and spec.type.name == "timestamp" and spec.nullable is not True and spec.default is None
