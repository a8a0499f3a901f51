"""Engines that no statement names, and tables whose rows change through another one."""

from __future__ import annotations

import shutil

import pytest

from mirrorlake.config import Options
from mirrorlake.jobs.inspect.sql import run_sql
from mirrorlake.jobs.inspect.tables import list_tables
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.gold.control.register import REFUSED
from tests.support.lake_runs import LakeRun

CHILD = "(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parents (id) ON DELETE CASCADE)"
STATEMENTS = (
    "CREATE DATABASE engines",
    "USE engines",
    "SET default_storage_engine = InnoDB",
    "CREATE TABLE parents (id INT PRIMARY KEY)",
    f"CREATE TABLE children {CHILD}",
    "SET sql_mode = ''",
    f"CREATE TABLE replaced {CHILD} ENGINE=ROCKSDB",
    "SET default_storage_engine = MyISAM",
    f"CREATE TABLE others {CHILD}",
    "CREATE TABLE one (id INT, v INT, KEY (id))",
    "CREATE TABLE two LIKE one",
    "CREATE TABLE merged (id INT, v INT, KEY (id)) ENGINE=MERGE UNION=(one, two) INSERT_METHOD=LAST",
    "CREATE TABLE alone (id INT PRIMARY KEY)",
    "INSERT INTO parents VALUES (1), (2)",
    "INSERT INTO children VALUES (1, 1), (2, 2)",
    "INSERT INTO others VALUES (1, 1), (2, 2)",
    "INSERT INTO replaced VALUES (1, 1), (2, 2)",
    "INSERT INTO two VALUES (1, 1)",
    "INSERT INTO merged VALUES (2, 2)",
    "DELETE FROM merged WHERE id = 1",
    "INSERT INTO alone VALUES (1)",
    "DELETE FROM parents WHERE id = 1",
)


BY_NAME = (
    "CREATE TABLE own (id INT) ENGINE=InnoDB UNION=(parents)",
    "DROP TABLE one",
    "CREATE TABLE one (id INT, v INT, KEY (id)) ENGINE=MyISAM",
    "INSERT INTO merged VALUES (3, 3)",
)
"""A MERGE table finds tables of MyISAM by their names, also one that is newer."""
IN_A_HOLE = ("SET default_storage_engine = BLACKHOLE", "CREATE TABLE hole (id INT)", "INSERT INTO hole VALUES (1)")
"""MariaDB has this engine in a plugin."""


@pytest.mark.flavor("mysql")
@pytest.mark.heavy
def test_a_mirror_is_what_the_engine_of_its_table_keeps_or_is_refused(server, spark, lake_dir):
    server.reset()
    server.play((*STATEMENTS, *BY_NAME, *(IN_A_HOLE if server.flavor == "mysql" else ())))
    options = Options(source=server.url, lake=str(lake_dir))
    hops.run(options, Watcher(), spark)
    lake = open_lake(options, spark)
    found = {table["table"]: table.get("reason", table["state"]) for table in list_tables(lake)}
    hole = {"hole": "ENGINE=blackhole"} if server.flavor == "mysql" else {}
    merged = "its rows are changed through a table of engine MERGE, too"
    assert found == {
        "alone": "streaming", "children": "streaming", "others": "streaming", "parents": "streaming",
        "replaced": "streaming", "merged": "UNION", "own": "UNION", "one": merged, "two": merged, **hole,
    }  # fmt: skip
    for table in ("alone", "children", "others", "parents", "replaced"):
        columns = "id" if table in ("alone", "parents") else "id, p"
        rows = [tuple(row.values()) for row in run_sql(lake, f"SELECT {columns} FROM {table} ORDER BY id").to_pylist()]
        assert rows == server.query(f"SELECT {columns} FROM engines.{table} ORDER BY id"), table
    assert server.query("SELECT COUNT(*) FROM engines.others") == [(2,)]


@pytest.mark.heavy
def test_from_files_an_engine_is_doubted_where_the_log_contradicts(server, spark, tmp_path):
    """The statements of the other test with their log alone: `others` is in MyISAM, and no statement says so."""
    server.reset()
    server.play(STATEMENTS)
    server.execute("FLUSH BINARY LOGS")
    (tmp_path / "log").mkdir()
    shutil.copy(server.log_files()[0], tmp_path / "log")
    run = LakeRun(spark, tmp_path / "log", tmp_path / "lake")
    if server.flavor == "mysql":  # gold has silver's rows in memory, or reads them from the lake
        hops.run(run.options(), Watcher(), spark)
    else:
        run.ingest()
        run.assemble()
        run.apply()
    doubt = "its definition names no engine, and its changes are logged as those of an engine without transactions"
    refused = {entry.table: (entry.code, entry.reason) for entry in run.register if entry.state == REFUSED}
    assert refused.keys() == {"merged", "one", "two", "others"}
    assert refused["others"] == ("foreign-key-cascade", f"{doubt}, which ignores foreign keys")
    silver = spark.table(run.lake.names.silver_changes)
    ends = silver.where("op = 'COMMIT'").select("tx_lsn", "statement")
    found = silver.where("op IN ('INSERT', 'DELETE')").select("tx_lsn", "table").distinct().join(ends, "tx_lsn")
    assert {row.table for row in found.where("statement = 'COMMIT'").collect()} == {"others", "alone"}
    assert {row.table for row in found.where("statement IS NULL").collect()} == {"parents", "children", "replaced"}
