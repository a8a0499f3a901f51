"""MariaDB logs RENAME of a temporary table as that of the ordinary table of the same name."""

from __future__ import annotations

from mirrorlake.config import Options
from mirrorlake.jobs.inspect.tables import list_tables
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher

STATEMENTS = """
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


def test_the_next_row_under_the_old_name_refuses_both(mariadb, spark, lake_dir):
    mariadb.reset()
    mariadb.play(STATEMENTS)
    options = Options(source=mariadb.url, lake=str(lake_dir))
    hops.run(options, Watcher(), spark)
    found = {table["table"]: (table["state"], table.get("code")) for table in list_tables(open_lake(options, spark))}
    assert found == {
        "renamed": ("refused", "needs-resync"), "u": ("refused", "needs-first-copy"), "v": ("streaming", None),
    }  # fmt: skip
