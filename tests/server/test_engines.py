"""Engines that no statement names, and tables whose rows change through another one."""

from __future__ import annotations

from mirrorlake.config import Options
from mirrorlake.jobs import hops
from mirrorlake.jobs.open import open_lake
from mirrorlake.jobs.sql import run_sql
from mirrorlake.jobs.tables import list_tables
from mirrorlake.jobs.watcher import Watcher

CHILD = "(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parents (id) ON DELETE CASCADE)"
STATEMENTS = (
    "CREATE DATABASE engines",
    "USE engines",
    "SET default_storage_engine = InnoDB",
    "CREATE TABLE parents (id INT PRIMARY KEY)",
    f"CREATE TABLE children {CHILD}",
    "SET default_storage_engine = MyISAM",
    f"CREATE TABLE others {CHILD}",
    "CREATE TABLE one (id INT, v INT, KEY (id))",
    "CREATE TABLE two LIKE one",
    "CREATE TABLE merged (id INT, v INT, KEY (id)) ENGINE=MERGE UNION=(one, two) INSERT_METHOD=LAST",
    "CREATE TABLE alone (id INT PRIMARY KEY)",
    "INSERT INTO parents VALUES (1), (2)",
    "INSERT INTO children VALUES (1, 1), (2, 2)",
    "INSERT INTO others VALUES (1, 1), (2, 2)",
    "INSERT INTO two VALUES (1, 1)",
    "INSERT INTO merged VALUES (2, 2)",
    "DELETE FROM merged WHERE id = 1",
    "INSERT INTO alone VALUES (1)",
    "DELETE FROM parents WHERE id = 1",
)


def test_a_mirror_is_what_the_engine_of_its_table_keeps_or_is_refused(server, spark, lake_dir):
    server.reset()
    with server.connect() as connection, connection.cursor() as cursor:
        for sql in STATEMENTS:
            cursor.execute(sql)
    options = Options(source=server.url, lake=str(lake_dir))
    hops.run(options, Watcher(), spark)
    lake = open_lake(options, spark)
    found = {table["table"]: table.get("reason", table["state"]) for table in list_tables(lake)}
    merged = "its rows are changed through a table of engine MERGE, too"
    assert found == {
        "alone": "streaming", "children": "streaming", "others": "streaming", "parents": "streaming",
        "merged": "UNION", "one": merged, "two": merged,
    }  # fmt: skip
    for table in ("alone", "children", "others", "parents"):
        columns = "id" if table in ("alone", "parents") else "id, p"
        rows = [tuple(row.values()) for row in run_sql(lake, f"SELECT {columns} FROM {table} ORDER BY id").to_pylist()]
        assert rows == server.query(f"SELECT {columns} FROM engines.{table} ORDER BY id"), table
    assert server.query("SELECT COUNT(*) FROM engines.others") == [(2,)]
