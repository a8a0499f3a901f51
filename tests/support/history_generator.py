"""The random choices of ``histories.random_history``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from mirrorlake.core.schema.tables import Column, TableSchema
from tests.support.binlog_spec import Ddl, Delete, Insert, Item, Rotate, Row, RowsPart, Statement, Transaction, Update
from tests.support.oracle import Rows, TableDdl, TableName, replay_row, reshaped, table_name
from tests.support.random_tables import (
    column_sql,
    create_table_sql,
    quoted,
    random_column,
    random_table,
    unused_column_name,
)
from tests.support.row_change import Key, identity
from tests.support.values import random_value

_DDL_SHARE, _ROTATE_SHARE = 0.14, 0.05
_TABLE_NAMES = ("orders", "Customers", "order_items", "größen", "t5")
_KEY_TRIES = 20
_TEXT_KEYS = ("k{}", "K{}", "ключ {}", "a'b{}")
_WEIGHTS_BY_SHAPE = {"insert": 5, "update": 4, "delete": 2, "replace": 2, "delete_then_insert": 1, "key_change": 2,
                     "key_swap": 1, "touch_two_tables": 1}  # fmt: skip


class Generator:
    """Keeps the rows as they are while it writes, so that every change it makes is possible."""

    def __init__(self, seed: int, databases: Sequence[str], keyless: float = 0):
        """keyless: share of the tables without a key."""
        self.random, self.databases, self.keyless = Random(seed), databases, keyless
        self.items: list[Item] = [Ddl(f"CREATE DATABASE {quoted(name)}", name) for name in databases]
        self.schemas: dict[TableName, TableSchema] = {}
        self.rows: dict[TableName, Rows] = {}
        self.gone: dict[TableName, list[Key]] = {}  # keys that once existed: likely to come back
        self.statements: list[Statement | RowsPart] = []

    def create_tables(self, count: int) -> None:
        for _ in range(count):
            self._create()

    def write(self, items: int) -> None:
        for _ in range(items):
            dice = self.random.random()
            if dice < _DDL_SHARE or not self.schemas:
                self._ddl()
            elif dice < _DDL_SHARE + _ROTATE_SHARE:
                self.items.append(Rotate())
            else:
                self._transaction()

    # --- transactions

    def _transaction(self) -> None:
        self.statements = []
        shapes, weights = list(_WEIGHTS_BY_SHAPE), list(_WEIGHTS_BY_SHAPE.values())
        for shape in self.random.choices(shapes, weights, k=self.random.randint(1, 5)):
            table = self.random.choice(list(self.schemas.values()))
            getattr(self, f"_{shape}")(table)
        if self.statements:
            self.items.append(Transaction(tuple(self.statements)))

    def _insert(self, table: TableSchema) -> None:
        rows = []
        for _ in range(self.random.choice((1, 1, 2, 3, 12))):
            key = self._free_key(table)
            if key is not None:
                rows.append(self._applied(table, None, self._row(table, key)))
        self._add(Insert(table, rows))

    def _update(self, table: TableSchema) -> None:
        pairs = [pair for row in self._some_rows(table) for pair in self._updated(table, row)]
        self._add(Update(table, pairs))

    def _delete(self, table: TableSchema) -> None:
        rows = self._some_rows(table)
        for row in rows:
            self._applied(table, row, None)
        self._add(Delete(table, rows))

    def _replace(self, table: TableSchema) -> None:
        """REPLACE: one statement that deletes a row and inserts another of the same key."""
        for row in self._some_rows(table, 1):
            self._applied(table, row, None)
            new = self._applied(table, None, self._row(table, identity(table.primary_key, row)))
            self._add(Delete(table, [row]), Insert(table, [new]))

    def _delete_then_insert(self, table: TableSchema) -> None:
        """As ``_replace``, in two statements."""
        for row in self._some_rows(table, 1):
            self._add(Delete(table, [row]))
            self._applied(table, row, None)
            self._add(Insert(table, [self._applied(table, None, self._row(table, identity(table.primary_key, row)))]))

    def _key_change(self, table: TableSchema) -> None:
        if not table.primary_key:
            return self._update(table)
        for row in self._some_rows(table, 1):
            key = _recased(identity(table.primary_key, row)) if self.random.random() < 0.3 else None
            key = key or self._free_key(table)
            if key is not None:
                self._move(table, row, key)

    def _key_swap(self, table: TableSchema) -> None:
        """Two rows exchange their keys by way of a third one, as SQL must do it."""
        if not table.primary_key:
            return self._update(table)
        rows, free = self._some_rows(table, 2), self._free_key(table)
        if len(rows) == 2 and free is not None:
            first, second = (identity(table.primary_key, row) for row in rows)
            parked = self._move(table, rows[0], free)
            self._move(table, rows[1], first)
            self._move(table, parked, second)

    def _touch_two_tables(self, table: TableSchema) -> None:
        """One statement over several tables (UPDATE t1 JOIN t2)."""
        other = self.random.choice(list(self.schemas.values()))
        parts = []
        for each in dict.fromkeys((table, other)):
            pairs = [pair for row in self._some_rows(each, 1) for pair in self._updated(each, row)]
            parts += [Update(each, pairs)] if pairs else []
        self._add(*parts)

    def _move(self, table: TableSchema, row: Row, key: Key) -> Row:
        moved = self._applied(table, row, {**row, **dict(zip(table.primary_key, key, strict=True))})
        self._add(Update(table, [(row, moved)]))
        return moved

    def _updated(self, table: TableSchema, row: Row) -> list[tuple[Row, Row]]:
        """Some columns outside the key get new values; servers log nothing when all are as before."""
        others = [column for column in table.columns if column.name not in table.primary_key]
        chosen = self.random.sample(others, self.random.randint(1, len(others)))
        new = self._copy(table) or {**row, **{column.name: self._value(column) for column in chosen}}
        return [(row, self._applied(table, row, new))] if new != row else []

    def _add(self, *parts: RowsPart) -> None:
        parts = tuple(part for part in parts if part.rows)
        if not parts:
            return
        sql = self.random.choice((None, None, f"/* statement {len(self.statements)} */ é"))
        self.statements.append(Statement(parts, sql, rows_per_event=self.random.choice((None, None, 1, 2))))

    # --- rows and keys

    def _applied(self, table: TableSchema, before: Row | None, after: Row | None) -> Row | None:
        replay_row(self.rows[table_name(table)], table, before, after)
        if before is not None:
            self.gone[table_name(table)].append(identity(table.primary_key, before))
        return after

    def _some_rows(self, table: TableSchema, count: int | None = None) -> list[Row]:
        rows = list(self.rows[table_name(table)].values())
        return self.random.sample(rows, min(len(rows), count or self.random.choice((1, 1, 2, 5))))

    def _copy(self, table: TableSchema) -> Row | None:
        """A row of a table without a key that may be there more than once."""
        rows = list(self.rows[table_name(table)].values())
        return dict(self.random.choice(rows)) if not table.primary_key and rows and self.random.random() < 0.6 else None

    def _row(self, table: TableSchema, key: Key) -> Row:
        row = self._copy(table) or {column.name: self._value(column) for column in table.columns}
        return {**row, **dict(zip(table.primary_key, key, strict=True))}

    def _value(self, column: Column):
        return random_value(self.random, column.type, column.nullable)

    def _free_key(self, table: TableSchema) -> Key | None:
        name = table_name(table)
        taken = {_as_the_server_compares(key) for key in self.rows[name]}
        for _ in range(_KEY_TRIES):
            recurring = self.gone[name] and self.random.random() < 0.4
            key = self.random.choice(self.gone[name]) if recurring else self._random_key(table)
            if _as_the_server_compares(key) not in taken:
                return key
        return None

    def _random_key(self, table: TableSchema) -> Key:
        columns = {column.name: column for column in table.columns}
        return tuple(self._key_value(columns[name]) for name in table.primary_key)

    def _key_value(self, column: Column):
        if column.type.name in ("char", "varchar") and column.type.charset != "latin1":
            return self.random.choice(_TEXT_KEYS).format(self.random.randrange(100))
        if column.type.name == "char":
            return f"k{self.random.randrange(100)}"
        if column.type.name in ("int", "bigint") and self.random.random() < 0.7:
            return self.random.randrange(60)
        return random_value(self.random, column.type)

    # --- definitions

    def _ddl(self) -> None:
        choices: list[Callable[[], None]] = [self._create] if len(self.schemas) < len(_TABLE_NAMES) else []
        if self.schemas:
            choices += [self._add_column, self._add_column, self._drop_column, self._without_effect]
        if len(self.schemas) > 1:
            choices.append(self._drop)
        self.random.choice(choices)()

    def _create(self) -> None:
        free = [(d, t) for t in _TABLE_NAMES for d in self.databases if (d, t) not in self.schemas]
        name = self.random.choice(free)
        table = random_table(self.random, *name)
        if self.keyless and self.random.random() < self.keyless:
            table = replace(table, primary_key=())
        self.schemas[name], self.rows[name], self.gone[name] = table, {}, []
        self.items.append(TableDdl(create_table_sql(table), table.database, old=None, new=table))

    def _drop(self) -> None:
        name = self.random.choice(list(self.schemas))
        table = self.schemas.pop(name)
        text = f"DROP TABLE {quoted(table.table)} /* generated by server */"
        self.items.append(TableDdl(text, table.database, old=table, new=None))

    def _add_column(self) -> None:
        table = self.random.choice(list(self.schemas.values()))
        name = unused_column_name(self.random, table)
        if name is None:
            return
        column = random_column(self.random, name, nullable=True)
        at = self.random.randint(0, len(table.columns))
        where = "FIRST" if at == 0 else f"AFTER {quoted(table.columns[at - 1].name)}"
        if at == len(table.columns) and self.random.random() < 0.5:
            where = ""
        columns = (*table.columns[:at], column, *table.columns[at:])
        self._alter(table, replace(table, columns=columns), f"ADD COLUMN {column_sql(column)} {where}".rstrip())

    def _drop_column(self) -> None:
        table = self.random.choice(list(self.schemas.values()))
        others = [column for column in table.columns if column.name not in table.primary_key]
        if len(others) > 1:
            gone = self.random.choice(others)
            columns = tuple(column for column in table.columns if column != gone)
            self._alter(table, replace(table, columns=columns), f"DROP COLUMN {quoted(gone.name)}")

    def _without_effect(self) -> None:
        table = self.random.choice(list(self.schemas.values()))
        where = quoted(table.database, table.table)
        key = ", ".join(map(quoted, table.primary_key))
        index = f"ix{len(self.items)}"
        texts = (f"ALTER TABLE {where} COMMENT = 'it''s; \\'quoted\\''", f"CREATE INDEX {index} ON {where} ({key})")
        self.items.append(Ddl(self.random.choice(texts if key else texts[:1]), table.database))

    def _alter(self, old: TableSchema, new: TableSchema, clause: str) -> None:
        name = table_name(old)
        self.schemas[name] = new
        self.rows[name] = {key: reshaped(row, new) for key, row in self.rows[name].items()}
        where = quoted(old.table) if self.random.random() < 0.5 else quoted(old.database, old.table)
        self.items.append(TableDdl(f"ALTER TABLE {where} {clause}", old.database, old=old, new=new))


def _recased(key: Key) -> Key | None:
    """The same key for the server, in other letters; None when there is no such."""
    other = tuple(value.swapcase() if isinstance(value, str) else value for value in key)
    return other if other != key else None


def _as_the_server_compares(key: Key) -> Key:
    """Its default collations take 'k1' and 'K1' for one key."""
    return tuple(value.casefold() if isinstance(value, str) else value for value in key)
