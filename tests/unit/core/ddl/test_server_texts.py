"""What servers leave out of the CREATE TABLE statements that they write into the log themselves."""

from __future__ import annotations

import pytest

from mirrorlake.core.ddl.effect.server_texts import without_lost_characters
from mirrorlake.core.schema.history import Definitions
from tests.support.interpreting import definitions_after, interpret

OF_SERVER = "CREATE TABLE `n` (\n  `id` int(11) NOT NULL,\n  `c` {}\n)"


@pytest.mark.parametrize(
    ("column", "flavor", "is_refused"),
    [
        ("enum('\u00e9','?') CHARACTER SET utf8mb4 DEFAULT NULL", "mariadb", True),
        ("set('a','b?c') DEFAULT NULL", "mariadb", True),
        ("varchar(9) DEFAULT '?'", "mariadb", True),
        ("enum('a','?') CHARACTER SET latin1 DEFAULT NULL", "mariadb", False),
        ("varchar(9) DEFAULT 'a' COMMENT 'why?'", "mariadb", False),
        ("enum('a','?') DEFAULT NULL", "mysql", True),
        ("set('a','?') CHARACTER SET gb18030 DEFAULT NULL", "mysql", True),
        ("enum('a','?') CHARACTER SET utf8mb3 DEFAULT NULL", "mysql", False),
        ("varchar(9) DEFAULT '?'", "mysql", False),
    ],
)
def test_a_text_that_may_have_lost_characters_refuses_its_table(column, flavor, is_refused):
    for sql, expected in ((OF_SERVER.format(column), is_refused), (f"create table n (id int, c {column})", False)):
        changes = interpret(sql, database="d", flavor=flavor, server_charset="utf8mb4", definitions=database(flavor))
        (found,) = without_lost_characters(changes, sql, flavor)
        server = {"mysql": "MySQL", "mariadb": "MariaDB"}[flavor]
        reason = f"{server} may have lost characters of a text of column c"
        assert (found.action, found.reason) == (("refuse", reason) if expected else ("create", None))


LIKE_OF_SERVER = "CREATE TABLE `n` (\n  `id` int(11) NOT NULL,\n  `u` varchar(5) DEFAULT NULL\n) "


@pytest.mark.parametrize(
    ("sql", "sql_mode", "may_use_temporary", "charset"),
    [
        (LIKE_OF_SERVER + "ENGINE=InnoDB", 0, True, None),
        (LIKE_OF_SERVER + "ENGINE=InnoDB", 0, False, "utf8mb4"),
        (LIKE_OF_SERVER + "ENGINE=InnoDB DEFAULT CHARSET=latin1", 0, True, "latin1"),
        (LIKE_OF_SERVER, 0, True, "utf8mb4"),  # CREATE TABLE .. SELECT from a temporary table
        (LIKE_OF_SERVER.replace("`", '"'), 262159, True, None),  # ANSI
        (LIKE_OF_SERVER, 536936448, False, None),  # MYSQL323
        (LIKE_OF_SERVER, 537001984, False, None),  # MYSQL40
        ("create table n (u varchar(5)) engine=InnoDB", 537001984, True, "utf8mb4"),
    ],
)
def test_the_character_set_that_a_statement_of_the_server_hides_is_not_known(sql, sql_mode, may_use_temporary, charset):
    known = database("mariadb")
    change, = interpret(
        sql, database="d", sql_mode=sql_mode, flavor="mariadb", server_charset="utf8mb4", definitions=known,
        may_use_temporary=may_use_temporary,
    )  # fmt: skip
    assert [c.type.charset for c in change.schema.columns if c.type.has_charset] == [charset]


def test_mysql_leaves_out_the_options_of_a_table_in_ansi_mode():
    change, = interpret(
        LIKE_OF_SERVER.replace("`", '"'), database="d", sql_mode=262191, flavor="mysql", server_charset="utf8mb4",
        definitions=database("mysql"), may_use_temporary=True,
    )  # fmt: skip
    assert change.schema.columns[1].type.charset is None


def database(flavor: str) -> Definitions:
    return definitions_after("create database d character set utf8mb4", flavor=flavor)
