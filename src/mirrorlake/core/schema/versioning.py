"""MariaDB's system versioning: the two columns with the period in which a row was in force.

A mirror has the rows that SELECT shows without FOR SYSTEM_TIME, those in force, and the two columns if they are
visible.
"""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.schema.keys import Key, KeyPart
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.tables import Column, Period, TableSchema
from mirrorlake.core.schema.types import ColumnType

_MICROSECONDS = 6
SYSTEM_TIME = "SYSTEM_TIME"
_LAST_SECOND, _LAST_SECOND_SINCE_11_5 = 2**31 - 1, 2**32 - 1  # of a TIMESTAMP
_WIDER_TIMESTAMPS = 110500


def row_end_of_server(flavor: str, server_version: int | None) -> int | None:
    """The last second, since 1970, of the period of a row in force; its microsecond is 999999. None: not known.

    Measured on MariaDB 10.11 and 11.8; https://mariadb.com/docs/server/reference/data-types/date-and-time-data-types/timestamp
    """
    if flavor != "mariadb" or server_version is None:
        return None
    return _LAST_SECOND if server_version < _WIDER_TIMESTAMPS else _LAST_SECOND_SINCE_11_5


def with_row_end(schema: TableSchema, row_end: int | None) -> TableSchema:
    """The definition of a table that such a server partitions, or makes versioned."""
    known = schema.partitioning
    if known is None or not known.is_by_key:
        return schema
    return replace(schema, partitioning=replace(known, row_end=row_end if schema.is_versioned else None))


def add_row_periods(schema: TableSchema) -> TableSchema:
    """Add the two columns to a versioned table without them, invisible and always last; keys get the period's end."""
    if not schema.is_versioned:
        return schema
    columns, periods = schema.columns, schema.periods
    if not any(column.row_period for column in columns):
        columns = (*columns, _period_column("start"), _period_column("end"))
        periods = (*periods, Period(SYSTEM_TIME, "row_start", "row_end"))
    columns = tuple(sorted(columns, key=_is_implicit))
    end = next((column for column in columns if column.row_period == "end"), _period_column("end"))
    lost = (end.name,) if _is_implicit(end) else None  # a key whose own columns were dropped
    keys = tuple(_with_part(key, end.name) for key in schema.keys if key.columns != lost)
    return replace(schema, columns=columns, periods=periods, keys=keys)


def _period_column(which: str) -> Column:
    kind = ColumnType("timestamp", fraction_digits=_MICROSECONDS)
    return Column(f"row_{which}", kind, nullable=False, is_invisible=True, row_period=which)


def _is_implicit(column: Column) -> bool:
    return column.row_period is not None and column.is_invisible and column.name == f"row_{column.row_period}"


def _with_part(key: Key, column: str) -> Key:
    if not key.is_unique or any(folded(name) == folded(column) for name in key.columns):
        return key
    return replace(key, parts=(*key.parts, KeyPart(column)))


def drop_row_periods(schema: TableSchema) -> TableSchema:
    """DROP SYSTEM VERSIONING: the implicit columns are dropped, and also those that the user named."""
    gone = {folded(column.name) for column in schema.columns if column.row_period}
    keys = (
        replace(key, parts=tuple(p for p in key.parts if folded(p.column or "") not in gone)) for key in schema.keys
    )
    return replace(
        schema,
        columns=tuple(column for column in schema.columns if not column.row_period),
        keys=tuple(key for key in keys if key.parts),
        periods=tuple(period for period in schema.periods if period.name.upper() != SYSTEM_TIME),
        is_versioned=False,
    )


def system_period(schema: TableSchema) -> Period | None:
    """The period of a versioned table."""
    return next((p for p in schema.periods if schema.is_versioned and p.name.upper() == SYSTEM_TIME), None)


def of_rows_in_force(schema: TableSchema) -> TableSchema:
    """The mirror's definition: without the columns of the period that SELECT does not show, with the key of rows in
    force."""
    period = system_period(schema)
    if period is None:
        return schema
    shown = tuple(column for column in schema.columns if not (column.row_period and column.is_invisible))
    names = {column.row_period: column.name for column in schema.columns if column.row_period}
    spelled = Period(period.name, names["start"], names["end"])
    periods = tuple(spelled if known is period else known for known in schema.periods)
    return replace(schema, columns=shown, primary_key=_without(schema.primary_key, period.end), periods=periods)


def end_column(mirrored: TableSchema) -> str | None:
    """The column of row images that distinguishes rows in force from history; None: the table has no history."""
    period = system_period(mirrored)
    return period.end if period else None


def as_mirrored(seen: TableSchema, mirrored: TableSchema) -> TableSchema:
    """The definition as a mirror has it. seen: a definition of whole rows from a table map, which may lack the
    period."""
    period = system_period(mirrored)
    if period is None and not mirrored.left_out:
        return seen
    ends = (period.start, period.end) if period else ()
    hidden = {*mirrored.left_out, *(name for name in ends if mirrored.position(name) is None)}
    columns = tuple(column for column in seen.columns if column.name not in hidden)
    key = _without(seen.primary_key, period.end) if period else seen.primary_key
    return replace(seen, columns=columns, primary_key=key)


def _without(key: tuple[str, ...], column: str) -> tuple[str, ...]:
    return tuple(name for name in key if folded(name) != folded(column))
