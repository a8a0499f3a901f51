"""Rows that foreign keys change without a row event, however the log is cut and wherever it is decoded."""

from __future__ import annotations

from random import Random

import pytest

from mirrorlake.core.changes.parent_keys import LACKS_REFERENCED
from mirrorlake.jobs.run.replicate import run_all
from mirrorlake.lake.gold.apply import ApplyHop
from mirrorlake.lake.gold.control.register import REFUSED
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.merge.net_effect import Sizes
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_spec import Delete, Log, Transaction
from tests.support.binlog_writer import write_logs
from tests.support.ddl_log import ddl, insert, table
from tests.support.foreign_keys import ForeignKeyHistory
from tests.support.lake_runs import QUIET, LakeRun

TRANSACTIONS, TRANSACTIONS_LONG = 40, 1200
EPOCHS, EPOCHS_LONG = 2, 6
SIZES = {"driver": Sizes(), "workers": Sizes(local=0)}


@pytest.fixture(scope="module")
def history(seed, is_long) -> ForeignKeyHistory:
    return ForeignKeyHistory(f"{seed} cascades", TRANSACTIONS_LONG if is_long else TRANSACTIONS)


@pytest.mark.parametrize("where", [pytest.param("driver", marks=pytest.mark.long), "workers"])
def test_children_are_what_foreign_keys_left_of_them(spark, tmp_path, seed, is_long, history, where):
    run = LakeRun.up_to_silver(spark, Log("mariadb", history.items), tmp_path)
    commits = (
        spark.table(run.lake.names.silver_changes).where("op = 'COMMIT'").select("lsn").toArrow()["lsn"].to_pylist()
    )
    hop = ApplyHop(run.lake, TableRules(), epoch_changes=1_000_000, sizes=SIZES[where])
    for lsn in sorted(Random(seed).sample(commits, (EPOCHS_LONG if is_long else EPOCHS) - 1)):
        list(hop.apply(up_to=lsn))
    list(hop.apply())
    hop.flush()
    assert run.gold() == history.rows()


@pytest.mark.parametrize("where", ["driver", pytest.param("workers", marks=pytest.mark.long)])
def test_a_parent_that_does_not_log_what_is_referenced_refuses_its_child(spark, tmp_path, where):
    parent, child = table("p", "id", "u"), table("c", "id", "u")
    items = (
        ddl("create database shop"),
        ddl("create table p (id int primary key, u int unique)"),
        ddl("create table c (id int primary key, u int, foreign key (u) references p (u) on delete cascade)"),
        insert(parent, (1, 1)), insert(child, (1, 1)), ddl("alter table p comment 'later', add w int"),
        Transaction([Delete(table("p", "id", "u", "w"), [{"id": 1}])]),
    )  # fmt: skip
    run = LakeRun.up_to_silver(spark, Log("mariadb", items), tmp_path)
    hop = ApplyHop(run.lake, TableRules(), epoch_changes=1_000_000, sizes=SIZES[where])
    list(hop.apply())
    hop.flush()
    refused = {entry.table: (entry.code, entry.reason) for entry in run.register if entry.state == REFUSED}
    assert refused == {"c": ("foreign-key-cascade", LACKS_REFERENCED)}
    assert run.gold() == {("shop", "p"): []}


def test_children_are_the_same_where_changes_are_still_in_memory(spark, tmp_path, history):
    write_logs(tmp_path / "logs", Log("mariadb", history.items))
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run_all(run.lake, FileSource(run.logs), run.options(), QUIET)
    assert run.gold() == history.rows()
