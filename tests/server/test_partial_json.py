"""Random updates of JSON columns with binlog_row_value_options = PARTIAL_JSON: silver holds what SELECT shows.

Most updates are logged as differences from the old value; what the server makes of paths, and when it logs the whole
value, is its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pymysql
import pytest

from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import ColumnType
from tests.support.canonical import source_rows
from tests.support.json_differences import NAMES, path_text
from tests.support.random_sql import Expression, random_expression
from tests.support.server_logs import bring, bronze
from tests.support.silver_rows import silver_rows

UPDATES, UPDATES_LONG, ROWS = 200, 1000, 6
_J = Column("j", ColumnType("json"), nullable=False)
_TABLES = {
    "keyed": "id INT PRIMARY KEY, g JSON AS (JSON_EXTRACT(j, '$.a')) STORED, j JSON, v INT, k JSON, l JSON",
    "keyless": "j JSON, id INT NOT NULL, k JSON",
}
_IMAGES = {"keyed": ("FULL", "NOBLOB"), "keyless": ("FULL", "NOBLOB", "MINIMAL")}
_TRIGGER = "CREATE TRIGGER g BEFORE UPDATE ON keyed FOR EACH ROW SET NEW.v = 1, NEW.l = JSON_ARRAY(OLD.id)"
_FUNCTIONS = (
    ("JSON_SET",) * 4 + ("JSON_REPLACE",) * 2 + ("JSON_REMOVE",) * 3 + ("JSON_ARRAY_APPEND", "JSON_ARRAY_INSERT")
)


@pytest.mark.parametrize("compression", ["OFF", "ON"])
@pytest.mark.heavy
def test_every_row_that_is_updated_in_part_is_what_select_shows(
    mysql, seed, is_long, tmp_path, compression, read_with_tool
):
    mysql.reset()
    updates = UPDATES_LONG if is_long else UPDATES
    with mysql.connect() as connection:
        expected = list(updated_rows(connection, Random(f"{seed} {compression}"), updates, compression))
    mysql.execute("FLUSH BINARY LOGS")
    source = bring(tmp_path / "logs", mysql.log_files()[:-1])
    events = bronze(source).to_batches()
    definitions = DefinitionReader("mysql")
    schemas = {change.schema.schema_id: change.schema for _, change in definitions.read(events) if change.schema}
    silver = silver_rows(Assembler("mysql", definitions.timeline(LsnRange(-1, 2**62))).assemble(events), schemas)
    assert [row for row in silver if row[0] not in ("DDL", "BEGIN", "INSERT", "COMMIT")] == expected
    shown = "".join(read_with_tool("mysql", "-v", path) for path in (tmp_path / "logs").iterdir())
    assert shown.count("=JSON_") > updates / 4  # how the tool shows differences


def updated_rows(connection: pymysql.Connection, random: Random, updates: int, compression: str) -> Iterator[tuple]:
    """Make the updates; the rows that silver must have of them."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE d CHARACTER SET utf8mb4")
        cursor.execute("USE d")
        for table, columns in _TABLES.items():
            cursor.execute(f"CREATE TABLE {table} ({columns})")
            for key in range(ROWS):
                (j, args), (k, more) = random_expression(random, _J), random_expression(random, _J)
                cursor.execute(f"INSERT INTO {table} (id, j, k) VALUES ({key}, {j}, {k})", args + more)
        cursor.execute(_TRIGGER)
        cursor.execute("SET SESSION binlog_row_value_options = PARTIAL_JSON")
        cursor.execute(f"SET SESSION binlog_transaction_compression = {compression}")
        rows = {table: rows_of(connection, table) for table in _TABLES}
        for _ in range(updates):
            table, key = random.choice(list(_TABLES)), random.randrange(ROWS)
            cursor.execute(f"SET SESSION binlog_row_image = {random.choice(_IMAGES[table])}")
            texts = (json.loads(rows[table][key])[name] for name in "jk")
            changes = [_change(random, name, text) for name, text in zip("jk", texts, strict=True)]
            sql, args = random.choice((changes[0], changes[1], _joined(changes), _joined([changes[0]] * 2)))
            what = random.choice((table, table, f"{table} JOIN (SELECT 1 AS one) AS other"))
            if cursor.execute(f"UPDATE IGNORE {what} SET {sql} WHERE id = {key}", args):
                before, rows[table] = rows[table][key], rows_of(connection, table)
                yield "UPDATE", ("d", table), before, rows[table][key]


def rows_of(connection: pymysql.Connection, table: str) -> dict[int, str]:
    return {int(json.loads(row)["id"]): row for row in source_rows(connection, "d", table)}


def _joined(changes: list[Expression]) -> Expression:
    return ", ".join(sql for sql, _ in changes), [arg for _, args in changes for arg in args]


def _change(random: Random, name: str, text: str | None) -> Expression:
    """An assignment to a JSON column that holds this text."""
    if text is None or random.random() < 0.05:
        sql, args = random_expression(random, Column(name, ColumnType("json")))
        return f"{name} = {sql}", args
    sql, args, value, function = name, [], json.loads(text), random.choice(_FUNCTIONS)
    for _ in range(random.choice((1, 1, 2, 4))):
        new, more = ("", []) if function == "JSON_REMOVE" else random_expression(random, _J)
        sql = f"{function}({sql}, %s{', ' + new if new else ''})"
        args += [_path(random, value, function), *more]
    return f"{name} = {sql}", args


def _path(random: Random, value: Any, function: str) -> str:
    """To some member of the value, or beside it."""
    legs: list[str | int] = []
    while isinstance(value, list | dict) and value and (not legs or random.random() < 0.6):
        legs.append(random.choice(list(value)) if isinstance(value, dict) else random.randrange(len(value)))
        value = value[legs[-1]]
        if isinstance(legs[-1], int) and random.random() < 0.3:
            legs[-1] -= random.randint(legs[-1] + 1, legs[-1] + 3)
    if function == "JSON_ARRAY_INSERT":
        return path_text([*legs, random.randrange(3)], quote_all=True)
    if not legs or random.random() < 0.3:
        legs.append(random.choice(NAMES) if isinstance(value, dict) else random.choice((0, 1, 9, -1, -2)))
    return path_text(legs, quote_all=True)
