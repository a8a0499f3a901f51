"""Clients of a Spark Connect server are killed; the server lives on, and may still commit what they had begun."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mirrorlake.config import Options
from mirrorlake.errors import RefusedError, RetryableError
from mirrorlake.jobs.run.open import open_lake
from tests.support.connect_server import connect_server
from tests.support.live import Running, check_lake_is_source, is_alive_for, workload
from tests.support.servers import FLAVORS
from tests.support.workload import Workload

KILLS = 20
RATE, DDL_EVERY_S, DATABASES = 10, 30, 2
LONGEST_LIFE_S = 15
OVERTAKEN = ((RefusedError.exit_code, "lake-writer"), (RetryableError.exit_code, "lake-conflict"))
AGAIN = 5
"""So often at most the last run is overtaken by what the server has still to commit."""


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_server_that_outlives_its_clients_loses_and_doubles_nothing(
    request, lake_dir, tmp_path, seed, spark, read_with_tool
):
    server, rng = request.getfixturevalue(FLAVORS[seed % 2]), random.Random(seed)
    server.reset()
    log, command = (
        tmp_path / "run.log",
        ["run", "--source", server.url, "--lake", str(lake_dir), "--tables", "live_*.*"],
    )
    Workload(server, seed, databases=DATABASES).create_tables()
    with connect_server(tmp_path / "connect.log") as remote:
        kills = 0
        with workload(server, seed, DATABASES, RATE, DDL_EVERY_S):
            while kills < KILLS:
                run = Running(log, *command, "--follow", SPARK_REMOTE=remote)
                if run.has_committed(log) and is_alive_for(run.process, rng.uniform(0, LONGEST_LIFE_S)):
                    run.kill(whole_group=True)
                    kills += 1
                else:
                    check_overtaken(run, log)
        for _ in range(AGAIN):
            run = Running(log, *command, SPARK_REMOTE=remote)
            if run.process.wait(900) == 0:
                break
            check_overtaken(run, log)
    assert run.process.returncode == 0
    lake = open_lake(Options(lake=str(lake_dir)), spark)
    check_lake_is_source(lake, server, DATABASES, read_with_tool)
    overtaken = sum(log.read_text().count(f"{code}: ") for _, code in OVERTAKEN)
    print(f"\n{server.flavor}: {kills} kills, {overtaken} runs overtaken")


def check_overtaken(run: Running, log: Path) -> None:
    """What the client before had begun was committed while this one was at work."""
    said = log.read_text()[-3000:]
    code = said.splitlines()[-2].partition(":")[0]
    assert (run.process.returncode, code) in OVERTAKEN, said
