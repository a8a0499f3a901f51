"""What DDL does to mirrors with hashed columns: their digests stay right, or the table is refused."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.column_patterns import ColumnPatterns
from mirrorlake.lake.gold.ddl.outcomes import Outcome
from mirrorlake.lake.gold.merge.generated_columns import not_computed
from tests.support.ddl_outcomes import Replay

STRICT, NOT_STRICT = 1 << 21, 0


class HashedReplay(Replay):
    hidden = ColumnPatterns(hashed=("d.*.h", "d.*.h2"))


SHOP = (
    "create database d charset utf8mb4",
    "create table t (id int primary key, h varchar(5), b int)",
    "create table p (id int, h varchar(5), primary key (id, h)) partition by list columns (h) "
    "(partition x values in ('a'), partition y values in ('b'))",
    "create table o (id int, h varchar(5), primary key (id, h))",
    "create table r (id int, b varchar(5), primary key (id, b)) partition by range (id) "
    "(partition x values less than (9), partition y values less than maxvalue)",
    "create table n (h int not null, b int, h2 double, d datetime, key (h))",
    "create table dated (id int, h date, primary key (id, h)) partition by range columns (h) "
    "(partition x values less than ('2024-01-01'), partition y values less than maxvalue)",
)


def reason(outcome: Outcome) -> str | None:
    return outcome.entry and outcome.entry.reason


CHANGES = "column h is hashed, and the statement may change its values"
GETS_A_VALUE = "rows that exist get a value in column h2, which is hashed"
OF_P = "which rows are in a partition by column h, which is hashed"


@pytest.mark.parametrize(
    ("statement", "reasons"),
    [
        ("alter table t modify h varchar(9)", None),
        ("alter table t modify h text", None),
        ("alter table t add h2 int", None),
        ("alter table t change h g varchar(5)", None),
        ("alter table t modify h varchar(4)", [CHANGES]),
        ("alter table t modify h varchar(9) charset latin1", [CHANGES]),
        ("alter table t modify h int", [CHANGES]),
        ("alter table t add h2 int default 7", [GETS_A_VALUE]),
        ("alter table t add h2 int not null", [GETS_A_VALUE]),
        ("alter table t change b h2 int", ["column h2 is hashed now, and the mirror has its values"]),
        ("alter table t add h2 date", None),
        ("alter table t add h2 decimal(5,2) default 1", [GETS_A_VALUE]),
        ("alter table t add h2 enum('a', 'b') not null", [GETS_A_VALUE]),
        ("alter table t add h2 int as (b + 1)", [GETS_A_VALUE]),
        ("alter table n modify h bigint not null", None),
        ("alter table n modify h int not null auto_increment", [CHANGES]),
        ("alter table n modify h int as (b + 1) stored", [CHANGES]),
        ("alter table n modify h2 double comment 'other'", None),
        ("alter table n modify h2 double(7,2)", ["column h2 is hashed, and the statement may change its values"]),
        ("alter table n change d h2 datetime, drop h2", ["column h2 is hashed now, and the mirror has its values"]),
        ("alter table dated drop partition x", [OF_P]),
        ("alter table p drop partition x", [OF_P]),
        ("alter table p truncate partition x", [OF_P]),
        ("alter table r exchange partition x with table o",
         ["rows came from d.o, in whose mirror other columns are hashed",
          "rows came from d.r, in whose mirror other columns are hashed"]),
    ],
)  # fmt: skip
def test_a_statement_leaves_digests_right_or_refuses_the_table(statement, reasons):
    found = HashedReplay(*SHOP).run(statement)
    refused = [reason(outcome) for outcome in found if outcome.entry and outcome.entry.state == "refused"]
    assert refused == (reasons or [])


def test_null_that_becomes_a_value_refuses_the_table():
    """The server does that where it is not strict."""
    statement = "alter table t modify h varchar(5) not null"
    assert [reason(outcome) for outcome in HashedReplay(*SHOP).run(statement, NOT_STRICT)] == [CHANGES]
    assert [reason(outcome) for outcome in HashedReplay(*SHOP).run(statement, STRICT)] == [None]


def test_a_generated_column_that_is_hashed_is_not_computed():
    """MariaDB may leave its values out of the log."""
    replay = HashedReplay("create database d", "create table t (id int primary key, b int, h int as (b + 1))")
    assert not_computed(replay.register.get(("d", "t")).schema) == {"h": "it is hashed"}
