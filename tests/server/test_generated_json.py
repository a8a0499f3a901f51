"""JSON functions of generated columns: for each document Spark has the value that the server shows, or fails."""

from __future__ import annotations

import re

import pytest

from mirrorlake.config import Options
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.sql_text import server_literal
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.verify import EQUAL, NOT_COMPARED, verify
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.generated.expressions import computed_column
from tests.support.servers import Server

VALUES = (
    "1", "0", "-0", "1.50", "-2.5", "2.45", "0.05", "1e5", "9223372036854775807", "9223372036854775808", "1E40",
    "true", "false", "null", '""', '"x"', '"12"', '"-2.5"', '"007"', '" 5"', '"5 "', '"5\\n"', '"+3"', '"3x"', '"1e3"',
    '"a,b"',
    r'"\n\t\b\f\r\"\/\\"', r'"\u00e9\ud83d\ude00"', '"é😀\u2028"', r'"\u0000x"', '"trailing  "', '"{}"', "{}", "[]",
    "[1]",
    '{"b": 1}', '{"b":"x", "c":[1, 2 ]}', '{"b": {"b": null}}', '{"b": 1, "b": 2}', "123456.785", '"123456.785"',
    '"12345678901234567890.5"', "-99999999999",
)  # fmt: skip
DEEP = "[" * 30 + "]" * 30
OTHERS = (DEEP, f"[{DEEP}]", f'"{"[" * 99}"', rf'"\"{"[{" * 99}"', f"[{', '.join(['[[]]'] * 40)}]")
DOCUMENTS = (
    *(f'{{"a": {value}}}' for value in VALUES), "{}", "[]", '[{"a": 1}]', '"a"', "5", "null", ' {"a" : "x" } \n',
    '{"A": 1}',
    '{"x": {"a": 1}, "a": 2}', '{"a": 1, "a": 2}', '{"a": {"b": 3}, "a": 1}', r'{"\u0061": 7}',
    *(f'{{"a": 1, "z": {other}}}' for other in OTHERS),
)  # fmt: skip
INVALID = (
    "", "x", '{"a": 1', '{"a": 1}x', '{"a": 1}]', '{"a": 1}}', '{"a": 1}],[', '{"a": 1}, {"a": 2}', '{"a": 1},"a": 2',
    '{"a": 1} {"a": 2}', '{"a": 1,}', '{"a": 01}', '{"a": +1}', '{"a": 1.}', '{"a": .5}', '{"a": -}', '{"a": NaN}',
    '{a: 1}',
    "{'a': 1}", r'{"a": "\x"}', r'{"a": "\ud83d"}', r'{"a": "\udc00x"}', '{"a": "x\ty"}', '{"b": "\ty", "a": 1}',
    '/**/{"a": 1}',
    '\ufeff{"a": 1}', '{"a": 1}\0', '{"a": tRue}', '{"b": 1}garbage', '{"b": 1},"a": 2}',
)  # fmt: skip
TEXTS = (
    "JSON_EXTRACT(j, '$.a')", "JSON_UNQUOTE(JSON_EXTRACT(j, '$.a'))", "JSON_UNQUOTE(JSON_EXTRACT(j, '$.a.b'))",
    "JSON_EXTRACT(j, '$.a') IS NULL", "LENGTH(JSON_UNQUOTE(JSON_EXTRACT(j, '$.\"a\"')))",
    "CONCAT('<', JSON_UNQUOTE(JSON_EXTRACT(j, '$.a')), '>')", "IF(JSON_EXTRACT(j, '$.a') IS NULL, 'none', 'some')",
)  # fmt: skip
KINDS = ("TEXT", "VARCHAR(3)", "INT", "TINYINT UNSIGNED", "DECIMAL(8,1)", "BIGINT")
OF_MARIADB = (
    *(f"{kind} JSON_VALUE(j, '$.a')" for kind in KINDS),
    "TEXT JSON_VALUE(j, '$.a.b')", "TINYINT JSON_VALUE(j, '$.a') IS NULL",
    "BIGINT CAST(JSON_VALUE(j, '$.a') AS SIGNED)",
    "DECIMAL(9,4) CAST(JSON_VALUE(j, '$.a') AS DECIMAL(9,2))", "TEXT IFNULL(JSON_VALUE(j, '$.a'), 'none')",
    "INT CHAR_LENGTH(TRIM(JSON_VALUE(j, '$.a')))", "TEXT LEFT(JSON_VALUE(j, '$.a'), 2)",
)  # fmt: skip
OF_MYSQL = ("TEXT j->>'$.a'", "TEXT j->'$.a'", "TEXT j ->> '$.a.b'")
FAILS = {"mariadb": 838, "mysql": 144}
"""How many of the values are not computed."""
NOT_COMPUTED = (
    "JSON_VALUE(j, '$.a[0]')", "JSON_VALUE(j, '$[0]')", "JSON_VALUE(j, '$')", "JSON_VALUE(j, '$.*')",
    "JSON_VALUE(j, '$**.a')", "JSON_VALUE(j, 'lax $.a')", "JSON_VALUE(j, i)", "JSON_EXTRACT(j, '$.a', '$.b')",
    "JSON_UNQUOTE(j)", "JSON_VALUE(i, '$.a')", "JSON_VALUE(l, '$.a')", "JSON_VALUE(j, '$.\"a\"]\"')", "JSON_LENGTH(j)",
    "JSON_VALUE(j, '$.a') = 'x'", "JSON_VALUE(j, '$.a') + 1",
)  # fmt: skip


def expressions(flavor: str) -> list[tuple[str, str]]:
    """(type, expression) of each generated column."""
    more = OF_MARIADB if flavor == "mariadb" else OF_MYSQL
    texts = [(re.match(r"TINYINT UNSIGNED|\S+", text)[0], text) for text in more]
    return [("TEXT", text) for text in TEXTS] + [(kind, text.removeprefix(f"{kind} ")) for kind, text in texts]


def column_type(sql: str) -> ColumnType:
    name, _, rest = sql.lower().partition("(")
    sizes = [int(size) for size in re.findall(r"\d+", rest)]
    if name == "decimal":
        return ColumnType("decimal", precision=sizes[0], scale=sizes[1])
    if name in ("text", "varchar"):
        return ColumnType(name, length=sizes[0] if sizes else None, charset="utf8mb4")
    return ColumnType(name.split()[0], unsigned=name.endswith("unsigned"))


def filled(server: Server, flavor: str, kind: str, documents: tuple[str, ...]) -> list[tuple]:
    """(document as the server shows it, value of each expression) of each document that the server takes."""
    columns = ", ".join(f"g{n} {kind} AS ({sql})" for n, (kind, sql) in enumerate(expressions(flavor)))
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("DROP DATABASE IF EXISTS json_values")
        cursor.execute("CREATE DATABASE json_values CHARACTER SET utf8mb4")
        cursor.execute("USE json_values")
        cursor.execute("SET sql_mode = ''")
        cursor.execute(f"CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, j {kind}, {columns})")
        values = ", ".join(f"({server_literal(document)})" for document in documents)
        cursor.execute(f"INSERT INTO t (j) VALUES {values}, (NULL)")
        cursor.execute("SELECT * FROM t ORDER BY id")
        rows = [row[1:] for row in cursor.fetchall()]
        cursor.execute("DROP DATABASE json_values")
    return rows


@pytest.mark.parametrize("name", [pytest.param("mariadb", marks=pytest.mark.long), "mariadb118", "mysql"])
def test_values_are_those_of_the_server_or_are_not_computed(server_of, name, spark):
    server = server_of(name)
    flavor = server.flavor
    kind, documents = ("JSON", DOCUMENTS) if flavor == "mysql" else ("LONGTEXT", DOCUMENTS + INVALID)
    rows = filled(server, flavor, kind, documents)
    document = Column("j", ColumnType("json") if flavor == "mysql" else ColumnType("longtext", charset="utf8mb4"))
    made = [
        Column(f"g{n}", column_type(kind), generated=sql) for n, (kind, sql) in enumerate(expressions(flavor))
    ]  # fmt: skip
    schema = TableSchema("d", "t", (document, *made), ())
    values = [computed_column(column, schema, flavor=flavor) for column in made]
    fails = [f"coalesce({' OR '.join(f'({each})' for each in value.fails)}, false)" for value in values]
    shown = [f"IF({fail}, 'fails', CAST({value.sql} AS STRING))" for fail, value in zip(fails, values, strict=True)]
    frame = spark.createDataFrame([(n, row[0]) for n, row in enumerate(rows)], "n INT, j STRING")
    found = [row[1:] for row in sorted(frame.selectExpr("n", *shown).collect())]
    wrong = [
        (row[0], column.generated, value, expected)
        for row, computed in zip(rows, found, strict=True)
        for column, value, expected in zip(made, computed, map(as_shown, row[1:]), strict=True)
        if value not in ("fails", expected)
    ]  # fmt: skip
    assert wrong == []
    assert sum(value == "fails" for row in found for value in row) == FAILS[flavor]


ADDED = {"mariadb": "JSON_VALUE(j, '$.n')", "mysql": "j->>'$.n'"}


@pytest.mark.heavy
def test_rows_that_exist_get_the_values_of_a_new_column(server, spark, lake_dir):
    server.reset()
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE json_added CHARACTER SET utf8mb4")
        cursor.execute("USE json_added")
        for table, other in (("t", '{"n": "7"}'), ("u", '{"n": {}, "a": {}}')):
            cursor.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, j JSON)")
            documents = '{"n": 5, "a": "é"}', "{}", other
            cursor.execute(f"INSERT INTO {table} VALUES (1, %s), (2, %s), (3, %s)", documents)
            cursor.execute(f"ALTER TABLE {table} ADD a TEXT AS (JSON_UNQUOTE(JSON_EXTRACT(j, '$.a')))")
        cursor.execute(f"ALTER TABLE t ADD n INT AS ({ADDED[server.flavor]}) STORED")
        cursor.execute("INSERT INTO t (id, j) VALUES (4, '{\"n\": 8}')")
    options = Options(source=server.url, lake=str(lake_dir))
    hops.run(options, Watcher(), spark)
    found = verify(options, Watcher(), spark=spark, moves=True, wait_s=60, n_keys=9)[1]
    assert [(table.table, table.state, table.rows, table.reason) for table in found] == [
        ("t", EQUAL, 4, None), ("u", NOT_COMPARED, None, "refused (needs-resync)")
    ]  # fmt: skip


def as_shown(value: object) -> str | None:
    return None if value is None else str(value)


@pytest.mark.parametrize("sql", NOT_COMPUTED)
def test_other_paths_and_functions_are_not_computed(sql):
    document, latin = Column("j", ColumnType("longtext", charset="utf8mb4")), ColumnType("text", charset="latin1")
    column = Column("v", ColumnType("text", charset="utf8mb4"), generated=sql)
    others = (Column("i", ColumnType("int")), Column("l", latin))
    with pytest.raises(NotDerivable):
        computed_column(column, TableSchema("d", "t", (document, *others, column), ()))
