"""Values that existing rows get in a new generated column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import DATED, INTEGERS
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.convert.by_type import conversion
from mirrorlake.lake.gold.convert.conversion import Conversion, NotDerivable, any_of
from mirrorlake.lake.gold.generated.expressions import computed_column
from mirrorlake.lake.gold.partition.expressions import spark_expression


def computed_value(column: Column, sources: Mapping[str, Column], old: TableSchema, mode: ServerMode) -> Conversion:
    """Compute the value from columns that the statement leaves unchanged. sources: these columns before the statement,
    by their names after it. old: the table before it.

    No value of a VIRTUAL column is checked by the statement: it may be out of range, also in strict mode, and so may
    a difference of unsigned integers.

    Raises NotDerivable.
    """
    same = tuple(
        source
        for name, source in sources.items()
        if name == source.name and (old.as_text or source.type.name not in DATED)
        if column.is_stored or not (source.type.unsigned and source.type.name in INTEGERS)
    )
    mode_of_values = replace(mode, is_strict=mode.is_strict and column.is_stored)
    try:
        return Conversion(_sum_or_product(column, replace(old, columns=same), mode_of_values))
    except NotDerivable as unknown:
        try:
            return _computed(column, sources, old, mode.flavor)
        except NotDerivable:
            raise unknown from None


def _computed(column: Column, sources: Mapping[str, Column], old: TableSchema, flavor: str) -> Conversion:
    """Compute the value; fail for a source that is NULL and may be an invalid value."""
    seen = replace(old, columns=(*(replace(source, name=name) for name, source in sources.items()), column))
    found = computed_column(column, seen, lambda name: quote(sources[name].name), flavor)
    doubts = [f"{quote(sources[name].name)} IS NULL" for name in sorted(found.doubtful)]
    reason = "rows that exist get what an expression gives"
    return Conversion(f"CAST({found.sql} AS {spark_type(column.type)})", any_of(*found.fails, *doubts), reason)


def _sum_or_product(column: Column, old: TableSchema, mode: ServerMode) -> Sql:
    """Compute a sum or product of integers and decimals."""
    text, unknown = column.generated or "", f"column {column.name}: rows that exist get what an expression gives"
    if any(word in text.upper() for word in ("%", "DIV", "MOD")):  # by zero it is NULL there, an error here
        raise NotDerivable(unknown)
    try:
        computed = spark_expression(text, old, with_decimals=True)
        sql = f"CAST({computed.sql} AS {spark_type(computed.type)})"
        found = conversion(sql, Column(column.name, computed.type), replace(column, generated=None), mode)
    except NotDerivable:
        raise NotDerivable(unknown) from None
    if found.fails or computed.impossible:
        raise NotDerivable(unknown)
    return found.sql
