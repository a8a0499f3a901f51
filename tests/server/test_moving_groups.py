"""Hops and apply groups as processes of their own, which are killed, replaced, and outlived while others write."""

from __future__ import annotations

import random

import pytest

from mirrorlake.config import Options
from mirrorlake.jobs.run.open import open_lake
from tests.support.every_step import check_every_step_once
from tests.support.live import Running, check_mirrors_are_source, is_alive_for, workload
from tests.support.workload import Workload

LAYOUTS = (2, 1, 3, 2)
"""Of how many groups one after another is."""
RATE, DDL_EVERY_S = 10, 30
LIFE_S = 30
DATABASES = 2


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_mirrors_move_between_processes(server, lake_dir, tmp_path, seed, spark):
    server.reset()
    rng, running = random.Random(seed), {}
    Workload(server, seed, databases=DATABASES).create_tables()
    lake = ["--lake", str(lake_dir), "--tables", "live_*.*"]

    def start(name: str, *arguments: str) -> Running:
        log = tmp_path / f"{name}.log"
        log.touch()
        running[name] = Running(log, *arguments)
        assert running[name].has_committed(log), f"{name}:\n{log.read_text()[-3000:]}"
        return running[name]

    try:
        with workload(server, seed, DATABASES, RATE, DDL_EVERY_S):
            start("ingest", "ingest", "--source", server.url, *lake, "--follow")
            start("assemble", "assemble", *lake, "--follow")
            former: list[Running] = []
            for i, count in enumerate(LAYOUTS):
                groups = [f"{number}/{count}" for number in range(1, count + 1)]
                rng.shuffle(groups)
                now = [Running(tmp_path / f"{i}.log", "apply", *lake, "--follow", "--group", group) for group in groups]
                running |= {f"{i} {group}": process for group, process in zip(groups, now, strict=True)}
                is_alive_for(now[0].process, LIFE_S)  # the former ones run on meanwhile
                for process in former:
                    process.kill(whole_group=rng.random() < 0.5)
                is_alive_for(now[0].process, LIFE_S)
                former = now
    finally:
        for process in running.values():
            process.kill(whole_group=True)
    last = Running(tmp_path / "last.log", "run", "--source", server.url, *lake)
    assert last.process.wait(1800) == 0, (tmp_path / "last.log").read_text()[-3000:]
    opened = open_lake(Options(lake=str(lake_dir)), spark)
    check_mirrors_are_source(opened, server, DATABASES)
    check_every_step_once(opened)
