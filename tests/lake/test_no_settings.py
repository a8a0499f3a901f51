"""Gold where a session takes no settings, as on Databricks serverless: the same rows, each step once."""

from __future__ import annotations

from random import Random

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.control.register import REFUSED, STREAMING
from tests.support.binlog_spec import Insert, Log, Transaction
from tests.support.binlog_writer import write_logs
from tests.support.crash import SimulatedCrash, apply_with_kills, crash_at
from tests.support.ddl_log import EVERY_CLASS, FEW, ddl, ddl_steps
from tests.support.histories import random_history
from tests.support.lake_checks import check, check_commits
from tests.support.lake_runs import LakeRun, count_as_large
from tests.support.no_settings import forbid_settings

T = TableSchema("shop", "t", (Column("id", ColumnType("int"), False),), ("id",))
TWO_ALTERS = [
    ddl("create database shop"), ddl("create table t (id int primary key)"),
    Transaction([Insert(T, [{"id": 1}])]), ddl("alter table t change id n int not null, add v int"),
]  # fmt: skip


@pytest.mark.heavy
def test_kills_between_commits_of_ddl_change_nothing(spark, tmp_path, monkeypatch, is_long):
    """After every fifth; in the long form after every one, with every class of DDL."""
    log, every = (EVERY_CLASS, 1) if is_long else (FEW, 5)
    run = LakeRun.up_to_silver(spark, Log("mariadb", log.items), tmp_path, commit_columns=True)
    forbid_settings(monkeypatch, spark)
    assert apply_with_kills(run, monkeypatch, every) > log.n_steps // every // 2
    assert run.gold() == log.expected
    check_commits(run)
    made = ddl_steps(run)
    assert len(set(made)) == len(made)


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.long)])
def test_the_rows_of_random_histories_are_the_same(spark, tmp_path, monkeypatch, seed, number):
    """On small mirrors or on large ones, by the seed."""
    random, is_large = Random(seed), (seed + number) % 2
    history = random_history(seed, items=12, tables=2, keyless=0.4)
    write_logs(tmp_path / "logs", Log("mysql", history.items))
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run.ingest()
    run.assemble()
    if is_large:
        count_as_large(monkeypatch)
        monkeypatch.setattr("mirrorlake.lake.gold.merge.merge.MAX_LISTED", random.choice((0, 2, 1000)))
    forbid_settings(monkeypatch, spark)
    run.apply(epoch_changes=random.choice((5, 20)))
    check(run, history)


@pytest.mark.heavy
def test_a_mirror_that_a_kill_left_without_its_first_note_is_the_one_that_is_used(spark, tmp_path, monkeypatch):
    run = LakeRun.up_to_silver(spark, Log("mariadb", TWO_ALTERS), tmp_path)
    forbid_settings(monkeypatch, spark)
    with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):
        crash_at(patch, "mirrorlake.lake.delta.progress.append_once", "before", 1)
        run.apply()
    run.apply()
    assert run.gold() == {("shop", "t"): ['{"n": "1", "v": null}']}


@pytest.mark.parametrize("n_alters, state", [(1, REFUSED), (3, STREAMING)])
@pytest.mark.heavy
def test_a_statement_begun_by_alters_is_not_ended_by_one_commit(spark, tmp_path, monkeypatch, n_alters, state):
    """The one commit would do again what the first ALTER has done; all of them leave nothing to do."""
    run = LakeRun.up_to_silver(spark, Log("mariadb", TWO_ALTERS), tmp_path)
    with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):
        crash_at(patch, "mirrorlake.lake.delta.progress.run_ddl", "after", 1 + n_alters)
        run.apply()
    forbid_settings(monkeypatch, spark)
    run.apply()
    entry = run.register.get(("shop", "t"))
    assert (entry.state, entry.code) == (state, "mirror-diverged" if state == REFUSED else None)


def test_a_statement_begun_by_one_commit_is_ended_where_settings_are_taken(spark, tmp_path, monkeypatch):
    """As many ALTERs would follow; the note says that only the comment is missing."""
    alter = ddl("alter table t change id n int not null comment 'number'")
    run = LakeRun.up_to_silver(spark, Log("mariadb", [*TWO_ALTERS[:3], alter]), tmp_path)
    with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):
        forbid_settings(patch, spark)
        crash_at(patch, "mirrorlake.lake.delta.progress.replace_once", "after", 1)
        run.apply()
    run.apply()
    entry = run.register.get(("shop", "t"))
    mirror = spark.table(run.lake.names.mirror(entry.mirror_id))
    assert (entry.state, mirror.columns, mirror.schema["n"].metadata) == (
        STREAMING, ["n", "_lsn"], {"comment": "number"},
    )  # fmt: skip
