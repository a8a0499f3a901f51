"""Foreign keys follow what becomes of the tables that they refer to."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.engines import NO_ENGINE_SUBSTITUTION
from mirrorlake.core.schema.history import Definitions, Refused
from tests.support.interpreting import definitions_after, interpret

SHOP = (
    "create database d charset utf8mb4",
    "create table p (id int primary key, k int unique)",
    "create table c (id int primary key, p int, constraint f foreign key (p) references p (id) on delete cascade)",
    "create table g (id int primary key, c int, foreign key (c) references c (ID) on update set null)",
    "create table t (id int primary key, up int, foreign key (up) references t (id) on delete cascade)",
    "create table o (id int primary key, p int, foreign key (p) references p (id))",
)


def after(*statements: str, flavor: str = "mysql", version: int | None = None) -> Definitions:
    return definitions_after(*statements, database="d", flavor=flavor, server_charset="utf8mb4", version=version)


def foreign_keys(definitions: Definitions, table: str) -> list[str]:
    keys = definitions.get("d", table).foreign_keys
    return [f"{key.name}: {','.join(key.columns)} -> {key.parent_table}.{','.join(key.parent_columns)}" for key in keys]


FOLLOWED = {
    "rename table p to q": {"c": ["f: p -> q.id"], "g": ["g_ibfk_1: c -> c.ID"]},
    "rename table p to q, c to p": {"p": ["f: p -> q.id"], "g": ["g_ibfk_1: c -> p.ID"]},
    "alter table p rename to q": {"c": ["f: p -> q.id"]},
    "alter table p change id n int": {"c": ["f: p -> p.n"]},
    "alter table p rename column id to n, rename to q": {"c": ["f: p -> q.n"]},
    "alter table c rename column id to n": {"g": ["g_ibfk_1: c -> c.n"], "c": ["f: p -> p.id"]},
    "alter table c change p n int": {"c": ["f: n -> p.id"]},
    "rename table g to h": {"h": ["h_ibfk_1: c -> c.ID"]},
    "rename table t to u": {"u": ["u_ibfk_1: up -> u.id"]},
    "alter table t rename to u": {"u": ["u_ibfk_1: up -> u.id"]},
    "alter table t rename column id to n": {"t": ["t_ibfk_1: up -> t.n"]},
    "alter table g add p int, add foreign key (p) references p (id) on delete cascade": {
        "g": ["g_ibfk_1: c -> c.ID", "g_ibfk_2: p -> p.id"]
    },
    "alter table g drop foreign key g_ibfk_1": {"g": []},
    "alter table g drop constraint G_IBFK_1": {"g": []},
    "create table n (id int references p (id) on delete cascade)": {"n": ["n_ibfk_1: id -> p.id"]},
    "create table n like c": {"n": []},
    "drop table c": {"g": ["g_ibfk_1: c -> c.ID"]},
}  # fmt: skip


@pytest.mark.parametrize("sql", FOLLOWED)
def test_foreign_keys_follow(sql):
    found = after(*SHOP, sql)
    assert {table: foreign_keys(found, table) for table in FOLLOWED[sql]} == FOLLOWED[sql]


@pytest.mark.parametrize(
    "sql",
    [
        "create table d.n (id int, foreign key (id) references p (id) on delete cascade)",
        "create table d.n (id int, foreign key (id) references d.p (id) on delete cascade)",
    ],
)
def test_a_parent_is_in_the_database_of_its_child(sql):
    definitions = after(*SHOP[:2])
    definitions.apply(interpret(sql, database="", flavor="mysql", definitions=definitions))
    assert definitions.get("d", "n").foreign_keys[0].parent == ("d", "p")


@pytest.mark.parametrize(
    ("flavor", "version", "found"),
    [("mysql", 80400, []), ("mysql", 90000, ["n_ibfk_1: id -> p.id"]), ("mariadb", 100400, [])],
)
def test_references_behind_a_column(flavor, version, found):
    sql = "create table n (id int references p (id) on delete cascade)"
    assert foreign_keys(after(*SHOP[:2], sql, flavor=flavor, version=version), "n") == found


def test_children_of_what_is_refused_are_refused():
    found = after(*SHOP, "alter table p add x foo")
    refused = {name: known.reason for name in "pcgto" if isinstance(known := found.get("d", name), Refused)}
    assert refused == {
        "p": "column x has type foo",
        "c": "a foreign key changes its rows, and its parent d.p is not followed any more",
        "g": "a foreign key changes its rows, and its parent d.c is not followed any more",
    }


@pytest.mark.parametrize(
    ("sql", "sql_mode", "found"),
    [
        ("alter table c engine=myisam", NO_ENGINE_SUBSTITUTION, []),
        ("alter table c engine=myisam", 0,
         "ENGINE=myisam without NO_ENGINE_SUBSTITUTION, of a table with foreign keys"),
        ("alter table c engine=innodb", 0, ["f: p -> p.id"]),
        ("create table {} (id int, foreign key (id) references p (id) on delete cascade) engine=rocksdb",
         NO_ENGINE_SUBSTITUTION, []),
        ("create table {} (id int, foreign key (id) references p (id) on delete cascade) engine=rocksdb",
         0, ["n_ibfk_1: id -> p.id"]),
        ("create table {} (id int, foreign key (id) references p (id) on delete cascade) engine=blackhole",
         0, "ENGINE=blackhole"),
    ],
)  # fmt: skip
def test_an_engine_counts_for_foreign_keys_if_the_server_may_not_replace_it(sql, sql_mode, found):
    table, definitions = "n" if "{}" in sql else "c", after(*SHOP)
    context = {"database": "d", "flavor": "mariadb", "definitions": definitions}
    definitions.apply(interpret(sql.format("n"), sql_mode=sql_mode, **context))
    known = definitions.get("d", table)
    assert (known.reason if isinstance(known, Refused) else foreign_keys(definitions, table)) == found


@pytest.mark.parametrize("sql", ["alter table c drop foreign key nope", "alter table g drop foreign key h"])
def test_a_foreign_key_that_is_not_known_cannot_be_dropped(sql):
    found = after(*SHOP, sql).get("d", sql.split()[2])
    assert isinstance(found, Refused) and found.code == "definition-mismatch"
