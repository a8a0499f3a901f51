"""A definition and an ALTER TABLE -> the definition after it."""

from __future__ import annotations

import pytest

from mirrorlake.core.ddl.effect.definition import Dialect, define_like, define_table
from mirrorlake.core.ddl.effect.redefine import Contradiction, redefine
from mirrorlake.core.ddl.parse.parser import parse_statement
from mirrorlake.core.ddl.parse.session import LoggedSession, SourceServer
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.schema.tables import TableSchema

VERSIONS = {"mysql": 90704, "mariadb": 110406}
T = "create table t (id int primary key, a varchar(9), b int, key (b)) charset latin1"
U = "create table t (x int not null, y int not null, z int, unique (y), unique k (x), unique (z))"


def parse(text: str, flavor: str):
    return parse_statement(Tokens(text, SourceServer(flavor, VERSIONS[flavor]), LoggedSession("d")))


def after(create: str, *alters: str, flavor: str = "mysql") -> TableSchema:
    dialect = Dialect(flavor, VERSIONS[flavor], database_charset="latin1")
    schema = define_table(parse(create, flavor), dialect)
    for text in alters:
        schema = redefine(schema, parse(text, flavor).clauses, dialect)
    return schema


def shown(schema: TableSchema) -> str:
    """Columns as ``name type``, ! for NOT NULL, the character set where it is not latin1; then the identity."""
    columns = (
        f"{c.name} {c.type.sql()}"
        + "!" * (not c.nullable)
        + f" {c.type.charset}" * (c.type.charset not in (None, "latin1"))
        for c in schema.columns
    )
    return ", ".join(columns) + f" [{','.join(schema.primary_key)}]"


@pytest.mark.parametrize(
    ("create", "alter", "expected"),
    [
        (T, "add c int, add d int first, add e int after A", "d int, id int!, a varchar(9), e int, b int, c int [id]"),
        (T, "add (c int not null, d text)", "id int!, a varchar(9), b int, c int!, d text [id]"),
        (T, "drop a, add a int", "id int!, b int, a int [id]"),
        (T, "modify a text not null first", "a text!, id int!, b int [id]"),
        (T, "modify a varchar(20) charset utf8mb4", "id int!, a varchar(20) utf8mb4, b int [id]"),
        (T, "change b B2 bigint unsigned after id", "id int!, B2 bigint unsigned, a varchar(9) [id]"),
        (T, "change a b int, change b a int", "id int!, b int, a int [id]"),
        (T, "rename column a to b, rename column b to a", "id int!, b varchar(9), a int [id]"),
        (T, "rename column a to c, add a int after c", "id int!, c varchar(9), a int, b int [id]"),
        (T, "change id ID bigint", "ID bigint!, a varchar(9), b int [ID]"),
        (T, "modify b int after a, add c int after b, modify a int after c", "id int!, b int, c int, a int [id]"),
        (T, "drop primary key", "id int!, a varchar(9), b int []"),
        (T, "drop primary key, add primary key (b, a)", "id int!, a varchar(9)!, b int! [b,a]"),
        (T, "add unique (a), drop primary key, modify a int not null", "id int!, a int!, b int [a]"),
        (T, "default charset utf8mb4, add c char(3)", "id int!, a varchar(9), b int, c char(3) utf8mb4 [id]"),
        (T, "convert to charset utf8mb4, add c text charset ascii",
            "id int!, a varchar(9) utf8mb4, b int, c text utf8mb4 [id]"),
        (T, "convert to character set binary", "id int!, a varbinary(9), b int [id]"),
        (T, "alter a set default 'x', alter column b drop default", "id int!, a varchar(9), b int [id]"),
        (T, "drop key b, drop check c, rename to e.n, engine=myisam, order by a, b",
            "id int!, a varchar(9), b int [id]"),
        ("create table t (a tinytext, b text, c mediumtext, d longtext, e blob)", "convert to charset utf8mb4",
            "a text utf8mb4, b mediumtext utf8mb4, c longtext utf8mb4, d longtext utf8mb4, e blob []"),
        (U, "drop index y", "x int!, y int!, z int [x]"),
        (U, "modify z int not null, drop key y, drop key k", "x int!, y int!, z int! [z]"),
        (U, "modify z int not null", "x int!, y int!, z int! [y]"),
        (U, "modify y int", "x int!, y int, z int [x]"),
        (U, "drop column y", "x int!, z int [x]"),
        (U, "add primary key (z)", "x int!, y int!, z int! [z]"),
        (U, "rename index k to l, drop constraint y", "x int!, y int!, z int [x]"),
    ],
)  # fmt: skip
def test_after_alter(create, alter, expected):
    assert shown(after(create, f"alter table t {alter}")) == expected


def test_a_key_that_is_not_unique_is_no_constraint():
    create = "create table t (x int not null, y int, unique (x), key c (y), constraint c check (y > 0))"
    table = after(create, "alter table t drop constraint c")
    assert [key.name for key in table.keys] == ["x", "c"]
    assert [key.name for key in after(create, "alter table t drop constraint c", "alter table t drop key c").keys] == [
        "x"
    ]


@pytest.mark.parametrize(
    ("alter", "expected"),
    [
        ("add column if not exists a int, add if not exists c int", "id int!, a varchar(9), b int, c int [id]"),
        ("drop if exists q, drop column if exists a", "id int!, b int [id]"),
        ("modify if exists q int, change column if exists a c int", "id int!, c int, b int [id]"),
        ("add system versioning",
            "id int!, a varchar(9), b int, row_start timestamp(6)!, row_end timestamp(6)! [id,row_end]"),
    ],
)  # fmt: skip
def test_after_alter_on_mariadb(alter, expected):
    assert shown(after(T, f"alter table t {alter}", flavor="mariadb")) == expected


def test_the_period_of_a_versioned_table_stays_last():
    found = after(T, "alter table t add system versioning", "alter table t add c int", flavor="mariadb")
    assert (
        shown(found)
        == "id int!, a varchar(9), b int, c int, row_start timestamp(6)!, row_end timestamp(6)! [id,row_end]"
    )


def test_a_versioned_tables_key_goes_with_its_column():
    found = after(T, "alter table t add system versioning", "alter table t drop id", flavor="mariadb")
    assert shown(found) == "a varchar(9), b int, row_start timestamp(6)!, row_end timestamp(6)! []"
    assert [key.name for key in found.keys] == ["b"]


def test_versioning_comes_and_goes():
    found = after(T, "alter table t add system versioning", "alter table t drop system versioning", flavor="mariadb")
    assert found == after(T, flavor="mariadb") and not found.is_versioned and not found.periods


@pytest.mark.parametrize(
    ("alter", "reason"),
    [
        ("drop q", "DROP COLUMN q: there is no such column"),
        ("modify q int", "CHANGE COLUMN q: there is no such column"),
        ("rename column q to r", "RENAME COLUMN q: there is no such column"),
        ("add a int", "ADD COLUMN a: there is such a column already"),
        ("add c int after q", "AFTER q: there is no such column"),
        ("add key b (a)", "ADD KEY b: there is such a key already"),
        ("drop partition p", "the table is not partitioned"),
    ],
)
def test_what_contradicts_the_definition(alter, reason):
    with pytest.raises(Contradiction, match=reason):
        after(T, f"alter table t {alter}")


def test_of_a_promoted_key_every_key_must_be_known():
    with pytest.raises(Contradiction, match="DROP KEY q"):
        after(U, "alter table t drop key q")
    assert after(T, "alter table t drop key q").primary_key == ("id",)


RANGE = "partition by range (id) (partition p values less than (5), partition q values less than (9))"


@pytest.mark.parametrize(
    ("first", "alter", "expected"),
    [
        (RANGE, "add partition (partition r values less than maxvalue)", ["p", "q", "r"]),
        (RANGE, "drop partition P", ["q"]),
        (RANGE, "reorganize partition p, q into (partition r values less than (9))", ["r"]),
        (RANGE, "truncate partition p", ["p", "q"]),
        (RANGE, "partition by hash (id) partitions 4", ["p0", "p1", "p2", "p3"]),
        ("partition by hash (id) partitions 4", "add partition partitions 2", ["p0", "p1", "p2", "p3", "p4", "p5"]),
        ("partition by hash (id) partitions 4", "coalesce partition 3", ["p0"]),
        (RANGE, "analyze partition all", ["p", "q"]),
        (RANGE, "exchange partition p with table u without validation", ["p", "q"]),
    ],
)
def test_partitions_after_alter(first, alter, expected):
    found = after(T, f"alter table t {first}", f"alter table t {alter}").partitioning
    assert [partition.name for partition in found.partitions] == expected
    assert after(T, f"alter table t {first}", "alter table t remove partitioning").partitioning is None


def test_partitions_of_history_come_before_the_current_one():
    create = "create table t (a int) with system versioning partition by system_time limit 9 partitions 3"
    alters = ("add partition partitions 1", "add partition (partition h history)", "drop partition p0")
    found = after(create, *(f"alter table t {alter}" for alter in alters), flavor="mariadb").partitioning
    assert [(p.name, p.kind) for p in found.partitions] == [
        ("p1", "history"), ("p2", "history"), ("h", "history"), ("pn", "current"),
    ]  # fmt: skip


COMMENTED = "create table t (id int primary key comment 'a''b\\\\n', v int comment '') comment 'first' comment = 'all'"


def comments(schema: TableSchema) -> list[str]:
    return [schema.comment, *(column.comment for column in schema.columns)]


@pytest.mark.parametrize(
    ("alters", "expected"),
    [
        ([], ["all", "a'b\\n", ""]),
        (["engine = innodb comment 'of' , auto_increment 7"], ["of", "a'b\\n", ""]),
        (["comment = ''", "rename column v to w, add x int comment 'x' first"], ["", "x", "a'b\\n", ""]),
        (["change id n int comment 'number', modify v int comment 'v'", "modify v int"], ["all", "number", ""]),
        (["alter v set default 3, convert to character set utf8mb4, drop primary key"], ["all", "a'b\\n", ""]),
    ],
)
@pytest.mark.parametrize("flavor", VERSIONS)
def test_comments_after_alter(alters, expected, flavor):
    schema = after(COMMENTED, *(f"alter table t {alter}" for alter in alters), flavor=flavor)
    assert comments(schema) == comments(define_like(schema, "e", "n")) == expected
    assert TableSchema.from_json(schema.to_json()) == schema
    assert comments(TableSchema.from_json(schema.to_json())) == expected


def test_a_comment_is_not_part_of_an_identity():
    plain = after("create table t (id int primary key, v int)")
    assert (after(COMMENTED), after(COMMENTED).schema_id) == (plain, plain.schema_id)


def test_like_keeps_all_but_foreign_keys():
    source = after("create table t (id int primary key, p int references u (x)) partition by key () partitions 3")
    copy = define_like(source, "e", "n")
    assert (copy.database, copy.table, copy.columns, copy.foreign_keys) == ("e", "n", source.columns, ())
    assert copy.partitioning == source.partitioning
    assert [(key.name, key.is_generated) for key in source.keys] == [("PRIMARY", False), ("p", True)]
    assert [(key.name, key.is_generated) for key in copy.keys] == [("PRIMARY", False), ("p", False)]


@pytest.mark.parametrize(
    ("by", "alter", "expected"),
    [
        ("range (id % 7)", "change id `n d` int not null", ("`n d` % 7", ())),
        ("hash (`id` + b)", "rename column id to b, rename column b to id", ("`b` + `id`", ())),
        ("hash (year(d))", "rename column d to year", ("year(`year`)", ())),
        ("key (id, b)", "rename column b to c", (None, ("id", "c"))),
    ],
)
def test_a_partition_function_follows_the_names_of_columns(by, alter, expected):
    create = f"create table t (id int not null, b int not null, d date) partition by {by}"
    if by.startswith("range"):
        create += " (partition p values less than maxvalue)"
    found = after(create, f"alter table t {alter}", flavor="mariadb").partitioning
    assert (found.expression, found.columns, found.has_misplaced_rows) == (*expected, False)


@pytest.mark.parametrize(
    ("by", "alter", "flavor", "expected"),
    [
        ("key ()", "modify id int not null after b", "mariadb", True),
        ("key ()", "modify id int not null after b", "mysql", False),
        ("key ()", "modify id int not null after b partition by key () partitions 2", "mariadb", False),
        ("key ()", "modify id int not null after c", "mariadb", False),
        ("key ()", "drop primary key, add primary key (b, id)", "mariadb", False),
        ("key (id)", "rename column id to b, rename column b to id", "mariadb", True),
        ("key (id)", "modify id int not null after b", "mariadb", False),
        ("hash (id)", "modify id int not null after b", "mariadb", False),
    ],
)
def test_mariadb_leaves_rows_of_a_key_where_they_were(by, alter, flavor, expected):
    create = f"create table t (id int, c int, b int, primary key (id, b)) partition by {by}"
    found = after(create, f"alter table t {alter}", flavor=flavor).partitioning
    assert found.has_misplaced_rows is expected


DEFAULTED = "(partition p1 values in (1), partition pd default)"
LISTED = "(partition p1 values in (1), partition p2 values in (2))"


@pytest.mark.parametrize(
    ("lists", "alter", "expected"),
    [
        (DEFAULTED, "add partition (partition p3 values in (3))", True),
        (DEFAULTED, "add partition if not exists (partition p1 values in (3))", False),
        (DEFAULTED, "reorganize partition pd into (partition p3 values in (3), partition pd default)", True),
        (DEFAULTED, "convert table u to partition p3 values in (3)", True),
        (DEFAULTED, "drop partition p1", False),
        (DEFAULTED, "partition by list (id) (partition p3 values in (3), partition pd default)", False),
        (LISTED, "add partition (partition pd default)", False),
        (LISTED, "reorganize partition p1 into (partition p1 values in (1), partition pd default)", True),
        (LISTED, "reorganize partition p1 into (partition p1 values in (1), partition p3 values in (3))", False),
    ],
)
def test_mariadb_leaves_rows_in_a_default_partition(lists, alter, expected):
    found = after(f"create table t (id int) partition by list (id) {lists}", f"alter table t {alter}", flavor="mariadb")
    assert found.partitioning.has_misplaced_rows is expected


KEY = "my_row_id bigint unsigned not null auto_increment"


@pytest.mark.parametrize(
    ("create", "alters", "expected"),
    [
        (f"({KEY} invisible primary key, v int)", ["modify v int first"], ["my_row_id", "v"]),
        (f"({KEY} invisible primary key, v int)", ["add w int first", "add x int first"], ["my_row_id", "x", "w", "v"]),
        (f"({KEY} invisible primary key, v int)", ["add w int first, alter my_row_id set visible"],
            ["my_row_id", "w", "v"]),
        (f"({KEY} invisible primary key, v int)", ["add w int first, drop my_row_id"], ["w", "v"]),
        (f"({KEY} invisible primary key, v int)", ["modify v int first, engine = MyISAM"], ["v", "my_row_id"]),
        (f"({KEY} primary key, v int)", ["modify v int first"], ["v", "my_row_id"]),
        (f"(a int, v int, {KEY} invisible primary key)", ["modify v int first"], ["v", "a", "my_row_id"]),
        (f"({KEY} invisible primary key, v int)".replace("my_row_id", "k"), ["modify v int first"], ["v", "k"]),
    ],
)  # fmt: skip
def test_no_column_comes_before_a_key_that_mysql_has_generated(create, alters, expected):
    found = after(f"create table t {create}", *(f"alter table t {alter}" for alter in alters))
    assert [column.name for column in found.columns] == expected
