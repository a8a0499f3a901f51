"""MariaDB's system versioning: the two columns that say from when to when a row was in force."""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.schema.keys import Key, KeyPart
from mirrorlake.core.schema.tables import Column, Period, TableSchema
from mirrorlake.core.schema.types import ColumnType

_MICROSECONDS = 6
SYSTEM_TIME = "SYSTEM_TIME"


def add_row_periods(schema: TableSchema) -> TableSchema:
    """A versioned table without the two columns gets them, invisible and last; keys get the end of the period."""
    if not schema.is_versioned:
        return schema
    columns, periods = schema.columns, schema.periods
    if not any(column.row_period for column in columns):
        columns = (*columns, _period_column("start"), _period_column("end"))
        periods = (*periods, Period(SYSTEM_TIME, "row_start", "row_end"))
    end = next((column.name for column in columns if column.row_period == "end"), "row_end")
    return replace(schema, columns=columns, periods=periods, keys=tuple(_with_part(key, end) for key in schema.keys))


def _period_column(which: str) -> Column:
    kind = ColumnType("timestamp", fraction_digits=_MICROSECONDS)
    return Column(f"row_{which}", kind, nullable=False, is_invisible=True, row_period=which)


def _with_part(key: Key, column: str) -> Key:
    if not key.is_unique or any(name.casefold() == column.casefold() for name in key.columns):
        return key
    return replace(key, parts=(*key.parts, KeyPart(column)))


def drop_row_periods(schema: TableSchema) -> TableSchema:
    """DROP SYSTEM VERSIONING: what is versioned implicitly goes; columns that the user named too."""
    gone = {column.name.casefold() for column in schema.columns if column.row_period}
    keys = (
        replace(key, parts=tuple(p for p in key.parts if (p.column or "").casefold() not in gone))
        for key in schema.keys
    )
    return replace(
        schema,
        columns=tuple(column for column in schema.columns if not column.row_period),
        keys=tuple(key for key in keys if key.parts),
        periods=tuple(period for period in schema.periods if period.name.upper() != SYSTEM_TIME),
        is_versioned=False,
    )
