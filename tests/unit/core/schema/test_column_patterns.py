"""Patterns of ``database.table.column``."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.column_patterns import ColumnName, ColumnPatterns, nearest_columns
from mirrorlake.core.schema.lower_case_names import NameCase
from mirrorlake.core.schema.table_name import TableName


def column(name: str) -> ColumnName:
    database, table, column = name.split(".")
    return ColumnName(TableName(database, table), column)


@pytest.mark.parametrize(
    ("pattern", "hidden"),
    [
        ("shop.people.phone", ["shop.people.phone", "shop.people.Phone", "shop._people_gho.phone"]),
        ("*.*.phone", ["shop.people.phone", "shop.people.Phone", "shop._people_gho.phone", "crm.PEOPLE.phone"]),
        ("*.people.p*", ["shop.people.phone", "shop.people.Phone", "shop._people_gho.phone"]),
        ("shop.people.[a-c]*", []),
    ],
)
def test_columns_compare_without_regard_to_case_and_tables_as_the_source_says(pattern, hidden):
    columns = ["shop.people.phone", "shop.people.Phone", "shop._people_gho.phone", "crm.PEOPLE.phone", "shop.people.id"]
    assert [name for name in columns if ColumnPatterns((pattern,)).hides(column(name))] == hidden
    assert ColumnPatterns(("CRM.people.phone",), NameCase(1)).hides(column("crm.people.phone"))


def test_a_pattern_without_a_wildcard_must_fit_a_column():
    columns = {column("shop.people.phone"), column("shop.people.id")}
    patterns = ColumnPatterns(("shop.people.phone", "shop.people.fone", "*.*.password"))
    assert patterns.unused(columns) == ["shop.people.fone"]
    assert nearest_columns("shop.people.fone", columns)[0] == "shop.people.phone"


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("shop.people.fone", ["shop._people_gho", "shop.people"]),
        ("shop.peopel.phone", ["shop._people_gho", "shop.people"]),
        ("crm.PEOPLE.phone", ["crm.PEOPLE"]), ("shop.a.b.phone", ["shop.a.b"]), ("*.people.phone", []),
        ("elsewhere.x.y", []),
    ],
)  # fmt: skip
def test_a_pattern_without_a_wildcard_names_tables(pattern, named):
    names = ("shop.people", "shop._people_gho", "crm.PEOPLE", "shop.a.b", "shop.t1")
    tables = [TableName(*name.split(".", 1)) for name in names]
    assert sorted(map(str, ColumnPatterns(hashed=(pattern,)).named_tables(tables))) == named
    assert ColumnPatterns(("SHOP.People.x",), NameCase(1)).named_tables(tables[:1]) == {tables[0]}
