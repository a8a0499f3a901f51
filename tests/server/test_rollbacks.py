"""Row changes that a real server logs although they were rolled back: the mirrors are what SELECT shows."""

from __future__ import annotations

import time
from contextlib import suppress

import pymysql
import pytest

from mirrorlake.lake.gold.control.register import STREAMING
from tests.support.canonical import source_rows
from tests.support.lake_runs import LakeRun
from tests.support.server_logs import bring
from tests.support.servers import Server

TABLES = ("t", "my", "mem")
BEFORE = """
CREATE TABLE t (id INT PRIMARY KEY, v INT)
CREATE TABLE my (id INT PRIMARY KEY, v INT) ENGINE=MyISAM
CREATE TABLE mem (id INT PRIMARY KEY, v INT) ENGINE=MEMORY
INSERT INTO t VALUES (1, 1), (2, 2)
INSERT INTO my VALUES (1, 1), (2, 2)
"""
TEMPORARY = "CREATE TEMPORARY TABLE tt (x INT)"
"""After it MariaDB logs what is rolled back."""
SITUATIONS = f"""
BEGIN; INSERT INTO t VALUES (50, 1); {TEMPORARY}; INSERT INTO t VALUES (51, 1); ROLLBACK
BEGIN; INSERT INTO t VALUES (50, 1); {TEMPORARY}; INSERT INTO t VALUES (51, 1); DROP TEMPORARY TABLE tt; ROLLBACK
{TEMPORARY}; BEGIN; UPDATE t SET v = 9; DROP TEMPORARY TABLE tt; ROLLBACK
{TEMPORARY}; BEGIN; INSERT INTO tt VALUES (1); UPDATE t SET v = 9; ROLLBACK
BEGIN; DELETE FROM t; CREATE TEMPORARY TABLE tt AS SELECT 1; ROLLBACK
BEGIN; INSERT INTO t VALUES (52, 1); CREATE TEMPORARY TABLE tt ENGINE=InnoDB AS SELECT * FROM t; DELETE FROM t; ROLLBACK
BEGIN; INSERT INTO t VALUES (53, 1); {TEMPORARY}; INSERT INTO t VALUES (54, 1)
{TEMPORARY}; BEGIN; INSERT INTO t VALUES (55, 1); DROP TEMPORARY TABLE tt
BEGIN; INSERT INTO t VALUES (56, 1); {TEMPORARY}; ROLLBACK AND CHAIN; INSERT INTO t VALUES (57, 1); COMMIT
XA START 'x'; INSERT INTO t VALUES (58, 1); {TEMPORARY}; XA END 'x'; XA ROLLBACK 'x'
XA START 'x'; INSERT INTO t VALUES (59, 1); {TEMPORARY}; XA END 'x'; XA PREPARE 'x'; XA ROLLBACK 'x'
XA START 'x'; INSERT INTO t VALUES (60, 1); SAVEPOINT a; INSERT INTO t VALUES (61, 1); INSERT INTO my VALUES (60, 1);\
 ROLLBACK TO a; INSERT INTO t VALUES (62, 1); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x'
BEGIN; INSERT INTO t VALUES (63, 1); {TEMPORARY}; SAVEPOINT a; DELETE FROM t; ROLLBACK TO a;\
 INSERT INTO t VALUES (64, 1); COMMIT
BEGIN; INSERT INTO t VALUES (65, 1); SAVEPOINT a; {TEMPORARY}; DELETE FROM t; ROLLBACK TO a;\
 INSERT INTO t VALUES (66, 1); COMMIT
BEGIN; SAVEPOINT a; INSERT INTO t VALUES (67, 1); {TEMPORARY}; DELETE FROM t; ROLLBACK TO a;\
 INSERT INTO t VALUES (68, 1); COMMIT
BEGIN; INSERT INTO t VALUES (69, 1); {TEMPORARY}; SAVEPOINT a; INSERT INTO t VALUES (70, 1); ROLLBACK TO a;\
 INSERT INTO t VALUES (71, 1); ROLLBACK
BEGIN; INSERT INTO t VALUES (72, 1); SAVEPOINT a; INSERT INTO my VALUES (72, 1); INSERT INTO t VALUES (73, 1);\
 ROLLBACK TO a; INSERT INTO t VALUES (74, 1); COMMIT
BEGIN; INSERT INTO t VALUES (75, 1); SAVEPOINT a; DELETE FROM t; SAVEPOINT `B b`; INSERT INTO my VALUES (75, 1);\
 INSERT INTO t VALUES (76, 1); ROLLBACK TO `b B`; INSERT INTO t VALUES (77, 1); SAVEPOINT c; DELETE FROM my;\
 INSERT INTO t VALUES (78, 1); ROLLBACK TO SAVEPOINT A; UPDATE t SET v = 3; ROLLBACK TO a;\
 INSERT INTO t VALUES (79, 1); COMMIT
BEGIN; INSERT INTO t VALUES (80, 1); SAVEPOINT a; INSERT INTO t VALUES (81, 1); SAVEPOINT A; DELETE FROM t;\
 INSERT INTO mem VALUES (80, 1); ROLLBACK TO a; INSERT INTO t VALUES (82, 1); COMMIT
BEGIN; INSERT INTO t VALUES (83, 1); SAVEPOINT a; INSERT INTO t VALUES (84, 1); SAVEPOINT b; DELETE FROM t;\
 SAVEPOINT a; INSERT INTO t VALUES (85, 1); INSERT INTO my VALUES (83, 1); ROLLBACK TO b;\
 INSERT INTO t VALUES (86, 1); COMMIT
BEGIN; INSERT INTO t VALUES (87, 1); SAVEPOINT a; INSERT INTO t VALUES (88, 1); RELEASE SAVEPOINT a;\
 INSERT INTO t VALUES (89, 1); SAVEPOINT a; INSERT INTO my VALUES (87, 1); DELETE FROM t; ROLLBACK TO a; COMMIT
SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES'); BEGIN; INSERT INTO t VALUES (90, 1); SAVEPOINT "x`""y";\
 INSERT INTO my VALUES (90, 1); DELETE FROM t; ROLLBACK TO `x``"Y`; COMMIT
SET sql_quote_show_create = 0; BEGIN; INSERT INTO t VALUES (91, 1); SAVEPOINT plain; INSERT INTO my VALUES (91, 1);\
 DELETE FROM t; ROLLBACK TO PLAIN; COMMIT
BEGIN; INSERT INTO t VALUES (92, 1); SAVEPOINT `é ß Ж`; INSERT INTO my VALUES (92, 1); DELETE FROM t WHERE id > 90;\
 ROLLBACK TO `E s ж`; COMMIT
BEGIN; SAVEPOINT a; INSERT INTO t VALUES (93, 1); SAVEPOINT b; UPDATE t, my SET t.v = 7, my.v = 7 WHERE t.id = my.id;\
 DELETE FROM t; ROLLBACK TO b; INSERT INTO t VALUES (94, 1); COMMIT
BEGIN; UPDATE t, my SET t.v = 8, my.v = 8 WHERE t.id = my.id; INSERT INTO t VALUES (95, 1); ROLLBACK
CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO my VALUES (NEW.id + 1000, NEW.v); BEGIN;\
 INSERT INTO t VALUES (96, 1); SAVEPOINT a; INSERT INTO t VALUES (97, 1); ROLLBACK TO a; INSERT INTO t VALUES (98, 1);\
 COMMIT; BEGIN; INSERT INTO t VALUES (99, 1); {TEMPORARY}; INSERT INTO t VALUES (100, 1); ROLLBACK; DROP TRIGGER tr
BEGIN; INSERT INTO t VALUES (101, 1); {TEMPORARY}; INSERT INTO my VALUES (101, 1); INSERT INTO mem VALUES (101, 1);\
 UPDATE t, my SET t.v = 9, my.v = 9 WHERE t.id = my.id; DELETE FROM my WHERE id = 90; ROLLBACK
BEGIN; INSERT INTO t VALUES (102, 1); {TEMPORARY}; INSERT INTO t VALUES (103, 1), (102, 1);\
 INSERT INTO my VALUES (103, 1), (103, 2); COMMIT
BEGIN; INSERT INTO t VALUES (104, 1); {TEMPORARY}; INSERT INTO t VALUES (105, 1), (104, 1); ROLLBACK
BEGIN; INSERT INTO t VALUES (106, 1); {TEMPORARY}; SAVEPOINT a; INSERT INTO t VALUES (107, 1); CREATE TABLE x (id INT);\
 ROLLBACK; DROP TABLE x
CREATE TABLE ct (id INT PRIMARY KEY); INSERT INTO ct VALUES (1);\
 CREATE OR REPLACE TABLE ct (id INT PRIMARY KEY) AS SELECT 1 AS id UNION ALL SELECT 1; DROP TABLE IF EXISTS ct
BEGIN; INSERT INTO t SELECT seq, 1 FROM seq_1000_to_9000; {TEMPORARY}; SAVEPOINT a; UPDATE t SET v = v + 1;\
 ROLLBACK TO a; DELETE FROM t WHERE id > 1010; COMMIT
INSERT INTO t VALUES (999, 1)
"""
COMPRESSED = {
    "mysql": ("binlog_transaction_compression = 1",),
    "mariadb": ("log_bin_compress = 1", "log_bin_compress_min_len = 10"),
}
CHUNK_BITS = 10
"""So that the log is many chunks."""


def play(server: Server, database: str) -> None:
    """Each situation in a session of its own. Statements that the server does not have, or that fail, are passed over:
    what remains is a situation, too."""
    server.execute(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
    for situation in (BEFORE.replace("\n", ";"), *SITUATIONS.strip().split("\n")):
        with server.connect(database=database) as connection, connection.cursor() as cursor:
            for statement in filter(None, situation.split(";")):
                with suppress(pymysql.err.MySQLError):
                    cursor.execute(statement.strip())
            number = connection.thread_id()
        while server.query("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = %s", number):
            time.sleep(0.01)


@pytest.mark.flavor("mariadb")
@pytest.mark.heavy
def test_what_was_rolled_back_is_in_no_mirror(server, spark, tmp_path, monkeypatch):
    server.reset()
    play(server, "rb_plain")
    for setting in COMPRESSED[server.flavor]:
        server.execute(f"SET GLOBAL {setting}")
    play(server, "rb_packed")
    server.execute("FLUSH BINARY LOGS")
    bring(tmp_path / "logs", server.log_files()[:-1])
    databases = ("rb_plain", "rb_packed")
    with server.connect() as connection:
        expected = {
            (name, table): sorted(source_rows(connection, name, table)) for name in databases for table in TABLES
        }
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run.all_hops()
    states = {entry.name: (entry.state, entry.code) for entry in run.register if entry.name in expected}
    assert states == dict.fromkeys(expected, (STREAMING, None))
    assert {name: rows for name, rows in run.gold().items() if name in expected} == expected
    markers = run.spark.table(run.lake.names.silver_changes).where("op = 'ROLLBACK'").count()
    assert (markers > 40) == (server.flavor == "mariadb")
    monkeypatch.setattr("mirrorlake.lake.silver.assemble.CHUNK_BITS", CHUNK_BITS)
    other = LakeRun(spark, tmp_path / "logs", tmp_path / "parallel")
    other.ingest()
    other.assemble(100_000)
    assert changes(other) == changes(run)


def changes(run: LakeRun) -> list[tuple]:
    silver = run.spark.table(run.lake.names.silver_changes).orderBy("lsn", "ordinal", "op")
    return [tuple(row) for row in silver.select("lsn", "tx_lsn", "ordinal", "op", "statement", "checksum").collect()]
