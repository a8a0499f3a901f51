"""A random history of tables with foreign keys; the log has what MariaDB logs: no row that a foreign key changed.

p <- c: ON DELETE CASCADE ON UPDATE CASCADE; p <- c: ON DELETE SET NULL; c <- d: ON DELETE CASCADE; t <- t: ON DELETE
CASCADE. A model in Python has the rows that the tables hold.
"""

from __future__ import annotations

from random import Random

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_spec import Ddl, Delete, Insert, Transaction, Update
from tests.support.canonical import canonical_row

Row = dict[str, int | None]
_COLUMNS = {"p": ("id", "v"), "c": ("id", "p", "q", "v"), "d": ("id", "c"), "t": ("id", "up")}
_KEYS = {
    "c": "foreign key (p) references p (id) on delete cascade on update cascade,"
    " foreign key (q) references p (id) on delete set null",
    "d": "foreign key (c) references c (id) on delete cascade",
    "t": "foreign key (up) references t (id) on delete cascade",
}
_REFERENCES = {"c": (("p", "p"), ("q", "p")), "d": (("c", "c"),), "t": (("up", "t"),)}
_MOST_IDS = 12


def _schema(table: str) -> TableSchema:
    columns = tuple(Column(name, ColumnType("int"), nullable=name != "id") for name in _COLUMNS[table])
    return TableSchema("shop", table, columns, ("id",))


def _create(table: str) -> Ddl:
    columns = ", ".join(f"{name} int" for name in _COLUMNS[table])
    keys = f", {_KEYS[table]}" if table in _KEYS else ""
    return Ddl(f"create table {table} ({columns}, primary key (id){keys})", database="shop")


class ForeignKeyHistory:
    """items: for a ``Log``. tables: what each holds in the end, by id."""

    def __init__(self, seed: str, transactions: int):
        self._random = Random(seed)
        self.tables: dict[str, dict[int, Row]] = {table: {} for table in _COLUMNS}
        self.items: list = [Ddl("create database shop", database="shop"), *map(_create, _COLUMNS)]
        for _ in range(transactions):
            parts = [part for _ in range(self._random.randint(1, 5)) if (part := self._change())]
            if parts:
                self.items.append(Transaction(parts))

    def rows(self) -> dict[tuple[str, str], list[str]]:
        """Canonical ones, as ``LakeRun.gold`` gives them."""
        return {("shop", name): sorted(map(canonical_row, held.values())) for name, held in self.tables.items()}

    def _change(self) -> Insert | Update | Delete | None:
        table = self._random.choice(("p", "p", "c", "c", "c", "d", "d", "t", "t"))
        held, dice = self.tables[table], self._random.random()
        if dice < 0.55 or not held:
            return self._insert(table)
        row = held[self._random.choice(list(held))]
        return self._update(table, row) if dice < 0.75 else self._delete(table, row)

    def _insert(self, table: str) -> Insert | None:
        number = self._random.randint(1, _MOST_IDS)
        if number in self.tables[table]:
            return None
        self.tables[table][number] = row = {"id": number} | self._values(table)
        return Insert(_schema(table), [dict(row)])

    def _values(self, table: str) -> Row:
        parents = dict(_REFERENCES.get(table, ()))
        return {
            name: self._random.choice([None, *self.tables[parents[name]]]) if name in parents
            else self._random.randint(1, 99)
            for name in _COLUMNS[table][1:]
        }  # fmt: skip

    def _update(self, table: str, row: Row) -> Update | None:
        before = dict(row)
        if table == "p" and self._random.random() < 0.5:
            return self._move(row)
        row |= self._values(table)
        if table == "t" and row["up"] == row["id"]:
            row["up"] = None
        return Update(_schema(table), [(before, dict(row))])

    def _move(self, row: Row) -> Update | None:
        """Another key of a parent; a child that may not follow forbids it."""
        old, new = row["id"], self._random.randint(1, _MOST_IDS)
        children = self.tables["c"].values()
        if new in self.tables["p"] or any(child["q"] == old for child in children):
            return None
        before = dict(row)
        row["id"] = new
        self.tables["p"][new] = self.tables["p"].pop(old)
        for child in children:
            child["p"] = new if child["p"] == old else child["p"]
        return Update(_schema("p"), [(before, dict(row))])

    def _delete(self, table: str, row: Row) -> Delete:
        logged = dict(row)
        self._remove(table, row["id"])
        return Delete(_schema(table), [logged])

    def _remove(self, table: str, number: int) -> None:
        self.tables[table].pop(number, None)
        for child, references in _REFERENCES.items():
            for column, parent in references:
                for row in [r for r in self.tables[child].values() if parent == table and r[column] == number]:
                    if (child, column) == ("c", "q"):
                        row[column] = None
                    else:
                        self._remove(child, row["id"])
