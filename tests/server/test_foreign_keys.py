"""Which changes a server says may have changed rows of other tables, and which of these it logs."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from tests.record_cases import OPTIONS
from tests.support.server_silver import silver_of
from tests.support.servers import running_server

STATEMENTS = """
CREATE DATABASE shop;
CREATE TABLE shop.p (id INT PRIMARY KEY, v INT);
CREATE TABLE shop.c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES shop.p (id) ON DELETE CASCADE
  ON UPDATE CASCADE);
INSERT INTO shop.p VALUES (1, 1), (2, 2), (3, 3);
INSERT INTO shop.c VALUES (1, 1), (2, 2), (3, 3);
DELETE FROM shop.p WHERE id = 1;
UPDATE shop.p SET id = 4 WHERE id = 2;
SET foreign_key_checks = 0;
DELETE FROM shop.p WHERE id = 3;
"""
OF_PARENT = [("p", op, True) for op in ("DELETE", "UPDATE")] + [("p", "DELETE", False)]
OF_CHILD = [("c", "DELETE", False), ("c", "UPDATE", False)]


def changes(server, folder) -> Counter:
    """(table, op, may_cascade) of each change but INSERTs."""
    server.reset()
    server.play(filter(None, map(str.strip, STATEMENTS.split(";"))))
    rows = pa.Table.from_batches(silver_of(server, folder)).select(["table", "op", "may_cascade"]).to_pylist()
    return Counter(tuple(row.values()) for row in rows if row["op"] in ("UPDATE", "DELETE"))


def test_a_change_may_cascade_where_the_server_logs_no_cascade(server, tmp_path):
    if server.flavor == "mysql":
        expected = [*((table, op, False) for table, op, _ in OF_PARENT), *OF_CHILD]
    else:
        expected = OF_PARENT
    assert changes(server, tmp_path / "log") == Counter(expected)


def test_mysql_can_be_told_to_log_no_cascade(tmp_path):
    with running_server("mysql", *OPTIONS["mysql"]) as server:
        assert changes(server, tmp_path / "log") == Counter(OF_PARENT)


def test_old_mysql_logs_no_cascade(mysql56, tmp_path):
    assert changes(mysql56, tmp_path / "log") == Counter(OF_PARENT)
