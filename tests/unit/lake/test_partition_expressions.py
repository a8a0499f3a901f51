"""Expressions of partitions and generated columns in Spark's SQL, however deep and long they are."""

from __future__ import annotations

import pytest

from mirrorlake.core.ddl.parse.constants import constant
from mirrorlake.core.schema.tables import Column, Default, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.convert.date_text import bound_literal
from mirrorlake.lake.gold.partition.expressions import spark_expression

SCHEMA = TableSchema("d", "t", (Column("id", ColumnType("int")), Column("v", ColumnType("int"))), ("id",))
DEEP = 5000


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("id + 2 * v", "(`id` + (2 * `v`))"),
        ("(id + 2) % v - -3", "(((`id` + 2) % `v`) - (-3))"),
        ("ABS(MOD(id, (3)))", "abs((`id` % 3))"),
        ("COALESCE(id, v + 1, (7))", "coalesce(`id`, (`v` + 1), 7)"),
        ("(" * DEEP + "id" + ")" * DEEP, "`id`"),
        ("(" * DEEP + "id + 1" + ")" * DEEP + " * 2", "((`id` + 1) * 2)"),
    ],
)
def test_the_same_value_in_spark(text, sql):
    assert str(spark_expression(text, SCHEMA).sql) == sql


@pytest.mark.parametrize(
    "text",
    [
        "ABS(" * DEEP + "id" + ")" * DEEP,
        "-" * DEEP + "id",
        "id" + " + 1" * DEEP,
        "(1 + " * DEEP + "id" + ")" * DEEP,
        "(" * DEEP + "id" + ")" * (DEEP - 1),
        "(" * DEEP,
    ],
)
def test_what_spark_could_not_nest_is_not_derived(text):
    with pytest.raises(NotDerivable) as caught:
        spark_expression(text, SCHEMA)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(" * DEEP + "7" + ")" * DEEP, Default("number", "7")),
        ("-(" * DEEP + "7" + ")" * DEEP, Default("number", "7")),
        ("UPPER(" * DEEP + "'a'" + ")" * DEEP, Default("string", "A")),
        ("1" + " + 1" * DEEP, Default("number", str(DEEP + 1))),
        ("(" * DEEP + "7" + ")" * (DEEP - 1), None),
    ],
)
def test_constants_as_deep(text, found):
    assert constant(text) == found


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("2020-1-1", ColumnType("date"), "'2020-01-01'"),
        ("200101", ColumnType("date"), "'2020-01-01'"),  # to Spark the year 200101
        ("2020-01-01 00:00:00.0", ColumnType("date"), "'2020-01-01'"),
        ("2020-01-01", ColumnType("datetime"), "'2020-01-01 00:00:00'"),
        ("2020-01-01T10:00:00.50", ColumnType("datetime", fraction_digits=1), "'2020-01-01 10:00:00.5'"),
        ("0000-00-00", ColumnType("date"), "'0000-00-00'"),
        ("2020-01-01 00:00:00.5", ColumnType("datetime"), None),  # MySQL rounds it, MariaDB cuts it
        ("2020-01-01 23:59:59.9999999", ColumnType("datetime", fraction_digits=6), None),
        ("2020-01-01 10:00:00+05:00", ColumnType("datetime"), None),
    ],
)
def test_the_date_of_a_bound_is_read_as_both_servers_do(text, kind, found):
    assert bound_literal(text, kind) == found
