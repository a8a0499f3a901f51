"""Random schemas with foreign keys, and random changes of their rows, on a real server.

Every history has a database of its own. All histories of a log take turns: some DDL of each, then some transactions of
each, and so on; so gold has few epochs to apply. What the server refuses is left out.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pymysql

from tests.support.canonical import source_rows, source_tables
from tests.support.servers import Server

ACTIONS = ("CASCADE", "CASCADE", "CASCADE", "SET NULL", "SET NULL", "NO ACTION", "RESTRICT")
VALUES = {
    "int": ("1", "2", "3", "4", "5", "6"),
    "varchar(10) collate utf8mb4_bin": ("'a'", "'A'", "'b'", "'b '", "'c'"),
    "varchar(10) collate utf8mb4_general_ci": ("'a'", "'b'", "'B'", "'c'", "'d'", "'e'"),
    "varchar(10) character set latin1": ("'a'", "'b'", "'b '", "'c'", "'\u00e9'"),
    "datetime": ("'2024-01-01'", "'2024-01-02'", "'2024-01-03 04:05:06'", "'2024-01-04'"),
    "decimal(6,2)": ("1.5", "2", "3.25", "4", "5"),
}
TYPES = tuple(VALUES)
CONNECTION_LOST = (2006, 2013)


@dataclass
class Table:
    """columns: name -> type. foreign: of each foreign key its columns, the parent and its columns."""

    name: str
    columns: dict[str, str]
    foreign: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = field(default_factory=dict)


class ForeignKeyHistory:
    """One history; the same seed gives the same statements as long as the server gives the same answers.

    statements: those that the server carried out, in order. ddl: how many of them are DDL.
    """

    def __init__(self, server: Server, name: str, seed: str):
        self.random, self.database, self.ddl = Random(f"{seed} {name}"), name, 0
        self.statements: list[str] = []
        self._connection = server.connect(read_timeout=60)
        self._cursor = self._connection.cursor()
        self._tables: list[Table] = []
        self._numbers = iter(range(10_000))
        self._is_plain, self._is_partial = self._happens(0.6), self._happens(0.25)
        self._run(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
        self._run(f"USE `{name}`")
        self._run("SET sql_mode = 'STRICT_TRANS_TABLES'")

    def close(self) -> None:
        self._connection.close()

    def define(self) -> None:
        """The tables with their foreign keys."""
        for _ in range(self.random.randint(3, 6)):
            self._create()
        for _ in range(2 * len(self._tables)):
            self._reference()

    def redefine(self) -> None:
        """A few DDLs."""
        for _ in range(self.random.randint(0, 2)):
            self.random.choice((
                self._unreference, self._reference, self._rename_table, self._rename_column, self._add_column,
                self._truncate, self._create,
            ))()  # fmt: skip

    def fill(self) -> None:
        """Rows for every table, parents mostly first."""
        for _ in range(2):
            for table in self._tables:
                for _ in range(4):
                    self._run(self._insert(table))

    def change(self, transactions: int) -> None:
        if self._is_partial:
            self._run(f"SET binlog_row_image = '{self.random.choice(('FULL', 'MINIMAL', 'MINIMAL', 'NOBLOB'))}'")
        for _ in range(transactions):
            unchecked = self._happens(0.08)
            if unchecked:
                self._run("SET foreign_key_checks = 0")
            self._transaction()
            if unchecked:
                self._run("SET foreign_key_checks = 1")

    def tables(self) -> list[tuple[str, str]]:
        return [(self.database, name) for name in source_tables(self._connection, self.database)]

    def rows(self, database: str, table: str) -> list[str]:
        return sorted(source_rows(self._connection, database, table))

    # --- definitions

    def _create(self) -> None:
        table = Table(f"t{next(self._numbers)}", {})
        keys = self.random.choice((("k",), ("k",), ("k",), ("k", "l")))
        for name in keys:
            table.columns[name] = self._type(0.85)
        for name in "abcd"[: self.random.randint(2, 4)]:
            table.columns[name] = self._type(0.7)
        parts = [f"{name} {kind}{' not null' if name in keys else ''}" for name, kind in table.columns.items()]
        if self._is_plain or self._happens(0.9):
            parts.append(f"primary key ({', '.join(keys)})")
        others = [name for name in table.columns if name not in keys]
        for name in others:
            parts += self.random.choice(([f"unique ({name})"], [f"unique ({name})"], [f"key ({name})"], []))
        if self._happens(0.3):
            two = self.random.sample(list(table.columns), 2)
            parts.append(f"{self.random.choice(('unique', 'key'))} ({', '.join(two)})")
        ints = [name for name in others if table.columns[name] == "int"]
        if ints and not self._is_plain and self._happens(0.1):
            parts.append(f"g int as ({ints[0]} + 1) stored")
        if self._define(f"CREATE TABLE {table.name} ({', '.join(parts)}) ENGINE=InnoDB"):
            self._tables.append(table)

    def _type(self, share_of_int: float) -> str:
        return "int" if self._is_plain or self._happens(share_of_int) else self.random.choice(TYPES)

    def _reference(self) -> None:
        child, parent = self.random.choice(self._tables), self.random.choice(self._tables)
        theirs = tuple(self.random.sample(list(parent.columns), self.random.choice((1, 1, 1, 2))))
        if self._happens(0.35):
            theirs = ("k",)
        mine: list[str] = []
        for name in theirs:
            fitting = [c for c, kind in child.columns.items() if kind == parent.columns[name] and c not in mine]
            if not fitting:
                return
            free = [c for c in fitting if not any(c in columns for columns, _, _ in child.foreign.values())]
            mine.append(self.random.choice(free if free and self._happens(0.9) else fitting))
        name = f"f{next(self._numbers)}"
        actions = [f"ON {verb} {self.random.choice(ACTIONS)}" for verb in ("DELETE", "UPDATE") if self._happens(0.8)]
        text = f"FOREIGN KEY ({', '.join(mine)}) REFERENCES {parent.name} ({', '.join(theirs)}) {' '.join(actions)}"
        if self._define(f"ALTER TABLE {child.name} ADD CONSTRAINT {name} {text}"):
            child.foreign[name] = tuple(mine), parent.name, theirs

    def _unreference(self) -> None:
        table = self.random.choice(self._tables)
        if table.foreign:
            name = self.random.choice(list(table.foreign))
            if self._define(f"ALTER TABLE {table.name} DROP FOREIGN KEY {name}"):
                del table.foreign[name]

    def _rename_table(self) -> None:
        table, new = self.random.choice(self._tables), f"t{next(self._numbers)}"
        if self._define(f"RENAME TABLE {table.name} TO {new}"):
            for child in self._tables:
                for name, (mine, parent, theirs) in child.foreign.items():
                    child.foreign[name] = mine, new if parent == table.name else parent, theirs
            table.name = new

    def _rename_column(self) -> None:
        table = self.random.choice(self._tables)
        old, new = self.random.choice([*table.columns][1:]), f"c{next(self._numbers)}"
        kind = table.columns[old] + (" not null" if old == "l" else "")
        if self._define(f"ALTER TABLE {table.name} CHANGE {old} {new} {kind}"):
            table.columns = {new if name == old else name: kind for name, kind in table.columns.items()}
            for child in self._tables:
                for name, (mine, parent, theirs) in child.foreign.items():
                    mine = tuple(new if child is table and c == old else c for c in mine)
                    theirs = tuple(new if parent == table.name and c == old else c for c in theirs)
                    child.foreign[name] = mine, parent, theirs

    def _add_column(self) -> None:
        table, name = self.random.choice(self._tables), f"c{next(self._numbers)}"
        if self._define(f"ALTER TABLE {table.name} ADD {name} int"):
            table.columns[name] = "int"

    def _truncate(self) -> None:
        self._run("SET foreign_key_checks = 0")
        self._define(f"TRUNCATE TABLE {self.random.choice(self._tables).name}")
        self._run("SET foreign_key_checks = 1")

    # --- rows

    def _transaction(self) -> None:
        if self._happens(0.4):
            self._change()
            return
        self._run("BEGIN")
        for _ in range(self.random.randint(1, 5)):
            if self._happens(0.1):
                self._run("SAVEPOINT s")
                self._change()
                self._change()
                self._run("ROLLBACK TO SAVEPOINT s")
            self._change()
        self._run(self.random.choice(("COMMIT", "COMMIT", "COMMIT", "COMMIT", "ROLLBACK")))

    def _change(self) -> None:
        make = self.random.choices(
            (self._insert, self._update, self._shift, self._delete, self._replace, self._upsert, self._join),
            (7, 6, 1, 4, 1, 1, 1),
        )[0]
        self._run(make(self.random.choice(self._tables)))

    def _insert(self, table: Table, verb: str = "INSERT") -> str:
        rows = [self._row(table) for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
        ignore = " IGNORE" if verb == "INSERT" and len(rows) > 1 else ""
        return f"{verb}{ignore} INTO {table.name} ({', '.join(table.columns)}) VALUES {', '.join(rows)}"

    def _row(self, table: Table) -> str:
        row = {name: self._value(table, name) for name in table.columns}
        for mine, parent, theirs in table.foreign.values():
            if self._happens(0.9):
                self._cursor.execute(f"SELECT {', '.join(theirs)} FROM {parent} ORDER BY {', '.join(theirs)}")
                if found := self._cursor.fetchall():
                    row |= zip(mine, map(self._literal, self.random.choice(found)), strict=True)
        return f"({', '.join(row.values())})"

    def _literal(self, value: object) -> str:
        return "NULL" if value is None else self._connection.escape(value)

    def _update(self, table: Table) -> str:
        names = self.random.sample(list(table.columns), self.random.choice((1, 1, 2)))
        sets = ", ".join(f"{name} = {self._value(table, name)}" for name in names)
        ignore = self.random.choice(("", "", "", "IGNORE "))
        return f"UPDATE {ignore}{table.name} SET {sets} WHERE {self._where(table)}"

    def _shift(self, table: Table) -> str:
        name = self.random.choice([c for c, kind in table.columns.items() if kind == "int"] or list(table.columns))
        step, order = self.random.choice((("+ 1", "DESC"), ("- 1", "ASC")))
        return f"UPDATE {table.name} SET {name} = {name} {step} ORDER BY {name} {order}"

    def _delete(self, table: Table) -> str:
        return f"DELETE FROM {table.name} WHERE {self._where(table)}"

    def _replace(self, table: Table) -> str:
        return self._insert(table, "REPLACE")

    def _upsert(self, table: Table) -> str:
        name = self.random.choice(list(table.columns))
        return f"{self._insert(table)} ON DUPLICATE KEY UPDATE {name} = {self._value(table, name)}"

    def _join(self, table: Table) -> str:
        if not table.foreign:
            return self._delete(table)
        mine, parent, theirs = self.random.choice(list(table.foreign.values()))
        joined = f"{table.name} x JOIN {parent} y ON x.{mine[0]} = y.{theirs[0]}"
        where = f"y.{theirs[0]} = {self._value(table, mine[0])}"
        if self._happens(0.5):
            return f"DELETE {self.random.choice(('x, y', 'y, x', 'y'))} FROM {joined} WHERE {where}"
        name = self.random.choice(list(table.columns))
        return f"UPDATE {joined} SET x.{name} = {self._value(table, name)}, y.{theirs[0]} = " + \
            f"{self._value(table, mine[0])} WHERE {where}"  # fmt: skip

    def _where(self, table: Table) -> str:
        name = self.random.choice(list(table.columns))
        value = self.random.choice(VALUES[table.columns[name]])
        return f"{name} {self.random.choice(('=', '=', '=', '=', '<', '>'))} {value}"

    def _value(self, table: Table, name: str) -> str:
        is_null = name not in ("k", "l") and self._happens(0.12)
        return "NULL" if is_null else self.random.choice(VALUES[table.columns[name]])

    # --- the server

    def _happens(self, share: float) -> bool:
        return self.random.random() < share

    def _define(self, text: str) -> bool:
        is_done = self._run(text)
        self.ddl += is_done
        return is_done

    def _run(self, text: str) -> bool:
        """Whether the server did it."""
        try:
            self._cursor.execute(text)
        except pymysql.MySQLError as error:
            if isinstance(error, pymysql.OperationalError) and error.args[0] in CONNECTION_LOST:
                raise
            return False
        self.statements.append(text)
        return True


def write_histories(
    server: Server, seed: str, names: list[str], turns: int, logs: Path, transactions: int = 12
) -> list[ForeignKeyHistory]:
    """The histories, still connected; the server's log is copied to ``logs``. transactions: of each in each turn."""
    server.reset()
    histories = [ForeignKeyHistory(server, name, seed) for name in names]
    for history in histories:
        history.define()
    for history in histories:
        history.fill()
    for turn in range(turns):
        for history in histories:
            if turn:
                history.redefine()
        for history in histories:
            history.change(transactions)
    server.execute("FLUSH BINARY LOGS")
    logs.mkdir(parents=True)
    for path in server.log_files()[:-1]:
        shutil.copyfile(path, logs / path.name)
    return histories
