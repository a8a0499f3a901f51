"""What a mirror's properties say of its source's definition."""

from __future__ import annotations

import json

import pytest

from mirrorlake.lake.gold.control.source_properties import source_properties
from mirrorlake.lake.gold.ddl.steps import Alter
from tests.support.ddl_outcomes import Replay

CREATED = """create table t (id bigint unsigned not null, a varchar(5), e enum('it''s','b "c" ☃'), s set('x','y')
charset latin1 not null, d decimal(10,2), b varbinary(3), t datetime(3), g int as (id + 1), {})"""
COLUMNS = {
    "id": {"type": "bigint unsigned", "nullable": False},
    "a": {"type": "varchar(5)", "charset": "utf8mb4"},
    "e": {"type": "enum('it''s','b \"c\" ☃')", "charset": "utf8mb4", "labels": ["it's", 'b "c" ☃']},
    "s": {"type": "set('x','y')", "charset": "latin1", "labels": ["x", "y"], "nullable": False},
    "d": {"type": "decimal(10,2)"},
    "b": {"type": "varbinary(3)"},
    "t": {"type": "datetime(3)"},
    "g": {"type": "int"},
}


@pytest.mark.parametrize(
    ("key", "names"), [("primary key (s, id)", ["s", "id"]), ("unique (id), key (a)", ["id"]), ("key (id)", [])]
)
def test_properties_say_how_the_source_defines_its_columns_and_key(key, names):
    [outcome] = Replay("create database d charset utf8mb4").run(CREATED.format(key))
    found = {name: json.loads(text) for name, text in source_properties(outcome.entry.schema).items()}
    assert found == {"mirrorlake.columns": COLUMNS, "mirrorlake.primary_key": names}
    assert list(found["mirrorlake.columns"]) == list(COLUMNS)


KEY_OF_B = "SET TBLPROPERTIES ('mirrorlake.primary_key' = '[\"b\"]')"
SHORTER = (
    'SET TBLPROPERTIES (\'mirrorlake.columns\' = \'{"id": {"type": "int", "nullable": false}, '
    '"b": {"type": "enum(\\\'x\\\',\\\'\\u0024{y}\\\')", "charset": "utf8mb4", "labels": ["x", "\\u0024{y}"]'
    "}}', 'comment' = 'n')"
)


@pytest.mark.parametrize(
    ("alter", "clauses"),
    [
        ("drop primary key, add primary key (b)", [KEY_OF_B]),
        ("modify b enum('x','${y}') charset utf8mb4, comment 'n'", [SHORTER]),
        ("modify b int not null default 5, add key (b)", []),
        ("rename to u, add check (b > 1)", []),
    ],
)
def test_properties_follow_a_statement_in_one_commit_and_only_if_they_differ(alter, clauses):
    replay = Replay("create database d", "create table t (id int, b int not null, primary key (id))")
    steps = [step for outcome in replay.run(f"alter table t {alter}") if outcome.work for step in outcome.work.steps]
    assert [step.clause for step in steps if isinstance(step, Alter) and "TBLPROPERTIES" in step.clause] == clauses
