"""Crash after crash at any call of a run, while a mixed workload with DDL writes; then the lake equals its source.

A run is one process with all hops, or one for each hop with one to three apply groups. `make torture` makes five
hundred crashes on each server (CRASHES=N), `make test-long` a few.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.errors import RetryableError
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.delta.session import private_session
from mirrorlake.lake.gold.syncpoint import syncpoints
from tests.support.live import check_lake_is_source, check_mirrors_are_source
from tests.support.random_crash import RandomCrashes
from tests.support.servers import FLAVORS
from tests.support.workload import Workload

CRASHES = 8
COMPARE_EVERY = 25
DATABASES = 2
TRANSACTIONS, DDL_EVERY = 4, 15
SYNCPOINT_EVERY_S = 20
MORE = 0.4
"""How often the next attempt finds new transactions, and not only what the crash has left."""
PATIENCE_S = 1.0
"""How long an apply group waits for one that has crashed."""


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
    monkeypatch.setattr("mirrorlake.lake.gold.apply_group.PATIENCE_S", PATIENCE_S)
    server, rng = request.getfixturevalue(flavor), random.Random(f"{seed} {flavor}")
    server.reset()
    workload = Workload(server, seed, databases=DATABASES, ddl_every=DDL_EVERY)
    workload.create_tables()
    options = Options(source=server.url, lake=str(lake_dir), tables="live_*.*", syncpoint_every=SYNCPOINT_EVERY_S)
    crashes, made, started, has_crashed, whole = RandomCrashes(monkeypatch), Counter(), time.monotonic(), False, 0

    def run() -> None:
        hops.run(options, Watcher(), spark)

    def run_in_groups() -> None:
        apply_in_groups(options, spark, count=rng.randint(1, 3))

    crashes.crashes_in(run)
    calls = dict(crashes.calls)
    while made.total() < (wanted or CRASHES):
        if not has_crashed or rng.random() < MORE:
            workload.run(transactions=rng.randint(1, TRANSACTIONS))
        name, when = rng.choice(sorted(calls)), rng.choice(("before", "after"))
        has_crashed = crashes.crashes_in(rng.choice((run, run, run_in_groups)), name, rng.randint(1, calls[name]), when)
        if not has_crashed:
            calls |= crashes.calls
            whole += 1
            assert whole < 20 + 3 * made.total(), "crashes do not happen"
            continue
        made[f"{when} {name}"] += 1
        if made.total() % COMPARE_EVERY == 0:
            crashes.crashes_in(run)
            calls |= crashes.calls
            check_mirrors_are_source(open_lake(options, spark), server, DATABASES, after=made)
            seconds = time.monotonic() - started
            print(f"\n{flavor}: {made.total()} crashes in {seconds:.0f} s, {whole} runs without", end="", flush=True)
    run()
    lake = open_lake(options, spark)
    check_lake_is_source(lake, server, DATABASES, read_with_tool)
    points = syncpoints.published(lake)
    assert len({point.lsn for point in points}) == len(points)
    print(f", at {len(made)} kinds of calls: {dict(made)}")


def apply_in_groups(options: Options, spark: SparkSession, count: int) -> None:
    """A process for each hop, one after another, and ``count`` apply groups side by side.

    A group that waits for one that has crashed gives up. Raises what one has crashed with.
    """
    hops.ingest(options, Watcher(), spark)
    hops.assemble(options, Watcher(), spark)

    def apply(number: int) -> None:
        group = options.model_copy(update={"group": f"{number}/{count}"})
        hops.apply(group, Watcher(), private_session(spark))

    with ThreadPoolExecutor(count) as pool:
        ends = [pool.submit(apply, number + 1) for number in range(count)]
    for error in filter(None, (end.exception() for end in ends)):
        if not isinstance(error, RetryableError):
            raise error
