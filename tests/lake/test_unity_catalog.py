"""A lake whose tables have names in a catalog: all hops, views and maintenance, where the catalog refuses statements.

One of the two lakes has its mirrors in a schema of their own, which only its first command names.

The catalog is Spark's own, behind a layer that refuses what the open-source Unity Catalog refuses.
"""

from __future__ import annotations

import pytest

from mirrorlake.errors import UsageError
from mirrorlake.jobs.inspect.sql import run_sql
from mirrorlake.jobs.maintenance import maintain
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.lake.bronze import table as bronze
from mirrorlake.lake.delta.names import SYSTEM_TABLES
from tests.support.binlog_spec import Log
from tests.support.binlog_writer import write_logs
from tests.support.canonical import mirror_rows
from tests.support.ddl_log import PARTITIONS, ddl, insert, table
from tests.support.lake_runs import LakeRun
from tests.support.refusing_catalog import refuse_as_unity_catalog

pytestmark = pytest.mark.xdist_group("kept views")  # they have views in the same catalog

SCHEMAS = ("lake_1", "lake_2", "mirrors_2", "two_shop")
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
    ddl("alter table r modify `odd: name` varchar(9)"),
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


def lake_in(spark, tmp_path, schema: str, log: Log, **given) -> LakeRun:
    folder = tmp_path / schema
    write_logs(folder / "logs", log)
    given |= {"lake": f"uc:spark_catalog.{schema}", "staging": str(folder / "staged")}
    return LakeRun(spark, folder / "logs", folder, **given)


def tables_in(spark, schema: str) -> set[str]:
    return {row.tableName for row in spark.sql(f"SHOW TABLES IN {schema}").collect() if not row.isTemporary}


def mirror_ids(run: LakeRun) -> set[str]:
    """Of all mirrors, also of tables that are dropped."""
    rows = run.spark.table(run.lake.names.control_tables).where("mirror_id IS NOT NULL").collect()
    return {row.mirror_id for row in rows}


def test_a_lake_in_a_catalog_that_refuses_statements_equals_the_source(spark, tmp_path, monkeypatch, catalog):
    refused = refuse_as_unity_catalog(monkeypatch, spark)
    first = lake_in(spark, tmp_path, "lake_1", Log("mariadb", [*FIRST]))
    begun = lake_in(spark, tmp_path, "lake_2", Log("mysql", [*SECOND]), mirrors_schema="mirrors_2")
    begun.ingest()
    second = lake_in(spark, tmp_path, "lake_2", Log("mysql", [*SECOND]))
    for run, views in ((first, "none"), (second, "two_{database}")):
        run.ingest()
        run.assemble()
        run.apply(views=views)
    assert (first.gold(), second.gold()) == (FIRST_ROWS, SECOND_ROWS)
    assert sorted(mirror_rows(spark.table("two_shop.r").toArrow())) == SECOND_ROWS["shop", "r"]
    assert tables_in(spark, "lake_1") == {*SYSTEM_TABLES, *mirror_ids(first)}
    assert (tables_in(spark, "lake_2"), tables_in(spark, "mirrors_2")) == ({*SYSTEM_TABLES}, mirror_ids(second))
    read = run_sql(second.lake, "SELECT n, `odd: name` FROM shop__r ORDER BY n")
    assert read.to_pylist() == [{"n": n, "odd: name": "5"} for n in (1, 2)]
    check_other_schemas(spark, tmp_path, second)
    outcomes = maintain(second.options(), spark)
    assert set(outcomes["outcome"]) <= {"platform", "unchanged"}
    assert set(outcomes["table"]) > mirror_ids(second)
    assert "platform" in set(outcomes.loc[outcomes["table"] == "bronze_events", "outcome"])
    statements = {"OPTIMIZE `spark_catalog`": "OPTIMIZE"}
    assert {statements.get(words.split(".")[0], words) for words in refused} == {"CREATE OR", "ALTER TABLE", "OPTIMIZE"}


def test_of_two_first_starts_with_other_schemas_for_the_mirrors_the_second_one_is_told(
    spark, tmp_path, monkeypatch, catalog
):
    """The second one has looked for the lake before the first one began it."""
    create = bronze.create

    def late(*given):
        monkeypatch.undo()
        assert lake_in(spark, tmp_path, "lake_1", Log("mysql", [*SECOND])).ingest()
        create(*given)

    monkeypatch.setattr(bronze, "create", late)
    with pytest.raises(
        UsageError, match="this lake has its mirrors in spark_catalog.lake_1: leave out --mirrors-schema"
    ):
        lake_in(spark, tmp_path, "lake_1", Log("mysql", [*SECOND]), mirrors_schema="mirrors_2")


def check_other_schemas(spark, tmp_path, made: LakeRun) -> None:
    """What is refused: mirrors elsewhere than the lake has them, among those of another lake, or in no schema."""
    same = "this lake has its mirrors in spark_catalog.mirrors_2: leave out --mirrors-schema, or begin a new lake"
    for schema in ("lake_2", "lake_1"):
        with pytest.raises(UsageError, match=same):
            open_lake(made.options(mirrors_schema=schema), spark)
    assert open_lake(made.options(mirrors_schema="MIRRORS_2"), spark).names.mirrors == "spark_catalog.mirrors_2"
    for schema, reason in (("mirrors_2", "is not empty"), ("mirrors_3", "there is no schema spark_catalog.mirrors_3")):
        with pytest.raises(UsageError, match=reason):
            lake_in(spark, tmp_path, "lake_3", Log("mysql", [*SECOND]), mirrors_schema=schema)
