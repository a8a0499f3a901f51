"""The order in which tables are copied."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mirrorlake.config import Options
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.run.chosen_tables import unused_columns
from mirrorlake.mysql import source_tables
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.source_tables import ListTooLong, SourceTable, after_parents, list_tables, table_names
from tests.support.linear_time import assert_linear
from tests.support.rogue_server import RogueServer


def table(name: str, *parents: str) -> SourceTable:
    return SourceTable("d", name, "innodb", 0, frozenset(("d", parent) for parent in parents))


def test_parents_come_before_their_children_and_a_circle_ends():
    tables = [
        table("a", "b"),
        table("b", "c", "b"),
        table("c"),
        table("d", "elsewhere"),
        table("x", "y"),
        table("y", "x"),
    ]
    assert [found.table for found in after_parents(tables)] == ["c", "d", "b", "a", "x", "y"]


def test_a_chain_of_parents_takes_time_that_grows_with_its_length_and_no_faster():
    def put(n: int) -> None:
        found = list(after_parents([table(f"t{k:06}", f"t{k + 1:06}") for k in range(n)]))
        assert [each.table for each in found] == [f"t{k:06}" for k in reversed(range(n))]

    assert_linear(put, int, 500)


def test_tables_are_told_with_engine_size_and_parents():
    answers = {
        "REFERENCED": [("d", "a", "x", "d", "p"), ("d", "a", "y", "e", "q")],
        "TABLES": [("d", "a", "InnoDB", None)],
    }

    def ask(sql: str) -> list[tuple]:
        return next(rows for word, rows in answers.items() if word in sql)

    (found,) = list_tables(ask)
    assert found == SourceTable("d", "a", "innodb", 0, frozenset({("d", "p"), ("e", "q")}))
    assert found.has_versions


def test_tables_have_the_names_by_which_the_server_compares_them():
    answers = {"REFERENCED": [("D", "A", "X", "D", "P")], "TABLES": [("D", "A", "InnoDB", 9)]}
    (found,) = list_tables(lambda sql: next(rows for word, rows in answers.items() if word in sql), str.lower)
    assert found == SourceTable("d", "a", "innodb", 9, frozenset({("d", "p")}))


def test_only_tables_that_patterns_name_are_asked_for_their_columns():
    """All columns may be more than an answer can have."""
    asked = "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME = 't7'"

    def act(wire):
        wire.let_in()
        wire.answer_as_mysql({asked: [("id",), ("phone",)]})

    options = Options(lake="x", columns={"d.t7.phone": "drop", "d.t7.fone": "hash", "*.*.mail": "drop"})
    with RogueServer(act) as rogue:
        control = ServerConnection(ServerLogin("127.0.0.1", rogue.port, "u", "p"))
        found = list(unused_columns(control, options, [TableName("d", f"t{i}") for i in range(9)]))
        control.close()
        assert rogue.heard.count(b"COLUMN_NAME") == 1
    assert found == ["d.t7.fone fits no column that this user sees; the nearest: d.t7.phone"]


def test_a_list_without_an_end_is_ended(monkeypatch):
    monkeypatch.setattr(source_tables, "PAGE_ROWS", 2)
    asked: list[str] = []

    def ask(sql: str) -> list[tuple]:
        asked.append(sql)
        return [("d", "a"), ("d", "b" * len(asked))]

    with pytest.raises(ListTooLong):
        table_names(ask)
    assert len(asked) == source_tables.MOST_PAGES and len(set(asked)) == len(asked)


ONE_PAGE = """
from itertools import count
from mirrorlake.mysql.source_tables import ListTooLong, list_tables
from tests.support.peak_memory import peak_bytes

numbers = count()
try:
    list_tables(lambda sql: [tuple(f"\U0001f600{next(numbers):099}" for _ in range(5)) for _ in range(30_000)])
except ListTooLong:
    print(peak_bytes() >> 20)
"""


def test_long_names_end_a_list_before_they_fill_the_memory():
    """Each character takes four bytes in memory, if one of a name is an emoji."""
    found = subprocess.run([sys.executable, "-c", ONE_PAGE], capture_output=True, text=True, timeout=120, check=True)
    assert int(found.stdout) < 400


def test_a_name_that_many_rows_have_counts_once(monkeypatch):
    monkeypatch.setattr(source_tables, "MOST_NAME_BYTES", 100_000)
    names = [("a database with a name", f"t{i:04}") for i in range(1000)]
    assert table_names(lambda sql: list(names)) == set(names)
    with pytest.raises(ListTooLong):
        table_names(lambda sql: [(f"{table} of a database", table) for _, table in names])


@pytest.mark.parametrize("size", [-1, 1 << 64, 10**400])
def test_a_size_that_no_table_has(size):
    answers = {"DATA_LENGTH": [("d", "t", "InnoDB", size)], "KEY_COLUMN_USAGE": []}
    with pytest.raises(RefusedError, match="server-protocol"):
        list_tables(lambda sql: next(rows for word, rows in answers.items() if word in sql))
