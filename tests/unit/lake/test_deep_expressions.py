"""Expressions of generated columns that are as deep, as long or as odd as a statement can make them."""

from __future__ import annotations

import tracemalloc

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.generated.expressions import computed_column

SCHEMA = TableSchema("d", "t", (Column("b", ColumnType("int")),), ("b",))


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("(", ")"),
        ("abs(", ")"),
        ("-", ""),
        ("!", ""),
        ("nullif(", ",b)"),
        ("case when b then ", " end"),
        ("if(b,", ",2)"),
    ],
)
@pytest.mark.parametrize("levels", [39, 60, 5000])
def test_it_is_computed_or_is_not_soon(opening, closing, levels):
    column = Column("g", ColumnType("int"), generated=opening * levels + "b" + closing * levels)
    try:
        assert len(computed_column(column, SCHEMA).sql) < 20_000
    except NotDerivable as stop:
        assert str(stop) in ("it is nested too deep", "it is too long")


def test_a_long_subject_of_many_cases_takes_no_memory_for_each():
    long = "case " + "+".join("b" * 60) + " when 1 then 2" * 5000 + " end"
    tracemalloc.start()
    with pytest.raises(NotDerivable, match="it is too long"):
        computed_column(Column("g", ColumnType("int"), generated=long), SCHEMA)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 << 20


def test_a_number_of_more_digits_than_python_reads():
    with pytest.raises(NotDerivable):
        computed_column(Column("g", ColumnType("int"), generated="b + 0." + "0" * 5000 + "1"), SCHEMA)
