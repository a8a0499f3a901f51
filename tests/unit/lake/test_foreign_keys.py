"""Which foreign keys change rows of which mirrors, and how far that goes."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.lake.gold.cascade.foreign_keys import Comparison, Reference, above, alone, reached, references
from mirrorlake.lake.gold.control.register import DROPPED, REFUSED, STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.merge.changes import TableChanges
from tests.support.interpreting import definitions_after

SHOP = (
    "create table a (id int primary key, u int unique)",
    "create table b (id int primary key, a int, foreign key (a) references a (id) on delete cascade)",
    "create table c (id int primary key, b int, foreign key (B) references b (ID) on delete set null)",
    "create table d (id int primary key, c int, foreign key (c) references c (id) on delete cascade)",
    "create table e (id int primary key, u int, foreign key (u) references a (u) on update cascade)",
    "create table t (id int primary key, up int, foreign key (up) references t (id) on delete cascade)",
    "create table o (id int primary key, a int, foreign key (a) references a (id) on delete restrict)",
)


def register(*statements: str, states: dict[str, str] | None = None) -> TableRegister:
    definitions = definitions_after("create database s charset utf8mb4", *statements, database="s", flavor="mariadb")
    found = ((name, definitions.get("s", name)) for name in definitions.tables_of("s"))
    return TableRegister(
        TableEntry(1, "s", name, (states or {}).get(name, STREAMING), f"s__{name}__1", schema)
        for name, schema in found
        if isinstance(schema, TableSchema)
    )


def shown(found: list[Reference]) -> list[str]:
    return sorted(f"{r.child.table}.{r.columns[0]} -> {r.parent.table}.{r.parent_columns[0]}" for r in found)


def changes(table: str, inserts: int = 0, updates: int = 0, deletes: int = 0) -> dict[tuple[str, str], TableChanges]:
    n_changes = inserts + updates + deletes
    return {("s", table): TableChanges("s", table, frozenset(), n_changes, inserts, deletes, 5)}


def test_references_are_spelled_as_the_tables_are():
    found, orphans = references(register(*SHOP), TableRules())
    assert shown(found) == ["b.a -> a.id", "c.b -> b.id", "d.c -> c.id", "e.u -> a.u", "t.up -> t.id"]
    assert not orphans and not any(reference.doubt for reference in found)


@pytest.mark.parametrize(
    ("changed", "children"),
    [
        (changes("a", inserts=3), ""),
        (changes("a", deletes=1), "bc"),  # c's rows stay, so d's do
        (changes("a", updates=1), "e"),
        (changes("a", updates=1, deletes=1), "bce"),
        (changes("b", deletes=1), "c"),
        (changes("c", deletes=1), "d"),
        (changes("t", deletes=1), "t"),
        (changes("o", deletes=1), ""),
    ],
)
def test_changes_reach_children_until_no_row_goes(changed, children):
    found, _ = references(register(*SHOP), TableRules())
    leaving = [r for r in found if r.parent.name in changed and r.may_follow(changed[r.parent.name])]
    assert "".join(sorted(r.child.table for r in reached(found, leaving))) == children


def test_what_is_above_a_table():
    found, _ = references(register(*SHOP), TableRules())
    assert shown(above(("s", "c"), found)) == ["b.a -> a.id", "c.b -> b.id"]
    assert shown(above(("s", "d"), found)) == ["d.c -> c.id"]


@pytest.mark.parametrize(
    ("state", "is_wanted", "orphans"),
    [(REFUSED, True, ["b", "e"]), (DROPPED, True, []), (DROPPED, False, ["b", "e"]), (STREAMING, True, [])],
)
def test_children_of_a_parent_without_a_mirror(state, is_wanted, orphans):
    rules = TableRules(is_wanted=lambda _, table: is_wanted or table != "a")
    found = references(register(*SHOP, states={"a": state}), rules)[1]
    assert [orphan.child.table for orphan in found] == orphans
    assert all(orphan.reason.endswith("its parent s.a is not mirrored") for orphan in found)


def test_what_goes_on_alone_has_no_parent_but_itself():
    assert [orphan.child.table for orphan in alone(register(*SHOP))] == ["b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("child", "unclear"),
    [
        ("a int, foreign key (a) references p (id) on delete cascade", "it has no key"),
        ("id int primary key, x char(9) collate utf8mb4_danish_ci, foreign key (x) references p (x) on delete cascade",
         "its columns are not compared by their values alone"),
        ("id int primary key, a float, foreign key (a) references p (f) on delete cascade",
         "its columns are not compared by their values alone"),
        ("id int primary key, a int, b int, foreign key (a) references p (id) on delete cascade,"
         " foreign key (a, b) references p (id, j) on delete set null", "another foreign key has columns of it"),
        ("a int primary key, foreign key (a) references p (id) on delete set null", "it changes the table's key"),
    ],
)  # fmt: skip
def test_what_does_not_follow_from_the_log(child, unclear):
    parent = "create table p (id int primary key, j int, x varchar(9) collate utf8mb4_danish_ci unique, f float unique)"
    found, _ = references(register(parent, f"create table n ({child})"), TableRules())
    assert {reference.doubt for reference in found} == {unclear}


@pytest.mark.parametrize(
    ("kind", "comparison"),
    [
        ("bigint unsigned", Comparison.BY_VALUE), ("varbinary(9)", Comparison.BY_VALUE), ("uuid", Comparison.BY_VALUE),
        ("char(36) collate utf8mb4_bin", Comparison.PADDED), ("char(36)", Comparison.ASCII),
        ("char(36) collate utf8mb4_nopad_bin", Comparison.BY_VALUE),
        ("varchar(9) collate utf8mb4_unicode_520_ci", Comparison.ASCII),
        ("varchar(9) collate latin1_swedish_ci", Comparison.ASCII),
    ],
)  # fmt: skip
def test_how_values_are_compared(kind, comparison):
    child = f"create table n (id int primary key, x {kind}, foreign key (x) references p (x) on delete cascade)"
    found, _ = references(register(f"create table p (x {kind} primary key)", child), TableRules())
    assert [reference.comparisons for reference in found] == [(comparison,)]
