import pytest

from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.lake.delta.creation import create_table_statement
from mirrorlake.lake.delta.location import folders_above, is_same_folder
from mirrorlake.lake.delta.names import LakeNames


def test_a_folder_lake_names_its_tables_by_path():
    names = LakeNames("/data/lake/")
    assert names.bronze_events == "`delta`.`/data/lake/bronze/events`"
    assert names.silver_changes == "`delta`.`/data/lake/silver/changes`"
    assert names.silver_table_schemas == "`delta`.`/data/lake/silver/table_schemas`"
    assert names.control_tables == "`delta`.`/data/lake/control/tables`"
    assert names.control_epochs == "`delta`.`/data/lake/control/epochs`"
    assert names.control_barriers == "`delta`.`/data/lake/control/barriers`"
    assert names.mirror("t7") == "`delta`.`/data/lake/gold/t7`"
    assert names.mirror_path("t7") == "/data/lake/gold/t7"
    assert names.staging("ingest") == "/data/lake/_staging/ingest"


def test_a_catalog_lake_names_its_tables_in_the_schema():
    names = LakeNames("uc:main.shop-mirror")
    assert names.bronze_events == "`main`.`shop-mirror`.`bronze_events`"
    assert names.mirror("t7") == "`main`.`shop-mirror`.`t7`"
    assert names.mirror_path("t7") == "main.shop-mirror.t7"
    assert names.staging("ingest") == "/Volumes/main/shop-mirror/staging/ingest"


@pytest.mark.parametrize(
    ("schema", "recorded", "mirror"),
    [
        ("mirrors", "mirrors", "`main`.`mirrors`.`t7`"),
        ("Shop-Mirror", None, "`main`.`shop-mirror`.`t7`"),  # a catalog has it in any letter case
        (None, None, "`main`.`shop-mirror`.`t7`"),
        ("", None, "`main`.`shop-mirror`.`t7`"),
    ],
)
def test_a_catalog_lake_names_its_mirrors_in_another_schema(schema, recorded, mirror):
    names = LakeNames("uc:main.shop-mirror", mirrors_schema=schema)
    assert (names.mirror("t7"), names.mirrors_schema) == (mirror, recorded)
    assert names.mirror_path("t7") == mirror.replace("`", "")
    assert names.bronze_events == "`main`.`shop-mirror`.`bronze_events`"
    assert names.snapshot("c1") == "`main`.`shop-mirror`.`bronze_copy_c1`"


@pytest.mark.parametrize(
    ("lake", "schema", "reason"),
    [
        ("/data/lake", "mirrors", "is for a lake in Unity Catalog, not for one in a folder"),
        ("uc:main.shop", "main.mirrors", "is one name, without the catalog, not main.mirrors"),
        ("uc:main.shop", ".", r"is one name, without the catalog, not \."),
    ],
)
def test_a_schema_of_mirrors_is_one_name_of_a_catalog_lake(lake, schema, reason):
    with pytest.raises(UsageError, match=f"^usage: --mirrors-schema {reason}$"):
        LakeNames(lake, mirrors_schema=schema)


def test_each_external_table_has_a_folder_of_its_own_in_lower_case():
    names = LakeNames("uc:main.Shop", mirrors_schema="shop-Mirrors", tables_location="s3://bucket/a.b/")
    assert names.location(names.mirror("Shop__T__1f")) == "s3://bucket/a.b/shop-mirrors/shop__t__1f"
    assert names.location(names.control_runs) == "s3://bucket/a.b/shop/control_runs"
    assert names.schema_folders == ["s3://bucket/a.b/shop", "s3://bucket/a.b/shop-mirrors"]
    assert names.kept == {"mirrors_schema": "shop-Mirrors", "tables_location": "s3://bucket/a.b"}
    managed = LakeNames("uc:main.shop")
    assert (managed.location(managed.mirror("t")), managed.schema_folders, managed.kept) == (None, [], {})


@pytest.mark.parametrize(
    "url",
    [
        "/a", "a", "", "s3:/b", "s3://", "s3://b/../c", "s3://b/a//c", "s3://b/.", "s3://b/a?c=d", "s3://b/a#c",
        "s3://b/a%20", "s3://b/a c", "s3://b/a\n", "s3://b/ä", "s3://user@b/a", "s3://user:word@b/a", "s3://b/{a,b}/*",
        "abfss://c:word@d/e", "abfss://d.dfs.core.windows.net/e", "file://host/a", "file:///", "file:/a", "s3://b/$a",
    ],
)  # fmt: skip
def test_a_location_of_tables_is_a_plain_url_which_a_refusal_does_not_repeat(url):
    if not url:
        assert LakeNames("uc:a.b", tables_location=url).tables_location is None
        return
    with pytest.raises(UsageError, match="^usage: --tables-location is a URL such as s3://bucket/folder: ") as refused:
        LakeNames("uc:a.b", tables_location=url)
    assert "word" not in str(refused.value).replace("password", "")


def test_a_location_of_tables_may_be_in_each_cloud():
    for url in ("s3://b", "gs://b/a", "abfss://c@d.dfs.core.windows.net/e/f=1", "hdfs://host:8020/a", "file:///a"):
        assert LakeNames("uc:a.b", tables_location=f"{url}/").tables_location == url


@pytest.mark.parametrize(
    ("lake", "reason"),
    [
        ("/data/lake", "--tables-location is for a lake in Unity Catalog, not for one in a folder"),
        ("uc:main.ä", "with --tables-location a schema has letters, digits, - and _ alone, not ä"),
        ("uc:main...", r"a Unity Catalog lake is written uc:catalog.schema, not uc:main\.\.\."),
    ],
)
def test_external_tables_are_of_a_schema_whose_name_makes_a_folder(lake, reason):
    with pytest.raises(UsageError, match=f"^usage: {reason}$"):
        LakeNames(lake, tables_location="s3://b")


def test_one_folder_has_several_spellings():
    assert is_same_folder("file:/a/b", "file:///a/b") and is_same_folder("s3://b/a/", "s3://b/a")
    assert not is_same_folder("file:/a/b", "file:///a") and not is_same_folder("s3://b/a", "s3://c/a")


def test_the_folders_above_one():
    assert folders_above("s3://b/a/c") == ["s3://b/a", "s3://b"]
    assert folders_above("file:///a/c") == ["file:///a"]


@pytest.mark.parametrize("table_id", ["../../x", "a/b", "..", "a b", "a`b", "a\n", "", None])
def test_an_id_that_would_lead_out_of_the_lake_is_refused(table_id):
    names = LakeNames("/data/lake")
    for name in (names.mirror, names.mirror_path, names.snapshot, names.snapshot_path):
        with pytest.raises(RefusedError, match="lake-damaged: .* is no id of a table of the lake"):
            name(table_id)


def test_a_relative_folder_does_not_depend_on_later_changes_of_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert LakeNames("lake").root == str(tmp_path / "lake")


def test_a_uri_stays_a_uri():
    assert LakeNames("s3://bucket/lake/").mirror_path("t7") == "s3://bucket/lake/gold/t7"


@pytest.mark.parametrize("lake", ["uc:", "uc:main", "uc:main.", "uc:a.b.c"])
def test_a_catalog_lake_without_exactly_catalog_and_schema_is_a_usage_error(lake):
    with pytest.raises(UsageError, match=r"uc:catalog\.schema"):
        LakeNames(lake)


@pytest.mark.parametrize("given", [("/a/${env:HOME}",), ("uc:a.${b}",), ("/a", "/x/${b}"), ("uc:a.b", None, "${c}")])
def test_spark_would_replace_a_variable_in_a_name(given):
    with pytest.raises(UsageError, match=r"Spark replaces \$\{\.\.\.\}"):
        LakeNames(*given)


def test_create_table_statement_with_properties():
    statement = create_table_statement("t", "id INT", {"delta.x": "1"})
    assert statement == "CREATE TABLE IF NOT EXISTS t (id INT) USING DELTA TBLPROPERTIES ('delta.x' = '1')"
    statement = create_table_statement("t", "id INT", location="s3://b/t")
    assert statement == "CREATE TABLE IF NOT EXISTS t (id INT) USING DELTA LOCATION 's3://b/t'"


def test_files_are_staged_in_the_lake_its_volume_or_the_named_folder():
    staged = [LakeNames(*given).staging("ingest") for given in (("/d",), ("uc:c.s",), ("/d", "/x/"), ("uc:c.s", "/x"))]
    assert staged == ["/d/_staging/ingest", "/Volumes/c/s/staging/ingest", "/x/ingest", "/x/ingest"]
