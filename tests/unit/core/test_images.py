"""The net effect that gold merges, against reduce, which is one row at a time."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mirrorlake.core.changes.images import CHANGE_COLUMNS, LSN, ORDINAL, REMOVED, TX_LSN, net_effect, row_images
from mirrorlake.core.changes.reduce import DELETED, reduce
from mirrorlake.core.changes.row_change import RowChange, identity
from mirrorlake.core.schema.tables import TableSchema
from tests.support.canonical import canonical_row
from tests.support.histories import random_history
from tests.support.silver_rows import ROW_OPS, all_schemas, arrow_types
from tests.unit.core.test_assembler import assembled, bronze

HISTORIES = 4
MARKS = (LSN, TX_LSN, ORDINAL, REMOVED)


def by_schema(history, flavor, folder):
    """schema_id -> (the changes logged with it as Arrow, the same from the oracle)."""
    table = assembled(flavor, bronze(folder, history.log(flavor)))
    rows = table.filter(pc.is_in(table["op"], pa.array(ROW_OPS)))
    changes = [change for transaction in history.transactions for change in transaction.changes]
    assert len(rows) == len(changes)
    for schema_id, schema in all_schemas(history).items():
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
    images = [row_images(batch, types, key) for batch in changes.to_batches(max_chunksize=size)]
    net = net_effect(pa.concat_tables(images[::-1]), key)
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
        key = schema.primary_key
        images = row_images(logged.to_batches()[0], arrow_types(schema), key)
        newest = {}
        for row in images.to_pylist():
            place = (row[TX_LSN], row[ORDINAL], not row[REMOVED])
            newest[identity(key, row)] = max(place, newest.get(identity(key, row), place))
        net = [
            (identity(key, row), (row[TX_LSN], row[ORDINAL], not row[REMOVED]))
            for row in net_effect(images, key).to_pylist()
        ]
        assert len(net) == len(newest)
        assert dict(net) == newest
