"""Random table definitions over every mirrored type, and the SQL that makes them."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import BLOBS, INTEGERS, TEXTS, ColumnType

DATABASE_CHARSET = "utf8mb4"
_COLUMN_NAMES = ("amount", "Name", "größe", "order", "note_2", "select", "createdAt", "x", "status", "price", "flag",
                 "payload", "a_rather_long_column_name_with_digits_0123456789", "memo", "code", "rate", "kind",
                 "label")  # fmt: skip

COLUMN_TYPES: tuple[ColumnType, ...] = (
    *(ColumnType(name, unsigned=unsigned) for name in INTEGERS for unsigned in (False, True)),
    *(ColumnType("decimal", precision=p, scale=s) for p, s in ((38, 10), (10, 2), (18, 18), (38, 0), (9, 9), (1, 0))),
    ColumnType("decimal", precision=20, scale=3, unsigned=True),
    *(ColumnType("decimal", precision=p, scale=s) for p, s in ((65, 30), (65, 0), (39, 9), (40, 30))),
    ColumnType("float"), ColumnType("double"),
    *(ColumnType("bit", length=n) for n in (1, 8, 13, 57, 63, 64)),
    ColumnType("year"), ColumnType("date"),
    *(ColumnType(name, fraction_digits=n) for name in ("datetime", "timestamp", "time") for n in (0, 1, 3, 6)),
    ColumnType("char", length=1, charset="latin1"), ColumnType("char", length=30, charset="utf8mb4"),
    ColumnType("char", length=255, charset="utf8mb4"),
    ColumnType("varchar", length=20, charset="utf8mb4"), ColumnType("varchar", length=255, charset="latin1"),
    ColumnType("varchar", length=300, charset="utf8mb4"), ColumnType("varchar", length=40, charset="ascii"),
    ColumnType("varchar", length=40, charset="utf8mb3"),
    *(ColumnType("varchar", length=40, charset=charset) for charset in ("koi8r", "gbk", "sjis", "ucs2", "utf16")),
    *(ColumnType(name, charset=charset) for name in TEXTS for charset in ("utf8mb4", "latin1")),
    *(ColumnType("binary", length=n) for n in (1, 16, 255)),
    ColumnType("varbinary", length=20), ColumnType("varbinary", length=400),
    *(ColumnType(name) for name in BLOBS), ColumnType("geometry"),
    ColumnType("enum", labels=("small", "Größe", "it's"), charset="utf8mb4"),
    ColumnType("enum", labels=tuple(f"label {n}" for n in range(300)), charset="latin1"),
    ColumnType("set", labels=("x", "y", "zé"), charset="utf8mb4"),
    ColumnType("set", labels=tuple(f"s{n}" for n in range(64)), charset="latin1"),
)  # fmt: skip

OF_ONE_SERVER = {"json", "vector", "uuid", "inet6", "inet4"}
"""Mirrored types that only one of the servers has: see ``random_sql``."""

KEY_TYPES: tuple[ColumnType, ...] = (
    ColumnType("int"), ColumnType("int"), ColumnType("bigint"), ColumnType("bigint", unsigned=True),
    ColumnType("smallint", unsigned=True), ColumnType("decimal", precision=10, scale=2), ColumnType("date"),
    ColumnType("datetime", fraction_digits=3), ColumnType("varchar", length=20, charset="utf8mb4"),
    ColumnType("char", length=12, charset="latin1"), ColumnType("varbinary", length=16),
    ColumnType("binary", length=8),
)  # fmt: skip


def random_table(random: Random, database: str, name: str, columns: int | None = None) -> TableSchema:
    """A key of one to three columns, anywhere among the others and not always in their order."""
    keys = [Column(f"k{n}", random.choice(KEY_TYPES), nullable=False) for n in range(random.choice((1, 1, 2, 3)))]
    count = random.randint(1, 8) if columns is None else columns
    others = [random_column(random, other) for other in random.sample(_COLUMN_NAMES, min(count, len(_COLUMN_NAMES)))]
    everything = keys + others
    random.shuffle(everything)
    return TableSchema(database, name, tuple(everything), tuple(column.name for column in keys))


def table_of_every_type(database: str, name: str, types: Iterable[ColumnType] = COLUMN_TYPES) -> TableSchema:
    columns = [Column(f"c{n}", of, nullable=True) for n, of in enumerate(types)]
    return TableSchema(database, name, (Column("id", ColumnType("int"), nullable=False), *columns), ("id",))


def random_column(random: Random, name: str, nullable: bool | None = None) -> Column:
    return Column(name, random.choice(COLUMN_TYPES), random.random() < 0.8 if nullable is None else nullable)


def unused_column_name(random: Random, table: TableSchema) -> str | None:
    free = [name for name in _COLUMN_NAMES if table.position(name) is None]
    return random.choice(free) if free else None


def quoted(*names: str) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)


def column_sql(column: Column) -> str:
    charset = column.type.charset
    charset_sql = f" CHARACTER SET {charset}" if charset and charset != DATABASE_CHARSET else ""
    return f"{quoted(column.name)} {column.type.sql()}{charset_sql} {'NULL' if column.nullable else 'NOT NULL'}"


def create_table_sql(table: TableSchema) -> str:
    lines = [column_sql(column) for column in table.columns]
    if table.primary_key:
        lines.append(f"PRIMARY KEY ({', '.join(map(quoted, table.primary_key))})")
    body = ",\n  ".join(lines)
    return f"CREATE TABLE {quoted(table.database, table.table)} (\n  {body}\n) DEFAULT CHARSET={DATABASE_CHARSET}"
