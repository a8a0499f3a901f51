"""`mirrorlake run --follow` is killed at random moments while others write; nothing may be lost or doubled."""

from __future__ import annotations

import random
import time

import pytest

from mirrorlake.config import Options
from mirrorlake.jobs.run.open import open_lake
from tests.support.live import Running, check_lake_is_source, is_alive_for, workload
from tests.support.workload import Workload

KILLS, KILLS_LONG = 1, 50
RATE, RATE_LONG = 5, 50
"""Transactions per second: the slower the machine, the more of them."""
DDL_EVERY_S, DDL_EVERY_S_LONG = 100, 40
DATABASES, DATABASES_LONG = 1, 2


@pytest.mark.timeout(7200)
def test_every_mirror_equals_its_source_after_kills(server, lake_dir, tmp_path, seed, is_long, spark, read_with_tool):
    server.reset()
    command = ["run", "--source", server.url, "--lake", str(lake_dir), "--tables", "live_*.*"]
    log, rng = tmp_path / "run.log", random.Random(seed)
    n_databases = DATABASES_LONG if is_long else DATABASES
    Workload(server, seed, databases=n_databases).create_tables()
    with workload(server, seed, n_databases, *((RATE_LONG, DDL_EVERY_S_LONG) if is_long else (RATE, DDL_EVERY_S))):
        for kill in range(KILLS_LONG if is_long else KILLS):
            run = Running(log, *command, "--follow")
            if not (run.has_committed(log) and is_alive_for(run.process, rng.uniform(0, 8))):
                pytest.fail(f"mirrorlake ended by itself, or does nothing:\n{log.read_text()[-3000:]}")
            run.kill(whole_group=(seed + kill) % 2 == 0)
    time.sleep(3)  # a JVM without its client may still be committing
    run = Running(log, *command)
    assert run.process.wait(900) == 0, log.read_text()[-3000:]

    lake = open_lake(Options(lake=str(lake_dir)), spark)
    check_lake_is_source(lake, server, n_databases, read_with_tool)
