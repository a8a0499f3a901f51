"""The bank: at every syncpoint all tables together hold the money that there is, whatever happens meanwhile."""

from __future__ import annotations

import random
import time

import pytest

from mirrorlake.config import Options
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.jobs.inspect.sql import Catalog
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.gold.syncpoint import syncpoints
from tests.support.bank import TOTAL, Bank
from tests.support.live import Running, is_alive_for
from tests.support.servers import FLAVORS

KILLS, KILLS_LONG = 2, 20
SESSIONS, DDL_EVERY_S, DDL_EVERY_S_LONG = 3, 4.0, 15.0
"""Each DDL ends an epoch, and all tables have changed in each: the last run is long where there are many of both."""


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_at_every_syncpoint_the_sum_is_right(request, lake_dir, tmp_path, seed, is_long, spark):
    """The process is killed at random moments; a syncpoint at a given GTID set holds what the source held there."""
    server = request.getfixturevalue(FLAVORS[seed % 2])
    server.reset()
    rng, log, asked = random.Random(seed), tmp_path / "run.log", {}
    bank = Bank(server, seed)
    bank.open()
    command = ["run", "--source", server.url, "--lake", str(lake_dir), "--tables", "bank.*"]
    for kill in range(KILLS_LONG if is_long else KILLS):
        with bank.at_work(SESSIONS, DDL_EVERY_S_LONG if is_long else DDL_EVERY_S):
            run = Running(log, *command, "--follow", "--syncpoint-every", "0.5")
            if not (run.has_committed(log) and is_alive_for(run.process, rng.uniform(2, 8))):
                pytest.fail(f"mirrorlake ended by itself, or does nothing:\n{log.read_text()[-3000:]}")
            run.kill(whole_group=True)
            gtids, accounts = bank.snapshot()
            name, asked[name] = f"snapshot_{kill}", accounts
            syncpoints.request(
                open_lake(Options(lake=str(lake_dir)), spark), name, parse_gtid_set(server.flavor, gtids)
            )
            time.sleep(1)
    options = Options(source=server.url, lake=str(lake_dir), tables="bank.*")
    hops.run(options, Watcher(), spark)

    lake = open_lake(options, spark)
    points = syncpoints.published(lake)
    assert {point.name for point in points} >= asked.keys()
    for point in points:
        with Catalog(lake, point) as catalog:
            held = {t.table: accounts_of(catalog, t.table) for t in point.tables}
        is_open = any(held.values())
        assert sum(balance for rows in held.values() for _, balance in rows) == (TOTAL if is_open else 0), point
        assert asked.get(point.name, held) == held


def accounts_of(catalog: Catalog, table: str) -> list[tuple[int, int]]:
    rows = catalog.query(f"SELECT id, balance FROM bank.{table} ORDER BY id").to_pylist()
    return [(row["id"], row["balance"]) for row in rows]
