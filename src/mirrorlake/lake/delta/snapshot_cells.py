"""Columns of a snapshot: one for each source column, text or bytes as the server shows its values."""

from __future__ import annotations

import pyarrow as pa

from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.types import spark_type


def cell_name(number: int) -> Sql:
    """Name of the column for source column ``number``, counted from 0."""
    return f"c{number}"


def holds_bytes(kind: ColumnType) -> bool:
    return spark_type(kind) == "binary"


def cell_types(schema: TableSchema) -> pa.Schema:
    kinds = (pa.binary() if holds_bytes(column.type) else pa.string() for column in schema.columns)
    return pa.schema([(cell_name(number), kind) for number, kind in enumerate(kinds)])
