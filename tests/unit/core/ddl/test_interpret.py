"""Statements of the log -> exactly what changes."""

from __future__ import annotations

from random import Random

import pytest

from mirrorlake.core.ddl.effect.override import Answer, definition_changes
from mirrorlake.core.schema.history import ABSENT, DefinitionChange, Definitions, Refused
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN
from mirrorlake.core.schema.row_steps import Add, Exchange, From, Keep, Remove, TakeRows
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import ColumnType
from tests.support.interpreting import interpret

ANSI_QUOTES, ORACLE, NO_BACKSLASH_ESCAPES = 4, 512, 1 << 20


def run(sql: str, definitions: Definitions, flavor: str = "mysql", **context) -> list[DefinitionChange]:
    context = {"database": "d", "sql_mode": 0, "server_charset": "utf8mb4", "version": 90704} | context
    return interpret(sql, flavor=flavor, definitions=definitions, **context)


def after(*statements: str, **context) -> Definitions:
    definitions = Definitions()
    for sql in statements:
        definitions.apply(run(sql, definitions, **context))
    return definitions


SHOP = (
    "create database d charset latin1",
    "create table t (id int primary key, a varchar(5), b int)",
    "create table u (x int not null unique, y int)",
    "create table s (j foo, id int primary key)",
)


def brief(change: DefinitionChange) -> tuple:
    """What a test compares: everything that tells one change from another, the definition in SQL."""
    what = (change.action, f"{change.database}.{change.table}")
    if change.action == "refuse":
        return (*what, change.code, change.reason)
    if change.schema:
        return (*what, ", ".join(f"{c.name} {c.type.sql()}" for c in change.schema.columns), steps(change))
    return (*what, *change.steps)


def steps(change: DefinitionChange) -> list[str]:
    return [_STEPS[type(step)](step) for step in change.steps if type(step) in _STEPS]


def _kept(step: Keep) -> str:
    return f"{step.name} = {step.old.name} {step.old.type.sql()}"


def _added(step: Add) -> str:
    value = step.needs_empty or (step.value and f"{step.value.kind} {step.value.text}")
    return f"+{step.name}" + (f" {value}" if value else "")


_STEPS = {
    Keep: _kept,
    Add: _added,
    From: lambda step: f"from {step.database}.{step.table}",
    Remove: lambda step: f"rows of {', '.join(step.names) or 'all'}",
    TakeRows: lambda step: f"{step.name or 'all'} of {step.other_database}.{step.other_table}",
    Exchange: lambda step: f"partition {step.name} with {step.other_database}.{step.other_table}",
}


def refused(table: str, reason: str, code: str = "ddl-unsupported") -> tuple:
    return ("refuse", f"d.{table}", code, reason)


MERGED = "its rows are changed through a table of engine MERGE, too"
T = "id int, a varchar(5), b int"
PERIOD = "row_start timestamp(6), row_end timestamp(6)"
EFFECTS = {
    # create
    "create table n (id int primary key, c text)": [("create", "d.n", "id int, c text", [])],
    "create table e.n (id int primary key)": [("create", "e.n", "id int", [])],
    "create table if not exists n (id int primary key)": [
        refused("n", "CREATE TABLE IF NOT EXISTS of a name that may be a view's", "ddl-ambiguous")
    ],
    "create table if not exists n (id int primary key) engine=innodb": [],  # without a DDL_XID: n is a view
    "create table if not exists n (id int primary key) start transaction": [("create", "d.n", "id int", [])],
    "create table if not exists n (id int primary key) engine=myisam": [("create", "d.n", "id int", [])],
    "create table if not exists t (id int primary key)": [],
    "create table if not exists s (id int primary key)": [],
    "create table if not exists e.n (id int primary key)": [
        ("refuse", "e.n", "ddl-ambiguous", "CREATE TABLE IF NOT EXISTS of a table that may have existed")
    ],
    "create table t (id int primary key)": [
        refused("t", "CREATE TABLE of a table that exists already", "definition-mismatch")
    ],
    "create table s (id int primary key)": [],
    "create table n like t": [("create", "d.n", T, [])],
    "create table e.n (like t)": [("create", "e.n", T, [])],
    "create table n select 1": [refused("n", "CREATE TABLE ... SELECT")],
    "create table n (id int primary key) as select 1": [refused("n", "CREATE TABLE ... SELECT")],
    "create table n (id int primary key) ignore select 1": [refused("n", "CREATE TABLE ... SELECT")],
    "create table n (id int primary key) partition by hash (id) partitions 2 select 1": [
        refused("n", "CREATE TABLE ... SELECT")
    ],
    "create table n (select 1 as a)": [refused("n", "CREATE TABLE ... SELECT")],
    "create table `n` (`id` int primary key) start transaction": [("create", "d.n", "id int", [])],
    "create table n (id int primary key, c json)": [("create", "d.n", "id int, c json", [])],
    "create table n (id int primary key, c foo(3))": [refused("n", "column c has type foo", "column-type")],
    "create table n (id int primary key, c char charset klingon)": [
        refused("n", "column c has character set klingon", "column-charset")
    ],
    "create table n (id int)": [("create", "d.n", "id int", [])],
    "create table n (_lsn int primary key)": [refused("n", "column _lsn is a reserved name", "column-name")],
    "create table n (id int primary key, foreign key (id) references t (id) on delete cascade)": [
        ("create", "d.n", "id int", [])
    ],
    "create table n (id int primary key, foreign key (id) references e.t (id) on delete cascade)": [
        refused("n", "a foreign key changes its rows, and its parent e.t is older than the log", "foreign-key-cascade")
    ],
    "create table n (id int primary key, k int references t (id) on delete no action on update restrict)": [
        ("create", "d.n", "id int, k int", [])
    ],
    "create table n (id int primary key) engine=blackhole": [refused("n", "ENGINE=blackhole")],
    "create table n (id int) engine=merge union=(t, e.x) insert_method=last": [
        refused("n", "UNION"), refused("t", MERGED), ("refuse", "e.x", "ddl-unsupported", MERGED),
    ],
    "create table n (id int) engine=mrg_myisam union ()": [refused("n", "UNION")],
    "create table n (id int primary key) with system versioning": [("create", "d.n", f"id int, {PERIOD}", [])],
    "create table n (id int primary key, a date, b date, period for p (a, b))": [
        ("create", "d.n", "id int, a date, b date", []),
    ],
    "create table n (id int primary key, r bigint unsigned as row start)": [
        refused("n", "column r is a period of transactions, whose changes are not logged"),
    ],
    "create table n (id int primary key, c int frobnicated)": [
        refused("n", "frobnicated is not understood at character 43")
    ],
    "create table n (id int, primary key (nope))": [
        refused("n", "a key names a column that the table does not have")
    ],
    "create table n (id int primary key, s timestamp(6) as row middle)": [
        refused("n", "middle is not understood at character 59")
    ],
    "create table n (id int primary key": [refused("n", "end of the statement is not understood at character 35")],
    "create table n (c varchar primary key)": [refused("n", "varchar without a length")],
    "create table n (c decimal(10,2,3) primary key)": [refused("n", "a type with 3 sizes")],
    "create temporary table n (id int primary key)": [("temporary", "d.n")],
    "create temporary table if not exists e.unknown (id int primary key)": [("temporary", "e.unknown")],
    "create temporary table t (x int)": [("temporary", "d.t")],
    "create sequence n start 5": [("refuse", "d.n", "sequence", "CREATE SEQUENCE")],
    "create table n (next_not_cached_value bigint not null) sequence=1": [
        ("refuse", "d.n", "sequence", "CREATE TABLE ... SEQUENCE"),
    ],
    "create or replace sequence t": [("refuse", "d.t", "sequence", "CREATE SEQUENCE")],
    "create sequence if not exists t": [],
    "create sequence t": [
        ("refuse", "d.t", "definition-mismatch", "CREATE SEQUENCE of a table that exists already"),
    ],
    "create sequence if not exists zzz.n": [
        ("refuse", "zzz.n", "ddl-ambiguous", "CREATE SEQUENCE IF NOT EXISTS of a name that may have existed"),
    ],
    "create view v as select * from t": [],
    "create or replace definer=`root`@`%` view v as select 1": [],
    "create index i on t (a)": [("alter", "d.t", T, [])],
    "create unique index i on t (a)": [("alter", "d.t", T, [])],
    "create unique index i on u (y)": [("alter", "d.u", "x int, y int", [])],
    "create procedure p() begin drop table t; end": [],
    "create trigger g before insert on t for each row set new.a = 1": [],
    "create trigger g after update on t for each row set @a = new.a": [],
    "create trigger g before update on t for each row set @a = old.a": [],
    "create trigger g before update on nope for each row set new.a = 1": [],
    "create trigger g before update on t for each row set new.a = 1": [("alter", "d.t", T, [])],
    "create definer=`root`@`%` trigger if not exists e.g before update on d.t for each row begin set new.b=1; end": [
        ("alter", "d.t", T, [])
    ],
    "create user x identified by 'y'": [],
    # drop
    "drop table t": [("drop", "d.t")],
    "drop table if exists `t`,`nope`, e.x /* generated by server */": [("drop", "d.t"), ("drop", "e.x")],
    "drop table s": [("drop", "d.s")],
    "drop tables t, u restrict": [("drop", "d.t"), ("drop", "d.u")],
    "drop temporary table if exists t": [],
    "drop view t": [],
    "drop index i on t": [],
    "drop index `PRIMARY` on t": [("alter", "d.t", T, [])],
    "drop index x on u": [("alter", "d.u", "x int, y int", [])],
    "drop database d": [("drop", "d.t"), ("drop", "d.u"), ("drop", "d.s"), ("drop_database", "d.", ("charset", None))],
    "drop schema if exists e": [("drop_database", "e.", ("charset", None))],
    # databases
    "create database e": [("create_database", "e.", ("charset", "utf8mb4"))],
    "create schema e character set = latin1 collate latin1_bin": [("create_database", "e.", ("charset", "latin1"))],
    "create database e default collate utf8mb3_bin default encryption='n'": [
        ("create_database", "e.", ("charset", "utf8mb3"))
    ],
    "create database if not exists e": [],
    "create database if not exists d charset utf8mb4": [],
    "alter database d charset utf8mb4": [("alter_database", "d.", ("charset", "utf8mb4"))],
    "alter database character set utf8mb4": [("alter_database", "d.", ("charset", "utf8mb4"))],
    "alter database d read only = 1": [],
    # alter: replayed
    "alter table t add c int": [
        ("alter", "d.t", "id int, a varchar(5), b int, c int", ["id = id int", "a = a varchar(5)", "b = b int", "+c"]),
    ],
    "alter table t add column c int first": [
        ("alter", "d.t", "c int, id int, a varchar(5), b int", ["+c", "id = id int", "a = a varchar(5)", "b = b int"]),
    ],
    "alter table t add c int default null after ID": [
        ("alter", "d.t", "id int, c int, a varchar(5), b int", ["id = id int", "+c", "a = a varchar(5)", "b = b int"]),
    ],
    "alter table t add (c int, d int unique, key (c))": [
        ("alter", "d.t", "id int, a varchar(5), b int, c int, d int", [
            "id = id int", "a = a varchar(5)", "b = b int", "+c", "+d",
        ]),
    ],
    "alter table t drop B": [
        ("alter", "d.t", "id int, a varchar(5)", ["id = id int", "a = a varchar(5)"]),
    ],
    "alter table t add b text first, drop column b": [
        ("alter", "d.t", "b text, id int, a varchar(5)", ["+b", "id = id int", "a = a varchar(5)"]),
    ],
    "alter table t add c int, add index (c), comment 'x', drop a, engine=innodb auto_increment=5": [
        ("alter", "d.t", "id int, b int, c int", ["id = id int", "b = b int", "+c"]),
    ],
    "alter table t default charset utf8mb4": [("alter", "d.t", T, [])],
    "alter table d.t add c timestamp null": [
        ("alter", "d.t", "id int, a varchar(5), b int, c timestamp", [
            "id = id int", "a = a varchar(5)", "b = b int", "+c",
        ]),
    ],
    # alter: no effect
    "alter table t default charset latin1": [],
    "alter table t add unique (a), drop index x, alter a set default 'z', rename index q to r, lock=none": [
        ("alter", "d.t", T, [])
    ],
    "alter table t add constraint f foreign key (b) references u (x), drop foreign key g, add check (b > 0)": [
        ("alter", "d.t", T, [])
    ],
    "alter table t partition by range (id) (partition p values less than (5))": [("alter", "d.t", T, [])],
    "alter table t add partition (partition p values less than (5))": [
        refused("t", "the table is not partitioned", "definition-mismatch")
    ],
    "alter table t remove partitioning": [],
    "alter table t order by a, b": [],
    "alter table s add c int": [],
    "alter table e.unknown drop primary key": [],
    "alter sequence q restart": [],
    "alter view v as select 1": [],
    # alter: refused
    "alter table t add c int default 5": [
        ("alter", "d.t", "id int, a varchar(5), b int, c int", [
            "id = id int", "a = a varchar(5)", "b = b int", "+c number 5",
        ]),
    ],
    "alter table t add c int not null": [
        ("alter", "d.t", "id int, a varchar(5), b int, c int", [
            "id = id int", "a = a varchar(5)", "b = b int", "+c zero ",
        ]),
    ],
    "alter table t add c timestamp": [
        ("alter", "d.t", "id int, a varchar(5), b int, c timestamp", [
            "id = id int", "a = a varchar(5)", "b = b int",
            "+c rows that exist get what explicit_defaults_for_timestamp says",
        ]),
    ],
    "alter table t add c serial": [
        ("alter", "d.t", "id int, a varchar(5), b int, c bigint unsigned", [
            "id = id int", "a = a varchar(5)", "b = b int",
            "+c rows that exist get numbers in an order that the log does not have",
        ]),
    ],
    "alter table t add c int as (b + 1)": [
        ("alter", "d.t", "id int, a varchar(5), b int, c int", [
            "id = id int", "a = a varchar(5)", "b = b int", "+c rows that exist get what an expression gives",
        ]),
    ],
    "alter table t add c foo": [refused("t", "column c has type foo", "column-type")],
    "alter table t add foreign key (b) references u (x) on delete set null": [("alter", "d.t", T, [])],
    "alter table t add foreign key (b) references s (x) on delete set null": [
        refused("t", "a foreign key changes its rows, and its parent d.s is not followed any more",
                "foreign-key-cascade")
    ],
    "alter table t drop foreign key f": [],
    "alter table t add a int": [refused("t", "ADD COLUMN a: there is such a column already", "definition-mismatch")],
    "alter table t add c int after z": [refused("t", "AFTER z: there is no such column", "definition-mismatch")],
    "alter table t drop z": [refused("t", "DROP COLUMN z: there is no such column", "definition-mismatch")],
    "alter table t drop id": [("alter", "d.t", "a varchar(5), b int", ["a = a varchar(5)", "b = b int"])],
    "alter table u drop y": [("alter", "d.u", "x int", ["x = x int"])],
    "alter table u add unique (y)": [("alter", "d.u", "x int, y int", [])],
    "alter table t modify a varchar(9)": [
        ("alter", "d.t", "id int, a varchar(9), b int", ["id = id int", "a = a varchar(5)", "b = b int"]),
    ],
    "alter table t add c int, change a z text after id, drop b": [
        ("alter", "d.t", "id int, z text, c int", ["id = id int", "z = a varchar(5)", "+c"]),
    ],
    "alter table t rename column a to z": [
        ("alter", "d.t", "id int, z varchar(5), b int", ["id = id int", "z = a varchar(5)", "b = b int"]),
    ],
    "alter table t rename to n": [("rename", "d.n", T, ["from d.t"]), ("moved", "d.t")],
    "alter table t convert to character set utf8mb4": [
        ("alter", "d.t", T, ["id = id int", "a = a varchar(5)", "b = b int"]),
    ],
    "alter table t add primary key (a)": [
        ("refuse", "d.t", "definition-mismatch", "ADD KEY PRIMARY: there is such a key already"),
    ],
    "alter table t drop primary key": [("alter", "d.t", T, [])],
    "alter table t drop constraint `primary`": [("alter", "d.t", T, [])],
    "alter table t truncate partition p0": [
        ("refuse", "d.t", "definition-mismatch", "the table has no partitions"),
    ],
    "alter table t drop partition p0, p1": [
        ("refuse", "d.t", "definition-mismatch", "the table is not partitioned"),
    ],
    "alter table t exchange partition p0 with table u": [
        ("refuse", "d.t", "needs-resync", "EXCHANGE PARTITION of d.t with d.u"),
        ("refuse", "d.u", "needs-resync", "EXCHANGE PARTITION of d.t with d.u"),
    ],
    "alter table t reorganize partition p0 into (partition p1 values less than (5))": [
        ("refuse", "d.t", "definition-mismatch", "the table is not partitioned"),
    ],
    "alter table t reorganize partition": [
        refused("t", "REORGANIZE PARTITION without names, which changes how many there are")
    ],
    "alter table t rename to v, rename as w": [("rename", "d.w", T, ["from d.t"]), ("moved", "d.t")],
    "alter table t rename to v, rename to v": [("rename", "d.v", T, ["from d.t"]), ("moved", "d.t")],
    "alter table t rename to v, rename as t, add z int": [
        ("alter", "d.t", T + ", z int", ["id = id int", "a = a varchar(5)", "b = b int", "+z"])
    ],
    "alter table t rename index q to r, rename index r to q": [
        refused("t", "RENAME INDEX of one index to the former name of another one")
    ],
    "alter table t add n int default 7, alter n set default 9": [refused("t", "two clauses about column n")],
    "alter table t drop b, add b int default 8, modify b int default 9": [refused("t", "two clauses about column b")],
    "alter table t drop b, add x int after id, change b x int": [refused("t", "two clauses about column b")],
    "alter table t rename column b to c, add b int, alter b drop default": [refused("t", "two clauses about column b")],
    "alter table t charset utf8mb4, convert to charset latin1": [refused("t", "two character sets for one table")],
    "alter table t charset utf8mb4, collate utf8mb4_bin": [("alter", "d.t", T, [])],
    "alter table t convert to charset utf8mb4, collate utf8mb4_bin": [
        refused("t", "two character sets for one table")
    ],
    "alter table t collate default, add z text": [refused("t", "COLLATE DEFAULT without a character set")],
    "set statement sql_mode='NO_BACKSLASH_ESCAPES' for alter table t add c int": [
        refused("t", "SET STATEMENT of sql_mode or a character set: the server had read the statement before")
    ],
    "set statement max_statement_time=1 for alter table t drop b": [
        ("alter", "d.t", "id int, a varchar(5)", ["id = id int", "a = a varchar(5)"])
    ],
    "set statement sql_mode='' for insert into e.unknown values (1)": [],
    "alter table t discard tablespace": [refused("t", "DISCARD TABLESPACE")],
    "alter table t import tablespace": [refused("t", "IMPORT TABLESPACE")],
    "alter table t engine=blackhole": [refused("t", "ENGINE=blackhole")],
    "alter table t engine=merge, union=(u)": [refused("t", "ENGINE=merge"), refused("u", MERGED)],
    "alter table unknown union=(u), insert_method=first": [refused("u", MERGED)],
    "alter table t frobnicate": [refused("t", "frobnicate is not understood at character 15")],
    "alter ignore table t add unique (a)": [refused("t", "ALTER IGNORE TABLE")],
    "alter table t sequence=1": [refused("t", "ALTER TABLE ... SEQUENCE")],
    "alter table t sequence=0": [],
    # rename, truncate
    "rename table t to n": [("rename", "d.n", T, ["from d.t"]), ("moved", "d.t")],
    "rename table e.x to e.y": [("moved", "e.x")],
    "rename table t to n, u to t, n to u": [
        ("moved", "d.n"),
        ("rename", "d.t", "x int, y int", ["from d.u"]),
        ("rename", "d.u", T, ["from d.t"]),
    ],
    "rename user a to b": [],
    "truncate t": [("truncate", "d.t", T, [])],
    "truncate table e.unknown": [],
    # rows logged as text
    "insert into t values (1)": [refused("t", "INSERT was logged as a statement", "statement-dml")],
    "insert low_priority ignore t set a = 1": [refused("t", "INSERT was logged as a statement", "statement-dml")],
    "replace into e.n select 1": [("refuse", "e.n", "statement-dml", "REPLACE was logged as a statement")],
    "update t set a = 1": [refused("t", "UPDATE was logged as a statement", "statement-dml")],
    "update t join u on t.a = u.x set a = 1": [
        refused(name, "UPDATE was logged as a statement", "statement-dml") for name in "tu"
    ],
    "delete from t where a = 1": [refused("t", "DELETE was logged as a statement", "statement-dml")],
    "update quick, t set b = 1": [
        refused(name, "UPDATE was logged as a statement", "statement-dml") for name in ("quick", "t")
    ],
    "insert into concurrent values (1)": [refused("concurrent", "INSERT was logged as a statement", "statement-dml")],
    "with q as (select 1) delete from t": [refused("t", "DELETE was logged as a statement", "statement-dml")],
    "load data infile 'x' into table t": [refused("t", "LOAD was logged as a statement", "statement-dml")],
    # others
    "begin": [], "commit": [], "rollback": [], "savepoint s": [], "xa start 'a'": [], "set password = 'x'": [],
    "grant all on *.* to x": [], "flush tables": [], "analyze table t": [], "optimize table t": [],
    "# Dum": [], "": [], "drop trigger g": [], "drop function f": [], "start transaction": [],
    "insert into mysql.user values (1)": [], "alter table mysql.user add c int": [], "drop table sys.x": [],
}  # fmt: skip
MARIADB_EFFECTS = {
    "create or replace table t (id int primary key)": [("create", "d.t", "id int", [])],
    "create or replace table n (id int primary key)": [("create", "d.n", "id int", [])],
    "create table n (id int primary key, j json)": [("create", "d.n", "id int, j longtext", [])],
    "create table n (id uuid primary key)": [("create", "d.n", "id uuid", [])],
    "create table n (id int primary key, c text compressed)": [("create", "d.n", "id int, c text", [])],
    "alter table t add if not exists a int, add column if not exists c int": [
        ("alter", "d.t", "id int, a varchar(5), b int, c int", ["id = id int", "a = a varchar(5)", "b = b int", "+c"]),
    ],
    "alter table t add if not exists c int primary key": [
        ("alter", "d.t", "id int, a varchar(5), b int, c int",
         ["id = id int", "a = a varchar(5)", "b = b int", "+c zero "]),
    ],
    "alter table t drop column if exists z, drop if exists b": [
        ("alter", "d.t", "id int, a varchar(5)", ["id = id int", "a = a varchar(5)"]),
    ],
    "alter table if exists t wait 5 add c int": [
        ("alter", "d.t", "id int, a varchar(5), b int, c int", ["id = id int", "a = a varchar(5)", "b = b int", "+c"]),
    ],
    "alter table t add system versioning": [
        ("alter", "d.t", f"{T}, {PERIOD}", ["id = id int", "a = a varchar(5)", "b = b int",
         "+row_start rows that exist get what an expression gives",
         "+row_end rows that exist get what an expression gives"]),
    ],
    "set statement max_statement_time=1 for drop table t": [("drop", "d.t")],
    "rename table if exists t wait 3 to n": [("rename", "d.n", T, ["from d.t"]), ("moved", "d.t")],
    "rename table if exists t to n, t to n, t to u": [("rename", "d.n", T, ["from d.t"]), ("moved", "d.t")],
    "create or replace database d": [
        ("drop", "d.t"), ("drop", "d.u"), ("drop", "d.s"), ("create_database", "d.", ("charset", "utf8mb4")),
    ],
    "drop sequence t": [("drop", "d.t")],
    "alter table t drop primary key, add primary key if not exists (b)": [
        ("alter", "d.t", T, [])
    ],
    "drop sequence if exists t, s, e.unknown": [],  # the tables are there still
    "create table n (id int primary key, g geometry not null unique)": [
        refused("n", "the UNIQUE key g is kept as a hash, in a column that only the log shows")
    ],
    "drop table t nowait": [("drop", "d.t")],
}  # fmt: skip


@pytest.mark.parametrize("sql", EFFECTS)
def test_effect(sql):
    assert [brief(change) for change in run(sql, after(*SHOP))] == EFFECTS[sql]


@pytest.mark.parametrize(
    "sql",
    [
        "delete t, u.* from t join u on t.a = u.x", "delete t.*, d.u.* from t, u",
        "delete from t.*, u.* using t join u",
        "delete `where`, y from t `where` join u y", "delete x, returning from t x join u returning",
        "delete x, y from t partition (p0) x join u y", "delete x, y from t x use index for join (i) join u y",
        "delete x, y from t x force key for order by (i, j) join u y", "delete x, y from (t x join (u y) on 1)",
        "update {oj t left join u on t.a = u.x} set t.b = 1", "update t use index for join (`e`), u set u.y = 1",
        "update t join (select x from e.z) q on q.x in (select 1 from e.z), u set y = q.x",
        "delete t, 5 from t join u", "/* */ rename table t to 5, u to n",
        "set statement x = 1 for rename table t to 5, u to n",
    ],
)  # fmt: skip
def test_a_statement_refuses_every_followed_table_that_it_may_change(sql):
    assert {"d.t", "d.u"} <= {f"{change.database}.{change.table}" for change in run(sql, after(*SHOP))}


@pytest.mark.parametrize("sql", MARIADB_EFFECTS)
def test_effect_on_mariadb(sql):
    definitions = after(*SHOP[:3], "create table s (id inet6)", flavor="mariadb")
    found = run(sql, definitions, flavor="mariadb", version=101119)
    assert [brief(change) for change in found] == MARIADB_EFFECTS[sql]


PARTITIONED = (
    "create database d charset utf8mb4",
    "create table t (id int)",
    "create table p (id int, b int) partition by range (id) (partition x values less than (10))",
    "create table q (id int, b int)",
    "create table r (id int) engine=blackhole",
    "create table v (id int) with system versioning partition by system_time (partition h history,"
    " partition c current)",
)
CONVERTED = {
    "alter table p convert partition x to table n": [
        ("create", "d.n", "id int, b int", ["x of d.p"]),
        ("alter", "d.p", "id int, b int", ["rows of x"]),
    ],
    "alter table p convert table q to partition z values less than maxvalue": [
        ("alter", "d.p", "id int, b int", ["all of d.q"]), ("drop", "d.q"),
    ],
    "alter table p convert table if exists nope to partition z values less than (30)": [],
    "alter table p convert table r to partition z values less than (30)": [
        refused("p", "rows came from d.r, which is not mirrored", "needs-resync"), ("drop", "d.r"),
    ],
    "alter table p convert table q to partition z values less than (30) without validation": [
        refused("p", "rows came into a partition that they may not be of (WITHOUT VALIDATION)", "needs-resync"),
        ("drop", "d.q"),
    ],
    "alter table v convert table q to partition z history": [
        refused("v", "rows came into a partition of history", "needs-resync"), ("drop", "d.q"),
    ],
    "alter table p convert partition nope to table n": [
        refused("n", "PARTITION nope: there is no such partition", "needs-first-copy"),
        refused("p", "PARTITION nope: there is no such partition", "definition-mismatch"),
    ],
    "alter table t convert partition x to table n": [
        refused("n", "its rows were a partition of d.t, which is not mirrored", "needs-first-copy"),
        refused("t", "the table is not partitioned", "definition-mismatch"),
    ],
    "alter table r convert partition x to table n": [
        refused("n", "its rows were a partition of d.r, which is not mirrored", "needs-first-copy"),
    ],
    "alter table r convert table q to partition z values less than (30)": [("drop", "d.q")],
}  # fmt: skip


@pytest.mark.parametrize("sql", CONVERTED)
def test_rows_that_come_with_a_partition(sql):
    found = run(sql, after(*PARTITIONED, flavor="mariadb"), flavor="mariadb")
    assert [brief(change) for change in found] == CONVERTED[sql]


@pytest.mark.parametrize(
    ("sql", "effect"),
    [
        ("create or replace table t (id int default 'q')", [("drop", "d.t")]),
        ("create or replace table n (id int default 'q')", []),
        ("drop table t, nope", [("drop", "d.t")]),
        ("alter table t drop b", [refused("t", "a statement that failed after a part of its work")]),
        ("create view v as select * from t", []),
    ],
)
def test_what_a_statement_did_before_it_failed(sql, effect):
    found = run(sql, after(*SHOP), flavor="mariadb", has_failed=True)
    assert [brief(change) for change in found] == effect


def test_an_unknown_kind_of_statement_refuses_the_table_it_names():
    found = run("create external table if not exists t (a int)", after(*SHOP))
    assert [brief(change) for change in found] == [refused("t", "external is not understood at character 8")]


def test_versioned_comments_by_the_servers_version():
    sql = "create table n (id int primary key /*!50606 , a int */ /*!080013 , b int */ /*!999999 , c int */)"
    columns = [[c.name for c in run(sql, after(*SHOP), version=v)[0].schema.columns] for v in (50651, 80012, 80013)]
    assert columns == [["id", "a"], ["id", "a"], ["id", "a", "b"]]


@pytest.mark.parametrize(("version", "explicit", "nullable"), [
    (50744, None, False), (90704, None, True), (50744, True, True), (90704, False, False),
])  # fmt: skip
def test_timestamps_by_the_sessions_rule(version, explicit, nullable):
    found = run("create table n (id int primary key, a timestamp)", after(*SHOP), version=version,
                explicit_timestamps=explicit)  # fmt: skip
    assert found[0].schema.columns[1].nullable is nullable


def test_a_unique_key_kept_as_a_hash_is_refused():
    found = run("create table n (id int primary key, a text unique)", after(*SHOP, flavor="mariadb"), flavor="mariadb")
    reason = "the UNIQUE key a is kept as a hash, in a column that only the log shows"
    assert [brief(change) for change in found] == [refused("n", reason)]


def test_tables_of_the_log_are_followed_to_the_end():
    definitions = after(
        *SHOP, "alter table t add c text, drop b", "drop table u", "create table u (k char(3) primary key)"
    )
    t, u = definitions.get("d", "t"), definitions.get("d", "u")
    assert [c.name for c in t.columns] == ["id", "a", "c"] and t.columns[2].type == ColumnType("text", charset="latin1")
    assert u.columns == (Column("k", ColumnType("char", length=3, charset="latin1"), nullable=False),)
    assert definitions.get("d", "s") == Refused("column-type", "column j has type foo")
    assert definitions.get("d", "never") is ABSENT
    assert definitions.get("e", "t") is None


def test_a_create_table_if_not_exists_that_has_made_its_table():
    known, made = after(*SHOP), "create table if not exists {} (id int primary key)"
    assert [brief(change) for change in run(made.format("e.n"), known, has_made_table=True)] == [
        ("create", "e.n", "id int", [])
    ]
    assert [brief(change) for change in run(made.format("t"), known, has_made_table=True)] == [
        refused("t", "CREATE TABLE of a table that exists already", "definition-mismatch")
    ]


def test_a_database_gets_the_servers_character_set_by_default():
    databases = after("create database d charset latin1", "alter database d charset default").database("d")
    assert (databases.charset, databases.exists) == ("utf8mb4", True)
    assert run("alter database d comment 'x'", after("create database d"), flavor="mariadb") == []


def test_a_refused_table_comes_back_by_drop_and_create():
    definitions = after(*SHOP, "alter table t import tablespace", "alter table t add c int")
    assert definitions.get("d", "t") == Refused("ddl-unsupported", "IMPORT TABLESPACE")
    for sql in ("drop table t", "create table t (id int primary key)"):
        definitions.apply(run(sql, definitions))
    assert definitions.get("d", "t").primary_key == ("id",)


@pytest.mark.parametrize(
    "statements, is_refused",
    [
        (("drop table m", "create table m (id int) engine=myisam"), True),
        (("drop table m", "create table m (id int)"), True),  # its engine is not known
        (("drop table m", "create table n (id int) engine=myisam", "rename table n to m"), True),
        (("rename table m to o", "create table n (id int) engine=myisam", "alter table n rename to m"), True),
        (("drop database d", "create database d", "create table m (id int) engine=myisam"), True),
        (("drop table m", "create table m (id int) engine=innodb", "alter table m engine=myisam"), True),
        (("drop table m", "create table m (id int) engine=innodb"), False),
        (("drop table m", "create table m (id int) engine=innodb", "alter table e.u union=(d.m)"), False),
    ],
)
def test_a_table_that_takes_a_name_in_a_union_is_refused(statements, is_refused):
    union = ("create table m (id int) engine=myisam", "create table e.u (id int) engine=merge union=(d.m)")
    known = after("create database d", "create database e", *union, *statements).get("d", "m")
    assert (known == Refused("ddl-unsupported", MERGED)) == is_refused


def test_a_table_of_another_engine_in_a_union_is_followed_until_it_is_one_of_myisam():
    definitions = after("create table m (id int) engine=innodb")
    union = run("create table e.u (id int) engine=innodb union=(d.m)", definitions)
    assert union == [DefinitionChange("refuse", "e", "u", code="ddl-unsupported", reason="UNION")] + [
        DefinitionChange("merged", "d", "m")
    ]
    definitions.apply(DefinitionChange.from_row(change.to_row()) for change in union)
    definitions.apply(run("alter table m add c int", definitions))
    assert [column.name for column in definitions.get("d", "m").columns] == ["id", "c"]
    definitions.apply(run("alter table m engine=myisam", definitions))
    assert definitions.get("d", "m") == Refused("ddl-unsupported", MERGED)


def test_a_table_in_a_union_that_a_resync_brought_back_is_followed():
    definitions = after("create table m (id int) engine=myisam", "create table u (id int) engine=merge union=(m)")
    answer = Answer(1, 5, "d", "m", "create table m (id int) engine=myisam", "a copy")
    definitions.apply(definition_changes(answer, "mysql", definitions, AS_WRITTEN))
    assert [change.action for change in run("alter table m add c int", definitions)] == ["alter"]


def test_character_set_of_column_table_database_and_server():
    definitions = after(
        "create database d", "create database e charset latin1", "alter database e charset ascii",
        "create table d.a (id int primary key, c text)", "create table e.a (id int primary key, c text)",
        "create table e.b (id int primary key, c text, d text charset utf8mb4) collate latin1_bin",
        "create table f.a (id int primary key, c text)", "create table f.b (id int primary key, c char) charset binary",
    )  # fmt: skip

    def charsets(database: str, table: str) -> list:
        return [c.type.charset or c.type.name for c in definitions.get(database, table).columns[1:]]

    assert [charsets(*name) for name in ("da", "ea", "eb", "fa", "fb")] == [
        ["utf8mb4"], ["ascii"], ["latin1", "utf8mb4"], ["text"], ["binary"],
    ]  # fmt: skip


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_backslashes_of_a_statement_that_the_server_wrote(flavor):
    """Its escapes are none for a reader in sql_mode NO_BACKSLASH_ESCAPES, as a replica is one."""
    reason = "sql_mode NO_BACKSLASH_ESCAPES: the server may have doubled the backslashes of a text"
    for table, label in (("TABLE `t`", r"a\\"), ("OR REPLACE TABLE `d`.`t`", r"\n")):
        written = f"CREATE {table} (\n  `e` enum('{label}','b') DEFAULT NULL\n)"
        [refusal] = run(written, Definitions(), flavor=flavor, sql_mode=NO_BACKSLASH_ESCAPES)
        assert brief(refusal) == refused("t", reason)
        for text, mode in ((written, 0), (written.replace("'b'", r"'\b'"), NO_BACKSLASH_ESCAPES)):
            assert run(text, Definitions(), flavor=flavor, sql_mode=mode)[0].action == "create"


def test_quotes_and_types_by_sql_mode():
    sql = 'create table "t" ("i" int primary key, c varchar(5) default \'x\')'
    assert [c.name for c in run(sql, Definitions(), sql_mode=ANSI_QUOTES)[0].schema.columns] == ["i", "c"]
    oracle = "create table t (id number(5) primary key, c varchar2(5), d date, e number, f clob, g raw(3))"
    found = run(oracle, Definitions(), flavor="mariadb", sql_mode=ORACLE)[0].schema.columns
    types = ["decimal(5,0)", "varchar(5)", "datetime", "double", "longtext", "varbinary(3)"]
    assert [c.type.sql() for c in found] == types


def test_history_is_rebuilt_from_its_rows():
    definitions, rows = Definitions(), []
    more = ("alter table t add c int first, drop b", "rename table u to v", "create database x charset ascii")
    for sql in (*SHOP, *more, "create table x.y (id int primary key)", "drop database x"):
        changes = run(sql, definitions)
        definitions.apply(changes)
        rows += [change.to_row() for change in changes]
        assert [DefinitionChange.from_row(change.to_row()) for change in changes] == changes
    rebuilt = Definitions(map(DefinitionChange.from_row, rows))
    for name in ("t", "u", "v", "s", "w"):
        assert rebuilt.get("d", name) == definitions.get("d", name)
    assert rebuilt.get("x", "y") is ABSENT and rebuilt.database("x") == definitions.database("x")
    assert rebuilt.schema_ids == definitions.schema_ids and len(rebuilt.schema_ids) == 6


MORE_TO_DAMAGE = (
    "create table n (a int default (1 + 2) on update now(), b text as (a) stored, key k (a, (b)), foreign key (a) "
    "references u (x) on delete no action) collate utf8mb4_bin partition by range (a) subpartition by hash (a) "
    "(partition p values less than (5) (subpartition s, subpartition q), partition r values less than maxvalue)",
    "alter table t add partition (partition p values in ((1, 'x'), (2, null))), alter a set default case 1 when 2 end",
    "alter table t reorganize partition p, q into (partition r history), add period if not exists for p (a, b)",
    "create table t (a enum(0x41, 'b'), b timestamp as row start) partition by system_time interval f(1) day",
)


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_damaged_statements_are_understood_or_refused(flavor):
    random, definitions = Random(7), after(*SHOP)
    letters = "()',`\"/*!;. aZ0é@=-#\\"
    for sql in [*EFFECTS, *MARIADB_EFFECTS, *MORE_TO_DAMAGE] * 4:
        text = list(sql)
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(text) + 1)
            text[at : at + random.randint(0, 4)] = random.choice(letters)
        found = run("".join(text), definitions, flavor=flavor, sql_mode=random.choice([0, ANSI_QUOTES, ORACLE]))
        assert not [change.reason for change in found if "the statement raised" in (change.reason or "")]
        Definitions().apply(found)


def test_triggers_that_may_change_what_an_update_sets_are_known():
    create = "create definer=`root`@`%` trigger {} before update on {} for each row {}"
    known = [
        *SHOP,
        create.format("g", "t", "begin set NEW.`B` = 1, new.c = NEW.a; end"),
        create.format("`h`", "t", "set new.a = 'it''s'"),
        create.format("i", "u", "set new.y = 1 /* open"),
    ]
    assert settable(after(*known)) == {"t": ["a", "b"], "u": ["x", "y"]}
    moved = "rename table t to v", "alter table v modify b bigint", "create table w like v"
    assert settable(after(*known, *moved), "uvw") == {"u": ["x", "y"], "v": ["a", "b"], "w": []}
    gone = "drop trigger d.g", "drop trigger if exists nope", "drop trigger i", "drop trigger e.h"
    assert settable(after(*known, *gone)) == {"t": ["a"], "u": []}
    assert settable(after(*known, "drop table t", SHOP[1])) == {"t": [], "u": ["x", "y"]}
    assert settable(after(*SHOP, create.format("g", "t", "set new.a = 1"), flavor="mariadb")) == {"t": [], "u": []}


def settable(definitions: Definitions, tables: str = "tu") -> dict[str, list[str]]:
    """The columns that a trigger may set."""
    found = {table: definitions.get("d", table) for table in tables}
    return {name: [c.name for c in t.columns if t.trigger_may_set(c.name)] for name, t in found.items()}


KEYED = "create table t (id int primary key) {}partition by key () partitions 2"
VERSIONED = KEYED.format("with system versioning ")


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([(VERSIONED, 101119)], 2**31 - 1),
        ([(VERSIONED, 110809)], 2**32 - 1),
        ([(VERSIONED, None)], None),
        ([(VERSIONED, 101119), ("alter table t force", 110809)], None),
        ([(VERSIONED, 101119), ("alter table t partition by key () partitions 2", 110809)], 2**32 - 1),
        ([(KEYED.format(""), 101119), ("alter table t add system versioning", 101119)], 2**31 - 1),
        ([(VERSIONED, 101119), ("alter table t drop system versioning", 101119)], None),
    ],
)
def test_the_end_of_rows_in_force_is_the_servers_as_long_as_that_is_not_upgraded(statements, expected):
    definitions = Definitions()
    for text, version in [*statements, ("alter table t truncate partition p1", statements[-1][1])]:
        changes = interpret(text, database="d", flavor="mariadb", definitions=definitions, version=version)
        definitions.apply(changes)
    assert changes[0].steps[0].partitioning.row_end == expected


CHILD = "create table c (id int, foreign key (id) references t (id) on delete cascade)"
IGNORED = "its engine is not named, and the server's default, {}, ignores foreign keys"


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
@pytest.mark.parametrize(
    ("default", "statements", "effect"),
    [
        (None, (CHILD,), ("create", "d.c", "id int", [])),
        ("innodb", (CHILD,), ("create", "d.c", "id int", [])),
        ("myisam", (CHILD,), refused("c", IGNORED.format("myisam"), "foreign-key-cascade")),
        ("aria", (CHILD,), refused("c", IGNORED.format("aria"), "foreign-key-cascade")),
        ("myisam", (CHILD + " engine=innodb",), ("create", "d.c", "id int", [])),
        ("myisam", (CHILD.replace("cascade", "restrict"),), ("create", "d.c", "id int", [])),
        (
            "myisam",
            ("create table c (id int)", "alter table c add foreign key (id) references t (id) on delete cascade"),
            refused("c", IGNORED.format("myisam"), "foreign-key-cascade"),
        ),
        ("myisam", ("create table c (id int)",), ("create", "d.c", "id int", [])),
        ("blackhole", ("create table c (id int)",), refused("c", "ENGINE=blackhole, the server's default")),
        ("blackhole", ("create table c (id int) engine=innodb",), ("create", "d.c", "id int", [])),
        ("blackhole", ("create table c like t",), ("create", "d.c", T, [])),
    ],
)
def test_a_table_whose_engine_is_not_named_has_what_the_servers_default_keeps(flavor, default, statements, effect):
    """t is from before the default was so."""
    definitions = after(*SHOP[:2], flavor=flavor)
    *earlier, last = statements
    for sql in earlier:
        definitions.apply(run(sql, definitions, flavor, default_engine=default))
    found = run(last, definitions, flavor, default_engine=default)
    assert [brief(change) for change in found] == [effect]


def test_a_server_is_asked_for_the_engine_that_a_statement_does_not_name():
    """The session had another default than the server."""
    engines = {"c": "myisam", "b": "blackhole"}
    context = {"default_engine": "innodb", "engine_of": lambda database, table: engines.get(table)}
    definitions = after(*SHOP[:2])
    for sql in (CHILD, CHILD.replace("table c", "table i"), CHILD.replace("table c", "table e") + " engine=innodb"):
        definitions.apply(run(sql, definitions, **context))
    found = {name: definitions.get("d", name) for name in ("c", "i", "e")}
    assert {name: (each.engine, len(each.foreign_keys)) for name, each in found.items()} == {
        "c": ("myisam", 0), "i": (None, 1), "e": ("innodb", 1),
    }  # fmt: skip
    assert [brief(each) for each in run("create table b (id int)", definitions, **context)] == [
        refused("b", "ENGINE=blackhole")
    ]
    definitions.apply(run("create table gone (id int)", definitions, **context))
    assert [brief(each) for each in run("create table b like gone", definitions, **context)] == [
        refused("b", "ENGINE=blackhole")
    ]
    definitions.apply(run("create table c2 like e", definitions, **context))
    assert definitions.get("d", "c2").engine == "innodb"


KEYED = ("create database d", "create table d.k (id int primary key, a int not null, b int not null, unique k (a, b))")


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
@pytest.mark.parametrize(
    ("clauses", "is_refused"),
    [
        ("drop column a, add column a int not null default 1", True),
        ("rename column a to x, add a int not null default 5 first", True),
        ("change a x int not null, add a int not null default 5", True),
        ("drop id, add id int not null default 1 first", True),
        ("drop column a, add column c int not null default 1", False),
        ("change a b int not null, change b a int not null", False),
        ("change a a bigint not null, add c int", False),
    ],
)
def test_a_new_column_with_the_name_of_a_column_of_a_key_refuses_the_table(flavor, clauses, is_refused):
    """The servers leave the key on the name."""
    (found,) = run(f"alter table k {clauses}", after(*KEYED, flavor=flavor), flavor)
    assert (found.action == "refuse") == is_refused
    assert not is_refused or "which leaves a key that may stay on it" in found.reason


@pytest.mark.parametrize(
    ("sql_mode", "default", "kind"),
    [
        (1 << 32, "''", "expression"),
        (1 << 32, "(('' ''))", "expression"),
        (0, "''", "string"),
        (1 << 32, "'a'", "string"),
    ],
)
def test_an_empty_text_is_null_in_a_mode_of_mariadb(sql_mode, default, kind):
    (found,) = run(f"alter table t add c text default {default}", after(*SHOP, flavor="mariadb"), "mariadb",
                   sql_mode=sql_mode)  # fmt: skip
    assert found.schema.columns[-1].default.kind == kind


@pytest.mark.parametrize("renames", ["rename to v", "rename to v, rename to v", "rename to w, rename to v"])
def test_the_definition_of_a_renamed_table_has_the_last_name(renames):
    found, _ = run(f"alter table t {renames}", after(*SHOP))
    assert (found.table, found.schema.table) == ("v", "v")


def test_mariadb_asks_if_a_key_exists_before_the_alter_and_after_what_it_has_added():
    context = {"flavor": "mariadb", "version": 101119}
    known = after(
        *SHOP[:1], "create table p (id int primary key)",
        "create table c (id int primary key, a int, b int, unique u (a), key q (b), "
        "constraint f foreign key (a) references p (id) on delete cascade)", **context,
    )  # fmt: skip
    foreign = "foreign key if not exists {} (b) references p (id) on delete set null"
    for clauses, keys, foreign_keys in (
        ("drop key q, add unique if not exists q (a, b)", ["PRIMARY", "u"], ["a"]),
        ("rename key q to r, add unique if not exists q (a)", ["PRIMARY", "u", "r"], ["a"]),
        (f"drop foreign key f, add constraint f {foreign.format('')}", ["PRIMARY", "u", "q"], []),
        (f"add constraint f {foreign.format('')}", ["PRIMARY", "u", "q"], ["a"]),
        (f"add {foreign.format('f')}", ["PRIMARY", "u", "q"], ["a"]),
        (f"add {foreign.format('g')}, add {foreign.format('g')}", ["PRIMARY", "u", "q"], ["a", "b"]),
        ("add unique if not exists (a, b), add unique if not exists (a)", ["PRIMARY", "u", "a", "q"], ["a"]),
    ):
        (found, *_) = run(f"alter table c {clauses}, add z int", known, **context)
        assert [key.name for key in found.schema.keys] == keys, clauses
        assert [column for key in found.schema.foreign_keys for column in key.columns] == foreign_keys, clauses


@pytest.mark.parametrize(
    ("flavor", "version", "is_refused"), [("mariadb", 110802, True), ("mysql", 50651, True), ("mysql", 90704, False)]
)
def test_an_alter_that_renames_and_may_copy_a_table_with_foreign_keys(flavor, version, is_refused):
    """A server that copies the rows keeps the keys under the former name."""
    context = {"flavor": flavor, "version": version}
    child = "create table c (id int primary key, a int, foreign key (a) references p (id) on delete cascade)"
    known = after(SHOP[0], "create table p (id int primary key)", child, **context)
    for table, touched in (("c", {"e"}), ("p", {"e", "c"})):
        for clauses, is_copied in (
            ("rename e", False), ("rename e, add z int", flavor == "mysql"),
            ("rename e, add z int, algorithm=copy", True),
            ("rename e, order by id", True), ("rename e, add z int default (rand())", True),
        ):  # fmt: skip
            found = run(f"alter table {table} {clauses}", known, **context)
            refused_tables = {change.table for change in found if change.action == "refuse"}
            assert refused_tables == (touched if is_refused and is_copied else set()), clauses


@pytest.mark.parametrize(("flavor", "name"), [("mysql", "c_ibfk_1"), ("mariadb", "w")])
def test_the_name_of_a_foreign_keys_index_is_the_constraints_in_mariadb_alone(flavor, name):
    known = after(*SHOP[:1], "create table p (id int primary key)", flavor=flavor)
    (found,) = run("create table c (a int, foreign key w (a) references p (id))", known, flavor)
    assert ([key.name for key in found.schema.keys], [key.name for key in found.schema.foreign_keys]) == (["w"], [name])
