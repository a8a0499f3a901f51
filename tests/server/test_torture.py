"""Crash after crash at any call of a run, while a mixed workload with DDL writes; then the lake equals its source.

`make torture` makes a thousand crashes (CRASHES=N) on each server, `make test-long` a few.
"""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from mirrorlake.config import Options
from mirrorlake.jobs import hops
from mirrorlake.jobs.open import open_lake
from mirrorlake.jobs.watcher import Watcher
from mirrorlake.lake.gold import syncpoints
from tests.server.test_live import changes_in_silver, mirrors, sources
from tests.support.logged_changes import count_logged_changes
from tests.support.random_crash import RandomCrashes
from tests.support.servers import FLAVORS
from tests.support.workload import Workload

CRASHES = 8
COMPARE_EVERY = 20
TRANSACTIONS, DDL_EVERY = 30, 20
CALLS = 150
"""About as many as a run makes that finds the transactions above."""


@pytest.mark.long
@pytest.mark.timeout(100_000)
@pytest.mark.parametrize("flavor", FLAVORS)
def test_no_crash_at_any_call_loses_or_doubles_anything(
    request, flavor, lake_dir, seed, spark, read_with_tool, monkeypatch
):
    """The short form takes one server, by the seed."""
    wanted = request.config.option.crashes
    if wanted is None and flavor != FLAVORS[(seed + 1) % 2]:
        pytest.skip("the short form takes the other server")
    server, rng = request.getfixturevalue(flavor), random.Random(f"{seed} {flavor}")
    server.reset()
    workload = Workload(server, seed, databases=2, ddl_every=DDL_EVERY)
    workload.create_tables()
    options = Options(source=server.url, lake=str(lake_dir), tables="live_*", syncpoint_every=5)
    crashes, made, started = RandomCrashes(monkeypatch), Counter(), time.monotonic()

    def run() -> None:
        hops.run(options, Watcher(), spark)

    while made.total() < (wanted or CRASHES):
        workload.run(transactions=rng.randint(1, TRANSACTIONS))
        if crashes.crashes_in(run, rng.randint(1, CALLS), rng.choice(("before", "after"))):
            made[crashes.last] += 1
        if made.total() % COMPARE_EVERY == COMPARE_EVERY - 1:
            run()
            assert mirrors(open_lake(options, spark)) == sources(server), made
    run()
    lake = open_lake(options, spark)
    assert mirrors(lake) == sources(server), made
    text = read_with_tool(server.flavor, "-v", "--base64-output=decode-rows", *server.log_files())
    assert changes_in_silver(lake) == count_logged_changes(text)
    points = syncpoints.published(lake)
    assert len({point.lsn for point in points}) == len(points)
    print(f"\n{flavor}: {made.total()} crashes in {time.monotonic() - started:.0f} s, at {len(made)} kinds of calls")
