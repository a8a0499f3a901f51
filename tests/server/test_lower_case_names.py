"""Servers with lower_case_table_names=1: DDL is logged as somebody typed it, rows under names in lower case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrorlake.config import Options
from mirrorlake.errors import RefusedError
from mirrorlake.jobs import snapshot
from mirrorlake.jobs.inspect.tables import list_tables
from mirrorlake.jobs.inspect.trace import trace_row
from mirrorlake.jobs.preflight import preflight
from mirrorlake.jobs.replay import replay
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.verify import EQUAL, verify
from tests.support.servers import LEAST_METADATA, Server, running_server

OLDER = (
    "CREATE DATABASE Old",
    "CREATE TABLE Old.Stock (id INT PRIMARY KEY, a INT, b INT)",
    "INSERT INTO Old.Stock VALUES (1, 10, 20), (2, 11, 21)",
)
LOGGED = (
    "CREATE DATABASE Shop CHARACTER SET latin1",
    "USE Shop",
    "CREATE TABLE Orders (Id INT PRIMARY KEY, V VARCHAR(9), e ENUM('a', 'b'))",
    "INSERT INTO ORDERS VALUES (1, 'é', 'a'), (2, 'y', 'b')",
    "ALTER TABLE oRDERS ADD COLUMN W INT DEFAULT 5",
    "INSERT INTO orders VALUES (3, 'z', 'a', 6)",
    "CREATE TABLE sHOP.Copied LIKE Orders",
    "INSERT INTO copied SELECT * FROM Orders",
    "RENAME TABLE COPIED TO `Other One`, Orders TO Customers",
    "INSERT INTO CUSTOMERS VALUES (4, 'q', 'b', 7)",
    "CREATE TABLE Parents (id INT PRIMARY KEY)",
    "CREATE TABLE Children (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES PARENTS (id) ON DELETE CASCADE)",
    "INSERT INTO parents VALUES (1), (2)",
    "INSERT INTO children VALUES (1, 1), (2, 2)",
    "DELETE FROM PARENTS WHERE id = 1",
    "TRUNCATE TABLE `OTHER one`",
    "INSERT INTO `other one` VALUES (9, 'n', 'a', 1)",
    "CREATE TABLE part (id INT PRIMARY KEY) PARTITION BY RANGE (id) "
    "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
    "INSERT INTO part VALUES (1), (20)",
    "ALTER TABLE Part DROP PARTITION p0",
    "CREATE TABLE gone (id INT PRIMARY KEY)",
    "INSERT INTO gone VALUES (1)",
    "DROP TABLE Gone",
    "CREATE TABLE Gone (id INT PRIMARY KEY, w INT)",
    "INSERT INTO gone VALUES (2, 2)",
    "DROP TABLE IF EXISTS NoSuch",
    "ALTER TABLE OLD.stock CHANGE a b INT, CHANGE b a INT",
    "INSERT INTO old.stock (id, b, a) VALUES (3, 12, 22)",
    "DELETE FROM old.stock WHERE id = 1",
    "CREATE TABLE École (id INT PRIMARY KEY)",
    "INSERT INTO école VALUES (1)",
    "TRUNCATE TABLE ÉCOLE",
)
ROWS = {"children": 1, "customers": 4, "gone": 1, "other one": 1, "parents": 1, "part": 1, "stock": 2, "école": 0}


@pytest.fixture(scope="module")
def lower(request, server_of) -> Iterator[Server]:
    flavor = server_of(request.param).flavor  # it fails where the server cannot be had
    with running_server(
        request.param, "--lower-case-table-names=1", f"--binlog-row-metadata={LEAST_METADATA[flavor]}"
    ) as server:
        yield server


@pytest.mark.xdist_group("lower_case_names")
@pytest.mark.heavy
def test_every_mirror_equals_its_source_whatever_the_letters_of_statements(lower, spark, lake_dir):
    lower.reset()
    lower.play(OLDER)
    options = Options(source=lower.url, lake=str(lake_dir), tables="SHOP.*,oLD.*")
    copies: list[snapshot.TableSnapshot] = []
    snapshot.snapshot(options.model_copy(update={"tables": ("oLD.*",)}), copies.append, spark=spark)
    assert [(each.database, each.table, each.rows, each.reason) for each in copies] == [("old", "stock", 2, None)]
    lower.play(LOGGED)
    found = verify(options, Watcher(), spark=spark, moves=True, wait_s=60, n_keys=10)[1]
    assert {each.table: (each.state, each.rows) for each in found} == {name: (EQUAL, n) for name, n in ROWS.items()}
    assert trace_row(open_lake(options, spark), "Shop.Customers", ["4"]).row["W"] == 7
    (check,) = (check for check in preflight(options).checks if check.name == "lower_case_table_names")
    assert (check.ok, check.found) == (True, "1")


@pytest.mark.long
@pytest.mark.xdist_group("lower_case_names")
def test_of_files_the_option_says_it_and_without_it_no_mirror_is_wrong(lower, spark, lake_dir, tmp_path):
    lower.reset()
    lower.play(OLDER + LOGGED)
    files, lake = f"files:{lower.datadir}", lake_dir / "told"
    hops.run(Options(source=files, lake=str(lake), lower_case_table_names=1), Watcher(), spark)
    assert states(lake, spark) == dict.fromkeys(ROWS, "streaming")
    for told in (None, 1, 2):  # 1 and 2 give the same names, and the lake knows it without an option
        hops.run(Options(source=files, lake=str(lake), lower_case_table_names=told), Watcher(), spark)
    with pytest.raises(RefusedError) as caught:
        hops.run(Options(source=files, lake=str(lake), lower_case_table_names=0), Watcher(), spark)
    assert str(caught.value) == "lake-names: lower_case_table_names is 0, and was 1 when the lake began"

    lake = lake_dir / "not_told"
    hops.run(Options(source=files, lake=str(lake)), Watcher(), spark)
    found = states(lake, spark)
    others = {name: code for name, code in found.items() if code != "name-case"}
    assert others == {"Copied": "ddl-unsupported", "other one": "needs-first-copy"}  # its model is refused; unheard of
    into = lake_dir / "replayed"
    replay(Options(lake=str(lake), lower_case_table_names=1), str(into), Watcher(), spark)
    assert states(into, spark) == dict.fromkeys(ROWS, "streaming")


def states(lake: Path, spark) -> dict[str, str]:
    """Of each table that it is mirrored, or the code of the refusal."""
    found = list_tables(open_lake(Options(lake=str(lake)), spark))
    return {table["table"]: table.get("code", table["state"]) for table in found}
