"""Views in Spark's catalog follow the register: through every DDL, a kill at any step, and what Spark refuses."""

from __future__ import annotations

import shutil
from contextlib import suppress

import pytest

from mirrorlake.core.sql_text import quote, users_sql
from mirrorlake.errors import REFUSALS, UsageError
from mirrorlake.jobs.inspect.sql import run_sql
from mirrorlake.jobs.inspect.syncpoints import make_syncpoint
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.lake.gold.views.keeper import ViewKeeper
from mirrorlake.lake.gold.views.newest_syncpoint import NewestSyncpointViews
from mirrorlake.lake.gold.views.wanted import LeftOut
from tests.support.binlog_spec import Log
from tests.support.canonical import mirror_rows
from tests.support.command_line import mirrorlake_cli
from tests.support.crash import SimulatedCrash, crash_at
from tests.support.ddl_log import K, ddl, insert, table
from tests.support.lake_runs import LakeRun

pytestmark = pytest.mark.xdist_group("kept views")

BY_DATABASE = "{database}"
A, B = table("a", "id", "v"), table("b", "id", "v")
FIRST = (
    ddl("create database shop"),
    ddl("create table a (id int primary key, v int)"),
    ddl("create table b (id int primary key, v int)"),
    ddl("create table c (id int primary key, v int)"),
    ddl("create table k (v int)"),
    insert(A, (1, 10)),
    insert(B, (2, 20)),
    insert(K, (7,)),
)
THEN = (
    ddl("rename table a to t, b to a, t to b"),
    ddl("alter table b add x int default 5"),
    ddl("drop table c"),
    ddl("create table d (id int primary key, w int)"),
    ddl("alter table k add id int auto_increment primary key"),
)
BEFORE = {
    "a": ("mirror of shop.a", ['{"id": "1", "v": "10"}']),
    "b": ("mirror of shop.b", ['{"id": "2", "v": "20"}']),
}
AFTER = {
    "a": ("mirror of shop.a", ['{"id": "2", "v": "20"}']),
    "b": ("mirror of shop.b", ['{"id": "1", "v": "10", "x": "5"}']),
    "d": ("mirror of shop.d", []),
    "k": ("refused: needs-resync", ['{"v": "7"}']),
}


@pytest.fixture(scope="module")
def followed(spark, tmp_path_factory) -> tuple[LakeRun, dict]:
    """A lake with all of the log, and the views that its run has kept."""
    run = LakeRun.up_to_silver(spark, Log("mariadb", [*FIRST, *THEN]), tmp_path_factory.mktemp("kept-views"))
    run.apply(views=BY_DATABASE)
    return run, views(spark)


@pytest.fixture(scope="module")
def applied(followed) -> LakeRun:
    return followed[0]


@pytest.fixture(scope="module")
def first_lsn(applied) -> int:
    """The end of the last transaction before the renames."""
    commits = applied.spark.table(applied.lake.names.silver_changes).where("op = 'COMMIT'")
    return [row.lsn for row in commits.orderBy("lsn").select("lsn").collect()][2]


@pytest.fixture(autouse=True)
def no_databases_after(spark, followed):
    drop_databases(spark)
    yield
    drop_databases(spark)


def drop_databases(spark) -> None:
    for name in ("shop", "all_mirrors", "shop_newest"):
        spark.sql(f"DROP DATABASE IF EXISTS {name} CASCADE")


def names(spark, schema: str = "shop") -> list[str]:
    return sorted(row.viewName for row in spark.sql(f"SHOW VIEWS IN {schema}").collect() if not row.isTemporary)


def views(spark, schema: str = "shop") -> dict[str, tuple[str, list[str]]]:
    """Comment and rows of each view."""
    if not spark.catalog.databaseExists(schema):
        return {}
    return {name: (comment(spark, schema, name), rows(spark, schema, name)) for name in names(spark, schema)}


def comment(spark, *name: str) -> str:
    return spark.catalog.getTable(".".join(name)).description


def rows(spark, *name: str) -> list[str]:
    return sorted(mirror_rows(spark.table(quote(*name)).toArrow()))


def keeper(run: LakeRun, told: list[LeftOut] | None = None, template: str = BY_DATABASE) -> ViewKeeper:
    return ViewKeeper(run.lake, template, [].append if told is None else told.append)


@pytest.mark.heavy
def test_a_run_makes_replaces_and_drops_views_and_a_refused_table_keeps_its_view(followed):
    _, found = followed
    assert found == AFTER


def test_a_kill_between_the_steps_of_a_circle_leaves_no_table_under_the_name_of_another(
    applied, first_lsn, spark, monkeypatch
):
    """Each of both shows what it showed before, or what it shows at last; never one of each."""
    before, after, seen = TableRegister.read(applied.lake, up_to=first_lsn), applied.register, []
    for step in range(1, 20):
        drop_databases(spark)
        keeper(applied).keep(before)
        with monkeypatch.context() as patch:
            point = crash_at(patch, "mirrorlake.lake.gold.views.catalog.ViewCatalog._run", "after", step)
            with suppress(SimulatedCrash):
                keeper(applied).keep(after)
        found = names(spark)
        shown = {name: rows(spark, "shop", name) for name in ("a", "b") if name in found}
        seen.append((found, shown))
        keeper(applied).keep(after)
        assert names(spark) == ["a", "b", "d", "k"]
        if not point.has_crashed:
            break
    was, is_now = {name: BEFORE[name][1] for name in "ab"}, {name: AFTER[name][1] for name in "ab"}
    was["a"] = is_now["b"]  # its mirror has the new column already
    assert seen == [
        (["b", "c", "k"], {"b": was["b"]}),  # a is dropped, then b and c
        (["c", "k"], {}),
        (["k"], {}),
        (["a", "k"], {"a": is_now["a"]}),  # a is made, then b and d, and k is replaced
        (["a", "b", "k"], is_now),
        (["a", "b", "d", "k"], is_now),
        (["a", "b", "d", "k"], is_now),
        (["a", "b", "d", "k"], is_now),
    ]
    assert views(spark) == AFTER


@pytest.mark.heavy
def test_a_run_that_was_killed_around_its_views_is_repeated(spark, applied, tmp_path, monkeypatch):
    run = LakeRun.up_to_silver(spark, Log("mariadb", [*FIRST, *THEN]), tmp_path / "run")
    for when, call in (("before", 3), ("after", 1)):  # of the epoch with the renames, and of its repetition
        with monkeypatch.context() as patch:
            crash_at(patch, "mirrorlake.lake.gold.views.keeper.ViewKeeper.keep", when, call)
            with pytest.raises(SimulatedCrash):
                run.apply(views=BY_DATABASE)
    run.apply(views=BY_DATABASE)
    assert views(spark) == AFTER
    assert run.gold() == applied.gold()


def test_what_others_have_made_is_not_touched_and_the_rest_has_views(applied, spark, tmp_path):
    other = applied.copied(tmp_path / "other")
    spark.sql("CREATE DATABASE shop")
    spark.sql("CREATE VIEW shop.a AS SELECT 1 AS mine")
    spark.sql("CREATE TABLE shop.b (mine INT) USING delta")
    keeper(other).keep(other.register)
    told: list[LeftOut] = []
    kept = keeper(applied, told)
    kept.keep(applied.register)
    kept.keep(applied.register)
    taken = [LeftOut(("shop", name), "view-taken", f"shop.{name} is there already, and is no view of this lake")
             for name in ("a", "b", "d", "k")]  # fmt: skip
    assert told == taken
    assert spark.table("shop.a").columns == spark.table("shop.b").columns == ["mine"]
    assert views(spark)["d"] == AFTER["d"]
    spark.sql("DROP VIEW shop.a")
    keeper(applied, told).keep(applied.register)
    assert views(spark)["a"] == AFTER["a"] and told == [*taken, *taken[1:]]


def test_one_schema_has_the_database_in_its_names_and_the_template_may_be_of_no_use(applied, spark):
    keeper(applied, template="all_mirrors").keep(applied.register)
    assert views(spark, "all_mirrors") == {f"shop__{name}": shown for name, shown in AFTER.items()}
    told: list[LeftOut] = []
    keeper(applied, told, "all mirrors").keep(applied.register)
    assert [left.code for left in told] == ["view-name"] * 4


def test_a_view_that_cannot_be_made_stops_neither_the_others_nor_the_run(applied, spark, tmp_path):
    run = applied.copied(tmp_path / "copy")
    (d,) = (entry for entry in run.register if entry.table == "d")
    shutil.move(run.lake.names.mirror_path(d.mirror_id), tmp_path / "away")
    said = mirrorlake_cli("apply", "--lake", run.folder, "--views", BY_DATABASE)
    assert said.exit_code == 0
    what, hint, done = said.stderr.splitlines()
    assert what.startswith("no view   shop.d: view-failed: ") and hint.strip() == REFUSALS["view-failed"]
    assert {name: views(spark)[name] for name in "abk"} == {name: AFTER[name] for name in "abk"}
    shutil.move(tmp_path / "away", run.lake.names.mirror_path(d.mirror_id))
    run.apply(views=BY_DATABASE)
    assert views(spark) == AFTER


def test_sql_reads_a_kept_view_and_nothing_else_of_its_name(applied, spark, tmp_path):
    """At a syncpoint it reads neither: a view has the rows of now."""
    run = applied.copied(tmp_path / "run")
    point = make_syncpoint(run.lake, None, None)
    keeper(run).keep(run.register)
    spark.sql("DROP VIEW shop.b")
    spark.sql("CREATE VIEW shop.b AS SELECT 1 AS mine")
    count = "SELECT count(*) AS n FROM "
    for name in ("shop.a", "shop__a", "a", "shop__b"):
        assert run_sql(run.lake, users_sql(count + name)).to_pylist() == [{"n": 1}]
        assert "." in name or run_sql(run.lake, users_sql(count + name), point).to_pylist() == [{"n": 1}]
    texts = (("b", "shop.b", None), ("a", "`SHOP` . a", point), ("a", "shop./* */`a`", point), ("b", "shop.b", point))
    for name, text, at in texts:
        with pytest.raises(UsageError) as refused:
            run_sql(run.lake, users_sql(count + text), at)
        assert str(refused.value) == f"sql: in this catalog the mirror is called `shop__{name}` (table shop.{name})"
    assert names(spark) == ["a", "b", "d", "k"]


def test_views_of_the_newest_syncpoint_move_when_a_run_or_another_process_takes_one(
    applied, first_lsn, spark, tmp_path
):
    """A circle of renames lies between the two syncpoints. Views of the present and these leave each other alone."""
    run, of_newest = applied.copied(tmp_path / "run"), "{database}_newest"
    told: list[LeftOut] = []
    newest = NewestSyncpointViews(run.lake, of_newest, told.append)
    newest.keep_if_new()
    assert not spark.catalog.databaseExists("shop_newest") and told == []
    ends = spark.table(run.lake.names.control_epochs).where(f"lsn_to >= {first_lsn}").agg({"lsn_to": "min"})
    then = syncpoints.take(run.lake, ends.first()[0]).name
    newest.keep()
    first = {"a": ['{"id": "1", "v": "10"}'], "b": ['{"id": "2", "v": "20"}'], "c": [], "k": ['{"v": "7"}']}
    assert views(spark, "shop_newest") == {
        name: (f"mirror of shop.{name} at syncpoint {then}", held) for name, held in first.items()
    }
    keeper(run, told, of_newest).keep(run.register)
    assert {(left.table.table, left.code) for left in told} == {(name, "view-taken") for name in "abk"}
    spark.sql("DROP VIEW shop_newest.d")
    run.apply(views=BY_DATABASE, syncpoint_views=of_newest, syncpoint_every=1e-6)
    now = syncpoints.published(run.lake)[-1].name
    assert views(spark, "shop_newest") == {
        name: (f"mirror of shop.{name} at syncpoint {now}", AFTER[name][1]) for name in "abd"
    }
    assert views(spark) == AFTER and now != then


def test_a_lake_in_a_folder_has_no_views_unless_asked(applied, spark, tmp_path):
    for given in ({}, {"views": "none"}):
        applied.apply(**given)
        assert not spark.catalog.databaseExists("shop")
