"""Parsed column and key specifications -> the definition the server makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from mirrorlake.core.schema.ddl_statements import ColumnSpec, CreateTable, Default, KeySpec
from mirrorlake.core.schema.ddl_tokens import ParseError
from mirrorlake.core.schema.ddl_types import resolve_type
from mirrorlake.core.schema.tables import Column, TableSchema


def define_table(created: CreateTable, flavor: str, database_charset: str | None) -> TableSchema:
    """Raises ParseError when the parts do not fit together."""
    charset = created.charset or database_charset
    columns = [define_column(spec, flavor, charset) for spec in created.columns]
    never_null = {c.name for c, spec in zip(columns, created.columns, strict=True) if _is_never_null(c, spec)}
    primary = next((key for key in created.keys if key.is_primary), None)
    if primary:
        in_key = {name.casefold() for name in primary.columns}
        columns = [Column(c.name, c.type, c.nullable and c.name.casefold() not in in_key) for c in columns]
    key = primary or _promoted_key(created.keys, {name.casefold() for name in never_null})
    if not columns:
        raise ParseError("no columns")
    return TableSchema(
        created.name.database,
        created.name.table,
        tuple(columns),
        tuple(_declared_name(name, columns) for name in key.columns) if key else (),
        default_charset=charset,
        key_is_promoted=primary is None,
    )


def define_column(spec: ColumnSpec, flavor: str, table_charset: str | None) -> Column:
    """Raises ParseError for a type that cannot be resolved."""
    nullable = spec.nullable is not False and not spec.is_auto_increment
    return Column(spec.name, resolve_type(spec.type, flavor, table_charset), nullable)


def _is_never_null(column: Column, spec: ColumnSpec) -> bool:
    """In the eyes of the servers, which do not count a virtual column."""
    return not column.nullable and (spec.is_stored or not spec.is_generated)


def _promoted_key(keys: Sequence[KeySpec], never_null: set[str]) -> KeySpec | None:
    """Without a PRIMARY KEY both servers take the first UNIQUE key of whole columns that cannot be NULL."""
    candidates = (key for key in keys if key.is_whole and key.columns)
    return next((key for key in candidates if all(name.casefold() in never_null for name in key.columns)), None)


def _declared_name(name: str, columns: Sequence[Column]) -> str:
    found = next((column.name for column in columns if column.name.casefold() == name.casefold()), None)
    if found is None:
        raise ParseError("a key names a column that the table does not have")
    return found


def why_old_rows_change(spec: ColumnSpec) -> str | None:
    """Why ADD COLUMN gives rows that exist already something else than NULL; None when it does not."""
    if spec.unsupported:
        return spec.unsupported
    if spec.is_generated:
        return "a generated column"
    if spec.is_primary or spec.is_auto_increment:
        return "a key or AUTO_INCREMENT column"
    if spec.default is Default.VALUE:
        return "a DEFAULT"
    if spec.nullable is False:
        return "NOT NULL"
    if spec.type.name == "timestamp" and spec.nullable is None and spec.default is Default.NONE:
        return "TIMESTAMP without NULL"
    return None
