"""CREATE TABLE -> everything the definition keeps."""

from __future__ import annotations

import pytest

from mirrorlake.core.ddl.effect.definition import Dialect, define_table
from mirrorlake.core.ddl.parse.parser import parse_statement
from mirrorlake.core.ddl.parse.session import LoggedSession, SourceServer
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.schema.keys import ForeignKey, Key, KeyPart
from mirrorlake.core.schema.partitions import Bound, Partition, Partitioning, unnamed
from mirrorlake.core.schema.tables import Default, Period, TableSchema

ANSI_QUOTES, PIPES_AS_CONCAT = 4, 2
VERSIONS = {"mysql": 90704, "mariadb": 110406}


def define(text: str, flavor: str = "mysql", sql_mode: int = 0, **context) -> TableSchema:
    version = VERSIONS[flavor]
    tokens = Tokens(text, SourceServer(flavor, version), LoggedSession("d", sql_mode))
    dialect = Dialect(flavor, version, database_charset="latin1", **context)
    schema = define_table(parse_statement(tokens), dialect)
    read = TableSchema.from_json(schema.to_json())
    assert (read, read.to_json()) == (schema, schema.to_json())
    assert [repr(column) for column in read.columns] == [repr(column) for column in schema.columns]
    assert (read.keys, read.foreign_keys, read.partitioning) == (schema.keys, schema.foreign_keys, schema.partitioning)
    return schema


@pytest.mark.parametrize(
    ("column", "attributes"),
    [
        ("int", {"default": Default("null"), "nullable": True}),
        ("int not null", {"default": None, "nullable": False}),
        ("int default 5", {"default": Default("number", "5")}),
        ("int default - 5", {"default": Default("number", "-5")}),
        ("int default (-(5))", {"default": Default("expression", "-(5)")}),
        ("int default (5)", {"default": Default("number", "5")}),
        ("bool default true", {"default": Default("number", "1")}),
        ("bit(4) default b'0101'", {"default": Default("bits", "b'0101'")}),
        ("binary(2) default 0x6162", {"default": Default("bits", "0x6162")}),
        ("varchar(9) default 'it''s' 'x'", {"default": Default("string", "it'sx")}),
        ("varchar(9) default _latin1'x'", {"default": Default("string", "x")}),
        ("varchar(9) default _latin1'é'", {"default": Default("expression", "_latin1'é'")}),
        ("date default date '2020-01-01'", {"default": Default("string", "2020-01-01")}),
        ("datetime(3) default current_timestamp(3) on update now(3)",
            {"default": Default("now", "3"), "updates_to_now": True}),
        ("timestamp default localtime", {"default": Default("now", "0"), "updates_to_now": False}),
        ("varchar(36) default (uuid())", {"default": Default("expression", "uuid()")}),
        ("varchar(9) default (concat(`a``b`, 'x''y\\\\z')  /* c */ )",
            {"default": Default("expression", "concat(`a``b`, 'x''y\\\\z')")}),
        ("int default null", {"default": Default("null")}),
        ("int as (id+1)", {"generated": "id+1", "is_stored": False, "default": None}),
        ("int generated always as (id + 1) stored not null", {"generated": "id + 1", "is_stored": True}),
        ("int invisible", {"is_invisible": True}),
        ("int(5) zerofill", {"is_zerofill": True, "display": (5,)}),
        ("float(7,4)", {"display": (7, 4)}),
        ("varchar(9)", {"collation": None, "has_charset_of_its_own": False}),
        ("varchar(9) collate utf8mb4_bin", {"collation": "utf8mb4_bin", "has_charset_of_its_own": True}),
        ("varchar(9) binary", {"collation": "latin1_bin"}),
        ("bigint auto_increment unique", {"is_auto_increment": True, "nullable": False, "default": None}),
    ],
)  # fmt: skip
def test_attributes_of_a_column(column, attributes):
    found = define(f"create table t (id int primary key, c {column})").columns[1]
    assert {name: getattr(found, name) for name in attributes} == attributes


def test_expressions_mean_the_same_in_the_default_mode():
    columns = "a int, b varchar(9) as (a || \"a\" || '\\')"
    mode = ANSI_QUOTES | PIPES_AS_CONCAT | 1 << 20
    found = define(f"create table t ({columns})", "mariadb", mode).columns[1]
    assert found.generated == "a || `a` || '\\\\'"
    assert define("create table t (a int, b int as (a||1))").columns[1].generated == "a or 1"


def test_comments_are_of_the_basic_plane_as_on_the_server():
    found = define("create table t (a int comment 'a\U0001f600☃') comment 'x\U0001f600'")
    assert (found.columns[0].comment, found.comment) == ("a?☃", "x?")


def test_texts_next_to_each_other_are_one():
    texts = """f('a'"b" /* ' */ '''', N'd'\n'e', _latin1'f'"g'h") + 'y'"""
    found = define(f"create table t (a int, b int as ({texts}))").columns[1]
    assert found.generated == "f('ab''', N'de', _latin1'fg''h') + 'y'"


def test_collation_of_the_table_is_that_of_columns_without_one():
    found = define("create table t (a char, b char charset ascii) collate utf8mb4_general_ci")
    assert [(c.type.charset, c.collation) for c in found.columns] == [
        ("utf8mb4", "utf8mb4_general_ci"), ("ascii", None),
    ]  # fmt: skip
    assert (found.default_charset, found.default_collation) == ("utf8mb4", "utf8mb4_general_ci")


def test_utf8_by_sql_mode():
    sql = "create table t (a char charset utf8, b char collate utf8_bin)"
    for mode, charset in ((0, "utf8mb3"), (1 << 33, "utf8mb4")):
        assert [column.type.charset for column in define(sql, sql_mode=mode).columns] == [charset, charset]


def keys(schema: TableSchema) -> list[tuple]:
    def part(p: KeyPart) -> str:
        return f"({p.expression})" if p.column is None else p.column + (f"({p.length})" if p.length else "")

    return [(key.name, key.kind, *map(part, key.parts)) for key in schema.keys]


@pytest.mark.parametrize(
    ("items", "expected", "identity"),
    [
        ("a int primary key", [("PRIMARY", "primary", "a")], "a"),
        ("a int, b int, primary key q (B, a), key (b)", [("PRIMARY", "primary", "b", "a"), ("b", "plain", "b")], "ba"),
        ("a int unique, b int not null unique",
            [("b", "unique", "b"), ("a", "unique", "a")], "b"),
        ("a int, key (a), unique (a), index A_2 (a)",
            [("a_2", "unique", "a"), ("a", "plain", "a"), ("A_2", "plain", "a")], ""),
        ("a varchar(9) not null, unique (a(9))", [("a", "unique", "a")], "a"),
        ("a varchar(9) not null, unique k (a(8)), b int not null, constraint q unique (b)",
            [("q", "unique", "b"), ("k", "unique", "a(8)")], "b"),
        ("a int not null, unique ((a + 1))", [("functional_index", "unique", "(a + 1)")], ""),
        ("a int not null, b int as (a) not null, unique (b)", [("b", "unique", "b")], ""),
        ("a text, fulltext (a), spatial index g (a)", [("g", "spatial", "a"), ("a", "fulltext", "a")], ""),
        ("a int, b int, constraint f foreign key (a) references p (x)", [("f", "plain", "a")], ""),
        ("a int, b int, foreign key (a) references p (x), key k (a, b)", [("k", "plain", "a", "b")], ""),
        ("type int not null, c int, unique type (type), key k type btree (c), primary key type (type)",
            [("PRIMARY", "primary", "type"), ("type", "unique", "type"), ("k", "plain", "c")], "type"),
    ],
)  # fmt: skip
def test_keys(items, expected, identity):
    found = define(f"create table t ({items})")
    assert (keys(found), "".join(found.primary_key)) == (expected, identity)


def test_foreign_keys():
    sql = "create table t (a int, b int references p (x), constraint f foreign key (a, b) references e.p (x, y) "
    found = define(sql + "match full on update set null on delete no action)")
    assert found.foreign_keys == (
        ForeignKey("t_ibfk_1", ("b",), "d", "p", ("x",)),
        ForeignKey("f", ("a", "b"), "e", "p", ("x", "y"), "NO ACTION", "SET NULL"),
    )
    assert [key.changes_rows for key in found.foreign_keys] == [False, True]


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("hash (a + 1) partitions 4", Partitioning("HASH", "a + 1", partitions=unnamed("HASH", 0, 4))),
        ("linear key algorithm=2 () partitions 3", Partitioning("LINEAR KEY", partitions=unnamed("KEY", 0, 3))),
        ("key (a, b)", Partitioning("KEY", columns=("a", "b"), partitions=(Partition("p0"),))),
        ("range (a) (partition p values less than (5) engine=innodb, partition q values less than maxvalue)",
            Partitioning("RANGE", "a", partitions=(
                Partition("p", "less than", (Bound(("5",)),)), Partition("q", "less than", (Bound(("MAXVALUE",)),))))),
        ("list columns (a, b) (partition p values in ((1, 'x'), (2, null)))",
            Partitioning("LIST COLUMNS", columns=("a", "b"), partitions=(
                Partition("p", "in", (Bound(("1", "'x'")), Bound(("2", "null")))),))),
        ("range (to_days(a)) subpartition by hash (b) subpartitions 2 (partition p values less than (to_days('2020')))",
            Partitioning("RANGE", "to_days(a)", sub_method="HASH", sub_expression="b", sub_count=2,
                partitions=(Partition("p", "less than", (Bound(("to_days('2020')",)),), ("psp0", "psp1")),))),
        ("list (a) subpartition by key (b) (partition p values in (1, 2) (subpartition s, subpartition t))",
            Partitioning("LIST", "a", sub_method="KEY", sub_columns=("b",), sub_count=2,
                partitions=(Partition("p", "in", (Bound(("1",)), Bound(("2",))), ("s", "t")),))),
    ],
)  # fmt: skip
def test_partitions(clause, expected):
    assert define(f"create table t (a int, b int) partition by {clause}").partitioning == expected


def test_system_versioning():
    found = define("create table t (id int primary key, u int unique) with system versioning", "mariadb")
    assert [c.name for c in found.columns] == ["id", "u", "row_start", "row_end"]
    assert found.primary_key == ("id", "row_end") and found.periods == (Period("SYSTEM_TIME", "row_start", "row_end"),)
    assert [key.columns for key in found.keys] == [("id", "row_end"), ("u", "row_end")]
    named = "s timestamp(6) as row start, e timestamp(6) generated always as row end invisible, "
    found = define(
        f"create table t (id int, {named}period for system_time (s, e)) with system versioning "
        "partition by system_time interval 1 month (partition p history, partition n current)",
        "mariadb",
    )
    assert [(c.name, c.row_period, c.is_invisible, c.nullable) for c in found.columns[1:]] == [
        ("s", "start", False, False), ("e", "end", True, False),
    ]  # fmt: skip
    assert found.partitioning.options == "interval 1 month"
    assert [p.kind for p in found.partitioning.partitions] == ["history", "current"]


def test_a_key_without_overlaps_has_the_period_at_its_end():
    sql = "create table t (id int, s date, e date, period for p (s, e), unique (id, P without overlaps))"
    found = define(sql, "mariadb")
    assert found.keys[0].columns == ("id", "e", "s") and found.keys[0].period == "P"
    assert [column.nullable for column in found.columns] == [True, False, False]


def test_long_unique_keys_of_mariadb_are_hashes():
    found = define("create table t (a text not null unique, b varchar(4000) not null unique)", "mariadb")
    assert found.keys == (
        Key("a", "unique", (KeyPart("a"),), is_hash=True), Key("b", "unique", (KeyPart("b"),), is_hash=True),
    )  # fmt: skip
    assert found.primary_key == ()
    using_hash = "create table t (a int not null, unique (a) using hash)"
    found = [define(f"{using_hash} {more}", "mariadb").keys[0].is_hash for more in ("", "engine=memory")]
    assert found == [True, False]
    assert not define(using_hash).keys[0].is_hash


def test_timestamps_without_explicit_defaults():
    sql = "create table t (a timestamp, b timestamp, c timestamp null, d timestamp default 0)"
    found = define(sql, explicit_timestamps=False).columns
    assert [(c.nullable, c.default, c.updates_to_now) for c in found] == [
        (False, Default("now", "0"), True),
        (False, Default("string", "0000-00-00 00:00:00"), False),
        (True, Default("null"), False),
        (False, Default("number", "0"), False),
    ]
    assert [c.nullable for c in define(sql).columns] == [True] * 4
