"""The tables of a real server as its information_schema shows them."""

from __future__ import annotations

from dataclasses import dataclass

from pymysql.cursors import Cursor

_COLUMNS = """
SELECT c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, c.DATA_TYPE, c.COLUMN_TYPE, c.IS_NULLABLE = 'YES',
       c.CHARACTER_SET_NAME, c.EXTRA
FROM information_schema.COLUMNS c
WHERE c.TABLE_SCHEMA IN %s ORDER BY c.TABLE_SCHEMA, c.TABLE_NAME, c.ORDINAL_POSITION"""
_KEYS = """
SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS
WHERE TABLE_SCHEMA IN %s ORDER BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"""
_PARTITIONS = """
SELECT TABLE_SCHEMA, TABLE_NAME, PARTITION_NAME, PARTITION_METHOD FROM information_schema.PARTITIONS
WHERE TABLE_SCHEMA IN %s AND PARTITION_NAME IS NOT NULL AND COALESCE(SUBPARTITION_ORDINAL_POSITION, 1) = 1
ORDER BY TABLE_SCHEMA, TABLE_NAME, PARTITION_ORDINAL_POSITION"""


@dataclass(frozen=True)
class SourceColumn:
    """kind: the bare type, ``int``. type: as a definition has it, ``int(11) unsigned``."""

    name: str
    kind: str
    type: str
    nullable: bool
    charset: str | None
    extra: str

    @property
    def is_generated(self) -> bool:
        return "GENERATED" in self.extra.upper().replace("DEFAULT_GENERATED", "")


@dataclass(frozen=True)
class SourceTable:
    """keys: name -> columns; partitions: names; method: how it is partitioned."""

    database: str
    name: str
    columns: tuple[SourceColumn, ...]
    keys: dict[str, list[str]]
    partitions: tuple[str, ...]
    method: str | None

    @property
    def primary_key(self) -> list[str]:
        return self.keys.get("PRIMARY", [])

    @property
    def plain_columns(self) -> list[SourceColumn]:
        """Those outside the primary key that take values."""
        return [column for column in self.columns if column.name not in self.primary_key and not column.is_generated]


def read_tables(cursor: Cursor, databases: list[str]) -> list[SourceTable]:
    """By database and name."""
    columns: dict[tuple[str, str], list[SourceColumn]] = {}
    keys: dict[tuple[str, str], dict[str, list[str]]] = {}
    partitions: dict[tuple[str, str], list[str]] = {}
    methods: dict[tuple[str, str], str] = {}
    cursor.execute(_COLUMNS, (databases,))
    for database, table, name, kind, column_type, nullable, charset, extra in cursor.fetchall():
        column = SourceColumn(name, kind.lower(), _text(column_type), bool(nullable), charset, extra)
        columns.setdefault((database, table), []).append(column)
    cursor.execute(_KEYS, (databases,))
    for database, table, key, column in cursor.fetchall():
        keys.setdefault((database, table), {}).setdefault(key, []).append(column)
    cursor.execute(_PARTITIONS, (databases,))
    for database, table, partition, method in cursor.fetchall():
        partitions.setdefault((database, table), []).append(partition)
        methods[database, table] = method
    return [
        SourceTable(*name, tuple(found), keys.get(name, {}), tuple(partitions.get(name, ())), methods.get(name))
        for name, found in sorted(columns.items())
    ]


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
