"""A lake whose tables have names in a catalog: all hops, views and maintenance, where the catalog refuses statements.

One of the two lakes has external tables, and its mirrors in a schema of their own; only its first command says so.

The catalog is Spark's own, behind a layer that refuses what the open-source Unity Catalog refuses.
"""

from __future__ import annotations

import pytest

from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.errors import UsageError
from mirrorlake.jobs.inspect.sql import run_sql
from mirrorlake.jobs.maintenance import maintain
from mirrorlake.jobs.old_snapshots import removable_snapshots
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.lake.bronze import table as bronze
from mirrorlake.lake.bronze.snapshots import write_snapshot
from mirrorlake.lake.delta import creation
from mirrorlake.lake.delta.maintenance import (
    COMPACTED,
    LEFT,
    LINKED,
    UNCHANGED,
    compact,
    remove_mirror,
    remove_snapshot,
)
from mirrorlake.lake.delta.names import SYSTEM_TABLES, table_exists
from mirrorlake.lake.silver.overrides import give
from tests.support.binlog_spec import Log
from tests.support.binlog_writer import write_logs
from tests.support.canonical import mirror_rows
from tests.support.crash import SimulatedCrash, crash_at
from tests.support.ddl_log import PARTITIONS, ddl, insert, table
from tests.support.lake_runs import LakeRun
from tests.support.refusing_catalog import refuse_as_unity_catalog

pytestmark = pytest.mark.xdist_group("kept views")  # they have views in the same catalog

SCHEMAS = ("lake_1", "lake_3", "external_2", "external_mirrors", "two_shop")
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
OF_OTHERS = {
    "u": "VIEW {} AS SELECT 5 AS id", "v": "TABLE {} USING parquet AS SELECT 5 AS id",
    "w": "TABLE {} USING delta AS SELECT 5 AS id",
    "x": "TABLE {} (id INT, _lsn BIGINT) USING delta TBLPROPERTIES ('mirrorlake.lake' = 'spark_catalog.lake_1')",
}  # fmt: skip
"""What has the name of a table's mirror before the mirror is made."""
LIKE_SNAPSHOTS = {
    "bronze_copy_x": OF_OTHERS["w"], "bronze_copy_y": OF_OTHERS["u"], "bronze_copy_x__1_0123abcd": OF_OTHERS["u"],
}  # fmt: skip
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
    *(ddl(f"create table {name} (id int primary key)") for name in OF_OTHERS),
    *(insert(table(name, "id"), (1,)) for name in OF_OTHERS),
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


def take_names(run: LakeRun) -> set[str]:
    """Others make tables and views with names like those of snapshots, and with names that the lake would give its next
    mirrors; return the latter."""
    lsns = {row.table: row.lsn for row in run.spark.table(run.lake.names.silver_table_schemas).collect()}
    mirrors = {f"shop__{name}__{lsns[name]:x}": kind for name, kind in OF_OTHERS.items()}
    names = {run.lake.names.mirror(mirror): kind for mirror, kind in mirrors.items()}
    for name, kind in (names | {f"external_2.{name}": kind for name, kind in LIKE_SNAPSHOTS.items()}).items():
        run.spark.sql(f"CREATE {kind.format(name)}")
    return set(mirrors)


@pytest.mark.databricks
def test_a_lake_in_a_catalog_that_refuses_statements_equals_the_source(spark, tmp_path, monkeypatch, catalog):
    refused = refuse_as_unity_catalog(monkeypatch, spark)
    monkeypatch.setattr(creation, "UNBORN_AFTER_S", 0.2)
    first = lake_in(spark, tmp_path, "lake_1", Log("mariadb", [*FIRST]))
    second = begun_at_second_try(spark, tmp_path, monkeypatch)
    for run, views in ((first, "none"), (second, "two_{database}")):
        run.ingest()
        run.assemble()
        killed_before_the_catalog_knows(spark, monkeypatch, run)
        taken = take_names(run) if run is second else set()
        run.apply(views=views)
    assert (first.gold(), second.gold()) == (FIRST_ROWS, SECOND_ROWS)
    assert sorted(mirror_rows(spark.table("two_shop.r").toArrow())) == SECOND_ROWS["shop", "r"]
    assert tables_in(spark, "lake_1") == {*SYSTEM_TABLES, *mirror_ids(first)}
    codes = {entry.table: entry.code for entry in second.register if entry.is_refused}
    assert codes == dict.fromkeys(OF_OTHERS, "mirror-changed")
    ours = {"external_2": {*SYSTEM_TABLES}, "external_mirrors": mirror_ids(second) - taken}
    for schema, others in (("external_2", {*LIKE_SNAPSHOTS}), ("external_mirrors", taken)):
        assert tables_in(spark, schema) == ours[schema] | others
        assert {path.name for path in (tmp_path / "tables" / schema).iterdir()} == ours[schema]
        assert {path.name for path in (tmp_path / "warehouse" / schema).iterdir()} <= others
    read = run_sql(second.lake, "SELECT n, `odd: name` FROM shop__r ORDER BY n")
    assert read.to_pylist() == [{"n": n, "odd: name": "5"} for n in (1, 2)]
    check_other_places(spark, tmp_path, second)
    check_maintenance(spark, tmp_path, monkeypatch, second)
    outcomes = maintain(first.options(), spark)
    assert set(outcomes["outcome"]) <= {"platform", "unchanged"}
    assert set(outcomes["table"]) > mirror_ids(first)
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
        lake_in(spark, tmp_path, "lake_1", Log("mysql", [*SECOND]), mirrors_schema="external_mirrors")


def begun_at_second_try(spark, tmp_path, monkeypatch) -> LakeRun:
    """The lake with external tables, whose first process was killed after the first CREATE TABLE."""
    places = {"mirrors_schema": "external_mirrors", "tables_location": f"file://{tmp_path}/tables/"}
    with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):
        crash_at(patch, "mirrorlake.jobs.run.open.create_tables", "before")
        lake_in(spark, tmp_path, "external_2", Log("mysql", [*SECOND]), **places)
    spark.sql("DROP TABLE external_2.bronze_events")
    with pytest.raises(UsageError, match="bronze_events is not empty: name another location"):  # with other options
        lake_in(spark, tmp_path, "external_2", Log("mysql", [*SECOND]), tables_location=places["tables_location"])
    lake_in(spark, tmp_path, "external_2", Log("mysql", [*SECOND]), **places)
    return lake_in(spark, tmp_path, "external_2", Log("mysql", [*SECOND]))


def killed_before_the_catalog_knows(spark, monkeypatch, run: LakeRun) -> None:
    """Delta has made the first mirrors of external tables, which the catalog does not have."""
    if run.lake.names.tables_location is None:
        return
    with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):
        patch.setattr("mirrorlake.lake.gold.ddl.epoch.MAX_THREADS", 1)
        crash_at(patch, "mirrorlake.lake.delta.creation.require_born", "before")
        run.apply()
    for mirror in tables_in(spark, "external_mirrors"):
        spark.sql(f"DROP TABLE external_mirrors.{mirror}")


def check_other_places(spark, tmp_path, made: LakeRun) -> None:
    """What is refused: mirrors elsewhere than the lake has them, among those of another lake, or in no schema; tables
    elsewhere, in another lake, or in a folder that has files."""
    kept = "has its mirrors in spark_catalog.external_mirrors: leave out --mirrors-schema, or begin a new lake"
    for schema in ("external_2", "lake_1"):
        with pytest.raises(UsageError, match=f"this lake {kept}"):
            open_lake(made.options(mirrors_schema=schema), spark)
    assert open_lake(made.options(mirrors_schema="EXTERNAL_MIRRORS"), spark).names.mirrors == made.lake.names.mirrors
    with pytest.raises(UsageError, match="this lake has its tables below file://.*/tables: leave out"):
        open_lake(made.options(tables_location=f"file://{tmp_path}/elsewhere"), spark)
    with pytest.raises(UsageError, match="this lake has its tables where its catalog keeps them: leave out"):
        open_lake(made.options(lake="uc:spark_catalog.lake_1", tables_location=f"file://{tmp_path}/tables"), spark)
    (tmp_path / "full/lake_3/_files").mkdir(parents=True)
    (tmp_path / "full/lake_3/_files/a").touch()
    bronze_events = f"{tmp_path}/tables/external_2/bronze_events"
    mirror = next((tmp_path / "tables/external_mirrors").iterdir()).name
    for places, reason in (
        ({"mirrors_schema": "external_mirrors"}, "is not empty"),
        ({"mirrors_schema": "mirrors_4"}, "there is no schema spark_catalog.mirrors_4"),
        ({"tables_location": f"file://{tmp_path}/full"}, "full/lake_3 is not empty"),
        (
            {"tables_location": f"file://{tmp_path}/tables/external_2"},
            "inside of a table or a lake at .*/external_2:",
        ),
        ({"tables_location": f"file://{bronze_events}/a"}, "a lake at .*/bronze_events:"),
        ({"tables_location": f"file://{tmp_path}/tables/external_mirrors/{mirror}"}, f"a lake at .*/{mirror}:"),
    ):
        with pytest.raises(UsageError, match=reason):
            lake_in(spark, tmp_path, "lake_3", Log("mysql", [*SECOND]), **places)
    assert tables_in(spark, "lake_3") == set()


def check_maintenance(spark, tmp_path, monkeypatch, made: LakeRun) -> None:
    """External tables are compacted; the files of one that is removed go, and those that a link leads to stay."""
    names, [streaming] = made.lake.names, [entry for entry in made.register if entry.name == ("shop", "r")]
    mirror = names.mirror(streaming.mirror_id)
    assert compact(spark, mirror, 30, names.location(mirror)) == COMPACTED
    write_snapshot(made.lake, "Shop__r__1f", streaming.schema, [], 1)
    give(made.lake, Answer(1, 1, "shop", "r", "", "Shop__r__1f"))
    assert removable_snapshots(made.lake, left_days=-1, bronze_days=None) == []  # it is still to be applied
    with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):  # the process is killed before it drops it
        crash_at(patch, f"{type(spark).__module__}.SparkSession.sql", "before", call_number=5)
        remove_snapshot(spark, names, "Shop__r__1f")
    assert spark.table(names.snapshot("Shop__r__1f")).count() == 0
    assert remove_snapshot(spark, names, "Shop__r__1f") == LEFT
    folder, outside = tmp_path / "tables/external_mirrors" / streaming.mirror_id, tmp_path / "outside"
    outside.mkdir()
    (outside / "a.parquet").touch()
    (folder / "link").symlink_to(outside)
    assert remove_mirror(spark, names, streaming.mirror_id) == LINKED
    (folder / "link").unlink()
    others = f"CREATE TABLE {names.mirror('others')} USING DELTA LOCATION '{tmp_path}/others' AS SELECT 1 AS a"
    spark.sql(others).collect()
    assert remove_mirror(spark, names, "others") == LEFT and spark.table(names.mirror("others")).count() == 1
    assert [remove_mirror(spark, names, streaming.mirror_id) for _ in range(2)] == [LEFT, UNCHANGED]
    assert not table_exists(spark, mirror) and (outside / "a.parquet").exists()
    assert not [path for path in folder.rglob("*.parquet") if "_delta_log" not in path.parts]
