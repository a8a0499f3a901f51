"""Random tables and values that only a server can make: each value is an SQL expression with its arguments."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from random import Random
from typing import Any

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import BLOBS, TEXTS, ColumnType
from tests.support.random_tables import COLUMN_TYPES, KEY_TYPES, column_sql, create_table_sql, quoted
from tests.support.values import random_value

Expression = tuple[str, list[Any]]

TYPES_OF = {
    "mysql": (ColumnType("json"), ColumnType("json"), ColumnType("json"), ColumnType("vector")),
    "mariadb": (ColumnType("uuid"), ColumnType("inet6"), ColumnType("inet4")),
}
"""What one server has and the other has not."""
_KEY_TYPES_OF = {"mysql": (), "mariadb": TYPES_OF["mariadb"]}
_COMPRESSIBLE = {"varchar", "varbinary", *TEXTS, *BLOBS}
_MAX_ROWS, _NULL_SHARE, _KEY_TRIES = 12, 0.1, 20

_INVALID = {
    "date": ("0000-00-00", "2020-02-00", "2020-00-10", "2021-02-30", "0000-01-01", "9999-02-31"),
    "datetime": ("0000-00-00 00:00:00", "2020-02-00 10:11:12.25", "2021-04-31 23:59:59.999"),
    "timestamp": ("0000-00-00 00:00:00",),
}
"""What a permissive sql_mode lets in."""


def random_table_of(random: Random, database: str, name: str, flavor: str) -> TableSchema:
    types = COLUMN_TYPES + TYPES_OF[flavor] * 4
    keys = [
        Column(f"k{n}", random.choice(KEY_TYPES + _KEY_TYPES_OF[flavor]), nullable=False)
        for n in range(random.choice((1, 1, 2)))
    ]
    others = [Column(f"c{n}", random.choice(types), random.random() < 0.8) for n in range(random.randint(1, 12))]
    columns = keys + others
    random.shuffle(columns)
    return TableSchema(database, name, tuple(columns), tuple(column.name for column in keys))


def create_sql(random: Random, table: TableSchema, flavor: str) -> str:
    """CREATE TABLE; MariaDB compresses some of the columns."""
    sql = create_table_sql(table)
    if flavor == "mariadb":
        for column in table.columns:
            if column.type.name in _COMPRESSIBLE and column.name not in table.primary_key and random.random() < 0.5:
                line = column_sql(column)
                words = re.sub(r"(?= (CHARACTER SET|NULL|NOT NULL)\b)", " COMPRESSED", line, count=1)
                sql = sql.replace(line, words)
    return sql


def random_rows_sql(random: Random, table: TableSchema) -> Iterator[Expression]:
    """INSERT IGNORE of some rows, most of them one by one."""
    names = ", ".join(quoted(column.name) for column in table.columns)
    for n_rows in random.choices((1, 1, 1, 5), k=random.randint(2, _MAX_ROWS)):
        rows = [[random_expression(random, column) for column in table.columns] for _ in range(n_rows)]
        values = ", ".join("(" + ", ".join(sql for sql, _ in row) + ")" for row in rows)
        sql = f"INSERT IGNORE INTO {quoted(table.table)} ({names}) VALUES {values}"
        yield sql, [arg for row in rows for _, args in row for arg in args]


def random_expression(random: Random, column: Column) -> Expression:
    if column.nullable and random.random() < _NULL_SHARE:
        return "NULL", []
    if column.type.name == "json":
        sql, args = _json(random, 0)
        return f"JSON_EXTRACT(JSON_ARRAY({sql}), '$[0]')", args  # a text alone would be read as JSON
    if column.type.name == "vector":
        floats = [random.uniform(-1e3, 1e3) for _ in range(random.randint(1, 9))]
        return "%s", [struct.pack(f"<{len(floats)}f", *floats)]
    if column.type.name in _INVALID and random.random() < _NULL_SHARE:
        return "%s", [random.choice(_INVALID[column.type.name])]
    return "%s", [random_value(random, column.type)]


_OPAQUE_TYPES = (
    *(ColumnType("decimal", precision=p, scale=s) for p, s in ((65, 30), (10, 2), (18, 18), (30, 0), (1, 0))),
    *(ColumnType(name, fraction_digits=n) for name in ("time", "datetime") for n in (0, 3, 6)),
    ColumnType("date"), ColumnType("varbinary", length=300), ColumnType("bit", length=13),
)  # fmt: skip


def _json(random: Random, depth: int) -> Expression:
    """Every kind of JSON value; containers of up to some hundred members, so that both forms of them come."""
    if depth < 4 and random.random() < (0.75 if depth == 0 else 0.35):
        return _json_container(random, depth)
    return random.choice(_JSON_SCALARS)(random)


def _json_container(random: Random, depth: int) -> Expression:
    count = random.choice((0, 1, 2, 3, 5)) if depth or random.random() < 0.9 else random.choice((300, 5000))
    is_object, parts = random.random() < 0.5, []
    for n in range(count):
        if is_object:
            key = random_value(random, ColumnType("varchar", length=20, charset="utf8mb4"))
            parts.append(("%s", [key + (str(n) if count > 5 else "")]))
        parts.append(_json(random, depth + 1 if count < 10 else 9))
    sql = ("JSON_OBJECT(" if is_object else "JSON_ARRAY(") + ", ".join(text for text, _ in parts) + ")"
    return sql, [arg for _, args in parts for arg in args]


def _json_double(random: Random) -> Expression:
    value = float("nan")
    while value != value or value in (float("inf"), float("-inf")):
        value = random.choice((_any_double, _few_digits, _large_whole))(random)
    return "CAST(%s AS JSON)", [repr(value)]


def _any_double(random: Random) -> float:
    return struct.unpack("<d", random.randbytes(8))[0]


def _few_digits(random: Random) -> float:
    return float(f"{random.randint(-(10**6), 10**6)}e{random.randint(-30, 30)}")


def _large_whole(random: Random) -> float:
    return float(random.randint(0, 10 ** random.randint(1, 25)))


def _json_integer(random: Random) -> Expression:
    size = random.choice((8, 15, 16, 31, 32, 63, 64))
    value = random.choice((2**size - 1, 2 ** (size - 1), random.getrandbits(size)))
    return "CAST(%s AS JSON)", [str(value if random.random() < 0.5 or value > 2**63 else -value)]


def _json_text(random: Random) -> Expression:
    length = random.choice((20, 20, 20, 200, 20_000))
    text = random_value(random, ColumnType("varchar", length=length, charset="utf8mb4"))
    return "%s", [text + random.choice(("", '\b\t\n\f\r\x01\x1f\x7f/\\"'))]


def _json_opaque(random: Random) -> Expression:
    of = random.choice(_OPAQUE_TYPES)
    value = random_value(random, of)
    if of.name == "varbinary":
        return "CAST(%s AS BINARY)", [value]
    if of.name == "bit":
        return f"b'{value:b}'", []
    digits = f"{of.precision},{of.scale}" if of.name == "decimal" else of.fraction_digits or ""
    return f"CAST(%s AS {of.name}" + (f"({digits}))" if digits else ")"), [value]


def _json_word(random: Random) -> Expression:
    return random.choice(("NULL", "true", "false")), []


_JSON_SCALARS = (_json_double, _json_integer, _json_text, _json_opaque, _json_word)
