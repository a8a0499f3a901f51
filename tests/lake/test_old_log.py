"""Maintenance deletes old binlog files; what is still to be read stays, and everything continues."""

from __future__ import annotations

import json
import struct

import pytest
from typer.testing import CliRunner

from mirrorlake.cli import app
from mirrorlake.core.position import show_lsn
from mirrorlake.errors import UsageError
from mirrorlake.jobs.inspect.ddl import give_answer, list_refused
from mirrorlake.jobs.inspect.syncpoints import make_syncpoint
from mirrorlake.jobs.maintenance import maintain
from mirrorlake.jobs.old_log import first_kept
from mirrorlake.jobs.replay import replay
from mirrorlake.lake.delta.maintenance import REMOVED, delete_before
from tests.support.binlog_spec import Insert, Log, Query, RawEvent, Rotate, Transaction
from tests.support.binlog_writer import write_logs
from tests.support.ddl_log import ddl, insert, table
from tests.support.lake_runs import QUIET, LakeRun

T, U = table("t", "id", "v"), table("u", "id", "v")
ITEMS = [
    ddl("create database shop"),
    ddl("create table t (id int primary key, v int)"),
    ddl("create table u (id int primary key, v int)"),
    ddl("alter table u fancy index i (v)"),
    insert(T, (1, 1)),
    Rotate(),
    insert(T, (2, 2)),
    Rotate(),
    insert(T, (3, 3)),
    Rotate(),
    insert(T, (4, 4)),
]
ROWS = [f'{{"id": "{n}", "v": "{n}"}}' for n in range(1, 7)]
XID = "X'61',X'',1"
PREPARED = [
    Transaction([Insert(T, [{"id": 5, "v": 5}]), Query(f"XA END {XID}")], end=""),
    RawEvent(38, struct.pack("<BIII", 0, 1, 1, 0) + b"a"),
]


def files_of(run: LakeRun) -> list[str]:
    events = run.spark.table(run.lake.names.bronze_events)
    return sorted(row.log_file for row in events.select("log_file").distinct().collect())


def begins(run: LakeRun, days: int = 1) -> str | None:
    """Where bronze may begin."""
    kept = first_kept(run.lake, days)
    return kept and show_lsn(kept)


@pytest.mark.heavy
def test_files_that_all_hops_have_gone_past_are_let_go_and_all_goes_on(spark, tmp_path):
    run = LakeRun.up_to_silver(spark, Log("mysql", ITEMS, end="open"), tmp_path)
    assert begins(run) is None  # gold has not begun
    run.apply()
    assert begins(run, days=36500) is None
    outcomes = maintain(run.options(bronze_days=0), spark).itertuples(index=False)
    assert ("bronze_events before 000004:4", "removed") in map(tuple, outcomes)
    assert files_of(run) == ["binlog.000004"]
    shown = CliRunner().invoke(app, ["maintain", "--lake", str(run.folder), "--bronze-days", "1", "--json"])
    changed = {row["table"] for row in json.loads(shown.stdout) if row["outcome"] != "unchanged"}
    assert changed == {"control_runs"}  # which has a row of the run before

    write_logs(run.logs, Log("mysql", [*ITEMS, insert(T, (5, 5)), Rotate(), insert(T, (6, 6))], end="open"))
    run.all_hops()
    assert run.gold() == {("shop", "t"): ROWS}
    assert make_syncpoint(run.lake, None, None).gtids.endswith(":1-10")
    with pytest.raises(UsageError, match="replay needs the whole log, and bronze has let it go before 000004:4"):
        replay(run.options(), str(tmp_path / "behind"), QUIET, spark)


def test_what_a_statement_that_was_let_go_has_refused_stays_refused(spark, tmp_path):
    run = LakeRun.up_to_silver(spark, Log("mysql", ITEMS, end="open"), tmp_path)
    run.apply()
    (was,) = list_refused(run.lake)
    assert delete_before(spark, run.lake.names.bronze_events, first_kept(run.lake, 1)) == REMOVED
    assert list_refused(run.lake) == [was | {"position": None}]
    with pytest.raises(UsageError, match="bronze no longer has the log from that position") as refusal:
        give_answer(run.lake, "shop.u", None, None)
    assert refusal.value.code == "ddl-answer"


@pytest.mark.heavy
def test_an_answer_that_waits_keeps_the_log_that_it_needs(spark, tmp_path):
    run = LakeRun.up_to_silver(spark, Log("mysql", ITEMS, end="open"), tmp_path)
    run.apply()
    assert begins(run) == "000004:4"
    give_answer(run.lake, "shop.u", None, None)
    assert begins(run) == "000001:4"
    run.all_hops()
    assert run.gold() == {("shop", "t"): ROWS[:4], ("shop", "u"): []}
    assert begins(run) == "000004:4"


@pytest.mark.heavy
def test_a_transaction_that_is_prepared_keeps_its_rows(spark, tmp_path):
    items = [*ITEMS[:7], *PREPARED, *ITEMS[7:]]
    run = LakeRun.up_to_silver(spark, Log("mariadb", items, end="open"), tmp_path)
    run.apply()
    assert begins(run) == "000002:4"
    delete_before(spark, run.lake.names.bronze_events, first_kept(run.lake, 1))
    write_logs(run.logs, Log("mariadb", [*items, ddl(f"XA COMMIT {XID}"), Rotate(), insert(T, (6, 6))], end="open"))
    run.all_hops()
    assert run.gold() == {("shop", "t"): ROWS}
    assert begins(run) == "000005:4"
