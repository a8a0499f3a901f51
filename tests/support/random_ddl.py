"""Random DDL about whole tables, databases and partitions; what about columns, see ``random_alter``.

A kind takes what the server has at the moment and gives the statements that are to run one after another. Some of them
fail on the server, which then logs nothing: the server decides what is a history.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.support.random_alter import random_alter
from tests.support.random_columns import random_column, random_value
from tests.support.random_tables import quoted
from tests.support.source_schema import SourceTable

_REFERENCE = "fk"
_IDS = ("id", _REFERENCE)
"""Columns begin so that hold ids of rows."""
_ACTIONS = (
    "", " ON DELETE CASCADE", " ON DELETE CASCADE ON UPDATE CASCADE", " ON DELETE SET NULL ON UPDATE SET NULL",
    " ON DELETE SET NULL ON UPDATE RESTRICT",
)  # fmt: skip
_TABLE_NAMES = ("a", "B", "c d", "e", "größe", "order")
_PARTITIONINGS = (
    "RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20),"
    " PARTITION p2 VALUES LESS THAN MAXVALUE)",
    "RANGE COLUMNS (id) (PARTITION p0 VALUES LESS THAN (7), PARTITION p1 VALUES LESS THAN (100))",
    "LIST (id % 3) (PARTITION p0 VALUES IN (0), PARTITION p1 VALUES IN (1, NULL), PARTITION p2 VALUES IN (2))",
    "HASH (id) PARTITIONS 3",
    "LINEAR HASH (id) PARTITIONS 5",
    "KEY () PARTITIONS 3",
    "RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION p0 VALUES LESS THAN (15),"
    " PARTITION p1 VALUES LESS THAN MAXVALUE)",
)


@dataclass(frozen=True)
class Source:
    """What a history has at the moment. databases: the second one comes and goes."""

    random: Random
    flavor: str
    databases: tuple[str, str]
    tables: list[SourceTable]

    @property
    def is_full(self) -> bool:
        return len(self.tables) >= 7

    def table(self) -> SourceTable:
        return self.random.choice(self.tables)

    def new_name(self) -> str:
        taken = {(table.database, table.name) for table in self.tables}
        names = [(db, name) for db in self.databases for name in _TABLE_NAMES if (db, name) not in taken]
        return quoted(*self.random.choice(names))


def random_ddl(source: Source) -> list[str]:
    if len(source.tables) < 3:
        return _create(source)
    return source.random.choice(_KINDS_OF[source.flavor])(source)


def random_changes(source: Source, statements: int) -> list[str]:
    """INSERT, REPLACE, UPDATE and DELETE of some tables. IGNORE: a value that does not fit is made to."""
    return [_change_rows(source, source.table()) for _ in range(statements)]


def _change_rows(source: Source, table: SourceTable) -> str:
    random, name = source.random, quoted(table.database, table.name)
    columns = [column for column in table.columns if not column.is_generated]
    dice = random.random()
    if dice < 0.15:
        return f"DELETE FROM {name} ORDER BY {quoted(random.choice(table.columns).name)} LIMIT {random.randint(1, 2)}"
    if dice < 0.3 and table.plain_columns:
        column = random.choice(table.plain_columns)
        value = random_value(random, column.kind, column.nullable)
        return f"UPDATE IGNORE {name} SET {quoted(column.name)} = {value} LIMIT {random.randint(1, 3)}"
    rows = ", ".join(f"({', '.join(_values(random, table, columns))})" for _ in range(random.randint(1, 4)))
    verb = "REPLACE" if dice < 0.35 else "INSERT IGNORE"
    return f"{verb} INTO {name} ({', '.join(quoted(column.name) for column in columns)}) VALUES {rows}"


def _values(random: Random, table: SourceTable, columns: list) -> list[str]:
    return [
        str(random.choice((random.randint(1, 10), random.randint(1, 40)))) if column.name.startswith(_IDS)
        else random_value(random, column.kind, column.nullable)
        for column in columns
    ]  # fmt: skip


def _create(source: Source) -> list[str]:
    random = source.random
    lines = ["id INT NOT NULL" + random.choice(("", "", " AUTO_INCREMENT"))]
    lines += [f"c{i} {random_column(random)}" for i in range(random.randint(1, 5))]
    random.shuffle(lines)
    partitioned = f" PARTITION BY {random.choice(_PARTITIONINGS)}" if random.random() < 0.35 else ""
    charset = random.choice(("", "", " CHARACTER SET latin1"))
    replace = "OR REPLACE " if source.flavor == "mariadb" and random.random() < 0.2 else ""
    versioned = " WITH SYSTEM VERSIONING" if source.flavor == "mariadb" and random.random() < 0.15 else ""
    name = _name(source.table()) if replace and source.tables else source.new_name()
    return [f"CREATE {replace}TABLE {name} ({', '.join(lines)}, PRIMARY KEY (id)){charset}{versioned}{partitioned}"]


def _name(table: SourceTable) -> str:
    return quoted(table.database, table.name)


def _create_if_room(source: Source) -> list[str]:
    return _alter(source) if source.is_full else _create(source)


def _create_like(source: Source) -> list[str]:
    return _alter(source) if source.is_full else [f"CREATE TABLE {source.new_name()} LIKE {_name(source.table())}"]


def _create_select(source: Source) -> list[str]:
    if source.is_full:
        return _alter(source)
    table = source.table()
    return [f"CREATE TABLE {source.new_name()} (PRIMARY KEY ({', '.join(map(quoted, table.primary_key))}))"
            f" SELECT * FROM {_name(table)}"]  # fmt: skip


def _alter(source: Source) -> list[str]:
    return [random_alter(source.random, source.table(), source.flavor)]


def _drop(source: Source) -> list[str]:
    table = source.table()
    return [f"DROP TABLE {_name(table)}", *(_create(source) if source.random.random() < 0.5 else [])]


def _truncate(source: Source) -> list[str]:
    return [f"TRUNCATE TABLE {_name(source.table())}"]


def _rename(source: Source) -> list[str]:
    old, new = _name(source.table()), source.new_name()
    if source.random.random() < 0.3:
        return [f"ALTER TABLE {old} RENAME TO {new}, COMMENT 'moved'"]
    return [f"RENAME TABLE {old} TO {new}"]


def _rename_many(source: Source) -> list[str]:
    """A circle, or two tables that change names, by way of a name that is free."""
    names = [_name(table) for table in source.random.sample(source.tables, source.random.choice((2, 3)))]
    detour = quoted(source.databases[0], "detour")
    pairs = [(names[0], detour), *zip(names[1:], names[:-1], strict=True), (detour, names[-1])]
    return ["RENAME TABLE " + ", ".join(f"{old} TO {new}" for old, new in pairs)]


def _drop_database(source: Source) -> list[str]:
    name = quoted(source.databases[1])
    return [f"DROP DATABASE {name}", f"CREATE DATABASE {name}" + source.random.choice(("", " CHARACTER SET latin1"))]


def _foreign_key(source: Source) -> list[str]:
    child, parent = source.table(), source.table()
    own = f"{_REFERENCE}{len(child.columns)}"
    columns = [column.name for column in child.columns if column.kind == "int"]
    actions = source.random.choice(_ACTIONS)
    return [
        f"ALTER TABLE {_name(child)} ADD COLUMN {own} INT, ADD CONSTRAINT FOREIGN KEY"
        f" ({quoted(source.random.choice([*columns, own, own, own]))}) REFERENCES {_name(parent)} (id){actions}"
    ]


def _partition(source: Source) -> list[str]:
    random = source.random
    partitioned = [table for table in source.tables if table.partitions]
    if not partitioned or random.random() < 0.25:
        table = source.table()
        layout = f"PARTITION BY {random.choice(_PARTITIONINGS)}"
        return [f"ALTER TABLE {_name(table)} " + random.choice((layout, layout, "REMOVE PARTITIONING"))]
    table = random.choice(partitioned)
    is_hashed = "HASH" in (table.method or "") or "KEY" in (table.method or "")
    clause = random.choice(_HASH_CLAUSES if is_hashed else _RANGE_CLAUSES)
    return [f"ALTER TABLE {_name(table)} {clause.format(random.choice(table.partitions), table.partitions[-1])}"]


_HASH_CLAUSES = (
    "COALESCE PARTITION 1", "ADD PARTITION PARTITIONS 2", "TRUNCATE PARTITION {}", "TRUNCATE PARTITION ALL",
    "REBUILD PARTITION {}",
)  # fmt: skip
_RANGE_CLAUSES = (
    "DROP PARTITION {}", "TRUNCATE PARTITION {}", "TRUNCATE PARTITION {}, {}", "REBUILD PARTITION {}",
    "ADD PARTITION (PARTITION px VALUES LESS THAN (1000))", "ADD PARTITION (PARTITION py VALUES IN (77, 78))",
    "REORGANIZE PARTITION {1} INTO (PARTITION r1 VALUES LESS THAN (30), PARTITION r2 VALUES LESS THAN MAXVALUE)",
    "REORGANIZE PARTITION {0} INTO (PARTITION s1 VALUES LESS THAN (5), PARTITION s2 VALUES LESS THAN (10))",
)  # fmt: skip


def _exchange(source: Source) -> list[str]:
    random = source.random
    partitioned = [table for table in source.tables if table.partitions]
    if not partitioned:
        return _partition(source)
    table, other = random.choice(partitioned), quoted(source.databases[0], "exchanged")
    first = table.partitions[0]
    swap = (
        f"ALTER TABLE {_name(table)} EXCHANGE PARTITION {random.choice((first, *table.partitions))} WITH TABLE {other}"
    )
    return [
        f"DROP TABLE IF EXISTS {other}", f"CREATE TABLE {other} LIKE {_name(table)}",
        f"ALTER TABLE {other} REMOVE PARTITIONING", swap, *([swap] if random.random() < 0.3 else []),
    ]  # fmt: skip


def _convert_partition(source: Source) -> list[str]:
    """A partition becomes a table, which may come back as the last partition."""
    partitioned = [table for table in source.tables if table.method in ("RANGE", "RANGE COLUMNS", "LIST")]
    if not partitioned or source.is_full:
        return _partition(source)
    table, made = source.random.choice(partitioned), source.new_name()
    out = f"ALTER TABLE {_name(table)} CONVERT PARTITION {source.random.choice(table.partitions)} TO TABLE {made}"
    if source.random.random() < 0.5:
        return [out]
    return [
        out, f"INSERT IGNORE INTO {made} (id) VALUES (900), (2000)",
        f"ALTER TABLE {_name(table)} CONVERT TABLE {made} TO PARTITION pc VALUES LESS THAN (3000)",
    ]  # fmt: skip


def _versioning(source: Source) -> list[str]:
    return [f"ALTER TABLE {_name(source.table())} {source.random.choice(('ADD', 'ADD', 'DROP'))} SYSTEM VERSIONING"]


_KINDS: tuple[Callable[[Source], list[str]], ...] = (
    *(_alter,) * 22, *(_create_if_room,) * 2, _create_like, _create_select, *(_drop,) * 2, *(_truncate,) * 2,
    *(_rename,) * 2, *(_rename_many,) * 2, _drop_database, *(_foreign_key,) * 2, *(_partition,) * 4, *(_exchange,) * 2,
)  # fmt: skip
_KINDS_OF = {"mysql": _KINDS, "mariadb": (*_KINDS, *(_convert_partition,) * 2, *(_versioning,) * 2)}
