"""Values that no mirror can hold: NULL and counted, or text, or their table is refused, as the options say."""

from __future__ import annotations

import datetime as dt

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.jobs.notebook.report import Report, report_apply
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.log_bytes import offset_of
from mirrorlake.jobs.run.replicate import apply_hop
from mirrorlake.lake.delta.notes import read_commits
from mirrorlake.lake.gold.apply import ApplyHop
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.merge.net_effect import Sizes
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Transaction, Update
from tests.support.binlog_writer import write_logs
from tests.support.canonical import canonical_row
from tests.support.crash import SimulatedCrash, crash_at
from tests.support.lake_runs import LakeRun, run_of

COLUMNS = (
    Column("id", ColumnType("int"), False), Column("day", ColumnType("date"), True),
    Column("note", ColumnType("varchar", length=9, charset="utf8mb4"), True),
)  # fmt: skip
ORDERS = TableSchema("shop", "orders", COLUMNS, ("id",))
VISITS = TableSchema("shop", "visits", COLUMNS, ())
OFFERS = TableSchema("shop", "offers", COLUMNS[:1], ("id",))
ZERO, DAY = (0, 0, 0), dt.date(2024, 1, 10)


def row(number, day=DAY, note="x"):
    return {"id": number, "day": day, "note": note}


LOG = Log(
    "mysql",
    [
        Ddl("CREATE TABLE orders (id INT PRIMARY KEY, day DATE, note VARCHAR(9)) CHARSET utf8mb4", "shop"),
        Ddl("CREATE TABLE visits (id INT NOT NULL, day DATE, note VARCHAR(9)) CHARSET utf8mb4", "shop"),
        Ddl("CREATE TABLE offers (id INT PRIMARY KEY)", "shop"),
        Transaction([Insert(ORDERS, [row(1)]), Insert(OFFERS, [{"id": 1}])]),
        Ddl("ALTER TABLE offers ADD ended DATE NOT NULL DEFAULT '0000-00-00'", "shop"),
        Transaction([Insert(ORDERS, [row(2), row(3, ZERO, b"\xff")]), Insert(VISITS, [row(1), row(2, ZERO)])]),
        Transaction([Update(ORDERS, [(row(3, ZERO, b"\xff"), row(3, ZERO))]), Delete(VISITS, [row(2, ZERO)])]),
    ],
)
WITH_NULLS = {
    "orders": [row(1), row(2), row(3, None)],
    "visits": [row(1)],
    "offers": [{"id": 1, "ended": None}],
}


def lines(*tables: str) -> dict[tuple[str, str], list[str]]:
    return {("shop", table): [canonical_row(each) for each in WITH_NULLS[table]] for table in tables}


def test_what_became_null_is_in_the_report_and_in_the_mirrors_commit(spark, tmp_path):
    run, report = run_of(spark, tmp_path, lambda logs: write_logs(logs, LOG)), Report()
    hops.run(run.options(), report, spark)
    assert [each.invalid for each in report.rows if each.hop == "apply rows"] == ["", "shop.orders: 3, shop.visits: 1"]
    assert run.gold() == lines("orders", "offers", "visits")
    mirror = run.lake.names.mirror(run.register.get(("shop", "orders")).mirror_id)
    notes = [commit.note["payload"].get("invalid") for commit in read_commits(spark, mirror)]
    assert notes == [3, 0, None]


@pytest.mark.heavy
def test_an_epoch_that_is_repeated_tells_only_of_what_it_commits_now(spark, tmp_path, monkeypatch):
    run = LakeRun.up_to_silver(spark, LOG, tmp_path)

    def told():
        """Of the last epoch. Its end is recorded by nobody."""
        done = list(apply_hop(run.lake, run.options()).apply())[-1]
        return done.epoch.number, done.n_changes, done.invalid

    with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):
        crash_at(patch, "mirrorlake.lake.delta.progress.replace_once", "before", 1)
        told()
    number, *of_orders = told()
    assert of_orders == [3, (("shop.orders", 3),)]  # the try before has committed those of visits
    assert told() == (number, 0, ())
    assert run.gold() == lines("orders", "offers", "visits")


@pytest.mark.heavy
def test_a_table_is_refused_before_the_epoch_that_brings_an_invalid_value(spark, tmp_path):
    run = LakeRun.up_to_silver(spark, LOG, tmp_path)
    report = report_apply(run.options(invalid_values_of={"shop.o*": "refuse"}), spark)
    assert [(each.hop, each.refused, each.invalid) for each in report.rows[-2:]] == [
        ("apply ddl", "shop.offers: invalid-value", ""),
        ("apply rows", "shop.orders: invalid-value", "shop.visits: 1"),
    ]
    assert run.gold() == lines("visits")
    entry = run.register.get(("shop", "orders"))
    assert run.mirror(entry.mirror_id) == lines("orders")[("shop", "orders")][:1]
    first = spark.table(run.lake.names.silver_changes).where("table = 'orders' AND invalid > 0").agg({"lsn": "min"})
    file, offset = offset_of(first.first()[0])
    assert entry.reason == f"a row at {file:06d}:{offset} has a value that its mirror cannot hold"
    report_apply(run.options(), spark)
    assert run.register.get(("shop", "orders")) == entry


@pytest.mark.heavy
def test_a_mirror_holds_text_or_dates_as_its_create_was_applied_whatever_the_options_are_later(spark, tmp_path):
    run = LakeRun.up_to_silver(spark, LOG, tmp_path)
    next(apply_hop(run.lake, run.options(invalid_values_of={"shop.o*": "text"})).apply())  # no end of it is recorded
    report = report_apply(run.options(invalid_values="refuse", invalid_values_of={"shop.visits": "text"}), spark)
    assert [(each.hop, each.refused, each.invalid) for each in report.rows if each.hop.startswith("apply")] == [
        ("apply ddl", "", ""), ("apply rows", "", ""), ("apply ddl", "", ""), ("apply rows", "", "shop.visits: 1"),
    ]  # fmt: skip
    shown = [row(3, "0000-00-00"), row(1, "2024-01-10"), row(2, "2024-01-10")]
    assert run.gold() == lines("visits") | {
        ("shop", "orders"): [canonical_row(each) for each in shown],
        ("shop", "offers"): [canonical_row({"id": 1, "ended": "0000-00-00"})],
    }
    assert [entry.mirror_id.endswith("__text") for entry in run.register] == [True, True, False]


def test_dates_are_keys_as_text_and_workers_show_them_too(spark, tmp_path):
    column = Column("day", ColumnType("date"), False)
    days = TableSchema("shop", "days", (column, Column("n", ColumnType("int"), True)), ("day",))
    zero, partial, valid = ({"day": day, "n": 1} for day in (ZERO, (2024, 2, 0), DAY))
    log = Log(
        "mysql",
        [
            Ddl("CREATE TABLE days (day DATE PRIMARY KEY, n INT)", "shop"),
            Transaction([Insert(days, [zero, partial, valid])]),
            Transaction(
                [
                    Update(days, [(zero, zero | {"n": 2}), (valid, valid | {"day": (2024, 2, 30)})]),
                    Delete(days, [partial]),
                ]
            ),
        ],
    )
    run = LakeRun.up_to_silver(spark, log, tmp_path)
    rules, sizes = TableRules(invalid_values=lambda *_: "text"), Sizes(local=0, per_task=2)
    assert [each.refused for each in ApplyHop(run.lake, rules, epoch_changes=3, sizes=sizes).apply()] == [(), ()]
    rows = [{"day": "0000-00-00", "n": 2}, {"day": "2024-02-30", "n": 1}]
    assert run.gold() == {("shop", "days"): [canonical_row(each) for each in rows]}
