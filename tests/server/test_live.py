"""`mirrorlake run --follow` is killed at random moments while others write; nothing may be lost or doubled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from mirrorlake.config import Options
from mirrorlake.jobs.open import open_lake
from mirrorlake.lake.gold.register import STREAMING, TableRegister
from tests.support.canonical import TableDigest, mirror_rows, source_rows, source_tables
from tests.support.logged_changes import count_logged_changes
from tests.support.workload import Workload

KILLS, KILLS_LONG = 5, 20
RATE, RATE_LONG = 20, 100
"""Transactions per second: the slower the machine, the more of them."""
DDL_EVERY_S = 40
START_S = 180
DATABASES = ("live_0", "live_1")


class Run:
    """`mirrorlake run` as a process group of its own."""

    def __init__(self, server, lake_dir: Path, log: Path, *options: str):
        command = [sys.executable, "-m", "mirrorlake", "run", "--source", server.url, "--lake", str(lake_dir)]
        command += options
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)

    def has_committed(self, log: Path) -> bool:
        """Wait for the first commit it reports."""
        before, ends_at = log.stat().st_size, time.monotonic() + START_S
        while is_alive_for(self.process, 0.2) and time.monotonic() < ends_at:
            if log.stat().st_size > before:
                return True
        return False

    def kill(self, whole_group: bool) -> None:
        """SIGKILL; without the group, Spark's JVM lives on for a moment and may still commit."""
        if whole_group:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()


def is_alive_for(process: subprocess.Popen, seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


@pytest.mark.timeout(1800)
def test_every_mirror_equals_its_source_after_kills(server, lake_dir, tmp_path, seed, is_long, spark, read_with_tool):
    server.reset()
    log, rng = tmp_path / "run.log", random.Random(seed)
    Workload(server, seed, databases=len(DATABASES)).create_tables()
    rate = RATE_LONG if is_long else RATE
    workload = subprocess.Popen(
        [sys.executable, "-m", "tests.support.workload", "--url", server.url, "--seed", str(seed), "--rate", str(rate),
         "--seconds", "3600", "--databases", str(len(DATABASES)), "--ddl-every", str(rate * DDL_EVERY_S)],
    )  # fmt: skip
    try:
        for kill in range(KILLS_LONG if is_long else KILLS):
            run = Run(server, lake_dir, log, "--tables", "live_*", "--follow")
            if not (run.has_committed(log) and is_alive_for(run.process, rng.uniform(0, 8))):
                pytest.fail(f"mirrorlake ended by itself, or does nothing:\n{log.read_text()[-3000:]}")
            run.kill(whole_group=kill % 2 == 0)
    finally:
        workload.send_signal(signal.SIGTERM)
        workload.wait(60)
    time.sleep(3)  # a JVM without its client may still be committing
    run = Run(server, lake_dir, log, "--tables", "live_*")
    assert run.process.wait(900) == 0, log.read_text()[-3000:]

    lake = open_lake(Options(lake=str(lake_dir)), spark)
    assert mirrors(lake) == sources(server)
    text = read_with_tool(server.flavor, "-v", "--base64-output=decode-rows", *server.log_files())
    assert changes_in_silver(lake) == count_logged_changes(text)


def mirrors(lake) -> dict[str, TableDigest]:
    entries = [entry for entry in TableRegister.read(lake) if entry.state == STREAMING]
    return {
        f"{e.database}.{e.table}": TableDigest.of(
            mirror_rows(lake.spark.table(lake.names.mirror(e.mirror_id)).toArrow())
        )
        for e in entries
    }


def sources(server) -> dict[str, TableDigest]:
    with server.connect() as connection:
        names = [(database, table) for database in DATABASES for table in source_tables(connection, database)]
        return {f"{d}.{t}": TableDigest.of(source_rows(connection, d, t)) for d, t in names}


def changes_in_silver(lake) -> dict[str, Counter]:
    """{gtid: {(database, table, op): changes}}; every transaction must be whole and there once."""
    silver = lake.spark.table(lake.names.silver_changes)
    counts = silver.groupBy("tx_lsn", "gtid", "database", "table", "op").count().collect()
    commits = {row.tx_lsn: row.changes for row in silver.where("op = 'COMMIT'").select("tx_lsn", "changes").collect()}
    found: dict[int, tuple[str, Counter]] = {}
    for row in counts:
        changes = found.setdefault(row.tx_lsn, (row.gtid, Counter()))[1]
        if row.op in ("INSERT", "UPDATE", "DELETE"):
            changes[row.database, row.table, row.op] += row["count"]
        else:
            assert row["count"] == 1, f"{row['count']} {row.op} markers in transaction {row.gtid}"
    assert {tx: sum(changes.values()) for tx, (_, changes) in found.items() if tx in commits} == commits
    gtids = [gtid for gtid, _ in found.values()]
    assert len(gtids) == len(set(gtids))
    return {gtid: changes for gtid, changes in found.values() if changes}
