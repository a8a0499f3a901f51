"""What is printed for each engine, word by word, and which mirrors have no view."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.view_names import ViewName
from mirrorlake.errors import UsageError
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.gold.control.epochs import EpochTable
from mirrorlake.lake.gold.control.register import DROPPED, REFUSED, STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.syncpoint.syncpoints import PUBLISHED, Syncpoint
from mirrorlake.lake.gold.views.engines import ENGINES, Databricks, DuckDb, Spark, Trino
from mirrorlake.lake.gold.views.wanted import LeftOut, View, wanted_views

LAKE, CATALOG = LakeNames("/data/it's"), LakeNames("uc:main.bin`log")
ODD = View(ViewName("d\"'", "t`\\"), TableName("d\"'", "t`\\"), "m", "mirror of d\"'.t`\\", 7)


def entry(database: str, table: str, state: str = STREAMING, **more) -> TableEntry:
    return TableEntry(1, database, table, state, f"{database}__{table}__1", **more)


def test_duckdb_reads_the_folder():
    assert DuckDb(LAKE).create_schema('a"b') == 'CREATE SCHEMA IF NOT EXISTS "a""b"'
    assert DuckDb(LAKE).create_view(ODD) == [
        'CREATE OR REPLACE VIEW "d""\'"."t`\\" AS SELECT * FROM delta_scan(\'/data/it\'\'s/gold/m\', version := 7)',
        'COMMENT ON VIEW "d""\'"."t`\\" IS \'mirror of d"\'\'.t`\\\'',
    ]


def test_trino_registers_the_mirror_and_reads_it_by_its_id():
    assert Trino(LAKE).create_schema('a"b') == 'CREATE SCHEMA IF NOT EXISTS "a""b"'
    assert Trino(LAKE).create_view(ODD) == [
        "CALL system.register_table(schema_name => 'd\"''', table_name => 'm', "
        "table_location => 'file:///data/it''s/gold/m')",
        'CREATE OR REPLACE VIEW "d""\'"."t`\\" COMMENT \'mirror of d"\'\'.t`\\\' '
        'AS SELECT * FROM "d""\'"."m" FOR VERSION AS OF 7',
    ]
    in_a_store = Trino(LakeNames("s3://bucket/lake")).create_view(ODD)[0]
    assert in_a_store.endswith("table_location => 's3://bucket/lake/gold/m')")


def test_views_that_parse_json_name_each_column():
    view = replace(ODD, columns=(('a"`', True), ("v", False)))
    (duckdb, _), (_, trino), (spark,) = (engine(LAKE).create_view(view) for engine in (DuckDb, Trino, Spark))
    assert 'AS SELECT TRY_CAST("a""`" AS JSON) AS "a""`", "v" FROM delta_scan(' in duckdb
    assert 'AS SELECT TRY(json_parse("a""`")) AS "a""`", "v" FROM "d""' in trino
    assert 'AS SELECT try_parse_json(`a"```) AS `a"```, `v` FROM `delta`.' in spark
    (odd,) = Spark(LAKE).create_view(replace(ODD, columns=(("a", True), ("${env:HOME}", False))))
    assert "AS SELECT * FROM `delta`." in odd
    assert len({Spark.state(view), Spark.state(ODD), Spark.state(replace(view, columns=view.columns[1:]))}) == 3


@pytest.mark.parametrize(
    ("engine", "name", "mirror", "path"),
    [
        (Spark(LAKE), "`d\"'`.`t``\\`", "`delta`.`/data/it's/gold/m`", "/data/it\\'s/gold/m"),
        (Databricks(CATALOG), "`main`.`d\"'`.`t``\\`", "`main`.`bin``log`.`m`", "main.bin`log.m"),
    ],
)
def test_spark_reads_the_folder_and_databricks_the_table(engine, name, mirror, path):
    comment = "mirror of d\"\\'.t`\\\\"
    assert engine.create_view(ODD) == [
        f"CREATE OR REPLACE VIEW {name} WITH SCHEMA EVOLUTION COMMENT '{comment}' "
        f"TBLPROPERTIES ('mirrorlake.mirror' = '{path}', 'mirrorlake.state' = '{comment}') "
        f"AS SELECT * FROM {mirror} VERSION AS OF 7"
    ]


@pytest.mark.parametrize(
    ("engine", "lake", "message"),
    [
        ("duckdb", "uc:main.lake", "DuckDB reads lakes in folders; for Unity Catalog there is --engine databricks"),
        ("trino", "uc:main.lake", "Trino reads lakes in folders; for Unity Catalog there is --engine databricks"),
        ("spark", "uc:main.lake", "Spark outside Databricks reads lakes in folders; for Unity Catalog there is"),
        ("databricks", "/data", "Databricks reads a lake in Unity Catalog by name: --lake uc:catalog.schema"),
        ("duckdb", "/da%20ta", "DuckDB reads no folder with % or \\ in its path"),
        ("duckdb", "/da\\ta", "DuckDB reads no folder with % or \\ in its path"),
    ],
)
def test_an_engine_that_cannot_read_the_lake_is_refused(engine, lake, message):
    with pytest.raises(UsageError) as refused:
        ENGINES[engine](LakeNames(lake))
    assert refused.value.code == "usage" and refused.value.message.startswith(message)


@pytest.mark.parametrize(
    ("engine", "name", "has_view"),
    [
        (DuckDb(LAKE), ("shop", "or ders.é"), True),
        (DuckDb(LAKE), ("Temp", "orders"), False),
        (DuckDb(LAKE), ("information_schema", "orders"), False),
        (DuckDb(LAKE), ("shop", "or\nders"), False),
        (Trino(LAKE), ("temp", "orders"), True),
        (Trino(LAKE), ("information_schema", "orders"), False),
        (Trino(LAKE), ("shop", "or\x1bders"), False),
        (Spark(LAKE), ("shop", "order_2"), True),
        (Spark(LAKE), ("shop", "or-ders"), False),
        (Spark(LAKE), ("shop", "ordérs"), False),
        (Spark(LAKE), ("GLOBAL_TEMP", "orders"), False),
        (Databricks(CATALOG), ("shop", "or-ders_é$"), True),
        (Databricks(CATALOG), ("shop", "or.ders"), False),
        (Databricks(CATALOG), ("shop", "or ders"), False),
        (Databricks(CATALOG), ("sh/op", "orders"), False),
        (Databricks(CATALOG), ("shop", "${orders}"), False),
        (Databricks(CATALOG), ("shop", "or\u202eders"), False),
        (Databricks(CATALOG), ("Bin`Log", "orders"), False),
        (Databricks(LakeNames("uc:main.Lake", mirrors_schema="Mirrors")), ("lake", "orders"), False),
        (Databricks(LakeNames("uc:main.Lake", mirrors_schema="Mirrors")), ("mirrors", "orders"), False),
    ],
)
def test_a_name_that_the_engine_does_not_take_has_no_view(engine, name, has_view):
    assert (engine.objection(ViewName(*name)) is None) == has_view


def test_mirrors_have_views_and_what_a_reader_should_know_in_the_comment():
    register = TableRegister(
        [
            entry("shop", "orders"),
            entry("shop", "carts", REFUSED, code="needs-resync", reason="why"),
            entry("shop", "kept", code="ddl-ignored", reason="why"),
            entry("shop", "gone", DROPPED),
            entry("shop", "_orders_gho"),
            TableEntry(1, "shop", "never", REFUSED, code="needs-first-copy", reason="why"),
        ]
    )
    views, left_out = wanted_views(register, "{database}", DuckDb(LAKE).objection)
    assert [(view.name, view.mirror_id, view.comment, view.version) for view in views] == [
        (("shop", "carts"), "shop__carts__1", "refused: needs-resync", None),
        (("shop", "kept"), "shop__kept__1", "mirror of shop.kept; ddl-ignored", None),
        (("shop", "orders"), "shop__orders__1", "mirror of shop.orders", None),
    ]
    assert left_out == []


def test_two_tables_that_an_engine_takes_for_one_have_no_view():
    register = TableRegister([entry("shop", "Orders"), entry("shop", "orders"), entry("shop", "x-y")])
    views, left_out = wanted_views(register, "{database}", Spark(LAKE).objection)
    assert views == []
    twice = "two tables would have this name"
    assert left_out == [
        LeftOut(("shop", "Orders"), "view-name", f"no view shop.Orders: {twice}"),
        LeftOut(("shop", "orders"), "view-name", f"no view shop.orders: {twice}"),
        LeftOut(("shop", "x-y"), "view-name", "no view shop.x-y: Spark's own catalog takes letters, digits and _ only"),
    ]


def test_at_a_syncpoint_a_view_has_the_version_that_is_pinned_there():
    register = TableRegister(
        [entry("s", "a"), entry("s", "b"), entry("s", "c", REFUSED, code="needs-resync", reason="why")]
    )
    point = Syncpoint("month_end", PUBLISHED, "", 9, tables=(EpochTable("s", "a", "s__a__1", 4),))
    views, left_out = wanted_views(register, "{database}", DuckDb(LAKE).objection, point)
    assert [(view.name, view.comment, view.version) for view in views] == [
        (("s", "a"), "mirror of s.a at syncpoint month_end", 4)
    ]
    assert left_out == [
        LeftOut(("s", "b"), "syncpoint", "month_end has no version of this table"),
        LeftOut(("s", "c"), "needs-resync", "refused at month_end: why"),
    ]
