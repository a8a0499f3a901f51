"""Random transaction histories, and what must come out of them.

history = random_history(seed)
write_logs(folder, history.log("mariadb"))     # the input of the three hops
history.tables                                 # what gold must hold: {(database, table): {key: row}}
history.transactions                           # what silver must hold, in order
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mirrorlake.core.schema.tables import TableSchema
from tests.support.binlog_spec import Item, Log
from tests.support.history_generator import Generator
from tests.support.oracle import ExpectedTransaction, Rows, TableDdl, TableName, replay, table_name


@dataclass(frozen=True)
class History:
    seed: int
    items: tuple[Item, ...]

    def log(self, flavor: str, **options: Any) -> Log:
        """options: those of ``binlog_spec.Log``."""
        return Log(flavor, self.items, **options)

    @cached_property
    def _replayed(self) -> tuple[dict[TableName, Rows], tuple[ExpectedTransaction, ...]]:
        return replay(self.items)

    @property
    def tables(self) -> dict[TableName, Rows]:
        """The tables that exist at the end."""
        return self._replayed[0]

    @property
    def transactions(self) -> tuple[ExpectedTransaction, ...]:
        return self._replayed[1]

    @cached_property
    def schemas(self) -> dict[TableName, TableSchema]:
        """The definitions at the end."""
        found: dict[TableName, TableSchema] = {}
        for item in self.items:
            if isinstance(item, TableDdl):
                name = table_name(item.new or item.old)
                found.pop(name, None)
                found |= {name: item.new} if item.new else {}
        return found


def random_history(
    seed: int, *, items: int = 40, tables: int = 3, databases: Sequence[str] = ("shop", "crm"),
    keyless: float = 0,
) -> History:  # fmt: skip
    """items: transactions, DDLs and rotations together, after the tables were created. keyless: share of the tables
    without a key."""
    generator = Generator(seed, databases, keyless)
    generator.create_tables(tables)
    generator.write(items)
    return History(seed, tuple(generator.items))
