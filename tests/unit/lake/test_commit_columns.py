"""Which mirrors get ``--commit-columns``, and what becomes of a source's columns with these names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirrorlake.lake.gold.control.table import own_columns
from tests.support.ddl_outcomes import RULES, Replay

WITH = replace(RULES, commit_columns=True)
RANGES = "partition by range (id) (partition low values less than (10), partition high values less than maxvalue)"
EXISTING = ("create table t (id int primary key, v int)", f"create table p (id int primary key, v int) {RANGES}")


def state(replay: Replay, name: str) -> tuple[str, str | None, list[str]]:
    entry = replay.register.get(("d", name))
    return entry.state, entry.code, list(own_columns(entry.schema))[1:]


@pytest.mark.parametrize(
    "statement", ["alter table t add w int", "alter table t modify v varchar(9)", "rename table t to u"]
)
@pytest.mark.parametrize(("first", "then", "added"), [(RULES, WITH, []), (WITH, RULES, ["_committed_at", "_gtid"])])
def test_the_creation_of_a_mirror_decides_and_ddl_keeps_it(first, then, added, statement):
    replay = Replay(*EXISTING, rules=first)
    replay.run(statement, rules=then)
    assert state(replay, "u" if "rename" in statement else "t") == ("streaming", None, added)


def test_mirrors_with_and_without_them_have_other_names():
    names = {Replay(*EXISTING, rules=rules).register.get(("d", "t")).mirror_id for rules in (RULES, WITH)}
    assert names == {"d__t__1", "d__t__1__commits"}


@pytest.mark.parametrize("name", ["_gtid", "_Committed_At"])
@pytest.mark.parametrize(("rules", "code"), [(RULES, None), (WITH, "column-name")])
def test_a_column_of_that_name_refuses_a_table_whose_mirror_has_them(rules, code, name):
    replay = Replay(*EXISTING, f"create table taken (id int primary key, {name} int)", rules=rules)
    replay.run(f"alter table t add {name} int")
    assert [state(replay, table)[1] for table in ("taken", "t", "p")] == [code, code, None]


def test_rows_do_not_move_between_mirrors_with_and_without_them():
    replay = Replay(*EXISTING, rules=WITH)
    replay.run("create table x (id int primary key, v int)", rules=RULES)
    replay.run("alter table p exchange partition low with table x")
    assert {state(replay, name)[:2] for name in "px"} == {("refused", "needs-resync")}
