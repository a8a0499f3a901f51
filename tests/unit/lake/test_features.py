"""Which features of Delta a mirror gets, and with which statement of the source."""

from __future__ import annotations

import pytest

from mirrorlake.lake.gold.control.features import (
    COLUMN_MAPPING,
    FEATURES,
    TIMESTAMP_NTZ,
    TYPE_WIDENING,
    Feature,
    needed_by,
    properties_of,
)
from mirrorlake.lake.gold.control.table import create_mirror_statement
from mirrorlake.lake.gold.ddl.steps import Alter, Overwrite
from tests.support.ddl_outcomes import Replay

DATETIMES, NAMES, WIDER_TYPES = {TIMESTAMP_NTZ}, {TIMESTAMP_NTZ, COLUMN_MAPPING}, {TYPE_WIDENING}
NONE: set[Feature] = set()


@pytest.mark.parametrize(
    ("column", "needed"),
    [
        ("a int", NONE), ("`ä.b-c` varchar(5)", NONE), ("a timestamp(6)", NONE), ("a date", NONE), ("a json", NONE),
        ("a datetime", DATETIMES), ("a datetime(6)", DATETIMES),
        *((f"`a{letter}b` int", NAMES) for letter in " ,;{}()\n\t="),
        ("`a b` datetime", DATETIMES | NAMES),
    ],
)  # fmt: skip
def test_a_new_mirror_has_what_its_columns_need(column, needed):
    [outcome] = Replay("create database d charset utf8mb4").run(f"create table t (id int primary key, {column})")
    statement = create_mirror_statement("m", outcome.entry.schema)
    found = {f for f in FEATURES if f"'{f.setting}' = '{f.value}'" in statement}
    assert found == needed


@pytest.mark.parametrize(
    ("clauses", "needs"),
    [
        ("add c int", [NONE]),
        ("add c int first", [NONE]),
        ("modify b int first", [NONE]),
        ("add c datetime", [DATETIMES]),
        ("add `c d` int", [NAMES]),
        ("drop a", [NAMES]),
        ("rename column a to z", [NAMES]),
        ("rename column a to b, rename column b to a", [NAMES] * 4),
        ("modify b bigint", [WIDER_TYPES]),
        ("drop a, modify b bigint, add c datetime", [NAMES, WIDER_TYPES, DATETIMES]),
        ("modify b varchar(20)", [NONE]),
        ("add c int not null default 5", [NONE]),
        ("add c datetime not null default '2026-01-02 03:04:05'", [DATETIMES]),
        ("add `c d` int not null default 5", [NAMES]),
        ("drop a, add c int not null default 5", [NONE]),
    ],
)
def test_a_mirror_gets_what_an_alter_needs(clauses, needs):
    replay = Replay("create database d charset utf8mb4", "create table t (id int primary key, a varchar(5), b int)")
    [outcome] = replay.run(f"alter table t {clauses}")
    *steps, properties = outcome.work.steps
    assert [step.needs for step in steps if isinstance(step, Alter | Overwrite)] == needs
    assert properties.clause.startswith("SET TBLPROPERTIES ('mirrorlake.columns'") and not properties.needs


def test_properties_come_in_one_order():
    features = needed_by({"a b": "timestamp_ntz"})
    assert list(properties_of(features).items()) == [
        ("delta.feature.timestampNtz", "supported"), ("delta.columnMapping.mode", "name"),
    ]  # fmt: skip
