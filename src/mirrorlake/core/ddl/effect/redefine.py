"""A known definition and the clauses of an ALTER TABLE -> the definition after it. ``alter`` has the rows.

The order of the clauses matters only for columns: the server takes the old columns, changed or dropped, then puts new
and moved ones (mysql_prepare_alter_table in sql_table.cc).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mirrorlake.core.ddl.effect.definition import (
    Dialect,
    define_column,
    promote_first_timestamp,
    settle,
    table_charset,
)
from mirrorlake.core.ddl.effect.generated import with_renamed
from mirrorlake.core.ddl.effect.redefine_keys import Contradiction, redefine_keys, rename_parts
from mirrorlake.core.ddl.effect.redefine_partitions import misplaces_rows, repartition
from mirrorlake.core.ddl.effect.types import convert_type
from mirrorlake.core.ddl.parse.statements import (
    AddColumn,
    AddPeriod,
    ChangeColumn,
    Clause,
    ConvertCharset,
    DropColumn,
    DropPeriod,
    PartitionBy,
    RenameColumn,
    RenameTable,
    SetComment,
    SetDefault,
    SetDefaultCharset,
    SetEngine,
    SetVersioning,
    SetVisibility,
    TableOptions,
)
from mirrorlake.core.schema.charsets import BINARY
from mirrorlake.core.schema.keys import foreign_keys_of_renamed
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.schema.versioning import add_row_periods, drop_row_periods, with_row_end

__all__ = ["Contradiction", "redefine"]

_GENERATED_KEY = "my_row_id"
"""The column of ``sql_generate_invisible_primary_key``."""


def redefine(old: TableSchema, clauses: Iterable[Clause], dialect: Dialect) -> TableSchema:
    """Make the definition after. Raises Contradiction for a clause that does not fit ``old``, ParseError for a type
    that cannot be resolved."""
    clauses = tuple(clauses)
    new = _with_options(old, clauses, dialect)
    columns, renamed = _columns(new, clauses, dialect)
    new = rename_parts(replace(new, columns=tuple(columns)), renamed)
    new = redefine_keys(new, clauses, old)
    new = _versioned(new, clauses)
    if dialect.flavor == "mariadb" and new.partitioning and misplaces_rows(old, new, renamed):
        new = replace(new, partitioning=replace(new.partitioning, has_misplaced_rows=True))
    new = repartition(new, clauses)
    if new.is_versioned != old.is_versioned or any(isinstance(clause, PartitionBy) for clause in clauses):
        new = with_row_end(new, dialect.row_end)
    return settle(_convert(new, clauses, dialect.flavor), dialect)


def _with_options(schema: TableSchema, clauses: Sequence[Clause], dialect: Dialect) -> TableSchema:
    for clause in clauses:
        if isinstance(clause, SetDefaultCharset | ConvertCharset):
            is_sessions = isinstance(clause, ConvertCharset) and dialect.flavor == "mysql"
            home = replace(dialect, database_charset=dialect.session_charset) if is_sessions else dialect
            charset, collation = table_charset(TableOptions(clause.charset, clause.collation), home)
            schema = replace(schema, default_charset=charset, default_collation=collation)
        elif isinstance(clause, SetEngine):
            schema = replace(schema, engine=clause.engine)
        elif isinstance(clause, SetComment):
            schema = replace(schema, comment=clause.text)
        elif isinstance(clause, RenameTable):
            foreign = foreign_keys_of_renamed(schema.foreign_keys, schema.table, clause.name.table)
            schema = replace(schema, database=clause.name.database, table=clause.name.table, foreign_keys=foreign)
    return schema


def _columns(
    schema: TableSchema, clauses: Sequence[Clause], dialect: Dialect
) -> tuple[list[Column], dict[str, str | None]]:
    """Return (new columns, old name case folded -> new name or None if dropped)."""
    changes = {folded(c.name): c for c in clauses if isinstance(c, ChangeColumn) and _exists(schema, c, "CHANGE")}
    gone = {folded(c.name) for c in clauses if isinstance(c, DropColumn) and _exists(schema, c, "DROP")}
    new_names = {
        folded(c.name): c.new_name for c in clauses if isinstance(c, RenameColumn) and _exists(schema, c, "RENAME")
    }
    columns: list[Column] = []
    renamed: dict[str, str | None] = {name: None for name in gone}
    moved: dict[int, Column] = {}
    for column in schema.columns:
        name = folded(column.name)
        if name in gone:
            continue
        change = changes.get(name)
        if change:
            column = moved[id(change)] = _define(change.column, schema, dialect)
            renamed[name] = column.name
        elif name in new_names:
            renamed[name] = new_names[name]
            column = replace(_altered(column, clauses), name=new_names[name])
        else:
            column = _altered(column, clauses)
        columns.append(column)
    written = {id(column) for column in moved.values()}
    columns = [column if id(column) in written else with_renamed(column, renamed) for column in columns]
    _place_all(columns, schema, clauses, moved, dialect)
    if dialect.flavor == "mysql" and _has_generated_key(schema):
        columns.sort(key=lambda column: folded(column.name) != _GENERATED_KEY)
    return columns if dialect.explicit_timestamps else promote_first_timestamp(columns), renamed


def _has_generated_key(schema: TableSchema) -> bool:
    """Has MySQL made the primary key itself, or does it take it for such a one? No ALTER puts a column before it, while
    the table has an engine for which MySQL makes keys. schema: with the engine after the statement."""
    first = schema.columns[0]
    if (
        schema.engine not in (None, "innodb")
        or folded(first.name) != _GENERATED_KEY
        or [folded(name) for name in schema.primary_key] != [_GENERATED_KEY]
    ):
        return False
    return first.is_invisible and first.is_auto_increment and first.type == ColumnType("bigint", unsigned=True)


def _exists(schema: TableSchema, clause: ChangeColumn | DropColumn | RenameColumn, verb: str) -> bool:
    if schema.position(clause.name) is not None:
        return True
    if clause.if_exists:
        return False
    raise Contradiction(f"{verb} COLUMN {clause.name}: there is no such column")


def _define(spec, schema: TableSchema, dialect: Dialect) -> Column:
    return define_column(spec, dialect, schema.default_charset, schema.default_collation)


def _altered(column: Column, clauses: Sequence[Clause]) -> Column:
    """Apply ALTER COLUMN ... SET."""
    for clause in clauses:
        if isinstance(clause, SetDefault | SetVisibility) and folded(clause.name) == folded(column.name):
            if isinstance(clause, SetDefault):
                column = replace(column, default=clause.default)
            else:
                column = replace(column, is_invisible=clause.is_invisible)
    return column


def _place_all(
    columns: list[Column], schema: TableSchema, clauses: Sequence[Clause], changed: dict[int, Column], dialect: Dialect
) -> None:
    """Put new columns, and changed ones with a given position, in the order written. changed: by identity of
    clause."""
    names = {folded(column.name) for column in columns}
    for clause in clauses:
        if isinstance(clause, AddColumn):
            if clause.if_not_exists and schema.position(clause.column.name) is not None:
                continue
            name = folded(clause.column.name)
            if name in names:
                raise Contradiction(f"ADD COLUMN {clause.column.name}: there is such a column already")
            names.add(name)
            _place(columns, _define(clause.column, schema, dialect), clause.after)
        elif isinstance(clause, ChangeColumn) and clause.after is not None and id(clause) in changed:
            column = changed[id(clause)]
            del columns[next(i for i, known in enumerate(columns) if known is column)]
            _place(columns, column, clause.after)


def _place(columns: list[Column], column: Column, after: str | None) -> None:
    if after is None:
        columns.append(column)
        return
    before = _index(columns, after) if after else -1
    if before is None:
        raise Contradiction(f"AFTER {after}: there is no such column")
    columns.insert(before + 1, column)


def _index(columns: Sequence[Column], name: str) -> int | None:
    wanted = folded(name)
    return next((i for i, column in enumerate(columns) if folded(column.name) == wanted), None)


def _versioned(schema: TableSchema, clauses: Sequence[Clause]) -> TableSchema:
    for clause in clauses:
        if isinstance(clause, SetVersioning) and not clause.is_versioned:
            schema = drop_row_periods(schema)
        elif isinstance(clause, SetVersioning):
            schema = replace(schema, is_versioned=True)
        elif isinstance(clause, DropPeriod):
            left = tuple(p for p in schema.periods if folded(p.name) != folded(clause.name))
            schema = replace(schema, periods=left)
        elif isinstance(clause, AddPeriod) and not (clause.if_not_exists and _has_period(schema, clause.period.name)):
            schema = replace(schema, periods=(*schema.periods, clause.period))
    return add_row_periods(schema)


def _has_period(schema: TableSchema, name: str) -> bool:
    return any(folded(period.name) == folded(name) for period in schema.periods)


def _convert(schema: TableSchema, clauses: Sequence[Clause], flavor: str) -> TableSchema:
    """CONVERT TO CHARACTER SET: every text column gets the table's, and an old one keeps room for its values."""
    if not any(isinstance(clause, ConvertCharset) for clause in clauses):
        return schema
    written = {folded(c.column.name) for c in clauses if isinstance(c, AddColumn | ChangeColumn)}
    columns = (_converted(column, schema, folded(column.name) not in written, flavor) for column in schema.columns)
    return replace(schema, columns=tuple(columns))


def _converted(column: Column, schema: TableSchema, is_old: bool, flavor: str) -> Column:
    if not column.type.has_charset or column.type.charset == BINARY:
        return column
    kind = convert_type(column.type, schema.default_charset, is_old, flavor)
    keeps = kind.has_charset and kind.charset != BINARY
    return replace(
        column, type=kind, collation=schema.default_collation if keeps else None, has_charset_of_its_own=False
    )
