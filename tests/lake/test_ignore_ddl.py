"""DDL that the options ignore: the mirrors keep what they have; ledger and report say so."""

from __future__ import annotations

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.jobs.notebook.report import Report
from mirrorlake.jobs.run import hops
from tests.support.binlog_spec import Ddl, Insert, Log, Transaction
from tests.support.binlog_writer import write_logs
from tests.support.canonical import canonical_row
from tests.support.lake_runs import run_of

ID = Column("id", ColumnType("int"), False)
ORDERS, VISITS, OFFERS, OLD = (
    TableSchema("shop", table, (ID,), key)
    for table, key in (("orders", ("id",)), ("visits", ()), ("offers", ("id",)), ("old", ("id",)))
)
LOG = Log(
    "mysql",
    [
        Ddl("CREATE TABLE orders (id INT PRIMARY KEY) PARTITION BY RANGE (id)"
            " (PARTITION low VALUES LESS THAN (10), PARTITION high VALUES LESS THAN MAXVALUE)", "shop"),
        Ddl("CREATE TABLE visits (id INT NOT NULL)", "shop"),
        Ddl("CREATE TABLE offers (id INT PRIMARY KEY)", "shop"),
        Ddl("CREATE TABLE old (id INT PRIMARY KEY)", "shop"),
        Transaction([Insert(table, [{"id": 1}, {"id": 20}]) for table in (ORDERS, VISITS, OFFERS, OLD)]),
        Ddl("ALTER TABLE orders DROP PARTITION low", "shop"),
        Ddl("TRUNCATE TABLE visits", "shop"),
        Ddl("TRUNCATE TABLE offers", "shop"),
        Ddl("DROP TABLE old, offers", "shop"),
        Transaction([Insert(ORDERS, [{"id": 1}, {"id": 21}]), Insert(VISITS, [{"id": 20}])]),
        Ddl("CREATE TABLE old (id INT PRIMARY KEY)", "shop"),
        Transaction([Insert(OLD, [{"id": 2}])]),
    ],
)  # fmt: skip


def rows(*numbers: int) -> list[str]:
    return [canonical_row({"id": number}) for number in numbers]


def test_ignored_ddl_leaves_the_mirror_and_is_recorded(spark, tmp_path):
    run, report = run_of(spark, tmp_path, lambda logs: write_logs(logs, LOG)), Report()
    ignored = {"shop.offers": (), "shop.*": ("truncate", "drop-partition", "drop-table")}
    hops.run(run.options(ignore_ddl=("drop-table",), ignore_ddl_of=ignored), report, spark)
    assert run.gold() == {
        ("shop", "orders"): rows(1, 20, 21),  # the partition's rows are there, and one of them came again
        ("shop", "visits"): rows(1, 20, 20),
        ("shop", "old"): rows(2),  # the new table of this name
    }
    found = [table for each in report.rows for table in each.ignored.split(", ") if table]
    assert sorted(found) == ["shop.old", "shop.orders", "shop.visits"]
    ledger = run.spark.table(run.lake.names.control_barriers).where("kind = 'ignored'").orderBy("lsn").collect()
    assert [(row.phase, [table.table for table in row.tables]) for row in ledger] == [
        ("executed", ["orders"]), ("executed", ["visits"]), ("executed", ["old"])
    ]  # fmt: skip
    old = ledger[-1].tables[0].mirror_id
    assert run.mirror(old) == rows(1, 20)


def test_a_mirror_whose_drop_was_ignored_stays_in_the_register(spark, tmp_path):
    log = Log("mysql", LOG.items[1:2] + [Ddl("DROP TABLE visits", "shop")])
    run = run_of(spark, tmp_path, lambda logs: write_logs(logs, log))
    hops.run(run.options(ignore_ddl="drop-table"), Report(), spark)
    assert run.gold() == {("shop", "visits"): []}
