"""A process killed between any two commits of a DDL: what it continues from is exactly what is missing."""

from __future__ import annotations

import pytest

from tests.support.binlog_spec import Delete, Insert, Log, Transaction
from tests.support.canonical import canonical_row
from tests.support.crash import apply_with_kills
from tests.support.ddl_log import EVERY_CLASS, PARTITIONS, ddl, ddl_steps, table
from tests.support.lake_checks import check_commits
from tests.support.lake_runs import LakeRun

ROUNDS = 20


def test_a_kill_behind_every_commit_changes_nothing(spark, tmp_path, monkeypatch, is_long):
    """In the short form after every ninth one. Mirrors have all that options add to them."""
    every = 1 if is_long else 9
    log, added = Log("mariadb", EVERY_CLASS.items), {"commit_columns": True, "change_feed": True}
    run = LakeRun.up_to_silver(spark, log, tmp_path, **added)
    assert apply_with_kills(run, monkeypatch, every) > EVERY_CLASS.n_steps // every
    EVERY_CLASS.check_every_ddl_once(run)
    assert check_commits(run).where("_gtid IS NULL OR _committed_at IS NULL").collect() == []


@pytest.mark.long
def test_exchanges_and_rename_circles_are_killed_twenty_times_at_each_step(spark, tmp_path, monkeypatch):
    items, tables = exchanges_and_circles()
    run = LakeRun.up_to_silver(spark, Log("mariadb", items), tmp_path)
    assert apply_with_kills(run, monkeypatch) > 10 * ROUNDS
    assert run.gold() == {("shop", name): [canonical_row(row) for row in rows] for name, rows in tables.items()}
    made = ddl_steps(run)
    assert len(set(made)) == len(made) == len(tables) + 2 * ROUNDS
    ledger = run.spark.table(run.lake.names.control_barriers).where("phase = 'executed'").orderBy("lsn").collect()
    assert [row.kind for row in ledger] == ["compared"] * len(tables) + ["self-inverse", "registered"] * ROUNDS


def exchanges_and_circles() -> tuple[list, dict[str, list[dict]]]:
    """The log, and the rows of its tables at the end. A row comes before each DDL, so that no two states are equal."""
    items = [ddl("create database shop"), ddl(f"create table p (id int primary key, v int) {PARTITIONS}")]
    items += [ddl(f"create table {name} (id int primary key, v int)") for name in "xab"]
    rows: dict[str, list[dict]] = {name: [] for name in "pxab"}
    for n in range(ROUNDS):
        for name, statements, swapped in (
            ("p", ["alter table p exchange partition low with table x"], "px"),
            ("a", ["rename table a to t, b to a, t to b"], "ab"),
        ):
            replaced = [Delete(table(name, "id", "v"), rows[name][:1])] if len(rows[name]) == 4 else []
            rows[name] = [*rows[name][len(replaced) :], {"id": n % 10, "v": n}]
            items += [Transaction([*replaced, Insert(table(name, "id", "v"), rows[name][-1:])]), *map(ddl, statements)]
            rows[swapped[0]], rows[swapped[1]] = rows[swapped[1]], rows[swapped[0]]
    return items, {name: sorted(found, key=lambda row: row["id"]) for name, found in rows.items()}
