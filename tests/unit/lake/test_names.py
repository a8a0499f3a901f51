import pytest

from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.lake.delta.creation import create_table_statement
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


@pytest.mark.parametrize("table_id", ["../../x", "a/b", "..", "a b", "a`b", "a\n"])
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


def test_create_table_statement_with_properties():
    statement = create_table_statement("t", "id INT", {"delta.x": "1"})
    assert statement == "CREATE TABLE IF NOT EXISTS t (id INT) USING DELTA TBLPROPERTIES ('delta.x' = '1')"


def test_files_are_staged_in_the_lake_its_volume_or_the_named_folder():
    staged = [LakeNames(*given).staging("ingest") for given in (("/d",), ("uc:c.s",), ("/d", "/x/"), ("uc:c.s", "/x"))]
    assert staged == ["/d/_staging/ingest", "/Volumes/c/s/staging/ingest", "/x/ingest", "/x/ingest"]
