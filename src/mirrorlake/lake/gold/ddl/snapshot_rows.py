"""Convert the cells of a snapshot, which are as the server shows them, to a mirror's values; see ``bronze.copies``."""

from __future__ import annotations

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import DATED, INTEGERS, STRINGS, ColumnType
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.types import cell_name, holds_bytes, spark_type
from mirrorlake.lake.gold.control.register import INVALID_KEY, INVALID_VALUE
from mirrorlake.lake.gold.control.table import COMMIT_COLUMNS
from mirrorlake.lake.gold.convert.date_text import meant
from mirrorlake.lake.gold.ddl.steps import Check, TakeSnapshot

_FLOATING = ("float", "double")


def take_snapshot(copy_id: str, schema: TableSchema, shown: TableSchema, *, refuses_invalid: bool) -> TakeSnapshot:
    """Make the step that takes a snapshot. schema: of the mirror. shown: of all columns of the snapshot.

    refuses_invalid: an invalid value stops the table; else only one in its key does."""
    held = {column.name for column in schema.columns}
    cells = [(cell_name(number), column) for number, column in enumerate(shown.columns) if column.name in held]
    columns = tuple((column.name, _value(cell, column, as_text=schema.as_text)) for cell, column in cells)
    if schema.has_commits:  # which transaction wrote a row, the server does not say
        columns += tuple((name, f"CAST(NULL AS {kind})") for name, kind in COMMIT_COLUMNS.items())
    checks: list[Check] = []
    invalid: dict[str, Sql] = {}
    if not schema.as_text:
        invalid = {column.name: found for cell, column in cells if (found := _invalid(cell, column))}
        keys = [invalid[name] for name in schema.primary_key if name in invalid]
        if keys:
            checks.append(Check(" OR ".join(keys), "a key column has a value that has no meaning", INVALID_KEY))
        if refuses_invalid and invalid:
            reason = "a row has a value that its mirror cannot hold"
            checks.append(Check(" OR ".join(invalid.values()), reason, INVALID_VALUE))
    hashed = tuple(column.name for _, column in cells if column.is_hashed)
    return TakeSnapshot(copy_id, columns, tuple(checks), () if refuses_invalid else tuple(invalid.values()), hashed)


def _value(cell: Sql, column: Column, *, as_text: bool) -> Sql:
    kind = column.type
    if column.is_hashed:
        return _hashed(cell, kind)
    if kind.name in DATED:
        return cell if as_text else meant(cell, kind)
    if kind.name in STRINGS:
        invalid = f"concat('0x', hex({cell}))" if as_text else "NULL"
        return f"IF(is_valid_utf8({cell}), {cell}, {invalid})"
    if holds_bytes(kind):
        return cell
    return f"CAST({cell} AS {spark_type(kind)})"


def _hashed(cell: Sql, kind: ColumnType) -> Sql:
    """What is hashed, in bytes; of a FLOAT or DOUBLE the number, with 0 for -0."""
    if kind.name in _FLOATING:
        return f"CAST({cell} AS {spark_type(kind)}) + CAST(0 AS {spark_type(kind)})"
    is_number = kind.name in (*INTEGERS, "decimal", "year")
    text = f"regexp_replace({cell}, '^0+(?=[0-9])', '')" if is_number else cell  # the zeros of ZEROFILL
    return f"CAST({text} AS binary)"


def _invalid(cell: Sql, column: Column) -> Sql | None:
    """The condition for an invalid value; None: the column has none."""
    if column.is_hashed:
        return None
    if column.type.name in DATED:
        return f"({cell} IS NOT NULL AND {meant(cell, column.type)} IS NULL)"
    return f"NOT is_valid_utf8({cell})" if column.type.name in STRINGS else None
