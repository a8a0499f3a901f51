"""The schema and the name of a view, by the template."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.view_names import check_template, named_twice, view_name

ORDERS = TableName("shop", "orders")


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{database}", ("shop", "orders")),
        ("raw_{database}", ("raw_shop", "orders")),
        ("mirrors", ("mirrors", "shop__orders")),
    ],
)
def test_a_schema_of_all_databases_has_the_database_in_the_names_of_its_views(template, name):
    assert view_name(check_template(template), ORDERS) == name


@pytest.mark.parametrize("template", ["", " ", "{table}", "{database}{", "}", "{}", "{database}_{schema}"])
def test_a_template_has_no_other_braces(template):
    with pytest.raises(ValueError, match="a template is the name of a schema"):
        check_template(template)


def test_names_that_engines_take_for_one_are_named_twice():
    names = [view_name("all", TableName(*name)) for name in (("a__b", "c"), ("a", "b__c"), ("a", "B__D"), ("a", "x"))]
    assert named_twice(names) == {("all", "a__b__c")}
    assert named_twice([*names, view_name("ALL", TableName("A", "X"))]) == {
        ("all", "a__b__c"), ("all", "a__x"), ("ALL", "A__X"),
    }  # fmt: skip
