"""How many changes of a table are read into the driver."""

from __future__ import annotations

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.merge.net_effect import NAMES_BYTES, Sizes


def test_few_changes_of_a_table_whose_names_are_long():
    def of(n_columns: int) -> Sizes:
        columns = tuple(Column(f"{i:064}", ColumnType("int"), True) for i in range(n_columns))
        return Sizes().of_table(TableSchema("d", "t", columns, ()))

    assert of(10) == Sizes()
    assert of(1000).local * 2 * 64 * 1000 < NAMES_BYTES and of(1000).per_task == Sizes().per_task
