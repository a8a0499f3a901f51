"""XA transactions that are prepared first, on real servers: they happen at their XA COMMIT, whenever that is."""

from __future__ import annotations

import shutil
from contextlib import suppress

import pymysql
import pytest

from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.silver.assemble import PREPARED
from tests.support.canonical import source_rows
from tests.support.lake_runs import LakeRun
from tests.support.servers import Server

COMPRESSION = {"mysql": "binlog_transaction_compression", "mariadb": "log_bin_compress"}


class Sessions:
    """``run("a: SQL")``: in the session called a, which is opened when it is first named."""

    def __init__(self, server: Server):
        self._server, self._open = server, {}

    def run(self, text: str) -> None:
        name, sql = text.split(": ", 1)
        if sql == "leave":
            self._open.pop(name).close()
            return
        if name not in self._open:
            self._open[name] = self._server.connect(database="xa")
        with self._open[name].cursor() as cursor:
            cursor.execute(sql)

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()


BEFORE = """
o: CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20))
o: CREATE TABLE u (id INT PRIMARY KEY, v VARCHAR(20))
o: INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')
a: XA START 'a', 'branch', 7
a: UPDATE t SET v = 'by a' WHERE id = 1
a: INSERT INTO u VALUES (10, 'by a')
a: XA END 'a', 'branch', 7
a: XA PREPARE 'a', 'branch', 7
a: leave
b: XA START 'b'
b: DELETE FROM t WHERE id = 2
b: XA END 'b'
b: XA PREPARE 'b'
b: leave
c: XA START 'c'
c: INSERT INTO u VALUES (30, 'by c')
c: XA END 'c'
c: XA PREPARE 'c'
c: XA COMMIT 'c'
o: INSERT INTO t VALUES (4, 'four')
""".strip().split("\n")
BETWEEN = """
o: UPDATE t SET v = CONCAT(v, '!') WHERE id >= 3
""".strip().split("\n")
AFTER = """
o: XA COMMIT 'a', 'branch', 7
o: UPDATE t SET v = CONCAT(v, '?') WHERE id = 1
o: XA ROLLBACK 'b'
o: UPDATE t SET v = 'still here' WHERE id = 2
a: XA START 'a', 'branch', 7
a: UPDATE t SET v = 'by a again' WHERE id = 1
a: XA END 'a', 'branch', 7
a: XA PREPARE 'a', 'branch', 7
a: XA COMMIT 'a', 'branch', 7
d: XA START 'd'
d: UPDATE t SET v = 'never' WHERE id = 3
d: XA END 'd'
d: XA PREPARE 'd'
""".strip().split("\n")
WANTED = [
    "INSERT t 1", "INSERT t 2", "INSERT t 3", "INSERT u 30", "INSERT t 4", "UPDATE t 3", "UPDATE t 4",
    "UPDATE t 1", "INSERT u 10", "UPDATE t 1", "UPDATE t 2", "UPDATE t 1",
]  # fmt: skip
CHUNK_BITS = 9
"""So that the log is many chunks."""


@pytest.mark.parametrize("compressed", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.heavy
def test_a_prepared_transaction_happens_at_its_commit(server, spark, tmp_path, monkeypatch, compressed, is_long):
    server.reset()
    server.execute("CREATE DATABASE xa")
    (tmp_path / "logs").mkdir()
    try:
        for texts in (BEFORE, BETWEEN, AFTER):
            server.execute(f"SET GLOBAL {COMPRESSION[server.flavor]} = {int(compressed)}")  # until it restarts
            expected = written(server, texts)
            server.restart()  # another log file; what is prepared stays so
            for path in server.log_files()[:-1]:
                shutil.copy(path, tmp_path / "logs")
            run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
            run.all_hops()
            assert run.gold() == expected
    finally:
        forget_prepared(server)
    assert list(read_progress(spark, run.lake.names.silver_changes).payload[PREPARED]) == ["X'64',X'',1"]
    monkeypatch.setattr("mirrorlake.lake.silver.assemble.CHUNK_BITS", CHUNK_BITS)
    for k, chunks in enumerate((1, 4, 1000) if is_long else (5, 1000)):  # the last one in parallel
        other = LakeRun(spark, tmp_path / "logs", tmp_path / str(k))
        other.ingest()
        assert len(other.assemble(chunks)) > (1 if chunks < 1000 else 0)
        assert changes(other) == changes(run)
    assert [row[0] for row in changes(run) if row[0] not in ("BEGIN", "COMMIT")] == WANTED


def forget_prepared(server: Server) -> None:
    """What waits would block whoever drops its tables."""
    for xid in ("'a', 'branch', 7", "'b'", "'c'", "'d'"):
        with suppress(pymysql.err.MySQLError):
            server.execute(f"XA ROLLBACK {xid}")


def written(server: Server, texts: list[str]) -> dict[tuple[str, str], list[str]]:
    """What the tables hold after the statements."""
    sessions = Sessions(server)
    for text in texts:
        sessions.run(text)
    sessions.close()
    with server.connect() as connection:
        return {("xa", name): sorted(source_rows(connection, "xa", name)) for name in ("t", "u")}


def changes(run: LakeRun) -> list[tuple]:
    silver = run.spark.table(run.lake.names.silver_changes).where("op <> 'DDL'").orderBy("tx_lsn", "ordinal")
    what = "concat_ws(' ', op, table, coalesce(after:id, before:id)::string)"
    return [tuple(row) for row in silver.selectExpr(what, "lsn", "tx_lsn", "gtid", "commit_ts", "checksum").collect()]
