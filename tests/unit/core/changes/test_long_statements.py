"""Statements of more than 16 MiB: silver keeps 64 KiB; the tables whose names they have are refused."""

from __future__ import annotations

import pytest

from mirrorlake.core.binlog.events import KEPT_STATEMENT_BYTES, MAX_STATEMENT_BYTES
from mirrorlake.core.changes.definition_reader import DefinitionReader
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_spec import Ddl, Insert, Log, Query, Statement, Transaction
from tests.support.pure_hops import bronze, silver_of

FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
T = TableSchema("d", "t", (Column("id", ColumnType("int"), False),), ("id",))
TABLES = [Ddl(f"CREATE TABLE d.{name} (id INT PRIMARY KEY)") for name in ("t", "u", "`o k`")]
LONG = " " * MAX_STATEMENT_BYTES
NEAR = " " * (MAX_STATEMENT_BYTES - 14)
"""Puts the last name of a DROP over the edge of the first piece."""


def refused(flavor, events) -> list[tuple]:
    found = [change for _, change in DefinitionReader(flavor).read(events)]
    return [(change.table, change.code, change.reason) for change in found if change.action == "refuse"]


@pytest.mark.parametrize("flavor", ["mariadb"])
@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"DROP TABLE t /*{LONG}*/, u", ["t", "u"]),
        (f"DROP TABLE /*{NEAR}*/ `o k`, v", ["o k"]),
        (f"CREATE TABLE v (a INT){LONG}", []),
        (f"DROP DATABASE{LONG} d", ["o k", "t", "u"]),
    ],
    ids=["two", "edge", "other", "database"],
)
def test_the_tables_that_it_names_are_refused(tmp_path, flavor, text, names):
    events = bronze(tmp_path, Log(flavor, [*TABLES, Ddl(text, database="d")]))
    reason = f"a statement of {len(text):,} bytes that has the table's name among its words is too long"
    assert sorted(refused(flavor, events)) == [(name, "ddl-unsupported", reason) for name in names]
    assert silver_of(flavor, events)["statement"].to_pylist()[-1] == text[:KEPT_STATEMENT_BYTES]


@pytest.mark.parametrize(
    "text",
    [
        f"ALTER TABLE own /* d t u {LONG} */ ADD b INT",
        f"/* d t u {LONG} */ RENAME TABLE own TO own2",
        f"ALTER TABLE own COMMENT 'd.t'{LONG}",
        f"CREATE PROCEDURE own.p() BEGIN INSERT INTO d.t VALUES (1);{LONG} END",
        f"CREATE TRIGGER x BEFORE UPDATE ON own FOR EACH ROW BEGIN INSERT INTO d.t VALUES (1);{LONG} END",
    ],
    ids=["comment", "first", "text", "procedure", "trigger"],
)
def test_a_stranger_cannot_name_the_tables_of_others(tmp_path, text):
    assert refused("mysql", bronze(tmp_path, Log("mysql", [*TABLES, Ddl(text, database="e")]))) == []


@FLAVORS
def test_a_name_among_comments_is_found(tmp_path, flavor):
    text = f"ALTER TABLE own /*{LONG}*/ EXCHANGE PARTITION p WITH TABLE /* u */ d /**/ . `o k`"
    events = bronze(tmp_path, Log(flavor, [*TABLES, Ddl(text, database="e")]))
    assert [table for table, _, _ in refused(flavor, events)] == ["o k"]


@pytest.mark.parametrize(
    ("collation", "encoding", "names"),
    [(45, "utf8", ["ка"]), (36, "cp866", ["ка"]), (14, "cp1251", ["ка"]), (28, "gbk", ["t", "ка"])],
)
def test_a_name_in_the_character_set_of_the_session_is_found(tmp_path, collation, encoding, names):
    """In GBK the sign that ends a comment may be a part of a character, so words in comments count."""
    text = f"DROP TABLE v /* t {LONG}*/ , ка".encode(encoding)
    log = Log(
        "mysql", [*TABLES, Ddl("CREATE TABLE d.ка (id INT PRIMARY KEY)"), Ddl(text, "d", charsets=(collation, 45, 45))]
    )
    assert [table for table, _, _ in refused("mysql", bronze(tmp_path, log))] == names


@FLAVORS
def test_a_long_call_of_a_routine_refuses_every_table(tmp_path, flavor):
    """As a short one does: it may have changed rows of any."""
    events = bronze(tmp_path, Log(flavor, [*TABLES, Transaction([Query(f"SELECT f('{LONG}')", database="d")])]))
    assert sorted((table, code) for table, code, _ in refused(flavor, events)) == [
        (name, "statement-dml") for name in ("o k", "t", "u")
    ]


@FLAVORS
def test_rows_changed_by_such_a_statement_are_refused_as_such(tmp_path, flavor):
    long = Query(f"UPDATE t SET id = 2 WHERE{LONG} id IN (SELECT id FROM u)", database="d")
    events = bronze(tmp_path, Log(flavor, [*TABLES, Transaction([long])]))
    assert [(table, code) for table, code, _ in refused(flavor, events)] == [
        ("t", "statement-dml"),
        ("u", "statement-dml"),
    ]


@FLAVORS
def test_the_text_of_a_statement_with_row_events_is_kept_in_part(tmp_path, flavor):
    text = f"INSERT INTO t VALUES (1){LONG}"
    events = bronze(tmp_path, Log(flavor, [*TABLES, Transaction([Statement([Insert(T, [{"id": 1}])], sql=text)])]))
    assert refused(flavor, events) == []
    rows = silver_of(flavor, events).to_pylist()
    assert [row["statement"] for row in rows if row["op"] == "INSERT"] == [text[:KEPT_STATEMENT_BYTES]]
