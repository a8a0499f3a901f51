"""Generated columns whose values the log leaves out: computed from the row's other columns, or left out of the mirror.

If a change lacks such values, all values of these columns are computed for the rows that are written, also those
that the log has. Nothing is computed for a table without missing values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import DataFrame

from mirrorlake.core.changes.conditions import GENERATED
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.lake.delta.refusals import refusing
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.generated.expressions import computed_column
from mirrorlake.lake.gold.generated.values import Value
from mirrorlake.lake.gold.merge.changes import TableChanges

"""A pattern of the reason with which a statement fails."""
_WAY_OUT = "; --generated leave-out makes mirrors without such columns"


def not_computed(schema: TableSchema) -> dict[str, str]:
    """Generated columns that cannot be computed, by name, and why not."""
    found = {}
    for column in _generated(schema):
        try:
            computed_column(column, schema)
        except NotDerivable as stop:
            found[column.name] = str(stop)
    return found


def without_generated(schema: TableSchema) -> TableSchema:
    """The definition without generated columns, for changes that lack their values."""
    return replace(schema, columns=tuple(column for column in schema.columns if column.generated is None))


def why_not_computed(mirrored: TableSchema, changes: TableChanges) -> str | None:
    """Why changes that lack values of generated columns cannot be applied to the mirror; None: they can."""
    for column in _generated(mirrored):
        try:
            value = computed_column(column, mirrored)
        except NotDerivable as stop:
            return f"the log leaves out generated column {column.name}, which is not computed: {stop}{_WAY_OUT}"
        if value.doubtful and (changes.n_invalid or changes.has_partial):
            source = min(value.doubtful)
            return (
                f"the log leaves out generated column {column.name}, which is not computed from column {source}: "
                f"a value there may have no meaning{_WAY_OUT}"
            )
    return None


def with_generated(rows: DataFrame, schema: TableSchema) -> DataFrame:
    """Add generated columns. rows: of ``without_generated(schema)``, and more columns, which stay."""
    names = [column.name for column in schema.columns]
    others = [name for name in rows.columns if name not in names]
    values = {column.name: computed_sql(column, schema) for column in _generated(schema)}
    shown = [f"{values[name]} AS {quote(name)}" if name in values else quote(name) for name in names]
    return rows.selectExpr(*shown, *map(quote, others))


def computed_sql(column: Column, schema: TableSchema, spelled: Callable[[str], Sql] = quote) -> Sql:
    """The value in Spark SQL, over the other columns of a mirror. spelled: their names. Raises NotDerivable."""
    value = computed_column(column, schema, spelled)
    sql = f"CAST({value.sql} AS {spark_type(column.type)})"
    return f"IF({_fails(value)}, {_failing(column)}, {sql})" if value.fails else sql


def _fails(value: Value) -> Sql:
    """True for a row whose value is not computed."""
    return f"coalesce({' OR '.join(f'({each})' for each in value.fails)}, false)"


def _failing(column: Column) -> Sql:
    return refusing(GENERATED, f"the value of generated column {column.name} is not computed for a row")


def _generated(schema: TableSchema) -> list[Column]:
    return [column for column in schema.columns if column.generated is not None]
