"""Random statements about definitions, in sessions with random settings; each table gets a row after each of them."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pymysql
from pymysql.cursors import Cursor

from tests.support.random_alter import random_alter
from tests.support.random_columns import TYPES, family, random_column
from tests.support.servers import Server
from tests.support.session_settings import random_settings
from tests.support.source_schema import SourceTable, read_tables

DATABASES = ("defined_a", "defined_b")
_COLUMNS = Path(__file__).parents[1] / "server" / "definitions"
_NAMES = [f"t{n}" for n in range(10)]
_SQL_MODES = {
    "mysql": ("", "ANSI", "REAL_AS_FLOAT", "NO_BACKSLASH_ESCAPES", "TRADITIONAL", "PAD_CHAR_TO_FULL_LENGTH"),
    "mariadb": ("", "ANSI", "REAL_AS_FLOAT", "NO_BACKSLASH_ESCAPES", "ORACLE", "MYSQL323", "MYSQL40", "MSSQL",
                "NO_FIELD_OPTIONS", "NO_TABLE_OPTIONS", "STRICT_ALL_TABLES"),
}  # fmt: skip
_OPTIONS = (
    "", "", "", " CHARACTER SET latin1", " COLLATE utf8mb4_bin", " ENGINE=MyISAM", " COMMENT 'x'", " AUTO_INCREMENT=5",
)  # fmt: skip
_PARTITIONS = ("", "", "", " PARTITION BY HASH (id) PARTITIONS 3", " PARTITION BY KEY () PARTITIONS 2")
_KEYS = ("", "PRIMARY KEY (id)", "PRIMARY KEY (id)", "UNIQUE KEY uk (id)", "KEY k (c0)")
_CLAUSES = (
    "ADD c9 {column}{place}", "MODIFY `{name}` {column}{place}", "CHANGE `{name}` `{name}` {column}", "DROP `{name}`",
    "CHANGE `{name}` renamed {column}{place}", "RENAME COLUMN `{name}` TO other", "DROP PRIMARY KEY", "ENGINE=InnoDB",
    "ADD PRIMARY KEY (`{name}`)", "ADD UNIQUE (`{name}`)", "CONVERT TO CHARACTER SET {charset}", "FORCE",
    "DEFAULT CHARACTER SET {charset}", "ADD (a1 {column}, a2 {column})", "ORDER BY `{name}`", "REMOVE PARTITIONING",
)  # fmt: skip


def play_definitions(server: Server, random: Random, statements: int) -> int:
    """Return how many of the statements the server carried out."""
    with server.connect() as session, server.connect() as rows:
        history = _History(server.flavor, random, session.cursor(), rows.cursor())
        return sum(history.define() for _ in range(statements))


class _History:
    """One session that defines tables, and another one that changes their rows."""

    def __init__(self, flavor: str, random: Random, session: Cursor, rows: Cursor):
        self._random, self._flavor, self._session, self._rows = random, flavor, session, rows
        files = ("columns", f"columns-{flavor}")
        self._columns = [line for name in files for line in (_COLUMNS / f"{name}.txt").read_text().splitlines()]
        for database, charset in zip(DATABASES, ("utf8mb4", "latin1"), strict=True):
            self._session.execute(f"CREATE DATABASE {database} CHARACTER SET {charset}")
        self._session.execute(f"USE {DATABASES[0]}")
        self._rows.execute("SET sql_mode = '', foreign_key_checks = 0")

    def define(self) -> bool:
        """Run one statement; return whether the server carried it out."""
        random = self._random
        for text in (*random_settings(random, 0.05), *self._another_session()):
            self._run(text)
        tables = read_tables(self._rows, list(DATABASES))
        done = self._run(self._create() if len(tables) < 4 or random.random() < 0.2 else self._change(tables))
        for table in read_tables(self._rows, list(DATABASES)):
            if done and random.random() < 0.7:
                self._touch(table)
        return done

    def _another_session(self) -> list[str]:
        random = self._random
        mode = f"SET sql_mode = '{random.choice(_SQL_MODES[self._flavor])}'"
        return [text for text in (mode, f"USE {random.choice(DATABASES)}") if random.random() < 0.15]

    def _create(self) -> str:
        random, name = self._random, self._name()
        columns = ["id INT NOT NULL", *(f"c{i} {self._column()}" for i in range(random.randint(1, 6)))]
        random.shuffle(columns)
        parts = ", ".join(filter(None, [*columns, random.choice(_KEYS)]))
        return f"CREATE TABLE {name} ({parts}){random.choice(_OPTIONS)}{random.choice(_PARTITIONS)}"

    def _change(self, tables: list[SourceTable]) -> str:
        random, table = self._random, self._random.choice(tables)
        name, dice = f"{table.database}.{table.name}", self._random.random()
        if dice < 0.45:
            return f"ALTER TABLE {name} " + ", ".join(self._clause(table) for _ in range(random.choice((1, 1, 2, 3))))
        if dice < 0.7 and all(family(column.kind) in TYPES for column in table.columns):
            return random_alter(random, table, self._flavor)
        return random.choice(
            (
                f"CREATE TABLE {self._name()} LIKE {name}", f"CREATE TABLE {self._name()} SELECT * FROM {name}",
                f"CREATE TABLE {self._name()} (c1 {self._column()}) SELECT * FROM {name}", f"DROP TABLE {name}",
                f"RENAME TABLE {name} TO {self._name()}", f"TRUNCATE TABLE {name}",
                f"CREATE TEMPORARY TABLE hidden LIKE {name}", f"CREATE TABLE {self._name()} LIKE hidden",
                "DROP TEMPORARY TABLE hidden",
            )
        )  # fmt: skip

    def _clause(self, table: SourceTable) -> str:
        random = self._random
        name, other = random.choice(table.columns).name, random.choice(table.columns).name
        return random.choice(_CLAUSES).format(
            name=name, column=self._column(), charset=random.choice(("latin1", "utf8mb4", "utf8mb3", "binary")),
            place=random.choice(("", "", " FIRST", f" AFTER `{other}`")),
        )  # fmt: skip

    def _column(self) -> str:
        random = self._random
        return random.choice(self._columns) if random.random() < 0.6 else random_column(random)

    def _name(self) -> str:
        return f"{self._random.choice(DATABASES)}.{self._random.choice(_NAMES)}"

    def _touch(self, table: SourceTable) -> None:
        """A row that is gone at once: its table map stays in the log."""
        name = f"{table.database}.{table.name}"
        for text in (f"INSERT IGNORE INTO {name} () VALUES ()", f"DELETE FROM {name}"):
            try:
                self._rows.execute(text)
            except pymysql.Error:
                return  # a value without a default, or an expression that fails

    def _run(self, text: str) -> bool:
        try:
            self._session.execute(text)
        except pymysql.Error as error:
            if error.args[0] in (2006, 2013):
                raise
            return False
        return True
