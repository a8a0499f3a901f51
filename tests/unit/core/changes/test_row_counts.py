"""How the count of each row changes, against the oracle's rows before and after."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mirrorlake.core.changes.images import LSN
from mirrorlake.core.changes.row_counts import COUNT, column_name, net_counts
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_spec import Delete, Insert, Log, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.histories import random_history
from tests.support.partial_rows import with_partial_rows
from tests.support.pure_hops import read_columns, row_changes
from tests.support.silver_rows import all_schemas, arrow_types

HISTORIES = 3


def table(**types: ColumnType) -> TableSchema:
    return TableSchema("shop", "t", tuple(Column(name, kind) for name, kind in types.items()), ())


def counted(net: pa.Table, schema: TableSchema) -> dict[str, int]:
    rows = net.select([column_name(i) for i in range(len(schema.columns))]).rename_columns(
        [c.name for c in schema.columns]
    )
    keys = [canonical_row(row) for row in rows.to_pylist()]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, net[COUNT].to_pylist(), strict=True))


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_the_sum_over_any_cut_is_what_the_rows_gained_and_lost(tmp_path, seed, flavor, history_number):
    random = Random(seed)
    history = random_history(seed + history_number, items=60, tables=2, keyless=1)
    rows = row_changes(Log(flavor, with_partial_rows(history.items, random, flavor)), tmp_path)
    logged = [change for transaction in history.transactions for change in transaction.changes]
    for schema_id, schema in all_schemas(history).items():
        mine, types = pc.equal(rows["schema_id"], schema_id), arrow_types(schema)
        changes = read_columns(rows.filter(mine))
        cuts = sorted(random.randrange(len(changes) + 1) for _ in range(3))
        total: Counter = Counter()
        for start, end in zip([0, *cuts], [*cuts, len(changes)], strict=True):
            part = changes.slice(start, end - start)
            total.update(counted(net_counts(part.to_batches(max_chunksize=7)[::-1], types), schema))
        expected: Counter = Counter()
        for change, is_mine in zip(logged, mine.to_pylist(), strict=True):
            if is_mine:
                expected.update({canonical_row(change.after): 1} if change.after else {})
                expected.subtract({canonical_row(change.before): 1} if change.before else {})
        assert {row: n for row, n in total.items() if n} == {row: n for row, n in expected.items() if n}


def test_rows_are_equal_byte_for_byte(tmp_path):
    kinds = {"f": ColumnType("double"), "g": ColumnType("float"), "s": ColumnType("char", length=5, charset="utf8mb4")}
    schema = table(**kinds)
    values = ((0.0, "a"), (-0.0, "a"), (0.0, "A"), (None, None))
    zero, minus, upper, null = ({"f": number, "g": number, "s": text} for number, text in values)
    items = [Transaction([Insert(schema, [zero, zero, minus, upper, null, null]), Delete(schema, [zero, null])])]
    items += [Transaction([Update(schema, [(zero, minus), (upper, null)]), Delete(schema, [null, null])])]
    changes = read_columns(row_changes(Log("mysql", items), tmp_path))
    assert counted(net_counts(changes.to_batches(), arrow_types(schema)), schema) == {canonical_row(minus): 2}


def test_a_row_has_the_lsn_of_its_last_change_and_one_that_stays_is_not_there(tmp_path):
    schema = table(_count=ColumnType("int"), _0=ColumnType("int"))
    one, two, three = ({"_count": n, "_0": None} for n in (1, 2, 3))
    items = [Transaction([Insert(schema, [one, two])])]
    items += [Transaction([Update(schema, [(two, one)]), Delete(schema, [three])])]
    changes = read_columns(row_changes(Log("mysql", items), tmp_path))
    net = net_counts(changes.to_batches(), arrow_types(schema)).sort_by(COUNT).to_pylist()
    lsn = changes["lsn"].to_pylist()
    assert net == [
        {"_0": 3, "_1": None, LSN: lsn[3], COUNT: -1},
        {"_0": 1, "_1": None, LSN: lsn[2], COUNT: 2},
    ]
    assert net_counts([], arrow_types(schema)).schema == net_counts(changes.to_batches(), arrow_types(schema)).schema
