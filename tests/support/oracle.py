"""What must come out of a log, by replaying its spec one row at a time.

No batches, no reducing; every before image must be the row that is there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mirrorlake.core.schema.tables import TableSchema
from tests.support.binlog_spec import Ddl, Item, Row, RowsPart, Statement, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.row_change import DELETE, INSERT, UPDATE, Key, identity

TableName = tuple[str, str]
Rows = dict[Key, Row]
_OPS = {"Insert": INSERT, "Update": UPDATE, "Delete": DELETE}


@dataclass(frozen=True)
class TableDdl(Ddl):
    """A DDL that says what it does: (None, new) creates, (old, None) drops, (old, new) alters a table."""

    old: TableSchema | None = None
    new: TableSchema | None = None


@dataclass(frozen=True)
class ExpectedChange:
    op: str
    table: TableName
    before: Row | None
    after: Row | None


@dataclass(frozen=True)
class ExpectedTransaction:
    """One event group in silver: a transaction with its row changes in order, or a DDL with its statement."""

    changes: tuple[ExpectedChange, ...] = ()
    statement: str | None = None

    @property
    def count(self) -> int:
        return len(self.changes)


def table_name(table: TableSchema) -> TableName:
    return table.database, table.table


def replay(items: Iterable[Item]) -> tuple[dict[TableName, Rows], tuple[ExpectedTransaction, ...]]:
    """Raises AssertionError when the history contradicts itself."""
    tables: dict[TableName, Rows] = {}
    transactions = []
    for item in items:
        if isinstance(item, Transaction):
            changes = tuple(change for part in _parts(item) for change in _replay_part(tables, part))
            transactions.append(ExpectedTransaction(changes))
        elif isinstance(item, Ddl):
            if isinstance(item, TableDdl):
                _replay_ddl(tables, item)
            transactions.append(ExpectedTransaction(statement=item.text))
    return tables, tuple(transactions)


def primary_keys(transaction: Transaction) -> dict[TableName, tuple[str, ...]]:
    return {table_name(part.table): part.table.primary_key for part in _parts(transaction)}


def _parts(transaction: Transaction) -> Iterable[RowsPart]:
    for statement in transaction.statements:
        yield from statement.parts if isinstance(statement, Statement) else [statement]


def _replay_part(tables: dict[TableName, Rows], part: RowsPart) -> Iterable[ExpectedChange]:
    name, op = table_name(part.table), _OPS[type(part).__name__]
    for row in part.rows:
        before, after = row if isinstance(part, Update) else (None, row) if op == INSERT else (row, None)
        replay_row(tables[name], part.table, before, after)
        yield ExpectedChange(op, name, before, after)


def replay_row(rows: Rows, table: TableSchema, before: Row | None, after: Row | None) -> None:
    names = [column.name for column in table.columns]
    if before is not None:
        assert rows.pop(_key(rows, table, before), None) == before, "the before image is not the row"
    if after is not None:
        key = identity(table.primary_key, after) or (max(rows, default=(0,))[0] + 1,)
        assert key not in rows, "the key is taken"
        assert sorted(after) == sorted(names), "the row has other columns than the table"
        rows[key] = after


def _key(rows: Rows, table: TableSchema, row: Row) -> Key | None:
    """Under which key the row is there. Rows of a table without a key have numbers: any that is equal will do."""
    if table.primary_key:
        return identity(table.primary_key, row)
    return next((key for key, there in rows.items() if canonical_row(there) == canonical_row(row)), None)


def _replay_ddl(tables: dict[TableName, Rows], ddl: TableDdl) -> None:
    name = table_name(ddl.new or ddl.old)
    if ddl.old is None:
        assert name not in tables, "the table exists"
        tables[name] = {}
    elif ddl.new is None:
        del tables[name]
    else:
        tables[name] = {key: reshaped(row, ddl.new) for key, row in tables[name].items()}


def reshaped(row: Row, table: TableSchema) -> Row:
    """The row after columns without a value were added, and columns dropped."""
    return {column.name: row.get(column.name) for column in table.columns}
