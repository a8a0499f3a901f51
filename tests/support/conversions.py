"""Conversions by ALTER without a log: a real server alters a table, and gold's expressions are asked of Spark for the
rows that the server showed before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

import pymysql
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.sql_text import Sql, bytes_literal, literal, quote
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.convert.conversion import any_of
from mirrorlake.lake.gold.ddl.columns import Layout, new_layout
from mirrorlake.lake.gold.ddl.steps import Overwrite
from tests.support.canonical import mirror_rows, source_rows, source_values
from tests.support.interpreting import interpret

DATABASE, TABLE = "conversions", "t"
_SQLSTATE_OF_VALUES = "22"
"""Begins the state of Spark's errors about a value, for which gold refuses the table."""
_FAILS = "does any check fail?"
_NOW = "2023-11-14 22:13:20.987654"
_VERSIONS = {"mysql": 90704, "mariadb": 101114}
_ALLOW_INVALID_DATES = 1 << 25


@dataclass(frozen=True, slots=True)
class Conversion:
    """inserts: the rows of the table. sql_mode, time_zone: of the ALTER's session. as_text: a mirror that holds invalid
    values as text."""

    create: str
    inserts: tuple[str, ...]
    alter: str
    sql_mode: int
    time_zone: str
    as_text: bool


def values_before(cursor: pymysql.cursors.Cursor, tried: Conversion) -> list[dict[str, object]]:
    """Make the table, and return the rows that SELECT shows; [] if the server refuses it. Rows with dates that no
    calendar has are left out unless they are texts: in other mirrors they are NULL."""
    cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
    cursor.execute(f"SET sql_mode = {_ALLOW_INVALID_DATES}, time_zone = '+00:00'")
    try:
        cursor.execute(tried.create)
        for insert in tried.inserts:
            cursor.execute(insert)
    except pymysql.MySQLError:
        return []
    shown = source_values(cursor.connection, DATABASE, TABLE, dates_as_text=True)
    if tried.as_text:
        return shown
    rows = source_values(cursor.connection, DATABASE, TABLE)
    invalid = [row for row, text in zip(rows, shown, strict=True) if _nulls(row) != _nulls(text)]
    for row in invalid:
        cursor.execute(f"DELETE FROM {TABLE} WHERE id = {row['id']}")
    return [row for row in rows if row not in invalid]


def _nulls(row: Mapping[str, object]) -> set[str]:
    return {name for name, value in row.items() if value is None}


def is_altered(cursor: pymysql.cursors.Cursor, tried: Conversion) -> bool:
    """Alter the table; false if the server refuses it, as strict mode does for a value that does not fit."""
    cursor.execute(f"SET timestamp = UNIX_TIMESTAMP('{_NOW}')")
    cursor.execute(f"SET sql_mode = {tried.sql_mode}, time_zone = '{tried.time_zone}'")
    try:
        cursor.execute(tried.alter)
    except pymysql.MySQLError:
        return False
    cursor.execute("SET sql_mode = ''")  # PAD_CHAR_TO_FULL_LENGTH would show other texts
    return True


def rows_after(connection: pymysql.Connection, tried: Conversion) -> list[str] | None:
    """The canonical rows that SELECT shows; None: it fails for a VIRTUAL column whose value is out of range."""
    try:
        return source_rows(connection, DATABASE, TABLE, dates_as_text=tried.as_text)
    except pymysql.MySQLError:
        return None


def converted(spark: SparkSession, flavor: str, tried: Conversion, before: list[dict[str, object]]) -> list[str] | None:
    """The canonical rows that gold would make; None: it refuses the table."""
    old, change = _definitions(flavor, tried)
    if old is None or change is not None and change.action == "refuse":
        return None
    rows = view_of(old, before)
    if change is None:
        return mirror_rows(spark.sql(f"SELECT * FROM {rows}").toArrow())
    layout = new_layout(old, change.schema, change.steps, refuses_invalid=False)
    if any(check.where == "true" for check in layout.checks):
        return None
    fails = any_of(*(check.where for check in layout.checks)) or "false"
    try:
        made = spark.sql(f"SELECT {_columns(layout)}, {fails} AS {quote(_FAILS)} FROM {rows}").toArrow()
    except PySparkException as error:
        if (error.getSqlState() or "").startswith(_SQLSTATE_OF_VALUES):
            return None
        raise
    return None if True in made[_FAILS].to_pylist() else mirror_rows(made.drop_columns([_FAILS]))


def _definitions(flavor: str, tried: Conversion) -> tuple[TableSchema | None, DefinitionChange | None]:
    definitions = Definitions()

    def read(statement: str, sql_mode: int, time_zone: str) -> list[DefinitionChange]:
        return interpret(
            statement, database=DATABASE, sql_mode=sql_mode, flavor=flavor, server_charset="utf8mb4",
            definitions=definitions, now=_NOW, time_zone=time_zone, connection_charset="utf8mb4",
            client_charset="utf8mb4", version=_VERSIONS[flavor],
        )  # fmt: skip

    definitions.apply(read(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4", 0, "+00:00"))
    definitions.apply(read(tried.create, _ALLOW_INVALID_DATES, "+00:00"))
    old = definitions.get(DATABASE, TABLE)
    changes = read(tried.alter, tried.sql_mode, tried.time_zone)
    if not isinstance(old, TableSchema):
        return None, None
    return replace(old, as_text=tried.as_text), next(iter(changes), None)


def _columns(layout: Layout) -> Sql:
    overwrite = next((step for step in layout.steps if isinstance(step, Overwrite)), layout.in_one)
    if overwrite is None:
        return "*"
    return ", ".join(f"{value} AS {quote(name)}" for name, value in overwrite.columns)


def view_of(schema: TableSchema, rows: list[dict[str, object]]) -> Sql:
    """Rows that SELECT showed, as Spark's mirror has them."""
    names = ", ".join(quote(column.name) for column in schema.columns)
    return f"(VALUES {', '.join(_row(schema, row) for row in rows)}) AS rows({names})"


def _row(schema: TableSchema, row: Mapping[str, object]) -> Sql:
    return "(" + ", ".join(_literal(row[column.name], column, schema.as_text) for column in schema.columns) + ")"


def _literal(value: object, column: Column, as_text: bool) -> Sql:
    kind = spark_type(column.type, as_text=as_text)
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
