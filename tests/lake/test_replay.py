"""Silver and gold made again from bronze: equal where nothing was wrong, and a difference named by table and column."""

from __future__ import annotations

import re
import shutil

import pytest
from typer.testing import CliRunner

from mirrorlake.cli import app
from mirrorlake.errors import UsageError
from mirrorlake.jobs.replay import ReplayedTable, replay
from tests.support.binlog_spec import Log, Transaction, Update
from tests.support.ddl_log import EVERY_CLASS, ddl, insert, table
from tests.support.lake_runs import QUIET, LakeRun

A, P = table("a", "id", "n"), table("p", "id", "v")
MORE = (
    insert(A, (2, 200), (3, 300)),
    Transaction([Update(A, [({"id": 2, "n": 200}, {"id": 2, "n": 201})])]),
    insert(P, (1, 1)),
)
THREE_TABLES = (
    ddl("create database shop"),
    ddl("create table a (id int primary key, n int)"),
    ddl("create table p (id int primary key, v int)"),
    ddl("create table right_one (id int primary key, v int)"),
    insert(A, (1, 100)),
    insert(P, (4, 4)),
    insert(table("right_one", "id", "v"), (1, 1)),
)


@pytest.mark.long
def test_a_replay_of_all_ddl_is_equal_and_a_lake_of_its_own(spark, tmp_path):
    run = LakeRun.up_to_silver(spark, Log("mariadb", EVERY_CLASS.items + MORE), tmp_path)
    run.apply()
    for number in range(2):  # the replay of a replay, after the first lake is gone
        into = tmp_path / f"into{number}"
        shown = CliRunner().invoke(app, ["replay", "--lake", str(run.folder), "--into", str(into)])
        assert shown.exit_code == 0, shown.output
        told = [line.split() for line in shown.stdout.splitlines() if line.strip().startswith("shop.")]
        assert told == [[name, "none"] for name in sorted(".".join(name) for name in EVERY_CLASS.expected)]
        gold = run.gold()
        shutil.rmtree(run.folder)
        run = LakeRun(run.spark, run.logs, into)
        run.all_hops()
        assert run.gold() == gold


@pytest.mark.heavy
def test_a_replay_names_what_was_wrong(spark, tmp_path):
    """Silver as a defect could have made it: an update that came to nothing, and a row that was lost."""
    run = LakeRun.up_to_silver(spark, Log("mariadb", THREE_TABLES + MORE), tmp_path)
    silver = run.lake.names.silver_changes
    run.spark.sql(f"UPDATE {silver} SET after = before WHERE op = 'UPDATE' AND table = 'a'")
    (lost,) = run.spark.sql(f"SELECT max(lsn) FROM {silver} WHERE table = 'p' AND op = 'INSERT'").first()
    run.spark.sql(f"DELETE FROM {silver} WHERE table = 'p' AND lsn = {lost} AND op = 'INSERT'")
    run.apply()
    found = replay(run.options(source=None), str(tmp_path / "into"), QUIET, run.spark)
    wrong = {"shop.a": "3 rows; columns that differ: n", "shop.p": "1 rows, now 2; columns that differ: id, v"}
    damaged, tables = found[:2], found[2:]
    assert all(re.fullmatch(r"transaction \S+ at [0-9:]+", each.name) for each in damaged)
    assert [each.difference for each in damaged] == [
        "silver has other values than were written",
        "silver has 0 of its 1 row changes",
    ]
    assert tables == [ReplayedTable(name, wrong.get(name, "")) for name in ("shop.a", "shop.p", "shop.right_one")]
    with pytest.raises(UsageError, match="cannot be made: Not a directory"):
        replay(run.options(source=None), str(run.logs / "binlog.000001/into"), QUIET, run.spark)
    with pytest.raises(UsageError, match="is in the lake"):
        replay(run.options(source=None), str(run.folder / "into"), QUIET, run.spark)
    with pytest.raises(UsageError, match="is there already"):
        replay(run.options(source=None), str(tmp_path / "into"), QUIET, run.spark)
