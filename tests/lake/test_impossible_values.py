"""An ALTER that no Spark expression can follow for the rows there are: their table is refused, the others continue."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_spec import Ddl, Insert, Log, Transaction
from tests.support.canonical import canonical_row
from tests.support.lake_runs import LakeRun

COLUMNS = (Column("id", ColumnType("int"), False), Column("n", ColumnType("bigint"), True))
ORDERS, VISITS = (TableSchema("shop", name, COLUMNS, ("id",)) for name in ("orders", "visits"))
ROWS = [{"id": 1, "n": 5}, {"id": 2, "n": 2**63 - 1}]


@pytest.mark.parametrize("alter", ["ADD next BIGINT AS (n + 1) VIRTUAL", "ADD next DECIMAL(30,6) AS (n + 1) VIRTUAL"])
def test_a_generated_column_that_overflows_refuses_its_table(spark, tmp_path, alter):
    items = [Ddl(f"CREATE TABLE {name} (id INT PRIMARY KEY, n BIGINT)", "shop") for name in ("orders", "visits")]
    items += [Transaction([Insert(ORDERS, ROWS), Insert(VISITS, ROWS[:1])]), Ddl(f"ALTER TABLE orders {alter}", "shop")]
    items += [Transaction([Insert(VISITS, ROWS[1:])])]
    run = LakeRun.up_to_silver(spark, Log("mariadb", items), tmp_path)
    run.apply()
    refused = run.register.get(("shop", "orders"))
    assert (refused.code, refused.reason) == ("needs-resync", "a value of an existing row does not fit its new type")
    assert run.gold() == {("shop", "visits"): [canonical_row(row) for row in ROWS]}
    assert run.mirror(refused.mirror_id) == [canonical_row(row) for row in ROWS]
