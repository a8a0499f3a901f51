"""Conversions by ALTER without a log: a real server alters a table, and gold's expressions are asked of Spark for the
rows that the server showed before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import pymysql
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.sql_text import Sql, bytes_literal, literal, quote
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.ddl.columns import Layout, new_layout
from mirrorlake.lake.gold.ddl.steps import Overwrite
from tests.support.canonical import mirror_rows, source_values
from tests.support.interpreting import interpret

DATABASE, TABLE = "conversions", "t"
_BITS = {"STRICT_TRANS_TABLES": 1 << 21, "ALLOW_INVALID_DATES": 1 << 25, "PAD_CHAR_TO_FULL_LENGTH": 1 << 31}
SQL_MODES = ("", *_BITS)
_SQLSTATE_OF_VALUES = "22"
"""Begins the state of Spark's errors about a value, for which gold refuses the table."""
_NOW = "2023-11-14 22:13:20"


@dataclass(frozen=True, slots=True)
class Conversion:
    """values: of its column ``c``, in SQL. is_dated: the column has dates; rows with NULL are left out then, because
    dates that no calendar has are NULL in a mirror."""

    create: str
    is_dated: bool
    values: tuple[str, ...]
    alter: str
    sql_mode: str
    time_zone: str


def values_before(cursor: pymysql.cursors.Cursor, tried: Conversion) -> list[dict[str, object]]:
    """Make the table, and return the rows that SELECT shows."""
    cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
    cursor.execute("SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'")
    cursor.execute(tried.create)
    for n, value in enumerate(tried.values):
        cursor.execute(f"INSERT IGNORE INTO {TABLE} VALUES ({n}, {value})")
    rows = source_values(cursor.connection, DATABASE, TABLE)
    kept = [row for row in rows if not (tried.is_dated and row["c"] is None)]
    for row in rows:
        if row not in kept:
            cursor.execute(f"DELETE FROM {TABLE} WHERE id = {row['id']}")
    return kept


def is_altered(cursor: pymysql.cursors.Cursor, tried: Conversion) -> bool:
    """Alter the table; false if the server refuses it, as strict mode does for a value that does not fit."""
    cursor.execute(f"SET timestamp = UNIX_TIMESTAMP('{_NOW}')")
    cursor.execute(f"SET sql_mode = '{tried.sql_mode}', time_zone = '{tried.time_zone}'")
    try:
        cursor.execute(tried.alter)
    except pymysql.MySQLError:
        return False
    cursor.execute("SET sql_mode = ''")  # PAD_CHAR_TO_FULL_LENGTH would show other texts
    return True


def converted(spark: SparkSession, flavor: str, tried: Conversion, before: list[dict[str, object]]) -> list[str] | None:
    """The canonical rows that gold would make; None: it refuses the table."""
    old, change = _definitions(flavor, tried)
    if old is None or change is not None and change.schema is None:
        return None
    rows = _view(old, before)
    if change is None:
        return mirror_rows(spark.sql(f"SELECT * FROM {rows}").toArrow())
    layout = new_layout(old, change.schema, change.steps, refuses_invalid=False)
    if any(check.where == "true" for check in layout.checks):
        return None
    fails = " OR ".join(f"({check.where})" for check in layout.checks) or "false"
    try:
        is_refused = spark.sql(f"SELECT 1 FROM {rows} WHERE {fails} LIMIT 1").collect()
        return None if is_refused else mirror_rows(spark.sql(f"SELECT {_columns(layout)} FROM {rows}").toArrow())
    except PySparkException as error:
        if (error.getSqlState() or "").startswith(_SQLSTATE_OF_VALUES):
            return None
        raise


def _definitions(flavor: str, tried: Conversion) -> tuple[TableSchema | None, DefinitionChange | None]:
    definitions = Definitions()

    def read(statement: str, sql_mode: str, time_zone: str) -> list[DefinitionChange]:
        return interpret(
            statement, database=DATABASE, sql_mode=_BITS.get(sql_mode, 0), flavor=flavor, server_charset="utf8mb4",
            definitions=definitions, now=_NOW, time_zone=time_zone, connection_charset="utf8mb4",
            client_charset="utf8mb4",
        )  # fmt: skip

    definitions.apply(read(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4", "", "+00:00"))
    definitions.apply(read(tried.create, "ALLOW_INVALID_DATES", "+00:00"))
    old = definitions.get(DATABASE, TABLE)
    changes = read(tried.alter, tried.sql_mode, tried.time_zone)
    return (old if isinstance(old, TableSchema) else None), next(iter(changes), None)


def _columns(layout: Layout) -> Sql:
    overwrite = next((step for step in layout.steps if isinstance(step, Overwrite)), layout.in_one)
    if overwrite is None:
        return "*"
    return ", ".join(f"{value} AS {quote(name)}" for name, value in overwrite.columns)


def _view(schema: TableSchema, rows: list[dict[str, object]]) -> Sql:
    names = ", ".join(quote(column.name) for column in schema.columns)
    return f"(VALUES {', '.join(_row(schema, row) for row in rows)}) AS rows({names})"


def _row(schema: TableSchema, row: Mapping[str, object]) -> Sql:
    return "(" + ", ".join(_literal(row[column.name], column) for column in schema.columns) + ")"


def _literal(value: object, column: Column) -> Sql:
    kind = spark_type(column.type)
    match value:
        case None:
            return f"CAST(NULL AS {kind})"
        case bytes():
            return bytes_literal(value)
        case datetime() | date():
            return f"CAST({literal(str(value))} AS {kind})"
        case Decimal():
            return f"CAST({literal(format(value, 'f'))} AS {kind})"
    return f"CAST({literal(str(value))} AS {kind})"
