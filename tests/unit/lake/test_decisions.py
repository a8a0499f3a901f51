"""What of an epoch is applied to which mirror, and which tables are refused, decided from silver's counts alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirrorlake.core.position import pack_lsn
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.control.register import DROPPED, STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.decisions import Decisions
from mirrorlake.lake.gold.merge.changes import TableChanges

T = TableSchema("d", "t", (Column("id", ColumnType("int"), False),), ("id",))
SEQUENCE = TableSchema(
    "d", "new",
    tuple(
        Column(name, ColumnType("bigint"), False)
        for name in (
            "next_not_cached_value", "minimum_value", "maximum_value", "start_value", "increment", "cache_size",
            "cycle_option", "cycle_count",
        )
    ),
    (),
)  # fmt: skip
OTHER = TableSchema("d", "t", (Column("id", ColumnType("date"), False),), ("id",))
INVALID = ("invalid-value", "a row at 000003:400 has a value that its mirror cannot hold")
MISMATCH = ("definition-mismatch", "the row events have other columns than the mirror")
ROW_IMAGE = (pack_lsn(0, 3, 500), "row-image: a reason")


def changes(table="t", schema=T, refused=None, first_invalid=None) -> TableChanges:
    first, n_invalid = pack_lsn(0, 3, 300), int(first_invalid is not None)
    return TableChanges(
        "d", table, frozenset({schema.schema_id}), 3, 0, 0, first, refused, False, n_invalid, first_invalid
    )


def taken(
    found: TableChanges, *, planned=(), policy="refuse", state=STREAMING, schema=T
) -> tuple[list[str], list[tuple]]:
    """Tables that are worked on; (lsn, code, reason) of each that is refused."""
    register = TableRegister([TableEntry(5, "d", "t", state, "d__t__5", schema)])
    definitions = {schema.schema_id: schema for schema in (T, OTHER, SEQUENCE)}
    rules = TableRules(is_wanted=lambda _, table: table != "left_out", invalid_values=lambda *_: policy)
    decisions = Decisions(lambda: definitions, rules)
    work, refused = decisions.take([found], register, planned)
    return [entry.table for _, entry in work], [(entry.lsn, entry.code, entry.reason) for entry in refused]


def test_rows_under_the_old_name_of_a_renamed_table_refuse_both():
    """The RENAME was of a temporary table, or the table under the old name is not the one that the mirror has."""
    entries = [
        TableEntry(5, "d", "t", STREAMING, "d__t__5", T), TableEntry(6, "d", "t", DROPPED),
        TableEntry(6, "d", "renamed", STREAMING, "d__t__5", T), TableEntry(5, "d", "u", STREAMING, "d__u__5", T),
    ]  # fmt: skip
    decisions = Decisions(lambda: {T.schema_id: T}, TableRules())
    for register in (TableRegister(entries), TableRegister(entries).copy()):
        work, refused = decisions.take([changes()], register, ())
        assert work == []
        assert [(entry.table, entry.code, entry.reason) for entry in refused] == [
            ("t", "needs-first-copy", "its CREATE TABLE is not in the log"),
            ("renamed", "needs-resync", "it was renamed from d.t, of which the log has rows after that"),
        ]


@pytest.mark.parametrize(
    ("found", "given", "work", "refused"),
    [
        (changes(), {}, ["t"], []),
        (changes(first_invalid=pack_lsn(0, 3, 400)), {"policy": "null"}, ["t"], []),
        (changes(first_invalid=pack_lsn(0, 3, 400)), {"schema": replace(T, as_text=True)}, ["t"], []),
        (changes(first_invalid=pack_lsn(0, 3, 400)), {}, [], [INVALID]),
        (changes(first_invalid=pack_lsn(0, 3, 400), refused=ROW_IMAGE), {}, [], [INVALID]),
        # the plan was made by a run that took NULL: its commit may be there
        (changes(first_invalid=pack_lsn(0, 3, 400)), {"planned": {("d", "t")}}, ["t"], []),
        (changes(schema=OTHER), {}, [], [MISMATCH]),
        (changes(schema=OTHER), {"schema": replace(T, as_text=True)}, [], [MISMATCH]),
        (changes("new"), {}, [], [("needs-first-copy", "its CREATE TABLE is not in the log")]),
        (changes(), {"state": DROPPED}, [], [("needs-first-copy", "its CREATE TABLE is not in the log")]),
        (changes("new", schema=SEQUENCE), {}, [], []),
        (changes("left_out"), {}, [], []),
    ],
)
def test_tables_are_worked_on_or_refused_from_their_first_change_on(found, given, work, refused):
    assert taken(found, **given) == (work, [(found.first_lsn, *cause) for cause in refused])


def test_what_comes_before_a_refusal_in_silver_is_applied():
    assert taken(changes(refused=ROW_IMAGE)) == (["t"], [(ROW_IMAGE[0], "row-image", "a reason")])


@pytest.mark.parametrize("knows_names", [True, False])
def test_rows_of_a_table_known_in_another_letter_case_refuse_both_where_nobody_said_how_names_compare(knows_names):
    register = TableRegister([TableEntry(5, "d", "t", STREAMING, "d__t__5", T)])
    decisions = Decisions(lambda: {T.schema_id: T}, TableRules(knows_names=knows_names))
    work, refused = decisions.take([changes("T")], register, ())
    found = [(entry.table, entry.lsn, entry.code, entry.reason) for entry in refused]
    lsn = pack_lsn(0, 3, 300)
    unknown = ("T", lsn, "needs-first-copy", "its CREATE TABLE is not in the log")
    both = [
        ("T", lsn, "name-case", "its CREATE TABLE is not in the log, but that of d.t"),
        ("t", lsn, "name-case", "the log has rows of d.T, but not its CREATE TABLE"),
    ]
    assert (work, found) == ([], [unknown] if knows_names else both)
