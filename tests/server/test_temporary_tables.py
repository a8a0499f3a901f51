"""Statements about temporary tables that the log has as if they were about the ordinary tables of their names."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.jobs.inspect.tables import list_tables
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from tests.support.servers import Server

RENAMED = """
CREATE DATABASE shadows
USE shadows
CREATE TABLE u (id INT PRIMARY KEY)
CREATE TABLE w (id INT PRIMARY KEY)
INSERT INTO u VALUES (1)
CREATE TEMPORARY TABLE u (z INT)
RENAME TABLE u TO renamed
INSERT INTO w VALUES (1)
INSERT INTO u VALUES (2)
RENAME TABLE w TO v
INSERT INTO v VALUES (2)
""".strip().split("\n")

LOGGED = """
CREATE DATABASE shadows
USE shadows
CREATE TABLE steps (id INT PRIMARY KEY)
CREATE TABLE emptied (id INT PRIMARY KEY)
CREATE TABLE renamed (id INT PRIMARY KEY)
CREATE PROCEDURE load_steps() BEGIN CREATE TEMPORARY TABLE stage (id INT); TRUNCATE steps; ALTER TABLE steps ADD c INT; DROP TEMPORARY TABLE stage; END
SET binlog_format = 'STATEMENT'
CREATE TEMPORARY TABLE kept (z INT)
CREATE TEMPORARY TABLE altered (z INT)
CREATE TEMPORARY TABLE emptied (z INT)
CREATE TABLE kept (id INT PRIMARY KEY)
CREATE TABLE altered (id INT PRIMARY KEY)
ALTER TABLE altered ADD y INT
TRUNCATE TABLE emptied
CREATE TEMPORARY TABLE former (z INT)
ALTER TABLE former RENAME TO renamed
TRUNCATE TABLE renamed
CREATE TABLE alike LIKE altered
DROP TABLE kept
CALL load_steps()
DROP TABLE altered
DROP TABLE emptied
DROP TABLE renamed
SET binlog_format = 'ROW'
INSERT INTO kept VALUES (1)
INSERT INTO altered VALUES (1)
INSERT INTO emptied VALUES (1)
INSERT INTO alike VALUES (1, 1)
INSERT INTO steps VALUES (1, 2)
""".strip().split("\n")  # noqa: E501


def states(server: Server, spark: SparkSession, lake_dir: Path, statements: list[str]) -> dict[str, tuple]:
    """Table -> state and code, after a run."""
    server.reset()
    server.play(statements)
    options = Options(source=server.url, lake=str(lake_dir))
    hops.run(options, Watcher(), spark)
    return {table["table"]: (table["state"], table.get("code")) for table in list_tables(open_lake(options, spark))}


def test_the_next_row_under_the_old_name_refuses_both(mariadb, spark, lake_dir):
    """MariaDB logs RENAME of a temporary table as that of the ordinary table of the same name."""
    assert states(mariadb, spark, lake_dir, RENAMED) == {
        "renamed": ("refused", "needs-resync"), "u": ("refused", "needs-first-copy"), "v": ("streaming", None),
    }  # fmt: skip


def test_a_statement_that_may_be_about_a_logged_temporary_table_refuses_the_ordinary_one(server, spark, lake_dir):
    assert states(server, spark, lake_dir, LOGGED) == {
        "kept": ("streaming", None), "steps": ("streaming", None), "altered": ("refused", "ddl-unsupported"),
        "emptied": ("refused", "ddl-unsupported"), "alike": ("refused", "ddl-unsupported"),
        "renamed": ("refused", "ddl-unsupported"),
    }  # fmt: skip
