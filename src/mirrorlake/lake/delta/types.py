"""MySQL column types as the Spark types of a mirror table, and as the cells of a snapshot, text or bytes."""

from __future__ import annotations

import pyarrow as pa

from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.types import BLOBS, DATED, LABELLED, MAX_DECIMAL_DIGITS, STRINGS, ColumnType
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RefusedError

UNSIGNED_BIGINT = "decimal(20,0)"  # 2^64 - 1 has 20 digits

# name: (signed, unsigned). An unsigned type takes the next wider one, so that every value fits.
_INTEGERS = {
    "tinyint": ("tinyint", "smallint"),
    "smallint": ("smallint", "int"),
    "mediumint": ("int", "int"),
    "int": ("int", "bigint"),
    "bigint": ("bigint", UNSIGNED_BIGINT),
}
_OTHERS = {
    "float": "float",
    "double": "double",
    "year": "smallint",
    **dict.fromkeys(("time", "json", "uuid", "inet6", "inet4"), "string"),
    "date": "date",
    "datetime": "timestamp_ntz",  # a wall clock without a zone
    "timestamp": "timestamp",  # a moment
    **dict.fromkeys((*STRINGS, *LABELLED), "string"),
    **dict.fromkeys(("binary", "varbinary", *BLOBS, "geometry", "vector"), "binary"),
}


def spark_type(column_type: ColumnType, *, as_text: bool = False) -> Sql:
    """The Spark type, in DDL spelling, that holds every value of a MySQL column.

    as_text: the type must also hold dates that no calendar has.

    Raises: RefusedError("column-type") for a type that has no mirror.
    """
    name = column_type.name
    if as_text and name in DATED:
        return "string"
    if name in _INTEGERS:
        return _INTEGERS[name][column_type.unsigned]
    if name == "decimal":
        if (column_type.precision or 0) > MAX_DECIMAL_DIGITS:
            return "string"
        return f"decimal({column_type.precision},{column_type.scale})"
    if name == "bit":
        return "bigint" if (column_type.length or 1) < 64 else UNSIGNED_BIGINT
    if name in _OTHERS:
        return _OTHERS[name]
    raise RefusedError("column-type", f"{column_type.sql()} has no mirror type yet")


def cell_name(number: int) -> Sql:
    """Name of the column for source column ``number``, counted from 0."""
    return f"c{number}"


def holds_bytes(kind: ColumnType) -> bool:
    return spark_type(kind) == "binary"


def cell_types(schema: TableSchema) -> pa.Schema:
    kinds = (pa.binary() if holds_bytes(column.type) else pa.string() for column in schema.columns)
    return pa.schema([(cell_name(number), kind) for number, kind in enumerate(kinds)])
