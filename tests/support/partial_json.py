"""Random updates of JSON columns, logged with binlog_row_value_options = PARTIAL_JSON, and what must come of them.

history = PartialJson(Random(1))
write_logs(folder, Log("mysql", history.items))
history.changes         # what silver must hold: rows of ``silver_rows.silver_rows``
"""

from __future__ import annotations

from random import Random
from typing import Any

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_spec import Ddl, Insert, Item, Row, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.json_differences import applied, encode_differences, random_differences, random_value
from tests.support.json_encoding import encode_json, json_text
from tests.support.random_tables import create_table_sql

_JSON, _TEXT = ColumnType("json"), ColumnType("text", charset="utf8mb4")
_VARCHAR = ColumnType("varchar", length=90, charset="utf8mb4")
DOCUMENTS = TableSchema("d", "documents", (
    Column("a", _JSON), Column("id", ColumnType("int"), False), Column("v", _VARCHAR), Column("b", _JSON),
    Column("n", ColumnType("decimal", precision=9, scale=2)), Column("c", _JSON), Column("t", _TEXT),
), ("id",))  # fmt: skip
PLAIN = TableSchema("d", "plain", (Column("id", ColumnType("int"), False), Column("v", ColumnType("int"))), ("id",))
SCHEMAS = {table.schema_id: table for table in (DOCUMENTS, PLAIN)}
_ROWS = 12


class PartialJson:
    """Values of JSON columns are those of ``json_encoding``; None is NULL."""

    def __init__(self, random: Random, updates: int = 60):
        self._random = random
        self.items: list[Item] = [Ddl("CREATE DATABASE d", "d")]
        self.items += [Ddl(create_table_sql(table), "d") for table in SCHEMAS.values()]
        self.changes: list[tuple] = []
        self._rows = [self._new_row(key) for key in range(_ROWS)]
        self._add(Insert(DOCUMENTS, [self._stored(row) for row in self._rows]), [(None, row) for row in self._rows])
        for n in range(updates):
            self._update() if n % 5 else self._update_plain(n)

    def _add(self, part: Insert | Update, pairs: list[tuple[Row | None, Row]]) -> None:
        op, name = type(part).__name__.upper(), (part.table.database, part.table.table)
        self.items.append(Transaction([part]))
        self.changes += [(op, name, before and _canonical(before), _canonical(after)) for before, after in pairs]

    def _new_row(self, key: int) -> Row:
        row = {"id": key, "v": f"row {key}", "n": None, "t": None}
        return row | {name: self._document() for name in "abc"}

    def _update(self) -> None:
        random, shown, logged = self._random, [], []
        for key in sorted(random.sample(range(_ROWS), random.choice((1, 1, 3)))):
            old = self._rows[key]
            new, partial = self._changed(old)
            shown.append((old, new))
            logged.append((self._stored(old), self._stored(new) | partial))
            self._rows[key] = new
        self._add(Update(DOCUMENTS, logged, partial_json=True), shown)

    def _changed(self, old: Row) -> tuple[Row, dict[str, bytes]]:
        """The row after an update, and the differences that are logged of some columns."""
        random, new, partial = self._random, dict(old), {}
        for name in "abc":
            dice, value = random.random(), old[name]
            if isinstance(value, list | dict) and dice < 0.7:
                differences = random_differences(random, value, random.choice((0, 1, 1, 2, 6)))
                new[name], partial[name] = applied(value, differences), encode_differences(differences)
            elif dice < 0.8:
                new[name] = self._document()
        if random.random() < 0.3:
            new["v"], new["t"] = None, "t" * random.choice((0, 300))
        return new, partial

    def _update_plain(self, n: int) -> None:
        pair = {"id": 1, "v": n}, {"id": 1, "v": None}
        self._add(Update(PLAIN, [pair], partial_json=True), [pair])

    def _document(self) -> Any:
        return None if self._random.random() < 0.2 else random_value(self._random)

    def _stored(self, row: Row) -> dict[str, Any]:
        is_large = self._random.random() < 0.3
        documents = {name: encode_json(row[name], is_large) for name in "abc" if row[name] is not None}
        return {**row, **documents}


def _canonical(row: Row) -> str:
    return canonical_row({**row, **{name: json_text(row[name]) for name in "abc" if row.get(name) is not None}})
