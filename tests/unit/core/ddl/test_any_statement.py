"""Whatever the log holds as a statement: it is understood, or refuses the tables that it names, and soon."""

from __future__ import annotations

import pytest

from mirrorlake.core.ddl.effect import interpret
from mirrorlake.core.ddl.parse import tokens
from mirrorlake.core.ddl.parse.create import MAX_COLUMNS
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from tests.support.interpreting import interpret as changes_by
from tests.support.linear_time import assert_linear
from tests.support.long_statements import LONG, columns

ZEROS = "0" * 5000
ANSI_QUOTES = 4
SHOP = (
    "create database d charset utf8mb4",
    "create database e charset utf8mb4",
    "create table d.t (id int primary key, a varchar(5), b int)",
    "create table d.u (id int primary key) partition by hash (id) partitions 4",
    "create table e.t (id int primary key)",
    "create table e.`odd ``name` (id int primary key)",
)
WORDS = "a statement that has the table's name among its words was not understood: "


def run(sql: str, definitions: Definitions, database: str = "d", flavor: str = "mysql") -> list[DefinitionChange]:
    return changes_by(
        sql, database=database, flavor=flavor, server_charset="utf8mb4", definitions=definitions,
        version=90704 if flavor == "mysql" else 101119,
    )  # fmt: skip


def shop(flavor: str = "mysql") -> Definitions:
    definitions = Definitions()
    for sql in SHOP:
        definitions.apply(run(sql, definitions, flavor=flavor))
    return definitions


def refused(sql: str, database: str = "d") -> dict[str, tuple[str | None, str | None]]:
    changes = run(sql, shop(), database)
    assert {change.action for change in changes} <= {"refuse"}
    return {f"{change.database}.{change.table}": (change.code, change.reason) for change in changes}


NUMBERS = [
    ("mysql", "create table n (v varchar({}7))"),
    ("mysql", "create table n (v decimal({}7, {}2))"),
    ("mysql", "create table n (v bit({}7), w float({}7), x double({}9, {}2), y datetime({}3), z binary({}7))"),
    ("mysql", "create table n (v int({}7), w text({}7), x blob({}7), y year({}4), z char({}7) character set latin1)"),
    ("mysql", "create table n (v int default {}7, w int default -{}7, x decimal(5, 2) default {}1.5)"),
    ("mysql", "create table n (v datetime default now({}0) on update now({}0))"),
    ("mysql", "create table n (v timestamp({}3) default current_timestamp({}3))"),
    ("mysql", "create table n (v varchar(50), key k (v({}7)))"),
    ("mysql", "create table n (id int primary key) partition by hash (id) partitions {}7"),
    ("mysql", "create table n (id int primary key) partition by key algorithm = {}1 (id) partitions {}3"),
    ("mysql", "create table n (id int primary key) partition by range (id) subpartition by hash (id) subpartitions {}2"
              " (partition p values less than (10))"),
    ("mysql", "create table n (id int primary key) auto_increment = {}7 max_rows = {}7 key_block_size {}8"),
    ("mysql", "create table n (g geometry not null srid {}0)"),
    ("mysql", "alter table t modify a varchar({}7)"),
    ("mysql", "alter table t add c decimal({}7, {}2) default {}1.50"),
    ("mysql", "alter table t alter b set default {}7"),
    ("mysql", "alter table t add key k (a({}3))"),
    ("mysql", "alter table u coalesce partition {}2"),
    ("mysql", "alter table u add partition partitions {}2"),
    ("mysql", "create index k on t (a({}3))"),
    ("mariadb", "alter table t wait {}7 add c int"),
    ("mariadb", "create table n wait {}7 (id int)"),
    ("mariadb", "create table n (id int) with system versioning partition by system_time limit 7 partitions {}3"),
]  # fmt: skip


@pytest.mark.parametrize(("flavor", "sql"), NUMBERS)
def test_zeros_before_a_number_change_nothing(flavor, sql):
    def effect(zeros: str) -> list[dict]:
        return [change.to_row() for change in run(sql.replace("{}", zeros), shop(flavor), flavor=flavor)]

    found = effect(ZEROS)
    assert found == effect("") and {row["action"] for row in found} <= {"create", "alter"}


@pytest.mark.parametrize(
    "sql",
    [
        "alter table t modify a varchar({})",
        "alter table t add c decimal({}, 2)",
        "alter table t add c datetime({})",
        "alter table t add key k (a({}))",
        "alter table t partition by hash (id) partitions {}",
        "create index k on t (a({}))",
        "create table t2 (c bit({})), drop table t",
    ],
)
@pytest.mark.parametrize("number", ["7" * 5000, "9" * 21, "٣"])
def test_a_number_that_no_server_takes_refuses_the_table(sql, number):
    (found,) = refused(sql.format(number)).items()
    assert found[0] in ("d.t", "d.t2") and found[1][0] == "ddl-unsupported"


@pytest.mark.parametrize("count", [8193, 10**19])
def test_more_partitions_than_a_table_can_have(count):
    sql = f"alter table t partition by hash (id) partitions {count}"
    assert refused(sql) == {"d.t": ("ddl-unsupported", "more than 8192 partitions")}


SUSPECTS = [
    ("frobnicate the table", "d", ()),
    ("frobnicate t", "d", ("d.t",)),
    ("frobnicate /* t */ x -- t", "d", ()),
    ("frobnicate 't', \"t\"", "d", ()),
    ("frobnicate 't' /*! t */", "d", ("d.t",)),
    ("frobnicate `T` gently", "d", ("d.t",)),
    ("frobnicate t", "e", ("e.t",)),
    ("frobnicate d.t, e.`odd ``name`", "nope", ("d.t", "e.t", "e.odd `name")),
    ("frobnicate nope", "d", ()),
    ("frobnicate t", "mysql", ()),
    ("frobnicate database if exists E", "d", ("e.t", "e.odd `name")),
    ("create gizmo x", "d", ()),
    ("create gizmo x on u", "d", ("d.u",)),
    ("'t", "d", ("d.t",)),
    ("create table", "d", ()),
    ("alter", "d", ()),
    ("drop table u, t 'and so on", "d", ("d.u", "d.t")),
    ("rename table e.t to e.v, d.t to d.w, ' u", "d", ("e.t", "e.v", "d.t", "d.w", "d.u")),
    ("alter table t exchange partition p with table 'u'", "d", ("d.t",)),
    ("alter table nope.nope frobnicate", "d", ()),
    ("alter table mysql.user frobnicate", "d", ()),
    ("call p()", "d", ("d.t", "d.u", "e.t", "e.odd `name")),
    ("select f(1)", "d", ("d.t", "d.u", "e.t", "e.odd `name")),
    ("with c as (select 1) select f(x) from c", "d", ("d.t", "d.u", "e.t", "e.odd `name")),
    ("frobnicate [odd `name]", "e", ("e.odd `name",)),
    ('frobnicate "odd `name"', "e", ()),
    ("do nothing_known()", "d", ("d.t", "d.u", "e.t", "e.odd `name")),
]


@pytest.mark.parametrize(("sql", "database", "tables"), SUSPECTS)
def test_which_tables_a_statement_refuses(sql, database, tables):
    assert tuple(refused(sql, database)) == tables


def test_a_name_in_ansi_quotes_is_no_text():
    context = {"flavor": "mysql", "database": "e", "sql_mode": ANSI_QUOTES}
    (change,) = changes_by('frobnicate "odd `name"', definitions=shop(), **context)
    assert (change.action, change.table) == ("refuse", "odd `name")


def test_a_refusal_by_words_says_so():
    assert refused("frobnicate t") == {
        "d.t": ("ddl-unsupported", WORDS + "frobnicate is not understood at character 1")
    }


@pytest.mark.parametrize("error", [ValueError, RecursionError, KeyError, ZeroDivisionError, AssertionError])
def test_what_nobody_thought_of_refuses_the_table_only(monkeypatch, error):
    def fail(parsed, before):
        raise error("a row's value")

    monkeypatch.setitem(interpret._EFFECTS, interpret.AlterTable, fail)
    assert refused("alter table t add c int") == {"d.t": ("ddl-unsupported", f"the statement raised {error.__name__}")}
    assert refused("alter table nope.nope add c int") == {}


def test_as_many_columns_as_a_server_takes():
    (created,) = run(f"create table n ({columns(MAX_COLUMNS)})", shop())
    assert len(created.schema.columns) == MAX_COLUMNS
    assert refused(f"create table n ({columns(MAX_COLUMNS + 1)})") == {
        "d.n": ("ddl-unsupported", "a table with more than 4096 columns")
    }
    assert refused("alter table t " + ", ".join(f"add c{i} int" for i in range(8200)))["d.t"] == (
        "ddl-unsupported", "an ALTER TABLE with more than 8192 clauses",
    )  # fmt: skip


@pytest.mark.parametrize(
    "sql",
    [
        "create table n (a int default {}1{}, b int as ({}a{}), c int check ({}a > 1{}))",
        "create table n (a int) partition by hash ({}a{}) partitions 2",
        "alter table t add c int as ({}b + 1{})",
        "alter table t add c int default {}1{}",
        "alter table t add key k (({}b + 1{}))",
    ],
)
def test_5000_levels_of_parentheses(sql):
    sql = sql.replace("{}", "(" * 5000, 1).replace("{}", ")" * 5000, 1)
    while "{}" in sql:
        sql = sql.replace("{}", "(" * 5000, 1).replace("{}", ")" * 5000, 1)
    (change,) = run(sql, shop())
    assert change.action in ("create", "alter")


def test_5000_cases_in_each_other():
    sql = "alter table t add c int default " + "case when 1 then " * 5000 + "1" + " end" * 5000
    (change,) = run(sql, shop(), flavor="mariadb")
    assert change.action == "alter"


@pytest.mark.parametrize("kind", LONG)
def test_time_grows_with_the_statements_length_and_no_faster(kind):
    definitions = shop()
    assert_linear(lambda sql: run(sql, definitions), LONG[kind], 2_000)


def test_more_options_than_any_statement_has():
    assert refused("alter table t " + "comment 'a' " * 9_000) == {
        "d.t": ("ddl-unsupported", "an ALTER TABLE with more than 8192 options")
    }


def test_more_keys_than_any_table_has():
    keys, foreign_keys = ", ".join(["add key (b)"] * 600), ", ".join(["add foreign key (b) references u (id)"] * 600)
    assert refused(f"alter table t {keys}, {foreign_keys}") == {
        "d.t": ("ddl-unsupported", "an ALTER TABLE with more than 1024 keys")
    }
    assert refused(f"create table n (a int, {', '.join(['key (a)'] * 1_100)})") == {
        "d.n": ("ddl-unsupported", "a table with more than 1024 keys")
    }


def test_a_statement_of_more_tokens_than_are_read(monkeypatch):
    monkeypatch.setattr(tokens, "MAX_TOKENS", 100)
    assert refused("alter table t add c int as (" + "(" * 100) == {
        "d.t": ("ddl-unsupported", "it has more than 100 words and signs")
    }


def test_a_drop_that_is_too_long_refuses_no_table_that_nobody_has(monkeypatch):
    monkeypatch.setattr(tokens, "MAX_TOKENS", 100)
    names = ", ".join(["d.t", *(f"d.none{n}" for n in range(60)), "d.u"])
    assert refused(f"DROP TABLE IF EXISTS {names}") == dict.fromkeys(
        ("d.t", "d.u"), ("ddl-unsupported", "it has more than 100 words and signs")
    )
