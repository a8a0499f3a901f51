"""How old a row is when it becomes visible: commit on the source -> commit of the mirror, in follow mode.

    python -m bench.freshness [--seconds 60] [--rate 100] [--flavor mariadb]

One table, one row change per transaction, on a real server on this machine. A row counts as visible when the commit
of its mirror table has returned.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time

from bench.process_tree import PeakMemory
from mirrorlake.config import Options
from mirrorlake.jobs.run.open import create_lake
from mirrorlake.jobs.run.replicate import run_all
from mirrorlake.jobs.run.source import open_source
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.delta.session import open_session
from tests.support.servers import running_server

N_KEYS = 20_000


class Finished(Exception):
    pass


class Clock(Watcher):
    """Notes when each epoch's work was done; ends the run at a given time."""

    def __init__(self, ends_at: float):
        self.ends_at, self.visible = ends_at, []

    def applied(self, done) -> None:
        self.visible.append((done.epoch.lsns.to, time.time()))
        if time.time() > self.ends_at:
            raise Finished


class Writer(threading.Thread):
    """Commits transactions at a steady rate; ``committed[n]``: when transaction n's COMMIT returned."""

    def __init__(self, server, rate: float, ends_at: float):
        super().__init__(daemon=True)
        self._server, self._rate, self._ends_at = server, rate, ends_at
        self.committed: dict[int, float] = {}

    def run(self) -> None:
        connection = self._server.connect()
        cursor, begin, n = connection.cursor(), time.time(), 0
        while time.time() < self._ends_at:
            n += 1
            cursor.execute("UPDATE fresh.t SET n = %s, note = CONCAT('n', %s) WHERE id = %s", (n, n, n % N_KEYS + 1))
            connection.commit()
            self.committed[n] = time.time()
            time.sleep(max(0.0, begin + n / self._rate - time.time()))


def measure(server, folder: str, seconds: float, rate: float) -> list[float]:
    server.execute("CREATE DATABASE fresh")
    server.execute(
        "CREATE TABLE fresh.t (id INT PRIMARY KEY, n INT NOT NULL, note VARCHAR(40), made DATETIME(6) DEFAULT NOW(6))"
    )
    connection = server.connect()
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO fresh.t (id, n) VALUES (%s, 0)", [(k,) for k in range(1, N_KEYS + 1)])
    connection.commit()
    options = Options(source=server.url, lake=folder, follow=True)
    source = open_source(options)
    lake = create_lake(options, source, open_session("bench"))
    run_all(lake, source, options.model_copy(update={"follow": False}), Watcher())
    warm_up_s = 15
    ends_at = time.time() + warm_up_s + seconds
    writer, clock = Writer(server, rate, ends_at + 60), Clock(ends_at)
    begin = time.time()
    writer.start()
    try:
        run_all(lake, source, options, clock)
    except Finished:
        pass
    writer._ends_at = 0
    rows = (
        lake.spark.table(lake.names.silver_changes)
        .where("op = 'UPDATE'")
        .selectExpr("lsn", "after:n::int AS n")
        .collect()
    )
    ages = []
    for row in rows:
        committed = writer.committed.get(row.n)
        seen = next((at for lsn_to, at in clock.visible if lsn_to >= row.lsn), None)
        if committed and seen and committed > begin + warm_up_s:
            ages.append(seen - committed)
    return ages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--flavor", choices=("mariadb", "mysql"), default="mariadb")
    arguments = parser.parse_args()
    memory = PeakMemory()
    memory.start()
    with running_server(arguments.flavor) as server, tempfile.TemporaryDirectory() as folder:
        ages = measure(server, f"{folder}/lake", arguments.seconds, arguments.rate)
    percentiles = statistics.quantiles(ages, n=100)
    print(
        f"{len(ages)} transactions at {arguments.rate:g}/s: p50 {percentiles[49]:.2f} s, p90 {percentiles[89]:.2f} s,"
        f" p99 {percentiles[98]:.2f} s"
    )
    peak = memory.stop()
    print(f"peak memory: python {peak['python'] / 2**30:.2f} GiB, JVM {peak['jvm'] / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
