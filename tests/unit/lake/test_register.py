"""Rows of ``control_tables`` that mirrorlake did not write: the lake is damaged, and says where."""

from __future__ import annotations

import pytest
from pyspark.sql import Row

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from mirrorlake.lake.gold.control.register import TableEntry

SCHEMA = TableSchema("d", "t", (Column("id", ColumnType("int"), False),), ("id",))
ENTRY = TableEntry(5, "d", "t", "streaming", "d__t__5", SCHEMA)


def test_an_entry_is_read_as_it_was_written():
    assert TableEntry.from_row(Row(**ENTRY.to_row())) == ENTRY


@pytest.mark.parametrize("text", ["[[[", "[" * 200_000, "5", "[]", '{"columns": 5}', '{"odd": 1}', '{"database": "d"}'])
def test_a_definition_of_others_is_damage_of_the_lake(text):
    with pytest.raises(RefusedError, match="its definition in control_tables cannot be read") as refused:
        TableEntry.from_row(Row(**ENTRY.to_row() | {"definition": text}))
    assert (refused.value.code, refused.value.table) == ("lake-damaged", "d.t")


@pytest.mark.parametrize("name", ["lsn", "database", "table", "state", "epoch"])
def test_a_row_without_a_name_or_a_number_is_damage_of_the_lake(name):
    with pytest.raises(RefusedError, match="a row of control_tables lacks a value"):
        TableEntry.from_row(Row(**ENTRY.to_row() | {name: None}))


@pytest.mark.parametrize("field", ["precision", "scale", "length"])
def test_a_text_is_no_number_of_a_definition(field):
    """A number of a column's type is a part of SQL."""
    plain = ENTRY.to_row()["definition"].replace('"int"', f'"decimal", "{field}": "0)) OR true"')
    with pytest.raises(RefusedError, match="its definition in control_tables cannot be read"):
        TableEntry.from_row(Row(**ENTRY.to_row() | {"definition": plain}))
