"""The net effect that gold merges, against reduce, which is one row at a time."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mirrorlake.core.changes.images import CHANGE_COLUMNS, LSN, REMOVED, inserted_rows, net_effect
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_spec import Insert, Log, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.histories import random_history
from tests.support.oracle import TableDdl
from tests.support.pure_hops import assembled, bronze
from tests.support.reduce import DELETED, reduce
from tests.support.row_change import DELETE, RowChange, identity, split_key_change
from tests.support.silver_rows import ROW_OPS, all_schemas, arrow_types

HISTORIES = 4
MARKS = (LSN, REMOVED)


def by_schema(history, flavor, folder):
    """For each definition that a table had once: it, the changes logged with it as Arrow, the same from the oracle."""
    table = assembled(flavor, bronze(folder, history.log(flavor)))
    rows = table.filter(pc.is_in(table["op"], pa.array(ROW_OPS)))
    changes = [change for transaction in history.transactions for change in transaction.changes]
    assert len(rows) == len(changes)
    times = Counter(item.new.schema_id for item in history.items if isinstance(item, TableDdl) and item.new)
    for schema_id, schema in all_schemas(history).items():
        if times[schema_id] > 1:  # dropped or altered and back: what comes later does not follow what was before
            continue
        mine = rows["schema_id"].to_numpy() == schema_id
        logged = rows.filter(pa.array(mine)).select(list(CHANGE_COLUMNS)).combine_chunks()
        wanted = [
            RowChange(change.op, *change.table, change.before, change.after, n, 1)
            for n, (change, is_mine) in enumerate(zip(changes, mine, strict=True))
            if is_mine
        ]
        yield schema, logged, wanted


def net_rows(changes: pa.Table, schema: TableSchema, cuts: int) -> dict:
    """Key -> canonical row or DELETED, from changes read in several batches and in no order."""
    types, key = arrow_types(schema), schema.primary_key
    size = max(1, len(changes) // cuts)
    batches = changes.to_batches(max_chunksize=size)[::-1]
    net = pa.Table.from_batches(net_effect(batches, types, key))
    return {
        canonical_row({name: row[name] for name in key}): DELETED
        if row[REMOVED]
        else canonical_row({name: value for name, value in row.items() if name not in MARKS})
        for row in net.to_pylist()
    }


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
@pytest.mark.parametrize("cuts", [1, 7])
def test_net_effect_is_that_of_reduce(tmp_path, seed, flavor, cuts, history_number):
    history = random_history(seed + history_number, items=60, tables=2)
    for schema, logged, changes in by_schema(history, flavor, tmp_path):
        if not changes:
            continue
        reduced = reduce(changes, schema.primary_key)
        names = schema.primary_key
        assert net_rows(logged, schema, cuts) == {
            canonical_row(dict(zip(names, key, strict=True))): row if row is DELETED else canonical_row(row)
            for key, row in reduced.items()
        }


def test_every_key_has_one_image_and_it_is_the_last(tmp_path):
    history = random_history(5, items=60, tables=1)
    for schema, logged, changes in by_schema(history, "mysql", tmp_path):
        if not changes:
            continue
        key, newest = schema.primary_key, {}
        for change, lsn in zip(changes, logged["lsn"].to_pylist(), strict=True):
            for part in split_key_change(change, key):
                row = part.before if part.op == DELETE else part.after
                newest[canonical_row(dict(zip(key, identity(key, row), strict=True)))] = (lsn, part.op == DELETE)
        net = [
            (canonical_row({name: row[name] for name in key}), (row[LSN], row[REMOVED]))
            for batch in net_effect(logged.to_batches(max_chunksize=11), arrow_types(schema), key)
            for row in batch.to_pylist()
        ]
        assert len(net) == len(newest)
        assert dict(net) == newest


def test_an_insert_alone_is_its_own_net_effect(tmp_path):
    history = random_history(5, items=60, tables=1)
    for schema, logged, _ in by_schema(history, "mysql", tmp_path):
        types = arrow_types(schema)
        inserts = logged.filter(pc.equal(logged["op"], "INSERT")).to_batches()
        for batch in inserts:
            rows = [batch.slice(i, 1) for i in range(len(batch))]
            assert inserted_rows(batch, types, schema.primary_key).to_pylist() == [
                row for one in rows for net in net_effect([one], types, schema.primary_key) for row in net.to_pylist()
            ]


@pytest.mark.parametrize("cuts", [1, 100])
def test_a_long_update_that_moves_every_key_has_the_net_effect_of_the_table(tmp_path, cuts):
    """UPDATE t SET id = id + 1 ORDER BY id DESC: every key but the first and the last is deleted and inserted."""
    table = TableSchema("shop", "t", (Column("id", ColumnType("int"), nullable=False),), ("id",))
    ids = range(2048)
    moves = [({"id": n}, {"id": n + 1}) for n in reversed(ids)]
    items = (Transaction([Insert(table, [{"id": n} for n in ids])]), Transaction([Update(table, moves)]))
    changes = assembled("mysql", bronze(tmp_path, Log("mysql", items)))
    moved = changes.filter(pc.equal(changes["op"], "UPDATE")).select(list(CHANGE_COLUMNS)).combine_chunks()
    net = net_rows(moved, table, cuts)
    assert len(moved) == len(ids)
    wanted = {canonical_row({"id": n}): canonical_row({"id": n}) for n in range(1, len(ids) + 1)}
    assert net == wanted | {canonical_row({"id": 0}): DELETED}


@pytest.mark.parametrize("name", [".a", ".x", "..", "[0]", "a.b"])
def test_columns_of_a_key_may_have_any_name(tmp_path, name):
    """Arrow takes some names for paths: ``.a`` was the column ``a``."""
    columns = tuple(Column(each, ColumnType("int"), nullable=False) for each in ("a", name))
    table = TableSchema("shop", "t", columns, ("a", name))
    rows = [{"a": 1, name: n} for n in range(3)]
    changes = assembled("mysql", bronze(tmp_path, Log("mysql", [Transaction([Insert(table, rows)])])))
    logged = changes.filter(pc.equal(changes["op"], "INSERT")).select(list(CHANGE_COLUMNS)).combine_chunks()
    assert net_rows(logged, table, 1) == {canonical_row(row): canonical_row(row) for row in rows}
