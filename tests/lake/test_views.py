"""Mirrors by name in other engines: the statements that are printed run there, and show what Spark reads."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import duckdb
import pytest

from mirrorlake.config import Options
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.sql_text import quote
from mirrorlake.errors import REFUSALS, UsageError
from mirrorlake.jobs.inspect.duckdb_file import install_delta, write_duckdb
from mirrorlake.jobs.inspect.syncpoints import make_syncpoint
from mirrorlake.jobs.inspect.views import list_views
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.replicate import apply_hop
from tests.support.binlog_spec import Log
from tests.support.canonical import mirror_rows
from tests.support.command_line import complaint, mirrorlake_cli
from tests.support.ddl_log import ddl, insert, table
from tests.support.json_encoding import encode_json
from tests.support.lake_runs import LakeRun

pytestmark = pytest.mark.xdist_group("demo")

JSON = encode_json({"a": [1, 2.5]})
A, A_LATER = table("a", "id", "v"), table("a", "id", "w")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """DuckDB puts extensions there."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def databases(spark):
    """What a test creates in Spark's catalog is gone after it."""
    before = {database.name for database in spark.catalog.listDatabases()}
    yield
    for database in spark.catalog.listDatabases():
        if database.name not in before:
            spark.sql(f"DROP DATABASE {quote(database.name)} CASCADE")


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory) -> LakeRun:
    """A table with a row, and a syncpoint there; in silver its column gets another name, and there is a second row."""
    items = [ddl("create database shop"), ddl("create table a (id int primary key, v int)"), insert(A, (1, 10))]
    items += [ddl("create table `a-b` (id int)"), ddl("alter table a change v w int"), insert(A_LATER, (2, 20))]
    run = LakeRun.up_to_silver(spark, Log("mariadb", items), tmp_path_factory.mktemp("views"))
    first_commit = spark.table(run.lake.names.silver_changes).where("op = 'COMMIT'").agg({"lsn": "min"}).first()[0]
    hop = apply_hop(run.lake, run.options())
    assert [done.n_changes for done in hop.apply(up_to=first_commit)] == [0, 1]
    hop.flush()
    make_syncpoint(run.lake, "month.end", None)
    return run


def rows(found) -> tuple[list[str], list[str], list[int]]:
    """Columns, canonical rows, and ``_lsn`` of an Arrow table."""
    return found.column_names, sorted(mirror_rows(found)), sorted(found["_lsn"].to_pylist())


def read(file, name: str):
    """What another process, which has nothing but the file and the extension, reads by name."""
    with duckdb.connect(file, read_only=True) as connection:
        return connection.execute(f"SELECT * FROM {name}").to_arrow_table()


@pytest.mark.parametrize("flavor", ["mariadb", "mysql"])
@pytest.mark.heavy
def test_duckdb_and_spark_read_every_mirror_by_name(flavor, demo, spark, tmp_path, databases):
    lake = open_lake(Options(lake=str(demo.lakes[flavor])), spark)
    file, views = tmp_path / "mirrors.duckdb", list_views(lake, "duckdb").views
    made = mirrorlake_cli("views", "--lake", demo.lakes[flavor], "--duckdb", file)
    assert (made.exit_code, made.stdout) == (0, f"{file}: {len(views)} views\n")
    printed = mirrorlake_cli("views", "--lake", demo.lakes[flavor], "--engine", "spark")
    for statement in printed.stdout.split(";\n")[:-1]:
        spark.sql(statement)
    assert len(views) == 8 and (printed.exit_code, printed.stderr) == (0, "")
    for view in views:
        mirror = rows(spark.table(lake.names.mirror(view.mirror_id)).toArrow())
        assert rows(read(file, ".".join(view.name))) == mirror
        assert rows(spark.table(quote(*view.name)).toArrow()) == mirror
    with duckdb.connect(file, read_only=True) as connection:
        said = connection.execute("SELECT view_name, comment FROM duckdb_views() WHERE NOT internal ORDER BY 1")
        assert said.fetchall() == [(view.name.view, view.comment) for view in views]
    assert [view.comment for view in views][-1] == "refused: needs-resync"
    assert spark.catalog.getTable("shop.visits").description == "refused: needs-resync"


@pytest.mark.heavy
def test_views_follow_the_columns_of_their_mirror_and_those_of_a_syncpoint_do_not(run, spark, tmp_path, databases):
    run, file = run.copied(tmp_path / "copy"), tmp_path / "mirrors.duckdb"
    times = (None, "month.end", "newest")
    made = {engine: [list_views(run.lake, engine, at=at).statements for at in times] for engine in ("duckdb", "spark")}
    write_duckdb(file, ["shop"], sum(made["duckdb"], []))
    for statement in sum(made["spark"], []):
        spark.sql(statement)
    before = rows(read(file, "shop.a"))
    assert before[:2] == (["id", "v", "_lsn"], ['{"id": "1", "v": "10"}'])
    run.apply()
    assert rows(read(file, "shop.a"))[:2] == (["id", "w", "_lsn"], ['{"id": "1", "w": "10"}', '{"id": "2", "w": "20"}'])
    assert rows(read(file, "shop.a")) == rows(spark.table("shop.a").toArrow())
    for then in (read(file, "shop_month_end.a"), read(file, "shop_newest.a"), spark.table("shop_newest.a").toArrow()):
        assert rows(then) == before
    assert sorted(view.name.view for view in list_views(run.lake, "duckdb").views) == ["a", "a-b"]
    left_out = list_views(run.lake, "spark").left_out
    assert [(left.table, left.code) for left in left_out] == [(("shop", "a-b"), "view-name")]
    printed = mirrorlake_cli("views", "--lake", run.folder, "--engine", "spark")
    why = "no view shop.a-b: Spark's own catalog takes letters, digits and _ only (table shop.a-b)"
    assert (printed.exit_code, printed.stderr) == (3, f"view-name: {why}\n{REFUSALS['view-name']}\n")
    assert printed.stdout == "".join(f"{statement};\n" for statement in list_views(run.lake, "spark").statements)


def test_one_schema_for_all_and_a_prefix(run):
    for template, name in (("all", ("all", "shop__a")), ("raw_{database}", ("raw_shop", "a"))):
        for at in (None, "month.end"):
            assert [view.name for view in list_views(run.lake, "spark", template, at).views] == [name]


def test_trino_gets_the_versions_of_the_newest_syncpoint(run):
    (view,) = list_views(run.lake, "trino", at="newest").views
    printed = mirrorlake_cli("views", "--lake", run.folder, "--engine", "trino", "--at", "newest").stdout
    assert printed == (
        'CREATE SCHEMA IF NOT EXISTS "shop_newest";\n'
        f"CALL system.register_table(schema_name => 'shop_newest', table_name => '{view.mirror_id}', "
        f"table_location => 'file://{run.folder}/gold/{view.mirror_id}');\n"
        'CREATE OR REPLACE VIEW "shop_newest"."a" COMMENT \'mirror of shop.a at syncpoint month.end\' '
        f'AS SELECT * FROM "shop_newest"."{view.mirror_id}" FOR VERSION AS OF {view.version};\n'
    )


# --- the file


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    file = tmp_path / "mirrors.duckdb"
    write_duckdb(file, ["s"], ["CREATE SCHEMA s", "CREATE VIEW s.a AS SELECT 1 AS id, 2 AS _lsn"])
    with pytest.raises(UsageError, match="DuckDB: Parser Error"):
        write_duckdb(file, ["s"], ["CREATE SCHEMA s", "CREATE VIEW s.b AS SELECT 1", "CREATE nonsense"])
    assert read(file, "s.a").to_pylist() == [{"id": 1, "_lsn": 2}]
    write_duckdb(file, ["s"], ["CREATE SCHEMA s", "CREATE VIEW s.a AS SELECT 3 AS id, 4 AS _lsn"])
    assert read(file, "s.a").to_pylist() == [{"id": 3, "_lsn": 4}]
    assert [path.name for path in tmp_path.iterdir() if path.name != ".duckdb"] == [file.name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Shop.db", "DuckDB calls the file Shop, as a schema in it: names would be ambiguous; choose another name"),
        ("text", "text is there already and is no file of DuckDB"),
        ("folder", "folder is there already and is no file of DuckDB"),
        ("pipe", "pipe is there already and is no file of DuckDB"),
        ("none/x.db", "none/x.db: No such file or directory"),
    ],
)
def test_another_file_is_not_replaced(tmp_path, name, message):
    (tmp_path / "text").write_text("of somebody")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError) as refused:
        write_duckdb(tmp_path / name, ["shop"], [])
    assert refused.value.code == "usage" and message in refused.value.message
    assert (tmp_path / "text").read_text() == "of somebody" and not (tmp_path / "Shop.db").exists()


def test_without_the_package_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UsageError) as refused:
        write_duckdb(tmp_path / "x.db", [], [])
    assert str(refused.value) == "usage: --duckdb needs DuckDB: pip install 'mirrorlake[duckdb]'"


def test_an_extension_of_another_version_is_said(monkeypatch):
    monkeypatch.setattr(duckdb, "__version__", "0.9.9")
    with pytest.raises(UsageError) as refused, duckdb.connect() as connection:
        install_delta(connection)
    assert str(refused.value) == "usage: duckdb-extension-delta has no extension for DuckDB 0.9.9"


def test_an_engine_that_nobody_knows_is_a_wrong_command_line(run):
    assert complaint(mirrorlake_cli("views", "--lake", run.folder, "--engine", "oracle")) == (
        2, "usage", "--engine is one of duckdb, spark, trino, databricks, not oracle",
    )  # fmt: skip


def test_views_show_json_parsed_if_they_are_asked_to_and_follow_the_columns(spark, tmp_path, databases):
    docs = tuple(Column(name, ColumnType(kind)) for name, kind in (("doc", "json"), ("v", "int"), ("w", "int")))
    later = TableSchema("shop", "docs", (Column("id", ColumnType("int"), False), *docs), ("id",))
    first = replace(later, columns=later.columns[:3])
    items = [ddl("create database shop"), ddl("create table docs (id int primary key, doc json, v int)")]
    items += [insert(first, (1, JSON, 10)), ddl("alter table docs add w int"), insert(later, (2, None, 20, 30))]
    run, file = LakeRun.up_to_silver(spark, Log("mysql", items), tmp_path / "json"), tmp_path / "mirrors.duckdb"
    run.apply(views="{database}", json="variant")
    view = spark.table("shop.docs")
    assert view.dtypes == [("id", "int"), ("doc", "variant"), ("v", "int"), ("w", "int"), ("_lsn", "bigint")]
    found = view.selectExpr("id", "try_variant_get(doc, '$.a[1]', 'double')", "w").orderBy("id").collect()
    assert [tuple(row) for row in found] == [(1, 2.5, None), (2, None, 30)]
    write_duckdb(file, ["shop"], list_views(run.lake, "duckdb", parses_json=True).statements)
    assert read(file, "(SELECT id, typeof(doc), doc->'a'->>1 AS second FROM shop.docs ORDER BY id)").to_pylist() == [
        {"id": 1, "typeof(doc)": "JSON", "second": "2.5"}, {"id": 2, "typeof(doc)": "JSON", "second": None},
    ]  # fmt: skip
    run.apply(views="{database}")
    assert dict(spark.table("shop.docs").dtypes)["doc"] == "string"
