"""A server is killed while it writes a transaction to its log: the transaction is rolled back, the log continues."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pymysql
import pytest

from mirrorlake.config import Options
from mirrorlake.core.binlog.log_reader import LogChunk, LogReader
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.position import BinlogPosition
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.verify import EQUAL, verify
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.binlog_files import FileSource
from mirrorlake.mysql.login import ServerLogin
from tests.support.servers import FLAVORS, Server, running_server

ROWS, ROW_BYTES = 20, 5_000_000
TRIES = 5
GTIDS = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")


@pytest.mark.parametrize("flavor", FLAVORS)
@pytest.mark.heavy
def test_what_a_crash_tore_is_left_out_and_the_log_continues(flavor, lake_dir, spark):
    with running_server(flavor, *(GTIDS if flavor == "mysql" else ())) as server:
        server.execute("CREATE DATABASE shop")
        server.execute("CREATE TABLE shop.t (id INT PRIMARY KEY, b LONGBLOB)")
        server.execute("INSERT INTO shop.t VALUES (1, 'a')")
        options, crashes = Options(source=server.url, lake=str(lake_dir)), Crashes()
        hops.run(options, crashes, spark)
        torn = _tear(server)
        server.execute("INSERT INTO shop.t VALUES (2, 'b')")
        _, found = verify(options, crashes, moves=True, wait_s=0, n_keys=1, spark=spark)
        assert [(table.state, table.rows) for table in found] == [(EQUAL, 2)]
        assert [start.log_file for start in crashes.starts] == ([torn] if flavor == "mariadb" else [])

        live = LiveSource(ServerLogin(server.host, server.port, server.user, server.password))
        try:
            from_server = _chunks(live)
        finally:
            live.close()
        from_files = _chunks(FileSource(server.log_files()[0].parent))
        assert [c.torn_at for c in from_files if c.torn_at] == [c.torn_at for c in from_server if c.torn_at]
        assert from_files[-1].resume == from_server[-1].resume


class Crashes(Watcher):
    def __init__(self):
        self.starts: list[BinlogPosition] = []

    def rolled_back(self, start):
        self.starts.append(start)


def _tear(server: Server) -> str:
    """Kill the server while it writes a large transaction, and start it again; the name of the file that it wrote."""
    for _ in range(TRIES):
        log_file = server.log_files()[-1]
        before = log_file.stat().st_size
        with server.connect(autocommit=False) as connection, connection.cursor() as cursor:
            for i in range(ROWS):
                cursor.execute(f"INSERT INTO shop.t VALUES ({10 + i}, REPEAT('x', {ROW_BYTES}))")
            commit = threading.Thread(target=_commit, args=[connection])
            commit.start()
            while commit.is_alive() and log_file.stat().st_size < before + ROW_BYTES:
                time.sleep(0.0002)
            server.kill()
            commit.join()
        server.start()
        if server.query("SELECT count(*) FROM shop.t") == [(1,)]:
            return log_file.name
        server.execute("DELETE FROM shop.t WHERE id >= 10")
    raise AssertionError(f"the server was quicker than the kill, {TRIES} times")


def _commit(connection: pymysql.Connection) -> None:
    with suppress(pymysql.Error):
        connection.commit()


def _chunks(source: FileSource | LiveSource) -> list[LogChunk]:
    start = source.earliest()
    return list(LogReader(start, parse_gtid_set(source.flavor, "")).read(source.read(start, source.current())))
