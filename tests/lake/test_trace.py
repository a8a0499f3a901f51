"""From a row, or a GTID, to its transaction: `mirrorlake trace` on the lakes of the demo and on one with an odd key."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from typer.testing import CliRunner

from mirrorlake.cli import app
from mirrorlake.config import Options
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import REFUSALS
from mirrorlake.jobs.inspect.trace import trace_gtid, trace_row
from mirrorlake.jobs.run.open import open_lake
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Transaction, Update
from tests.support.lake_runs import LakeRun

ODD_KEYS = TableSchema(
    "shop",
    "odd keys",
    (
        Column("größe", ColumnType("decimal", precision=10, scale=2), nullable=False),
        Column('a"b', ColumnType("varbinary", length=8), nullable=False),
        Column("day", ColumnType("date"), nullable=False),
        Column("moment", ColumnType("timestamp", fraction_digits=3), nullable=False),
        Column("clock", ColumnType("datetime", fraction_digits=0), nullable=False),
        Column("number", ColumnType("bigint", unsigned=True), nullable=False),
        Column("name", ColumnType("varchar", length=20, charset="utf8mb4"), nullable=False),
        Column("n", ColumnType("int")),
    ),
    ("größe", 'a"b', "day", "moment", "clock", "number", "name"),
)
ROW = {
    "größe": Decimal("-1.50"), 'a"b': b"\x00\xff", "day": date(2024, 2, 29),
    "moment": datetime(2024, 2, 29, 12, 0, 0, 250_000, tzinfo=timezone.utc), "clock": datetime(2024, 2, 29, 12),
    "number": 2**64 - 1, "name": "it's", "n": 1,
}  # fmt: skip
KEY = ["-1.50", "00ff", "2024-02-29", "2024-02-29 12:00:00.25", "2024-02-29 12:00:00", str(2**64 - 1), "it's"]
ODD_KEYS_DDL = """CREATE TABLE `odd keys` (`größe` DECIMAL(10,2), `a"b` VARBINARY(8), day DATE,
 moment TIMESTAMP(3) NOT NULL, clock DATETIME, number BIGINT UNSIGNED, name VARCHAR(20), n INT,
 PRIMARY KEY (`größe`, `a"b`, day, moment, clock, number, name)) CHARACTER SET utf8mb4"""


@pytest.fixture
def mariadb(demo, spark):
    return open_lake(Options(lake=str(demo.lakes["mariadb"])), spark)


def changes_of(found) -> list[tuple]:
    return [(c["op"], c["table"]) for c in found.transaction.changes.to_pylist()]


def trace_cli(lake, *arguments):
    return CliRunner().invoke(app, ["trace", *arguments, "--lake", str(lake)])


def test_a_row_leads_to_the_transaction_that_wrote_it_last(mariadb):
    found = trace_row(mariadb, "shop.payments", ["0050ea1b42b491ef71a9d9bd09316f6b"])
    assert (found.row["order_id"], found.row["amount"]) == (70000000378, Decimal("280.0200"))
    assert changes_of(found) == [
        ("BEGIN", None), ("INSERT", "orders"), ("INSERT", "order_lines"), ("UPDATE", "products"),
        ("INSERT", "stock_moves"), ("INSERT", "payments"), ("UPDATE", "orders"), ("COMMIT", None),
    ]  # fmt: skip
    assert found.row["_lsn"] == found.transaction.changes["lsn"][5].as_py()
    about = found.transaction.to_json()
    assert (about["gtid"], about["position"]) == ("0-10-315", "binlog.000002:189520")
    assert found.transaction.events["log_pos"][0].as_py() == 189520


def test_a_row_that_is_gone_leads_to_the_transaction_that_took_it_away(mariadb):
    found = trace_row(mariadb, "shop.customers", ["5"])
    assert found.row is None
    assert changes_of(found)[1] == ("UPDATE", "customers")
    before, after = (json.loads(found.transaction.changes[side][1].as_py()) for side in ("before", "after"))
    assert (before["customer_id"], after["customer_id"]) == (5, 1000005)


def test_a_gtid_leads_to_its_transaction(mariadb):
    found = trace_gtid(mariadb, "0-10-315")
    assert found.row is None
    assert found.transaction.to_json() == trace_row(mariadb, "shop.orders", ["70000000378"]).transaction.to_json()


def test_mysqls_gtids_are_found_in_any_case(demo, spark):
    lake = open_lake(Options(lake=str(demo.lakes["mysql"])), spark)
    (row,) = lake.spark.sql(f"SELECT gtid FROM {lake.names.silver_changes} WHERE op = 'DDL' LIMIT 1").collect()
    found = trace_gtid(lake, f" {row.gtid.upper()}")
    assert [(c["op"], c["gtid"]) for c in found.transaction.changes.to_pylist()] == [("DDL", row.gtid)]


@pytest.mark.heavy
def test_a_key_may_have_any_type_and_name(spark, tmp_path):
    gone = ROW | {"number": 7}
    log = Log(
        "mariadb",
        [
            Ddl("CREATE DATABASE shop", database="shop"),
            Ddl(ODD_KEYS_DDL, database="shop"),
            Transaction([Insert(ODD_KEYS, [ROW, gone])]),
            Transaction([Update(ODD_KEYS, [(ROW, ROW | {"n": 2})])]),
            Transaction([Delete(ODD_KEYS, [gone])]),
        ],
    )
    run = LakeRun.up_to_silver(spark, log, tmp_path)
    run.apply()
    updated, deleted = (trace_row(run.lake, "shop.odd keys", key) for key in (KEY, [*KEY[:5], "7", KEY[6]]))
    assert {name: updated.row[name] for name in ROW} == ROW | {"n": 2}
    assert changes_of(updated) == [("BEGIN", None), ("UPDATE", "odd keys"), ("COMMIT", None)]
    assert (deleted.row, changes_of(deleted)) == (None, [("BEGIN", None), ("DELETE", "odd keys"), ("COMMIT", None)])


def test_for_programs_it_is_json(demo):
    result = trace_cli(demo.lakes["mariadb"], "shop.orders", "70000000378", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0 and list(found) == ["row", "transaction", "changes"]
    assert (found["row"]["order_id"], found["row"]["total"]) == ("70000000378", "280.0200")
    assert list(found["transaction"]) == ["tx_lsn", "gtid", "commit_ts", "position"]
    assert list(found["changes"][1]) == [
        "ordinal", "lsn", "op", "database", "table", "before", "after", "statement", "changes",
    ]  # fmt: skip
    assert json.loads(found["changes"][1]["after"])["order_id"] == 70000000378
    assert found["changes"][-1] | {"lsn": 0} == {
        "ordinal": 7, "lsn": 0, "op": "COMMIT", "database": None, "table": None, "before": None, "after": None,
        "statement": None, "changes": 6,
    }  # fmt: skip


def test_a_person_reads_the_row_and_then_the_transaction(demo):
    shown = trace_cli(demo.lakes["mariadb"], "shop.orders", "70000000378").stdout
    parts = [
        "the row",
        "280.0200",
        "the transaction: GTID 0-10-315, committed ",
        "from binlog.000002:189520 on",
        "BEGIN",
    ]
    assert [shown.count(part) for part in parts] == [1] * len(parts)
    assert sorted(parts, key=shown.index) == parts


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "trace takes DB.TABLE and the values of a key, or --gtid"),
        (["shop.orders"], "trace takes DB.TABLE and the values of a key, or --gtid"),
        (["shop.orders", "1", "--gtid", "0-10-1"], "trace takes DB.TABLE and the values of a key, or --gtid"),
        (["shop.carts", "1"], "there is no mirror of this table; `mirrorlake tables` lists them"),
        (["shop.opening_hours", "1"], "this table has no key; ask silver_changes with `mirrorlake sql`"),
        (["shop.order_lines", "1"], "the key of this table has 2 columns: order_id, line_no"),
        (["shop.orders", "no number"], "neither the mirror nor the log has a row with this key"),
        (["--gtid", "0-10-999999"], "silver has no transaction with this GTID; `mirrorlake status` says how far it is"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_a_usage_error(demo, arguments, said):
    result = trace_cli(demo.lakes["mariadb"], *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    what, hint = result.stderr.splitlines()
    table = f" (table {arguments[0]})" if len(arguments) == 2 and arguments[0] != "--gtid" else ""
    assert (what, hint) == (f"usage: {said}{table}", REFUSALS["usage"])
