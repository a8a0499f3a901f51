"""Tables that are made after a snapshot, on servers whose table maps tell no character sets, as is their default."""

from __future__ import annotations

import pytest

from mirrorlake.config import Options
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.snapshot import snapshot
from mirrorlake.jobs.verify import EQUAL, verify
from mirrorlake.lake.gold.control.register import TableRegister

pytestmark = pytest.mark.row_metadata("default")
OLDER = """
CREATE DATABASE old_latin CHARACTER SET latin1
CREATE DATABASE old_utf8 CHARACTER SET utf8mb4
CREATE DATABASE `old quoted; x` CHARACTER SET koi8r
CREATE TABLE old_latin.src (id INT PRIMARY KEY, nm VARCHAR(20), e ENUM('a','é'))
INSERT INTO old_latin.src VALUES (1, 'é', 'é'), (2, 'y', 'a')
""".strip().split("\n")
NEWER = """
CREATE TABLE old_latin.a (id INT PRIMARY KEY, nm VARCHAR(20), e ENUM('a','é'), t TEXT CHARACTER SET koi8r)
INSERT INTO old_latin.a VALUES (1, 'é', 'é', 'Ж')
CREATE TABLE old_latin.b (PRIMARY KEY (id)) AS SELECT id, nm, e FROM old_latin.src
INSERT INTO old_latin.b VALUES (3, 'ü', 'a')
ALTER DATABASE old_latin CHARACTER SET greek
CREATE TABLE old_latin.c (id INT PRIMARY KEY, nm VARCHAR(20) DEFAULT 'β', e SET('α','β'))
INSERT INTO old_latin.c VALUES (1, 'αβ', 'α,β')
CREATE TABLE `old quoted; x`.d (id INT PRIMARY KEY, nm CHAR(5))
INSERT INTO `old quoted; x`.d VALUES (1, 'Жук')
CREATE TABLE old_utf8.e (PRIMARY KEY (id)) AS SELECT id, nm FROM old_latin.src
DROP DATABASE old_utf8
CREATE DATABASE old_utf8 CHARACTER SET cp1251
CREATE TABLE old_utf8.f (id INT PRIMARY KEY, nm VARCHAR(20))
INSERT INTO old_utf8.f VALUES (1, 'я')
SET SESSION collation_server = 'hebrew_general_ci'
CREATE DATABASE newer
CREATE TABLE newer.g (id INT PRIMARY KEY, nm VARCHAR(20))
INSERT INTO newer.g VALUES (1, 'א')
""".strip().split("\n")

INSTALLER = """
CREATE TABLE old_latin.ct AS SELECT id, nm, e FROM old_latin.src
CREATE DATABASE IF NOT EXISTS old_latin
CREATE TABLE IF NOT EXISTS old_latin.src (id INT PRIMARY KEY, nm VARCHAR(20))
CREATE TABLE IF NOT EXISTS old_latin.made (id INT PRIMARY KEY, nm VARCHAR(9) CHARACTER SET koi8r)
CREATE TABLE IF NOT EXISTS old_latin.made (id INT PRIMARY KEY)
CREATE TABLE IF NOT EXISTS old_latin.made_alike LIKE old_latin.made
INSERT INTO old_latin.made VALUES (1, 'Ж')
INSERT INTO old_latin.made_alike VALUES (1, 'Ж')
""".strip().split("\n")


@pytest.mark.long
def test_tables_that_are_newer_than_a_snapshot_are_followed(server, spark, lake_dir):
    server.reset()
    server.play(OLDER)
    options = Options(source=server.url, lake=str(lake_dir))
    snapshot(options, lambda table: None, spark=spark)
    server.play(NEWER)
    found = verify(options, Watcher(), spark=spark, moves=True, wait_s=60, n_keys=10)[1]
    assert [(f"{table.database}.{table.table}", table.state, table.rows) for table in found] == [
        ("newer.g", EQUAL, 1), ("old quoted; x.d", EQUAL, 1), ("old_latin.a", EQUAL, 1),
        ("old_latin.b", EQUAL, 3), ("old_latin.c", EQUAL, 1), ("old_latin.src", EQUAL, 2), ("old_utf8.f", EQUAL, 1),
    ]  # fmt: skip
    server.play(["CREATE DATABASE later CHARACTER SET latin1", "DROP TABLE old_latin.src"])
    snapshot(options, lambda table: None, spark=spark)  # while silver has gone past what it notes
    server.play(["CREATE TABLE later.h (id INT PRIMARY KEY, nm CHAR(9))", "INSERT INTO later.h VALUES (1, 'é')"])
    found = verify(options, Watcher(), spark=spark, moves=True, wait_s=60, n_keys=10)[1]
    assert {table.state for table in found} == {EQUAL}
    assert len(found) == 7


@pytest.mark.heavy
def test_what_is_known_of_tables_in_a_database_that_is_older_than_the_log(server, spark, lake_dir):
    """Where character sets are not known, a table that is made from a SELECT is refused, and not empty. MariaDB logs a
    CREATE TABLE IF NOT EXISTS only where it makes the table; MySQL says whether it did."""
    server.reset()
    server.play(OLDER)
    server.execute("FLUSH BINARY LOGS")
    start = f"{server.log_files()[-1].name}:4"
    server.play(INSTALLER)
    options = Options(source=server.url, lake=str(lake_dir), start=start)
    hops.run(options, Watcher(), spark)
    lake = open_lake(options, spark)
    found = {entry.name: (entry.state, entry.code) for entry in TableRegister.read(lake)}
    older = {("old_latin", "src"): ("refused", "ddl-ambiguous")} if server.flavor == "mysql" else {}
    assert found == older | {
        ("old_latin", "ct"): ("refused", "row-metadata"), ("old_latin", "made"): ("streaming", None),
        ("old_latin", "made_alike"): ("streaming", None),
    }  # fmt: skip


SETTINGS = """
CREATE DATABASE hidden CHARACTER SET latin1
SET GLOBAL mysql56_temporal_format = OFF
CREATE TABLE hidden.oldt (id INT PRIMARY KEY, d DATETIME(6), e DATETIME, t TIME(3), u TIME, s TIMESTAMP(2) NULL,\
 q TIMESTAMP NULL, z TIME(6), y DATETIME(1), r TIMESTAMP(5) NULL)
CREATE TABLE hidden.oldk (d DATETIME(3), t TIME(6), s TIMESTAMP(1), PRIMARY KEY (d, t, s))
SET GLOBAL mysql56_temporal_format = ON
SET time_zone = '+00:00'
SET sql_mode = ''
INSERT INTO hidden.oldt VALUES (1, '2016-12-21 17:57:16.123456', '2016-12-21 17:57:16', '-00:00:01.250', '-838:59:59',\
 '2016-12-21 17:57:16.12', '2016-12-21 17:57:16', '-838:59:58.999999', '9999-12-31 23:59:59.9', \
 '2038-01-19 03:14:07.9'), (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),\
 (3, '1000-01-01', '1000-01-01', '838:59:59', '00:00:00',\
 '1970-01-01 00:00:01', '2038-01-19 03:14:07', '00:00:00.000001', '2000-02-29 00:00:00', 0)
UPDATE hidden.oldt SET d = '2016-12-21 17:57:17.5' WHERE id = 1
INSERT INTO hidden.oldk VALUES ('2020-02-29 12:34:56.789', '-12:34:56.789012', '2020-02-29 12:34:56.7')
CREATE TABLE hidden.newt LIKE hidden.oldt
INSERT INTO hidden.newt SELECT * FROM hidden.oldt
ALTER TABLE hidden.oldt ADD w INT DEFAULT 3
INSERT INTO hidden.oldt (id, d, t) VALUES (4, '2020-01-01 00:00:00.5', '-1:2:3.4')
SET SESSION old_mode = ''
CREATE TABLE hidden.u8 (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET utf8, w TEXT CHARACTER SET utf8,\
 c CHAR(3) CHARACTER SET utf8)
INSERT INTO hidden.u8 VALUES (1, '😀', '日😀', '😀é'), (2, 'é', '日', '')
CREATE TABLE hidden.k (id INT PRIMARY KEY, v TEXT)
INSERT INTO hidden.k VALUES (1, 'é')
ALTER TABLE hidden.k ADD x LONGTEXT CHARACTER SET utf8, MODIFY v TEXT CHARACTER SET utf8
INSERT INTO hidden.k VALUES (2, '😀', '😀😀')
""".strip().split("\n")


@pytest.mark.heavy
def test_settings_of_mariadb_that_no_log_has(mariadb, spark, lake_dir):
    mariadb.reset()
    mariadb.play(SETTINGS)
    options = Options(source=mariadb.url, lake=str(lake_dir))
    hops.run(options, Watcher(), spark)
    found = verify(options, Watcher(), spark=spark, moves=True, wait_s=60, n_keys=10)[1]
    assert [(table.table, table.state, table.rows, table.difference) for table in found] == [
        ("k", EQUAL, 2, ""), ("newt", EQUAL, 3, ""), ("oldk", EQUAL, 1, ""),
        ("oldt", EQUAL, 4, ""), ("u8", EQUAL, 2, ""),
    ]  # fmt: skip
