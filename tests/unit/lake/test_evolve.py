"""Statements of the log -> what they do to mirrors and register, decided without touching either."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column, Default
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.control.features import OTHER_NAMES
from mirrorlake.lake.gold.control.register import DDL_IGNORED, STREAMING
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.convert.as_text import text_conversion
from mirrorlake.lake.gold.convert.by_type import conversion
from mirrorlake.lake.gold.convert.conversion import Conversion
from mirrorlake.lake.gold.convert.date_text import meant, shown
from mirrorlake.lake.gold.ddl.classes import DdlClass
from mirrorlake.lake.gold.ddl.outcomes import Outcome
from mirrorlake.lake.gold.ddl.steps import Alter, AppendRows, Check, Create, Delete, ExchangeRows, Overwrite
from tests.support.ddl_outcomes import RULES, Replay

MAY_HAVE_MORE = "the mirror may have rows that the source has not"
PAD_CHAR, TRUNCATE = 1 << 31, 1 << 32  # bits of sql_mode
SHOP = (
    "create database d charset utf8mb4",
    "create table t (id int primary key, a varchar(5), b int)",
    "create table p (id int primary key, b int) partition by range (id) (partition x values less than (10),"
    " partition y values less than maxvalue)",
    "create table q (id int primary key, b int)",
    "create table hidden (id int primary key)",
    "create table bad (id int, _lsn int)",
    "create table g (id int primary key, a int, b varchar(5), c int as (coalesce(a, 7)) stored, d int as (b = 'x'))",
)


def brief(outcome: Outcome) -> tuple:
    """Without the properties that repeat the definition; the entry's definition gives them."""
    entry, work = outcome.entry, outcome.work
    state = entry and " ".join([entry.table, entry.state, entry.mirror_id or "-", *filter(None, [entry.code])])
    if work is None:
        return outcome.ddl_class.value, state
    steps = [_STEPS[type(step)](step) for step in work.steps]
    steps = [step for step in steps if not step.startswith("SET TBLPROPERTIES ('mirrorlake.")]
    return (outcome.ddl_class.value, state, *steps, *(f"unless {check.where}" for check in work.checks))


_STEPS = {
    Create: lambda step: "CREATE",
    Alter: lambda step: step.clause,
    Delete: lambda step: f"DELETE {step.where or 'all'}",
    Overwrite: lambda step: ", ".join(f"{name} = {sql}" for name, sql in step.columns),
    AppendRows: lambda step: f"rows of {step.other_id} where {step.where or 'true'}",
    ExchangeRows: lambda step: f"{'outside' if step.is_partitioned else 'inside'} {step.in_partition}",
}
LOW = "((`id` IS NULL OR `id` < 10 OR (`id` = 10 AND false)))"
T, P, Q, G = "d__t__2", "d__p__3", "d__q__4", "d__g__7"
OUTCOMES = {
    # the definition only
    "alter table t add index (a), alter b set default 4": [],
    "alter table p add check (b > 0), remove partitioning": [],
    "alter table t convert to character set latin1": [("compared", f"t streaming {T}")],
    # what is said of it
    "alter table t comment 'it''s', alter b set default 4": [
        ("compared", f"t streaming {T}", "SET TBLPROPERTIES ('comment' = 'it\\'s')")
    ],
    "alter table t comment ''": [],
    "alter table t modify a varchar(50) comment 'x', change b b int comment 'y'": [
        ("compared", f"t streaming {T}", "ALTER COLUMN `a` COMMENT 'x', `b` COMMENT 'y'")
    ],
    "alter table t modify a varchar(5) comment ''": [],
    "alter table t add c int comment 'x' first": [
        ("compared", f"t streaming {T}", "ADD COLUMNS (`c` int COMMENT 'x' FIRST)")
    ],
    "alter table t modify a varchar(50)": [("compared", f"t streaming {T}")],
    "alter table t drop primary key, add primary key (b)": [("compared", f"t streaming {T}")],
    "alter table t drop primary key": [("compared", f"t streaming {T}")],
    # in place
    "create table n like t": [("compared", "n streaming d__n__8", "CREATE")],
    "alter table t drop b, add c int first": [
        ("compared", f"t streaming {T}", "DROP COLUMNS (`b`)", "ADD COLUMNS (`c` int FIRST)")
    ],
    "alter table t modify b bigint first, rename column a to A": [
        ("compared", f"t streaming {T}", "RENAME COLUMN `a` TO `_renamed_0`", "RENAME COLUMN `_renamed_0` TO `A`",
         "ALTER COLUMN `b` TYPE bigint", "ALTER COLUMN `b` FIRST"),
    ],
    "alter table t rename column a to _renamed_1, rename column b to a": [
        ("compared", f"t streaming {T}", "RENAME COLUMN `a` TO `_renamed_1`", "RENAME COLUMN `b` TO `_renamed_0`",
         "RENAME COLUMN `_renamed_0` TO `a`"),
    ],
    "alter table t rename column a to _renamed_0, rename column b to a": [
        ("compared", f"t streaming {T}", "RENAME COLUMN `a` TO `_renamed_0`", "RENAME COLUMN `b` TO `_renamed_1`",
         "RENAME COLUMN `_renamed_1` TO `a`"),
    ],
    # overwritten
    "alter table t drop a, add c datetime default now()": [
        ("rebuilt", f"t streaming {T}", "id = CAST(`id` AS int), b = CAST(`b` AS int), c = CAST(CAST("
         "from_utc_timestamp(TIMESTAMP'2026-01-02 03:04:05', '+01:00') AS timestamp_ntz) AS timestamp_ntz)"),
    ],
    "alter table t add c int not null, drop a, drop b": [
        ("rebuilt", f"t streaming {T}", "id = CAST(`id` AS int), c = CAST(0 AS int)")
    ],
    # rows go
    "truncate t": [("destructive", None, "DELETE all")],
    "alter table p drop partition x": [("destructive", None, f"DELETE ({LOW})")],
    "alter table p truncate partition all": [("destructive", None, "DELETE all")],
    "alter table p exchange partition x with table q": [
        ("self-inverse", None, f"outside ({LOW})"),
        ("self-inverse", None, f"inside ({LOW})"),
    ],
    "alter table p convert partition x to table n": [
        ("self-inverse", "n streaming d__n__8", "CREATE", f"rows of {P} where ({LOW})"),
        ("destructive", None, f"DELETE ({LOW})"),
    ],
    "alter table p convert table q to partition z values less than maxvalue": [
        ("self-inverse", None, f"rows of {Q} where true"), ("registered", "q dropped -"),
    ],
    "alter table p convert partition x to table hidden2": [("destructive", None, f"DELETE ({LOW})")],
    "alter table p convert table hidden to partition z values less than maxvalue": [
        ("registered", f"p refused {P} needs-resync"),
    ],
    "alter table hidden convert table q to partition z values less than maxvalue": [("registered", "q dropped -")],
    # names
    "rename table t to n, q to t, n to q": [("registered", f"t streaming {Q}"), ("registered", f"q streaming {T}")],
    "alter table t rename to n, add c int": [
        ("compared", f"n streaming {T}", "ADD COLUMNS (`c` int AFTER `b`)"), ("registered", "t dropped -"),
    ],
    "drop table t, hidden, bad": [("registered", "t dropped -"), ("registered", "bad dropped -")],
    # the table filter
    "rename table t to hidden2": [("registered", "t dropped -")],
    "rename table hidden to n": [("registered", "n refused - needs-first-copy")],
    "alter table p exchange partition x with table hidden": [("registered", f"p refused {P} needs-resync")],
    "rename table bad to worse": [
        ("registered", "worse refused - column-name"), ("registered", "bad dropped -"),
    ],
    # not derivable
    "alter table t modify a double": [
        ("rebuilt", f"t streaming {T}", "id = CAST(`id` AS int), a = CAST(NULL AS double), b = CAST(`b` AS int)",
         "unless true"),
    ],
    "alter table t add c int default (b + 1)": [
        ("compared", f"t streaming {T}", "ADD COLUMNS (`c` int AFTER `b`)", "unless true")
    ],
    "alter table g modify a bigint": [
        ("compared", f"g streaming {G}", "ALTER COLUMN `a` TYPE bigint", "unless true")
    ],
    "alter table g modify b varchar(5) collate utf8mb4_bin": [("definition", f"g streaming {G}", "unless true")],
    "alter table g drop a, add a int": [
        ("compared", f"g streaming {G}", "DROP COLUMNS (`a`)", "ADD COLUMNS (`a` int AFTER `d`)", "unless true")
    ],
    "alter table q modify id int auto_increment": [
        ("definition", None, "unless (`id` IS NULL) OR (`id` = 0)")
    ],
    # computed
    "alter table q add c bigint as (b * 2 + 1)": [
        ("rebuilt", f"q streaming {Q}", "id = CAST(`id` AS int), b = CAST(`b` AS int),"
         " c = CAST(CAST(((`b` * 2) + 1) AS bigint) AS bigint)"),
    ],
    "alter table g modify a int not null": [("compared", f"g streaming {G}")],
    "alter table g rename column d to e": [("compared", f"g streaming {G}", "RENAME COLUMN `d` TO `e`")],
}  # fmt: skip


@pytest.mark.parametrize("sql", OUTCOMES)
def test_outcome(sql):
    assert [brief(outcome) for outcome in Replay(*SHOP).run(sql)] == OUTCOMES[sql]


def test_what_null_becomes_outside_strict_mode():
    found = Replay(*SHOP).run("alter table t drop primary key, add primary key (b, a)", sql_mode=0)
    columns = "id = CAST(`id` AS int), a = CAST(coalesce(`a`, '') AS string), b = CAST(coalesce(`b`, 0) AS int)"
    assert [brief(outcome) for outcome in found] == [("rebuilt", f"t streaming {T}", columns)]
    [stopped] = Replay(*SHOP).run("alter table g modify a int not null", sql_mode=0)
    assert stopped.work.checks == (Check("true", "column c is computed again from a, which has changed"),)


@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_null_in_a_timestamp_becomes_a_time_that_is_not_known_also_in_strict_mode(flavor, is_strict):
    old = Column("a", ColumnType("timestamp", fraction_digits=6))
    found = conversion("v", old, replace(old, nullable=False), ServerMode(flavor, is_strict))
    assert (found.sql, found.fails) == ("v", "(v IS NULL)")


@pytest.mark.parametrize(
    ("flavor", "kind", "fails"),
    [("mysql", "float", "v >= 9223372036854775808D"), ("mysql", "double", None), ("mariadb", "float", None)],
)
def test_mysql_makes_the_least_integer_of_a_large_float_outside_strict_mode(flavor, kind, fails):
    old, new = Column("v", ColumnType(kind)), Column("v", ColumnType("smallint"))
    assert conversion("v", old, new, ServerMode(flavor, is_strict=False)).fails == fails


@pytest.mark.parametrize(
    ("computed", "clauses", "stops"),
    [
        ("c date as (date(s)) stored", "modify a bigint", True),
        ("c date as (date(s)) stored", "modify a int not null", True),
        ("c date as (date(s)) stored", "add e int", False),
        ("c date as (date(s)) stored", "add e int as (a + 1) stored", True),
        ("c date as (date(s)) stored", "drop a", False),
        ("c date as (date(s)) stored", "order by id", True),
        ("c int as (year(d)) stored", "order by id", False),
        ("c date as (date(s)) virtual", "modify a bigint", False),
        ("c int as (year(d)) stored", "modify a bigint", False),
    ],
)
def test_a_stored_column_has_the_time_zone_of_the_session_that_copies_the_rows(computed, clauses, stops):
    replay = Replay("create database d charset utf8mb4")
    replay.run(f"create table t (id int primary key, a int, s timestamp null, d datetime, {computed})")
    found = [outcome.work for outcome in replay.run(f"alter table t {clauses}")]
    wanted = Check("true", "column c is computed again from s in this session's time zone")
    assert any(work is not None and wanted in work.checks for work in found) == stops


@pytest.mark.parametrize(
    ("computed", "clauses", "sql_mode", "stops"),
    [
        ("c text as (concat(s, 'x')) stored", "modify a bigint", PAD_CHAR, "s in sql_mode PAD_CHAR_TO_FULL_LENGTH"),
        ("c text as (concat(s, 'x')) stored", "algorithm=copy", PAD_CHAR, "s in sql_mode PAD_CHAR_TO_FULL_LENGTH"),
        ("c varchar(9) as (concat(s, 'x')) stored", "modify a bigint", 0, None),
        ("c varchar(9) as (concat(s, 'x')) virtual", "modify a bigint", PAD_CHAR, None),
        ("c int as (a + 1) stored", "modify s char(5) null", PAD_CHAR, None),
        ("c datetime as (d) stored", "order by id", TRUNCATE, "d in sql_mode TIME_TRUNCATE_FRACTIONAL"),
        ("c datetime as (d) stored", "order by id", 0, None),
        ("c int as (year(e)) stored", "order by id", TRUNCATE, None),
    ],
)  # fmt: skip
def test_a_stored_column_is_computed_as_the_sql_mode_of_the_copying_session_shows_columns(
    computed, clauses, sql_mode, stops
):
    replay = Replay("create database d charset utf8mb4")
    replay.run(f"create table t (id int primary key, a int, s char(5), d datetime(3), e datetime, {computed})")
    found = [outcome.work for outcome in replay.run(f"alter table t {clauses}", sql_mode=sql_mode)]
    reasons = [check.reason for work in found if work for check in work.checks]
    assert [each for each in reasons if "sql_mode" in each] == (
        [f"column c is computed again from {stops}"] if stops else []
    )


@pytest.mark.parametrize(
    ("column", "expression", "is_clipped", "fails"),
    [
        ("tinyint", "v) virtual", True, []),
        ("tinyint", "v) stored", False, []),
        ("int unsigned", "v - 5) virtual", False, ["true"]),
        ("int unsigned", "v - 5) stored", False, []),
        ("int unsigned", "v * 2) virtual", False, []),
    ],
)
def test_a_new_virtual_column_may_be_out_of_range_also_in_strict_mode(column, expression, is_clipped, fails):
    replay = Replay("create database d charset utf8mb4")
    replay.run(f"create table t (id int primary key, v {column})")
    [found] = replay.run(f"alter table t add c bigint unsigned as ({expression}", sql_mode=1 << 21)
    assert [check.where for check in found.work.checks] == fails
    assert any("least(greatest(" in part for part in brief(found)) == is_clipped


@pytest.mark.parametrize(
    ("kind", "expression", "after", "sql"),
    [
        ("decimal(9,1)", "a", "decimal(9,3)", "`a`"),
        ("varchar(3)", "s", "varchar(9)", "`s`"),
        ("varchar(3)", "reverse(s)", "varchar(9)", None),
        ("varchar(3)", "reverse(s)", "varchar(3) comment 'x'", ""),
    ],
)
def test_a_computed_column_of_another_type_is_computed_again(kind, expression, after, sql):
    replay = Replay("create database d charset utf8mb4")
    replay.run(f"create table t (id int primary key, a decimal(9,4), s varchar(9), c {kind} as ({expression}) stored)")
    column = f"{after.split(' ')[0]} as ({expression}) stored{after[len(after.split(' ')[0]) :]}"
    [found] = replay.run(f"alter table t modify c {column}", sql_mode=1 << 21)
    assert any(check.where == "true" for check in found.work.checks) == (sql is None)
    overwritten = [dict(step.columns)["c"] for step in found.work.steps if isinstance(step, Overwrite)]
    assert not sql or [sql in text and "`c`" not in text for text in overwritten] == [True]


def test_an_integer_of_more_than_64_bits_is_not_computed():
    replay = Replay("create database d charset utf8mb4")
    replay.run("create table t (id int primary key, v bigint unsigned)")
    [found] = replay.run("alter table t add c decimal(30) as (v * 2) virtual")
    [check] = found.work.checks
    assert check.where.endswith("NOT BETWEEN 0BD AND 18446744073709551615BD)")


@pytest.mark.parametrize("kind", ["int", "decimal"])
@pytest.mark.parametrize(
    ("charset", "blank"), [("utf8mb4", ""), ("latin1", r"\\u00A0"), ("cp850", r"\\u00E1"), ("ascii", ""), ("gbk", "")]
)
def test_the_byte_a0_is_a_blank_before_a_number(charset, blank, kind):
    new = Column("v", ColumnType(kind, precision=9, scale=2))
    found = conversion("v", text_column("varchar", 9, charset), new, ServerMode("mariadb", is_strict=False))
    assert found.sql.startswith(rf"IF(NOT v RLIKE '^[\\s{blank}]*[+-]?[.]?[0-9]', 0, ")


@pytest.mark.parametrize(("old", "is_cut"), [("double", True), ("wide", True), ("bigint", False), ("float", False)])
def test_a_number_beyond_a_float_becomes_the_largest_one_outside_strict_mode(old, is_cut):
    kind = ColumnType("decimal", precision=65, scale=0) if old == "wide" else ColumnType(old)
    new = Column("v", ColumnType("float", unsigned=True))
    found, strict = (conversion("v", Column("v", kind), new, ServerMode("mysql", mode)).sql for mode in (False, True))
    assert ("3.4028234663852886E38D" in found) == is_cut and "E38" not in strict


def test_a_label_may_equal_a_text_with_characters_that_collations_pass_over():
    new = Column("v", ColumnType("enum", labels=("a", "b"), charset="utf8mb4"))
    found = conversion("v", text_column("varchar", 9), new, ServerMode("mysql", is_strict=False))
    assert r"v RLIKE '[^\\x09-\\x0D\\x20-\\x7E]|^ *[0-9]'" in found.fails


def test_swe7_lacks_characters_of_ascii():
    for charset, pattern in (("swe7", r"[^\\x00-?A-Z_a-z]"), ("koi8r", r"[^\\x00-\\x7F]")):
        columns = (text_column("varchar", 9), text_column("varchar", 9, charset))
        assert conversion("v", *columns, ServerMode("mysql", is_strict=False)).fails == f"(v RLIKE '{pattern}')"


def text_column(kind, length=None, charset="utf8mb4"):
    return Column("v", ColumnType(kind, length=length, charset=charset))


@pytest.mark.parametrize(
    ("before", "after", "sql"),
    [
        (text_column("char", 9), text_column("char", 2), "rtrim(substring(v, 1, 2))"),
        (text_column("char", 2), text_column("char", 9), "v"),
        (text_column("varchar", 2), text_column("char", 9), "rtrim(v)"),
        (text_column("char", 9), text_column("varchar", 2), "substring(v, 1, 2)"),
    ],
)
def test_a_char_has_no_blanks_at_the_end_also_where_it_is_cut(before, after, sql):
    assert conversion("v", before, after, ServerMode("mysql", is_strict=False)).sql == sql


@pytest.mark.parametrize(
    ("before", "after", "is_strict", "fails"),
    [
        (text_column("varchar", 63), text_column("tinytext"), True, None),
        (text_column("varchar", 64), text_column("tinytext"), True, "octet_length(v) > 255"),
        (text_column("text"), text_column("tinytext"), True, "octet_length(v) > 255"),
        (text_column("text"), text_column("mediumtext"), False, None),
        (text_column("text"), text_column("text", charset="utf16"), True, "length(v) * 4 > 65535"),
        (text_column("text", charset="ascii"), text_column("text"), False, "octet_length(v) > 65535"),
        (Column("v", ColumnType("blob")), text_column("tinytext"), True, "octet_length(CAST(v AS string)) > 255"),
        (Column("v", ColumnType("bigint")), text_column("tinytext"), True, None),
    ],
)  # fmt: skip
def test_a_text_that_may_have_too_many_bytes_is_not_converted(before, after, is_strict, fails):
    found = conversion("v", before, after, ServerMode("mysql", is_strict)).fails
    assert found == fails or fails is not None and f"({fails})" in found


@pytest.mark.parametrize(
    ("before", "after", "fails"),
    [
        ("utf8mb4", "cp932", r"(v RLIKE '\\u6661')"),
        ("ujis", "tis620", r"(v RLIKE '[^\\u0000-\\uFFFF]')"),
        ("cp932", "cp932", None),
        ("utf8mb4", "sjis", None),
    ],
)
def test_a_character_that_servers_put_for_another_needs_a_resync(before, after, fails):
    columns = (text_column("varchar", 9, before), text_column("varchar", 9, after))
    assert conversion("v", *columns, ServerMode("mysql", is_strict=True)).fails == fails


@pytest.mark.parametrize("is_strict", [True, False])
def test_a_set_does_not_show_whether_it_has_an_empty_label_at_its_beginning(is_strict):
    columns = [Column("v", ColumnType("set", labels=labels)) for labels in (("", "a"), ("a", "b"))]
    found = [conversion("v", old, Column("v", ColumnType("bigint")), ServerMode("mysql", is_strict)) for old in columns]
    assert [each.fails for each in found] == ["(v IS NOT NULL)", None]


@pytest.mark.parametrize(
    ("before", "after", "fails"),
    [("datetime", "date", "year("), ("datetime", "datetime", "year("), ("timestamp", "timestamp", "IN (TIMESTAMP")],
)  # fmt: skip
def test_a_moment_rounded_to_one_after_the_last_needs_a_resync_outside_strict_mode(before, after, fails):
    old, new = Column("v", ColumnType(before, fraction_digits=6)), Column("v", ColumnType(after))
    rounds, strict, cuts = (
        conversion("v", old, new, ServerMode("mysql", is_strict, "+00:00", truncates)).fails
        for is_strict, truncates in ((False, False), (True, False), (False, True))
    )
    assert fails in rounds and strict is cuts is None


ZERO, FIVE, UNKNOWN = "coalesce(v, 0)", "coalesce(v, 5)", "(v IS NULL)"


@pytest.mark.parametrize(
    ("flavor", "copies_rows", "default", "sql", "fails"),
    [
        ("mysql", None, Default("number", "5"), ZERO, None),
        ("mariadb", True, Default("number", "5"), ZERO, None),
        ("mariadb", False, Default("number", "5"), FIVE, None),
        ("mariadb", None, Default("number", "5"), "v", UNKNOWN),
        ("mariadb", None, Default("number", "0"), ZERO, None),
        ("mariadb", None, Default("null"), ZERO, None),
        ("mariadb", None, None, ZERO, None),
        ("mariadb", False, Default("expression", "(2 + 3)"), FIVE, None),
        ("mariadb", False, Default("expression", "rand()"), "v", UNKNOWN),
        ("mariadb", True, Default("expression", "rand()"), ZERO, None),
    ],
)
def test_null_outside_strict_mode_may_become_the_default_that_the_column_had(flavor, copies_rows, default, sql, fails):
    old = Column("a", ColumnType("int"), default=default)
    new = Column("a", ColumnType("int"), False, default=Default("number", "7"))
    found = conversion("v", old, new, ServerMode(flavor, False, copies_rows=copies_rows))
    assert (found.sql, found.fails) == (sql, fails)


@pytest.mark.parametrize(
    ("kind", "default", "found"),
    [
        ("date", Default("string", "2021-02-03"), Conversion("coalesce(v, DATE'2021-02-03')")),
        ("date", Default("string", "0000-00-00"), Conversion("v", fails="(v IS NULL)")),
        ("date", Default("now", "0"), Conversion("v", invalid="v IS NULL")),
        ("datetime", Default("now", "0"), Conversion("v", invalid="v IS NULL")),
        ("time", Default("now", "0"), Conversion("v", fails="(v IS NULL)")),
        ("timestamp", Default("string", "2021-02-03"), Conversion("v", fails="(v IS NULL)")),
        ("text", Default("string", "x"), Conversion("coalesce(v, '')")),
        ("varchar", Default("string", "x"), Conversion("coalesce(v, 'x')")),
    ],
)
def test_a_default_that_takes_the_place_of_null_in_place(kind, default, found):
    old = Column("a", ColumnType(kind, length=9 if kind == "varchar" else None), default=default)
    mode = ServerMode("mariadb", False, copies_rows=False)
    assert conversion("v", old, replace(old, nullable=False, default=None), mode) == found


def test_a_date_that_takes_the_place_of_null_in_a_mirror_of_texts():
    old = Column("a", ColumnType("date"), default=Default("string", "2021-02-03"))
    new, mode = replace(old, nullable=False), ServerMode("mariadb", False, copies_rows=False)
    assert text_conversion("v", old, new, mode) == Conversion(
        "IF(v = '0000-00-00', '0000-00-00', " + shown("CAST(coalesce(" + meant("v", old.type)
        + ", DATE'2021-02-03') AS date)", old.type) + ")",
        f"(v <> '0000-00-00' AND {meant('v', old.type)} IS NULL)", "a row has a date that no calendar has",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("column", "is_invalid"),
    [("date not null default '0000-00-00'", True), ("datetime not null", True), ("datetime default '2024-00-10'", True),
     ("date", False), ("date default null", False), ("date default '2024-01-10'", False), ("int not null", False)],
)  # fmt: skip
def test_a_new_column_with_an_invalid_date_in_rows_that_exist_stops_a_table_that_refuses_those(column, is_invalid):
    sql = f"alter table t add c {column}"
    refuses = TableRules(invalid_values=lambda *_: "refuse")
    [accepted], [refusing] = (Replay(*SHOP).run(sql, rules=rules) for rules in (RULES, refuses))
    reason = "rows that exist get a date that no calendar has in column c"
    assert refusing.work.checks == ((Check("true", reason, "invalid-value"),) if is_invalid else ())
    assert (accepted.work.steps, accepted.work.checks) == (refusing.work.steps, ())


DATED = (
    "create database d charset utf8mb4",
    "create table t (id int primary key, d date, at datetime(2), s timestamp null, v varchar(9))",
    "create table p (id int, d date, primary key (id, d)) partition by range columns (d) ("
    "partition x values less than ('2020-01-01'), partition y values less than maxvalue)",
    "create table q (id int, d date, primary key (id, d))",
)
AS_TEXT = TableRules(invalid_values=lambda *_: "text")
OUTCOMES_AS_TEXT = {
    "create table n like t": [("compared", "n streaming d__n__5__text", "CREATE")],
    "alter table t add e date": [
        ("compared", "t streaming d__t__2__text", "ADD COLUMNS (`e` string AFTER `v`)")
    ],
    "alter table t modify d text": [("compared", "t streaming d__t__2__text")],
    "alter table t modify d varchar(5)": [
        ("rebuilt", "t streaming d__t__2__text", "d = CAST(substring(`d`, 1, 5) AS string)")
    ],
    "alter table t modify v varchar(20), modify d date not null": [("compared", "t streaming d__t__2__text")],
    "alter table t modify v date": [
        ("rebuilt", "t streaming d__t__2__text", "v = CAST(NULL AS string)", "unless true")
    ],
    "alter table t modify d int": [("rebuilt", "t streaming d__t__2__text", "d = CAST(NULL AS int)", "unless true")],
    "alter table t modify v varbinary(9)": [
        ("rebuilt", "t streaming d__t__2__text", "v = CAST(substring(encode(`v`, 'UTF-8'), 1, 9) AS binary)",
         "unless (`v` RLIKE '^0x([0-9A-F]{2})+$')")
    ],
    "alter table t add e date not null, add f datetime(1) default '2020-00-10', drop v": [
        ("rebuilt", "t streaming d__t__2__text", "e = CAST('0000-00-00' AS string), f = CAST('2020-00-10 00:00:00.0'"
         " AS string)")
    ],
    "alter table p truncate partition x": [
        ("destructive", None, "DELETE (((`d` IS NULL OR `d` < '2020-01-01' OR (`d` = '2020-01-01' AND false))))")
    ],
    "rename table t to n": [("registered", "n streaming d__t__2__text"), ("registered", "t dropped -")],
}  # fmt: skip


@pytest.mark.parametrize("sql", OUTCOMES_AS_TEXT)
def test_outcome_on_a_mirror_that_holds_text_whatever_the_option_is_later(sql):
    for rules in (AS_TEXT, TableRules(invalid_values=lambda *_: "refuse")):
        replay = Replay(*DATED[:1])
        for created in DATED[1:]:
            replay.run(created, rules=AS_TEXT)
        expected = OUTCOMES_AS_TEXT[sql]
        if rules is not AS_TEXT and sql.startswith("create"):
            expected = [("compared", "n streaming d__n__5", "CREATE")]
        assert [_changed_only(brief(outcome)) for outcome in replay.run(sql, rules=rules)] == expected


def test_a_mirror_that_holds_dates_goes_on_with_dates_when_the_option_is_text():
    replay = Replay(*DATED)
    [added] = replay.run("alter table t add e date not null, add f date default '2020-00-10'", rules=AS_TEXT)
    columns = "ADD COLUMNS (`e` date AFTER `v`, `f` date AFTER `e`)"
    assert brief(added) == ("compared", "t streaming d__t__2", columns)


def test_a_text_that_no_list_spells_may_be_in_any_partition_also_where_a_list_has_null():
    replay = Replay(
        "create database d charset utf8mb4",
        "create table p (v varchar(9)) partition by list columns (v) (partition x values in ('a', NULL),"
        " partition y values in ('b'))",
    )
    assert [brief(outcome) for outcome in replay.run("alter table p drop partition x")] == [
        ("destructive", None, "DELETE ((((`v` IS NOT NULL AND `v` IN ('a')) OR (`v` IS NULL))))",
         "unless NOT ((`v` IS NOT NULL AND `v` IN ('a', 'b')) OR (`v` IS NULL))"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "by, kind, condition",
    [
        ("list (id)", "in ({0}, {0} + 9000)", "(`id` IS NOT NULL AND `id` IN ("),
        ("range (id)", "less than ({0})", "(`id` IS NULL OR `id` < 7000"),
    ],
)
def test_a_condition_on_thousands_of_partitions_has_few_parts(by, kind, condition):
    """Spark plans some thousand comparisons for minutes."""
    partitions = ", ".join(f"partition p{n} values {kind.format(n)}" for n in range(8000))
    replay = Replay("create database d", f"create table p (id int primary key) partition by {by} ({partitions})")
    names = ", ".join(f"p{n}" for n in range(7001))
    [(_, _, delete)] = [brief(outcome) for outcome in replay.run(f"alter table p drop partition {names}")]
    assert condition in delete and delete.count(" OR ") <= 2


def test_rows_are_not_exchanged_between_mirrors_that_hold_dates_and_text():
    replay = Replay(*DATED[:3])
    replay.run(DATED[3], rules=AS_TEXT)
    reason = "rows came from d.{}, which holds invalid values in another way"
    found = replay.run("alter table p exchange partition x with table q", rules=AS_TEXT)
    assert [(outcome.entry.table, outcome.entry.code, outcome.entry.reason) for outcome in found] == [
        ("p", "needs-resync", reason.format("q")), ("q", "needs-resync", reason.format("p")),
    ]  # fmt: skip


NO_DATE = "`d` <> '0000-00-00' AND IF(`d` LIKE '0000-%', NULL, try_cast(`d` AS date)) IS NULL"
ALLOWED, NO_ZERO_IN_DATE = 1 << 25, 1 << 23


@pytest.mark.parametrize(
    ("flavor", "sql_mode", "clauses", "stops"),
    [
        ("mysql", 0, "modify v char(5)", True),
        ("mysql", 0, "modify d date not null", True),
        ("mysql", 0, "add w int", False),
        ("mysql", 0, "add w int, algorithm=copy", True),
        ("mysql", 0, "order by id", True),
        ("mariadb", NO_ZERO_IN_DATE, "order by id", True),
        ("mysql", 0, "partition by hash (id)", True),
        ("mysql", 1 << 21, "modify v char(5)", False),
        ("mysql", ALLOWED, "modify v char(5)", False),
        ("mysql", ALLOWED | NO_ZERO_IN_DATE, "modify v char(5)", True),
        ("mariadb", 0, "modify v char(5)", False),
        ("mariadb", NO_ZERO_IN_DATE, "modify v char(5)", True),
    ],
)
def test_a_copy_may_change_dates_of_no_calendar_also_in_other_columns(flavor, sql_mode, clauses, stops):
    replay = Replay(DATED[0], rules=AS_TEXT)
    replay.flavor, replay.server_version = flavor, 101100 if flavor == "mariadb" else 90704
    replay.run("create table t (id int primary key, d date, v varchar(9))")
    outcomes = replay.run(f"alter table t {clauses}", sql_mode=sql_mode)
    found = [check.where for outcome in outcomes if outcome.work for check in outcome.work.checks]
    assert any(NO_DATE in where for where in found) == stops, found


def _changed_only(found: tuple) -> tuple:
    """Without the columns that an overwrite takes over as they are."""
    kept = re.compile(r"\b(\w+) = CAST\(`\1` AS \w+\)(, )?")
    return tuple(part and kept.sub("", part).removesuffix(", ") for part in found)


def test_a_statement_that_refuses_a_refused_table_or_alters_a_dropped_one_has_no_outcome():
    replay = Replay(*SHOP, "alter table t import tablespace", "drop table q")
    assert [replay.run(sql) for sql in ("alter table t discard tablespace", "alter table bad add c int")] == [[], []]


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("truncate t", "truncate"), ("truncate p", "truncate"), ("drop table t, p", "drop-table"),
        ("drop database d", "drop-table"), ("alter table p drop partition x", "drop-partition"),
        ("alter table p truncate partition all", "drop-partition"),
    ],
)  # fmt: skip
def test_an_ignored_kind_leaves_mirror_and_register(sql, kind):
    others = {"truncate", "drop-table", "drop-partition"} - {kind}
    for of_kinds, ignores in (({kind}, True), (others, False)):
        rules = TableRules(ignores=lambda _database, _table, asked, kinds=of_kinds: asked in kinds)
        found = Replay(*SHOP).run(sql, rules=rules)
        mirrored = [outcome for outcome in found if outcome.mirrored or outcome.entry.table in ("t", "p")]
        assert mirrored
        assert {outcome.is_ignored for outcome in mirrored} == {ignores}
        if ignores:
            kept = None if kind == "drop-table" else DDL_IGNORED
            assert {(outcome.ddl_class, outcome.work) for outcome in mirrored} == {(DdlClass.IGNORED, None)}
            assert {outcome.entry and outcome.entry.code for outcome in mirrored} == {kept}


def test_a_mirror_that_kept_rows_says_so_until_it_is_dropped():
    shop = Replay(*SHOP)
    rules = TableRules(ignores=lambda _database, _table, kind: kind == "truncate")
    shop.run("truncate t", rules=rules)
    for sql in ("alter table t add column more int", "rename table t to t2"):
        [*_, last] = [outcome.entry for outcome in shop.run(sql) if outcome.entry and outcome.entry.state == STREAMING]
        assert (last.code, last.reason) == (DDL_IGNORED, "truncate was ignored: " + MAY_HAVE_MORE)


def test_what_is_refused_can_be_dropped():
    [dropped] = Replay(*SHOP).run("drop table bad", rules=TableRules(ignores=lambda *_: True))
    assert brief(dropped) == ("registered", "bad dropped -")


BREAKS_OUT = "'||reflect('java.lang.System','getenv','MIRRORLAKE_PASSWORD')||'"
C = f"`{BREAKS_OUT}`"
SPLIT, NUMBER = f"split({C}, ',')", f"array_position(array('b', '{{}}'), {C})"
IN_SET = f"IF(array_contains({SPLIT}, '{{}}'), 1L, 0) + IF(array_contains({SPLIT}, 'a'), 2L, 0)"


@pytest.mark.parametrize(
    ("before", "after", "sql"),
    [
        ("set('{}','a')", "bigint", f"CAST(IF({C} IS NULL, NULL, ({IN_SET})) AS bigint)"),
        ("enum('b','{}')", "bigint", f"CAST(IF({C} IS NULL, NULL, ({NUMBER})) AS bigint)"),
        ("set('a','{}')", "set('{}','a')",
         f"CAST(IF({C} IS NULL, NULL, array_join(array_intersect(array('{{}}', 'a'), {SPLIT}), ',')) AS string)"),
        ("varchar(9) default '{}'", "varchar(9) not null", f"CAST(coalesce({C}, '') AS string)"),
        ("date", "varchar(9)", f"CAST(substring(date_format({C}, 'yyyy-MM-dd'), 1, 9) AS string)"),
        ("time(1)", "time(3)", f"CAST(concat({C}, '00') AS string)"),
        ("decimal(5,2)", "double", f"CAST(CAST({C} AS double) AS double)"),
    ],
)  # fmt: skip
def test_neither_a_label_nor_a_name_leaves_its_place_in_a_conversion(before, after, sql):
    assert len(BREAKS_OUT) == 64  # as long as a name may be
    replay = Replay("create database d", f"create table t (id int primary key, {C} {before})")
    [outcome] = replay.run(f"alter table t modify {C} {after}", sql_mode=0)
    columns = (("id", "CAST(`id` AS int)"), (BREAKS_OUT, sql))
    assert outcome.work.steps[0] == Overwrite(columns, outcome.entry.schema, OTHER_NAMES)


LATER = "array_contains(array('A'), `c`)"


@pytest.mark.parametrize(
    ("before", "after", "sql_mode", "fails"),
    [
        ("enum('A')", "enum('a','A')", 0, LATER),
        ("enum('A','b')", "enum('a','A')", 0, f"(NOT array_contains(array('a', 'A'), `c`) AND ({{}})) OR ({LATER})"),
        ("enum('ä')", "enum('a','ä')", 0, "array_contains(array('ä'), `c`)"),
        ("enum('a','A') collate utf8mb4_bin", "enum('a','A') collate utf8mb4_general_ci", 0, LATER),
        ("set('A')", "set('a','A')", 0, "exists(split(`c`, ','), m -> m <> '' AND NOT array_contains(array('a', 'A'), "
         "m) AND ({}) OR array_contains(array('A'), m))"),
        ("set('☃','☂') charset latin1", "set('?','?') charset cp1256", 0, "exists(split(`c`, ','), m -> "
         "array_contains(array('?'), m))"),
        ("set('☃','☂') charset latin1", "set('?','?','a') charset latin1", 0, None),  # in place
        ("enum('a','a')", "bigint", 0, "true"),
        ("enum('a','A')", "enum('a','A','b')", 0, None),  # in place
        ("enum('A') collate utf8mb4_bin", "enum('a','A') collate utf8mb4_bin", 0x200000, None),
    ],
)  # fmt: skip
def test_a_label_that_may_equal_one_before_it_needs_a_resync_outside_strict_mode(before, after, sql_mode, fails):
    replay = Replay("create database d charset utf8mb4", f"create table t (id int primary key, c {before})")
    [outcome] = replay.run(f"alter table t modify c {after}", sql_mode=sql_mode)
    wanted = fails and re.escape(fails).replace(re.escape("{}"), ".*")
    found = [check.where for check in outcome.work.checks] if outcome.work else []
    assert len(found) == bool(wanted) and all(re.fullmatch(wanted, where) for where in found), found


def test_a_default_takes_the_place_of_null_as_it_is_written():
    old = Column("a", ColumnType("varchar", length=90), default=Default("string", "{}"))
    found = conversion(C, old, replace(old, nullable=False), ServerMode("mariadb", False, copies_rows=False))
    assert found == Conversion(f"coalesce({C}, '{{}}')")


@pytest.mark.parametrize("replaces_variables", [False, True])
def test_a_column_in_whose_name_spark_replaces_variables_has_no_mirror(replaces_variables):
    rules = TableRules(replaces_variables=replaces_variables)
    create, rename = "create table n (id int, `${env:X}` int)", "alter table t rename column a to `${a}`"
    found = [Replay(*SHOP).run(sql, rules=rules)[0].entry for sql in (create, rename)]
    refusal = replaces_variables and "column-name"
    assert [entry.code or False for entry in found] == [refusal, refusal]
