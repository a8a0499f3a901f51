import pytest

from mirrorlake.core.schema.types import MIRRORED, ColumnType
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.types import spark_type


@pytest.mark.parametrize(
    ("column_type", "expected"),
    [
        (ColumnType("tinyint"), "tinyint"),
        (ColumnType("tinyint", unsigned=True), "smallint"),
        (ColumnType("smallint"), "smallint"),
        (ColumnType("smallint", unsigned=True), "int"),
        (ColumnType("mediumint"), "int"),
        (ColumnType("mediumint", unsigned=True), "int"),
        (ColumnType("int"), "int"),
        (ColumnType("int", unsigned=True), "bigint"),
        (ColumnType("bigint"), "bigint"),
        (ColumnType("bigint", unsigned=True), "decimal(20,0)"),
        (ColumnType("decimal", precision=38, scale=10), "decimal(38,10)"),
        (ColumnType("decimal", unsigned=True, precision=10, scale=2), "decimal(10,2)"),
        (ColumnType("decimal", precision=39, scale=0), "string"),
        (ColumnType("time", fraction_digits=6), "string"),
        (ColumnType("json"), "string"),
        (ColumnType("geometry"), "binary"),
        (ColumnType("float", unsigned=True), "float"),
        (ColumnType("double"), "double"),
        (ColumnType("bit", length=1), "bigint"),
        (ColumnType("bit", length=63), "bigint"),
        (ColumnType("bit", length=64), "decimal(20,0)"),
        (ColumnType("year"), "smallint"),
        (ColumnType("date"), "date"),
        (ColumnType("datetime", fraction_digits=6), "timestamp_ntz"),
        (ColumnType("timestamp"), "timestamp"),
        (ColumnType("varchar", length=20, charset="utf8mb4"), "string"),
        (ColumnType("longtext", charset="latin1"), "string"),
        (ColumnType("enum", labels=("a", "b")), "string"),
        (ColumnType("set", labels=("a", "b")), "string"),
        (ColumnType("varbinary", length=20), "binary"),
        (ColumnType("mediumblob"), "binary"),
    ],
    ids=lambda value: value.sql() if isinstance(value, ColumnType) else value,
)
def test_every_value_of_a_mysql_type_fits_its_spark_type(column_type, expected):
    assert spark_type(column_type) == expected


def test_every_mirrored_type_has_a_spark_type():
    sized = {"decimal": {"precision": 10, "scale": 0}, "bit": {"length": 8}}
    assert all(spark_type(ColumnType(name, **sized.get(name, {}))) for name in MIRRORED)


def test_dates_that_may_be_invalid_are_text_when_asked_for_and_nothing_else_changes():
    sized = {"decimal": {"precision": 10, "scale": 0}, "bit": {"length": 8}}
    types = [ColumnType(name, **sized.get(name, {})) for name in sorted(MIRRORED)]
    as_text = {kind.name: spark_type(kind, as_text=True) for kind in types}
    dates = {"date": "string", "datetime": "string", "timestamp": "string"}
    assert as_text == {kind.name: spark_type(kind) for kind in types} | dates


def test_a_type_without_a_mirror_is_refused_by_name():
    with pytest.raises(RefusedError, match="type 20") as refused:
        spark_type(ColumnType("type 20"))
    assert refused.value.code == "column-type"
