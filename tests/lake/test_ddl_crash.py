"""A process killed between any two commits of a DDL: what it goes on from is exactly what is missing."""

from __future__ import annotations

import pytest

from tests.support.binlog_spec import Log
from tests.support.crash import SimulatedCrash, crash_after_each_commit
from tests.support.ddl_log import ITEMS, N_STEPS, check_every_ddl_once
from tests.support.lake_runs import LakeRun


@pytest.fixture
def run(spark, tmp_path) -> LakeRun:
    return LakeRun.up_to_silver(spark, Log("mariadb", ITEMS), tmp_path)


def test_a_kill_behind_every_commit_changes_nothing(run, monkeypatch):
    kills = 0
    monkeypatch.setattr("mirrorlake.lake.gold.ddl_epoch.MAX_THREADS", 1)  # else a kill takes several commits with it
    crash_after_each_commit(monkeypatch, run.folder)
    while True:
        try:
            run.apply()
            break
        except SimulatedCrash:
            kills += 1
    check_every_ddl_once(run)
    assert kills > N_STEPS
