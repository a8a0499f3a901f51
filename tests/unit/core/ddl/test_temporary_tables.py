"""A statement may be about a temporary table, or about the ordinary one of its name: the log does not say which."""

from __future__ import annotations

import pytest

from mirrorlake.core.schema.history import Definitions
from tests.support.interpreting import interpret

BEFORE = (
    "create database d",
    "create temporary table t (x int)",
    "create table t (id int primary key, a int)",
    "create table o (id int primary key)",
    "create temporary table absent (x int)",
)
REASON = "a temporary table d.t was logged, and the statement may be about that one"
CHANGES_T = ("alter table t add c int", "truncate t", "create index i on t (a)", "alter table t rename to n")


def definitions(flavor: str) -> Definitions:
    found = Definitions()
    for sql in BEFORE:
        found.apply(effects(sql, found, flavor))
    return found


def effects(sql: str, before: Definitions, flavor: str, **context):
    return interpret(sql, database="d", flavor=flavor, server_charset="utf8mb4", definitions=before, **context)


def refused(sql: str, flavor: str, may_use_temporary: bool) -> dict[str, str | None]:
    """Table -> reason."""
    changes = effects(sql, definitions(flavor), flavor, may_use_temporary=may_use_temporary)
    return {change.table: change.reason for change in changes if change.action == "refuse"}


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
@pytest.mark.parametrize("sql", CHANGES_T)
def test_a_table_is_refused_if_the_session_has_used_a_temporary_table(sql, flavor):
    assert refused(sql, flavor, may_use_temporary=True) == {"t": REASON}
    assert refused(sql, flavor, may_use_temporary=False) == {}


def test_a_definition_that_may_be_that_of_a_temporary_table_refuses_the_new_table():
    assert refused("create table n like t", "mariadb", may_use_temporary=True) == {"n": REASON}
    assert refused("create table n like t", "mariadb", may_use_temporary=False) == {}


def test_a_rename_of_mariadb_has_no_flag():
    sql = "rename table o to p, t to q"
    assert refused(sql, "mariadb", may_use_temporary=False) == {"o": REASON, "t": REASON}
    assert refused(sql, "mysql", may_use_temporary=True) == {}
    assert refused("rename table o to p", "mariadb", may_use_temporary=True) == {}


@pytest.mark.parametrize("sql", ["truncate o", "alter table o add c int", "create table n like o", "drop table t"])
def test_other_tables_of_a_procedure_that_uses_temporary_tables_are_followed(sql):
    (change,) = effects(sql, definitions("mariadb"), "mariadb", may_use_temporary=True)
    assert change.action in ("truncate", "alter", "create", "drop")


@pytest.mark.parametrize("sql", ["truncate absent", "alter table absent add y int"])
def test_where_no_ordinary_table_is_the_temporary_one_is_meant(sql):
    assert effects(sql, definitions("mariadb"), "mariadb", may_use_temporary=True) == []


@pytest.mark.parametrize(
    ("sql", "flavor"),
    [("alter table absent rename to o", "mysql"), ("alter table absent rename to p, add y int, rename o", "mysql"),
     ("alter table absent rename to o", "mariadb"), ("rename table absent to p, p to o", "mariadb")],
)  # fmt: skip
def test_a_temporary_table_is_known_by_its_new_name(sql, flavor):
    found = definitions(flavor)
    found.apply(effects(sql, found, flavor, may_use_temporary=True))
    (change,) = effects("truncate o", found, flavor, may_use_temporary=True)
    assert (change.action, change.reason) == ("refuse", REASON.replace("d.t", "d.o"))


def test_the_new_name_of_an_ordinary_table_is_not_noted():
    for sql, may in (("alter table o rename to p", True), ("alter table absent rename to p", False)):
        found = definitions("mysql")
        found.apply(effects(sql, found, "mysql", may_use_temporary=may))
        assert ("d", "p") not in found.temporary


def test_a_name_is_noted_once():
    assert effects("create temporary table T (y int)", definitions("mysql"), "mysql") != []
    assert effects("create temporary table t (y int)", definitions("mysql"), "mysql") == []
