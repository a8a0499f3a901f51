"""What rows that exist get in a new generated column."""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.conversion import NotDerivable
from mirrorlake.lake.gold.conversions import conversion
from mirrorlake.lake.gold.partition_expressions import spark_expression


def computed_value(column: Column, old: TableSchema, mode: ServerMode) -> Sql:
    """Of sums and products of integers and decimals. old: the table before it.

    Raises NotDerivable.
    """
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
