"""What copying a table costs: its rows off a real server, by our reader and by what people use, and a whole snapshot.

    python -m bench.copy_table [--rows 2000000] [--flavor mariadb]

Readers: seconds, and rows per second of this process's CPU time, or for the server's own client its own; each reads
everything and keeps nothing. The snapshot is `mirrorlake snapshot` and then `run` to the mirror, after a warm-up with a
table of one row.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable

import pyarrow as pa
from pymysql.cursors import SSCursor

from mirrorlake.config import Options
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.snapshot import snapshot
from mirrorlake.lake.delta.session import open_session
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.result_set import query_batches
from mirrorlake.mysql.session import Session
from tests.support.servers import FLAVORS, Server, running_server

COLUMNS = ("id", "customer", "price", "note", "at")
_CREATE = (
    "CREATE TABLE shop.{} (id BIGINT PRIMARY KEY, customer INT, price DECIMAL(12,2), note VARCHAR(60), at DATETIME(3))"
)
_DOUBLE = """
    INSERT INTO shop.orders
    SELECT id + (SELECT COUNT(*) FROM shop.orders), customer + 7, price, note, at FROM shop.orders
"""
SELECT = f"SELECT {', '.join(COLUMNS)} FROM shop.orders"


def fill(server: Server, n_rows: int) -> int:
    """So many rows, or up to twice as many."""
    server.execute("CREATE DATABASE shop")
    for name in ("orders", "one"):
        server.execute(_CREATE.format(name))
        server.execute(f"INSERT INTO shop.{name} VALUES (1, 42, 19.90, 'to be delivered on a day of the week', NOW(3))")
    found = 1
    while found < n_rows:
        server.execute(_DOUBLE)
        found *= 2
    return found


def read_by_us(server: Server) -> int:
    types = pa.schema([(name, pa.string()) for name in COLUMNS])
    session = Session(ServerLogin.parse(server.url))
    try:
        return sum(b.num_rows for b in query_batches(session, SELECT, types))
    finally:
        session.hang_up()


def read_by_pymysql(server: Server) -> int:
    with server.connect(cursorclass=SSCursor) as session, session.cursor() as cursor:
        cursor.execute(SELECT)
        return sum(1 for _ in cursor)


def timed(read: Callable[[], int]) -> tuple[float, float, int]:
    """(seconds, seconds of CPU time, rows)"""
    wall, cpu = time.monotonic(), time.process_time()
    rows = read()
    return time.monotonic() - wall, time.process_time() - cpu, rows


def dump(server: Server, client: str) -> tuple[float, float]:
    """The server's own client, which writes text to nowhere: (seconds, its seconds of CPU time)."""
    socket_options = ["--host=127.0.0.1", f"--port={server.port}", "--user=root", "--quick", "--batch"]
    wall, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([client, "--no-defaults", *socket_options, "-e", SELECT], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def whole_snapshot(server: Server, table: str, folder: str, spark) -> tuple[float, float]:
    """Seconds to the copy, and from there to the mirror."""
    options = Options(source=server.url, lake=f"{folder}/{table}", tables=f"shop.{table}")
    times = [time.monotonic()]
    snapshot(options, lambda done: None, spark=spark)
    times.append(time.monotonic())
    hops.run(options, Watcher(), spark)
    times.append(time.monotonic())
    return times[1] - times[0], times[2] - times[1]


def show(name: str, rows: int, wall: float, cpu: float) -> None:
    print(f"{name:<22}{rows:>12,} rows {wall:8.1f} s {rows / cpu:14,.0f} rows per second of CPU time", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--flavor", choices=FLAVORS, default="mariadb")
    parser.add_argument("--client", help="the server's own client, where it is installed")
    given = parser.parse_args()
    with running_server(given.flavor) as server, tempfile.TemporaryDirectory() as folder:
        n_rows = fill(server, given.rows)
        read_by_us(server)  # compiles
        for name, read in (("our reader", read_by_us), ("PyMySQL, unbuffered", read_by_pymysql)):
            wall, cpu, rows = timed(lambda read=read: read(server))
            assert rows == n_rows
            show(name, rows, wall, cpu)
        if given.client:
            show(given.client, n_rows, *dump(server, given.client))
        spark = open_session("bench")
        whole_snapshot(server, "one", folder, spark)
        copied, mirrored = whole_snapshot(server, "orders", folder, spark)
        print(f"snapshot {copied:.1f} s ({n_rows / copied:,.0f} rows/s), to the mirror {mirrored:.1f} s more")
        spark.stop()


if __name__ == "__main__":
    main()
