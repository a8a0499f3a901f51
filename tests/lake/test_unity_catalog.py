"""A lake whose tables have names in a catalog: all hops, views and maintenance, where the catalog refuses statements.

The catalog is Spark's own, behind a layer that refuses what the open-source Unity Catalog refuses.
"""

from __future__ import annotations

import pytest

from mirrorlake.jobs.maintenance import maintain
from tests.support.binlog_spec import Log
from tests.support.binlog_writer import write_logs
from tests.support.canonical import mirror_rows
from tests.support.ddl_log import PARTITIONS, ddl, insert, table
from tests.support.lake_runs import LakeRun
from tests.support.refusing_catalog import refuse_as_unity_catalog

pytestmark = pytest.mark.xdist_group("kept views")  # they have views in the same catalog

SCHEMAS = ("lake_1", "lake_2", "two_shop")
P, X = table("p", "id", "v"), table("x", "id", "v")
FIRST = (
    ddl("create database shop"),
    ddl(f"create table p (id int primary key, v int) {PARTITIONS}"),
    ddl("create table x (id int primary key, v int)"),
    insert(P, (4, 4), (14, 14)),
    insert(X, (5, 5)),
    ddl("alter table p exchange partition low with table x"),
    ddl("alter table p drop partition high"),
    insert(X, (6, 6)),
)
FIRST_ROWS = {("shop", "p"): ['{"id": "5", "v": "5"}'], ("shop", "x"): [f'{{"id": "{n}", "v": "{n}"}}' for n in (4, 6)]}
R, RENAMED = table("r", "id", "v"), table("r", "id", "w")
SECOND = (
    ddl("create database shop"),
    ddl("create table r (id int primary key, v int)"),
    ddl("create table s (id int primary key)"),
    insert(R, (1, 10)),
    ddl("alter table r change v w int"),
    insert(RENAMED, (2, 20)),
    ddl("alter table r drop w, add `odd: name` int default 5, change id n int not null"),
    ddl("drop table s"),
    ddl("create table s (n int primary key)"),
)
SECOND_ROWS = {("shop", "r"): [f'{{"n": "{n}", "odd: name": "5"}}' for n in (1, 2)], ("shop", "s"): []}


@pytest.fixture
def catalog(spark, tmp_path):
    for schema in SCHEMAS:
        spark.sql(f"CREATE SCHEMA {schema} LOCATION '{tmp_path / 'warehouse' / schema}'")
    yield
    for schema in SCHEMAS:
        spark.sql(f"DROP SCHEMA {schema} CASCADE")


def lake_in(spark, tmp_path, schema: str, log: Log) -> LakeRun:
    folder = tmp_path / schema
    write_logs(folder / "logs", log)
    return LakeRun(spark, folder / "logs", folder, lake=f"uc:spark_catalog.{schema}", staging=str(folder / "staged"))


def test_a_lake_in_a_catalog_that_refuses_statements_equals_the_source(spark, tmp_path, monkeypatch, catalog):
    refused = refuse_as_unity_catalog(monkeypatch, spark)
    first = lake_in(spark, tmp_path, "lake_1", Log("mariadb", [*FIRST]))
    second = lake_in(spark, tmp_path, "lake_2", Log("mysql", [*SECOND]))
    for run, views in ((first, "none"), (second, "two_{database}")):
        run.ingest()
        run.assemble()
        run.apply(views=views)
    assert (first.gold(), second.gold()) == (FIRST_ROWS, SECOND_ROWS)
    assert sorted(mirror_rows(spark.table("two_shop.r").toArrow())) == SECOND_ROWS["shop", "r"]
    outcomes = maintain(second.options(), spark)
    assert set(outcomes["outcome"]) <= {"platform", "unchanged"}
    assert "platform" in set(outcomes.loc[outcomes["table"] == "bronze_events", "outcome"])
    statements = {"OPTIMIZE `spark_catalog`": "OPTIMIZE"}
    assert {statements.get(words.split(".")[0], words) for words in refused} == {"CREATE OR", "ALTER TABLE", "OPTIMIZE"}
