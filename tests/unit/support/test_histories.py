"""The random histories hold what they promise, and the oracle notices a history that contradicts itself."""

from __future__ import annotations

from collections import defaultdict

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema, why_not_mirrored
from mirrorlake.core.schema.types import MIRRORED, ColumnType
from tests.support.binlog_spec import Delete, Insert, Rotate, Transaction, Update
from tests.support.histories import random_history
from tests.support.history_generator import Generator
from tests.support.oracle import ExpectedTransaction, TableDdl, replay, reshaped, table_name
from tests.support.random_tables import COLUMN_TYPES, OF_ONE_SERVER
from tests.support.reduce import DELETED, reduce
from tests.support.row_change import RowChange

SEEDS = range(40)
TABLE = TableSchema("shop", "t", (Column("id", ColumnType("int"), False), Column("v", ColumnType("int"))), ("id",))
CREATE = TableDdl("CREATE TABLE t ...", "shop", new=TABLE)


def test_the_same_seed_gives_the_same_history():
    assert random_history(5) == random_history(5)
    assert random_history(5).items != random_history(6).items


def test_replay_ends_where_the_generator_stood():
    for seed in SEEDS:
        generator = Generator(seed, ("shop", "crm"))
        generator.create_tables(3)
        generator.write(40)
        tables, _ = replay(generator.items)
        assert tables == {name: generator.rows[name] for name in generator.schemas}, f"seed {seed}"


def test_reducing_whole_histories_equals_replaying_them():
    for seed in SEEDS:
        assert net_tables(random_history(seed)) == random_history(seed).tables, f"seed {seed}"


def net_tables(history):
    """Reduce between the DDLs of a table, reshape at them."""
    tables, waiting, keys = {}, defaultdict(list), {}

    def settle(name):
        net = reduce(waiting.pop(name, []), keys[name])
        left = {key: row for key, row in tables[name].items() if key not in net}
        tables[name] = left | {key: row for key, row in net.items() if row is not DELETED}

    groups = [item for item in history.items if not isinstance(item, Rotate)]
    for tx_lsn, (item, expected) in enumerate(zip(groups, history.transactions, strict=True)):
        for ordinal, change in enumerate(expected.changes):
            row_change = RowChange(change.op, *change.table, change.before, change.after, tx_lsn, ordinal)
            waiting[change.table].append(row_change)
        if isinstance(item, TableDdl):
            name = table_name(item.new or item.old)
            if item.old:
                settle(name)
            before = tables.pop(name, {})
            if item.new:
                keys[name] = item.new.primary_key
                tables[name] = {key: reshaped(row, item.new) for key, row in before.items()}
    for name in list(tables):
        settle(name)
    return tables


def test_histories_cover_every_type_and_every_kind_of_change():
    items = [item for seed in SEEDS for item in random_history(seed).items]
    ddls = [item for item in items if isinstance(item, TableDdl)]
    statements = [statement for item in items if isinstance(item, Transaction) for statement in item.statements]
    parts = [part for statement in statements for part in statement.parts]
    updates = [(part, pair) for part in parts if isinstance(part, Update) for pair in part.rows]
    assert {column.type.name for ddl in ddls for column in (ddl.new or ddl.old).columns} == MIRRORED - OF_ONE_SERVER
    assert {(ddl.old is None, ddl.new is None) for ddl in ddls} == {(True, False), (False, False), (False, True)}
    assert {type(item).__name__ for item in items} == {"Transaction", "Ddl", "TableDdl", "Rotate"}
    assert {type(part) for part in parts} == {Insert, Update, Delete}
    assert any(len({part.table for part in statement.parts}) > 1 for statement in statements)
    assert any([type(part) for part in statement.parts] == [Delete, Insert] for statement in statements)
    assert any(statement.sql for statement in statements) and any(len(part.rows) > 5 for part in parts)
    assert {key_change(part, pair) for part, pair in updates} == {None, "key change", "case of a key"}


def key_change(part, pair):
    before, after = ([image[name] for name in part.table.primary_key] for image in pair)
    if before == after:
        return None
    only_case = str(before).casefold() == str(after).casefold()
    return "case of a key" if only_case else "key change"


def test_every_table_can_be_mirrored():
    tables = [item.new for seed in SEEDS for item in random_history(seed).items if getattr(item, "new", None)]
    assert [why_not_mirrored(table) for table in tables] == [None] * len(tables)
    assert {of.name for of in COLUMN_TYPES} == MIRRORED - OF_ONE_SERVER


def test_silver_counts_every_row_change_and_keeps_statements():
    rows = [{"id": 1, "v": 1}, {"id": 2, "v": None}]
    items = [CREATE, Rotate(), Transaction([Insert(TABLE, rows), Update(TABLE, [(rows[0], {"id": 3, "v": 1})])])]
    tables, (created, written) = replay(items)
    assert tables == {("shop", "t"): {(2,): rows[1], (3,): {"id": 3, "v": 1}}}
    assert created == ExpectedTransaction(statement="CREATE TABLE t ...")
    assert [(change.op, change.before, change.after) for change in written.changes] == [
        ("INSERT", None, rows[0]), ("INSERT", None, rows[1]), ("UPDATE", rows[0], {"id": 3, "v": 1}),
    ]  # fmt: skip
    assert written.count == 3


@pytest.mark.parametrize(
    "statement",
    [
        Insert(TABLE, [{"id": 1, "v": 2}]),
        Update(TABLE, [({"id": 1, "v": 9}, {"id": 1, "v": 2})]),
        Delete(TABLE, [{"id": 5, "v": 1}]),
        Insert(TABLE, [{"id": 2}]),
    ],
)
def test_a_history_that_contradicts_itself_is_noticed(statement):
    with pytest.raises(AssertionError):
        replay([CREATE, Transaction([Insert(TABLE, [{"id": 1, "v": 1}])]), Transaction([statement])])
