"""Which definition holds for an event."""

from __future__ import annotations

import numpy as np

from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.timeline import LEFT_OUT, Timeline
from mirrorlake.core.schema.types import ColumnType


def table(name: str, *columns: str) -> TableSchema:
    return TableSchema("d", name, tuple(Column(column, ColumnType("int"), False) for column in columns), columns[:1])


A, A2, B = table("a", "x"), table("a", "x", "y"), table("b", "x")
CHANGES = [
    (10, DefinitionChange("create", "d", "a", A)),
    (20, DefinitionChange("create", "d", "b", B)),
    (30, DefinitionChange("alter", "d", "a", A2)),
    (40, DefinitionChange("refuse", "d", "b", None, code="ddl-unsupported", reason="-")),
    (50, DefinitionChange("drop_database", "d", "", steps=(("charset", None),))),
    (60, DefinitionChange("create", "d", "a", A)),
]


def whole() -> Timeline:
    timeline, definitions = Timeline(), Definitions()
    for lsn, change in CHANGES:
        definitions.apply([change])
        timeline.follow(lsn, change, definitions)
    return timeline


def test_a_statement_holds_for_the_events_behind_it():
    found = {lsn: (whole().at("d", "a", lsn), whole().at("d", "b", lsn)) for lsn in range(0, 80, 5)}
    assert found == {
        0: (None, None), 5: (None, None), 10: (None, None),
        15: (A, None), 20: (A, None),
        25: (A, B), 30: (A, B),
        35: (A2, B), 40: (A2, B),
        45: (A2, LEFT_OUT), 50: (A2, LEFT_OUT),
        55: (None, None), 60: (None, None),
        65: (A, None), 70: (A, None), 75: (A, None),
    }  # fmt: skip


def test_a_part_says_of_its_range_what_the_whole_says():
    for after in range(0, 80, 5):
        for to in range(after, 80, 5):
            part = whole().of_range(LsnRange(after, to), {("d", "a"), ("d", "z")})
            for lsn in range(after + 1, to + 1):
                assert part.at("d", "a", lsn) == whole().at("d", "a", lsn)
                assert part.at("d", "b", lsn) is None


def test_only_one_table_is_not_left_out():
    part = whole().only(("d", "a"))
    assert [part.at("d", "a", lsn) for lsn in range(0, 80, 5)] == [whole().at("d", "a", lsn) for lsn in range(0, 80, 5)]
    assert {part.at("d", name, lsn) for name in "bz" for lsn in (5, 25, 75)} == {LEFT_OUT}


def test_a_definition_changes_at_edges_only():
    assert whole().edges.tolist() == [10, 20, 30, 40, 50, 60]
    assert whole().edges.dtype == np.int64
    assert Timeline().edges.tolist() == []
