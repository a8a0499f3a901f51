"""Parsed column and key specifications -> the definition the server makes of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mirrorlake.core.ddl.effect.keys import settle_keys
from mirrorlake.core.ddl.effect.types import may_be_other_text, resolve_type
from mirrorlake.core.ddl.parse.statements import ColumnSpec, CreateTable, TableOptions
from mirrorlake.core.ddl.parse.tokens import ParseError
from mirrorlake.core.schema.charsets import BINARY, charset_of_collation_name
from mirrorlake.core.schema.engines import keeps_foreign_keys
from mirrorlake.core.schema.keys import PRIMARY, Key, identity_key, server_order, settle_foreign_keys
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.tables import Column, Default, TableSchema
from mirrorlake.core.schema.types import BLOBS, TEXTS
from mirrorlake.core.schema.versioning import add_row_periods, with_row_end

_ZERO_TIMESTAMP = Default("string", "0000-00-00 00:00:00")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The context on which a statement's meaning depends, besides its text.

    server_version: 90704 for 9.7.4. explicit_timestamps: explicit_defaults_for_timestamp. database_charset,
    database_collation: defaults of the table's database, None when not known. row_end: ``row_end_of_server``.
    session_charset: of collation_database, None when not known; MySQL's CONVERT TO CHARACTER SET DEFAULT takes it
    (measured: 9.7), and MariaDB's that of the table's database (10.11).
    """

    flavor: str
    server_version: int = 999999
    explicit_timestamps: bool = True
    database_charset: str | None = None
    database_collation: str | None = None
    row_end: int | None = None
    session_charset: str | None = None


def define_table(created: CreateTable, dialect: Dialect) -> TableSchema:
    """Make the definition. Raises ParseError if the parts contradict each other."""
    if not created.columns:
        raise ParseError("no columns")
    charset, collation = table_charset(created.options, dialect)
    columns = [define_column(spec, dialect, charset, collation) for spec in created.columns]
    if not dialect.explicit_timestamps:
        columns = promote_first_timestamp(columns)
    drafted = TableSchema(
        created.name.database,
        created.name.table,
        tuple(columns),
        (),
        default_charset=charset,
        default_collation=collation,
        keys=tuple(created.keys),
        foreign_keys=tuple(created.foreign_keys),
        engine=created.options.engine,
        partitioning=created.partitioning,
        is_versioned=created.options.is_versioned or any(spec.is_table_versioned for spec in created.columns),
        periods=tuple(created.periods),
        comment=created.options.comment or "",
    )
    return settle(with_row_end(add_row_periods(drafted), dialect.row_end), dialect)


def define_like(source: TableSchema, database: str, table: str) -> TableSchema:
    """CREATE TABLE ... LIKE: everything except the foreign keys and triggers."""
    keys = tuple(replace(key, is_generated=False) for key in source.keys)
    return replace(source, database=database, table=table, keys=keys, foreign_keys=(), update_triggers=())


def settle(drafted: TableSchema, dialect: Dialect) -> TableSchema:
    """Name the keys, put them in the server's order, make columns of the PRIMARY KEY NOT NULL, and choose the key.

    Raises ParseError for a key on a column that the table does not have.
    """
    keys = settle_keys(drafted, dialect.flavor)
    columns = _without_nulls(drafted, keys)
    never_null = {folded(column.name) for column in columns if column.never_null}
    keys = server_order(keys, never_null)
    identity = identity_key(keys, never_null)
    foreign = drafted.foreign_keys if keeps_foreign_keys(drafted.engine) else ()
    return replace(
        drafted,
        columns=tuple(columns),
        foreign_keys=settle_foreign_keys(foreign, drafted.database, drafted.table),
        keys=keys,
        primary_key=identity.columns if identity else (),
        key_is_promoted=not any(key.kind == PRIMARY for key in keys),
    )


def _without_nulls(schema: TableSchema, keys: Iterable[Key]) -> list[Column]:
    """Columns of the PRIMARY KEY and of a period are NOT NULL."""
    never = {folded(name) for key in keys if key.kind == PRIMARY for name in key.columns}
    never |= {folded(name) for period in schema.periods for name in (period.start, period.end)}
    return [_never_null(column) if folded(column.name) in never else column for column in schema.columns]


def _never_null(column: Column) -> Column:
    has_null_default = column.default is not None and column.default.kind == "null"
    return replace(column, nullable=False, default=None if has_null_default else column.default)


def table_charset(options: TableOptions, dialect: Dialect) -> tuple[str | None, str | None]:
    """Return (character set, collation) of columns that name none."""
    charset = None if options.charset == "default" else options.charset
    collation = None if options.collation == "default" else options.collation
    if charset is None and collation:
        charset = charset_of_collation_name(collation)
    if charset is None:
        return dialect.database_charset, collation or dialect.database_collation
    return charset, collation


def define_column(spec: ColumnSpec, dialect: Dialect, charset: str | None, collation: str | None = None) -> Column:
    """Define a column. charset, collation: the table's. Raises ParseError for a type that cannot be resolved."""
    kind = resolve_type(spec.type, dialect.flavor, charset)
    default = spec.default.text if spec.default and spec.default.kind == "string" and kind.has_charset else ""
    if may_be_other_text(default, kind.charset, spec.type.connection_charset):
        raise ParseError(f"a DEFAULT of a column of {kind.charset}, in {spec.type.connection_charset}")
    is_implicit = spec.type.name == "timestamp" and not dialect.explicit_timestamps
    nullable = spec.nullable is True if is_implicit else spec.nullable is not False
    nullable = nullable and spec.row_period is None
    has_own = kind.has_charset and (spec.type.charset is not None or spec.type.collation is not None)
    is_text = kind.has_charset and kind.charset != BINARY
    found = Column(
        spec.name,
        kind,
        nullable,
        collation=_collation(spec, kind.charset, None if has_own else collation) if is_text else None,
        default=spec.default,
        updates_to_now=spec.updates_to_now,
        generated=spec.generated,
        is_stored=spec.is_stored,
        is_invisible=spec.is_invisible,
        is_auto_increment=spec.is_auto_increment,
        is_compressed=spec.is_compressed,
        is_zerofill=spec.type.is_zerofill,
        display=spec.type.numbers if kind.name.endswith("int") or kind.name in ("float", "double") else (),
        row_period=spec.row_period,
        is_versioned=spec.is_versioned,
        has_charset_of_its_own=has_own,
        comment=spec.comment,
    )
    is_plain_text = spec.default is not None and spec.default.kind == "string" and not spec.default_in_parentheses
    if dialect.flavor == "mysql" and kind.name in (*TEXTS, *BLOBS) and is_plain_text:
        found = replace(found, default=None)  # MySQL accepts '' outside strict mode, and ignores it
    has_no_default = found.default is None and spec.generated is None and spec.row_period is None
    return replace(found, default=Default("null")) if has_no_default and nullable else found


def _collation(spec: ColumnSpec, charset: str | None, inherited: str | None) -> str | None:
    if spec.type.is_binary and spec.type.collation is None and charset:
        return f"{charset}_bin"
    return spec.type.collation or inherited


def promote_first_timestamp(columns: Sequence[Column]) -> list[Column]:
    """Without explicit_defaults_for_timestamp: the first TIMESTAMP follows the clock, others begin with zero."""
    found = list(columns)
    stamps = [i for i, column in enumerate(found) if column.type.name == "timestamp"]
    for i in stamps:
        column = found[i]
        if column.nullable or column.default or column.generated or column.row_period or column.updates_to_now:
            continue
        digits = str(column.type.fraction_digits or 0)
        follows = {"default": Default("now", digits), "updates_to_now": True}
        found[i] = replace(column, **(follows if i == stamps[0] else {"default": _ZERO_TIMESTAMP}))
    return found
