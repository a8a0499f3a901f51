"""A process killed inside CREATE TABLE leaves a folder with a log and no commit; the next run gets over it."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from mirrorlake.lake.bronze import table as bronze
from mirrorlake.lake.delta.creation import remove_unborn
from mirrorlake.lake.delta.names import LakeNames, table_exists
from tests.support.binlog_spec import Ddl, Insert, Log, Transaction
from tests.support.canonical import canonical_row
from tests.support.crash import SimulatedCrash
from tests.support.lake_runs import LakeRun

ORDERS = TableSchema("shop", "orders", (Column("id", ColumnType("int"), False),), ("id",))


@pytest.mark.parametrize("left_over", [[], [".00000000000000000000.json.1c2f.tmp"], ["_staged_commits/"]])
def test_a_table_is_created_over_a_log_without_a_commit(spark, lake_dir, left_over):
    names = LakeNames(str(lake_dir))
    log = lake_dir / "bronze/events/_delta_log"
    log.mkdir(parents=True)
    for name in left_over:
        (log / name).mkdir() if name.endswith("/") else (log / name).touch()
        os.utime(log / name, (0, 0))
    os.utime(log, (0, 0))
    bronze.create(spark, names)
    assert table_exists(spark, names.bronze_events)
    assert spark.table(names.bronze_events).count() == 0


def test_a_log_with_something_else_in_it_is_refused(spark, lake_dir, monkeypatch):
    log = lake_dir / "bronze/events/_delta_log"
    log.mkdir(parents=True)
    (log / "strange.json").touch()
    monkeypatch.setattr("mirrorlake.lake.delta.creation.UNBORN_AFTER_S", 0.2)
    with pytest.raises(RefusedError) as refused:
        bronze.create(spark, LakeNames(str(lake_dir)))
    assert refused.value.code == "lake-unborn"


def test_a_table_with_a_commit_is_left_as_it_is(spark, lake_dir):
    names = LakeNames(str(lake_dir))
    bronze.create(spark, names)
    before = sorted(path.name for path in (lake_dir / "bronze/events/_delta_log").iterdir())
    bronze.create(spark, names)
    assert sorted(path.name for path in (lake_dir / "bronze/events/_delta_log").iterdir()) == before


def test_a_table_that_another_process_is_creating_is_left_alone(lake_dir):
    names = LakeNames(str(lake_dir))
    log = lake_dir / "bronze/events/_delta_log"
    log.mkdir(parents=True)
    (log / ".00000000000000000000.json.1c2f.tmp").touch()
    cleaner = threading.Thread(target=remove_unborn, args=[names.bronze_events])
    cleaner.start()
    time.sleep(0.5)
    (log / ".00000000000000000000.json.1c2f.tmp").rename(log / "00000000000000000000.json")
    cleaner.join()
    assert [path.name for path in log.iterdir()] == ["00000000000000000000.json"]


@pytest.mark.parametrize("left_over", ["_staged_commits", "strange.json"])
@pytest.mark.heavy
def test_a_mirror_whose_creation_was_cut_off_is_created_or_refused_and_never_taken_for_created(
    spark, tmp_path, monkeypatch, left_over
):
    items = [Ddl("CREATE TABLE orders (id INT PRIMARY KEY)", "shop"), Transaction([Insert(ORDERS, [{"id": 1}])])]
    run = LakeRun.up_to_silver(spark, Log("mariadb", items), tmp_path)

    def cut_off(session, mirror, statement, **_):
        (Path(statement.split("`")[3]) / "_delta_log" / left_over).mkdir(parents=True)
        raise SimulatedCrash

    monkeypatch.setattr("mirrorlake.lake.delta.creation.UNBORN_AFTER_S", 0.0)
    with monkeypatch.context() as patched, pytest.raises(SimulatedCrash):
        patched.setattr("mirrorlake.lake.gold.ddl.steps.repeatable_ddl", cut_off)
        run.apply()
    if left_over == "strange.json":
        with pytest.raises(RefusedError, match="CREATE TABLE made no commit") as refused:
            run.apply()
        assert refused.value.code == "lake-unborn"
        shutil.rmtree(refused.value.table.split("`")[3])
    run.apply()
    assert run.gold() == {("shop", "orders"): [canonical_row({"id": 1})]}
