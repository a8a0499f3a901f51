"""What ``verify`` says of two definitions of a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mirrorlake.core.ddl.effect.interpret import interpret_shown
from mirrorlake.core.schema.column_patterns import NO_COLUMNS
from mirrorlake.core.schema.history import Definitions
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.jobs.source_look import defined, definition_of, differences


def shown(columns: str) -> TableSchema:
    (change,) = interpret_shown(f"CREATE TABLE `t` ({columns})", "d", "mariadb", Definitions(), AS_WRITTEN)
    return change.schema


BASE = "id INT PRIMARY KEY, a VARCHAR(5) CHARACTER SET latin1, b INT"


@pytest.mark.parametrize(
    ("source", "mirror", "expected"),
    [
        (BASE, BASE, []),
        (BASE + ", c INT", BASE, ["column c is missing in the mirror"]),
        (BASE, BASE + ", C INT", ["column C is only in the mirror"]),
        (BASE, "id INT PRIMARY KEY, a VARCHAR(6) CHARACTER SET latin1, b BIGINT",
         ["column a is varchar(5) latin1, in the mirror varchar(6) latin1", "column b is int, in the mirror bigint"]),
        (BASE, "id INT PRIMARY KEY, a VARCHAR(5) CHARACTER SET koi8r, b INT",
         ["column a is varchar(5) latin1, in the mirror varchar(5) koi8r"]),
        (BASE, "id INT PRIMARY KEY, a VARCHAR(5), b INT", []),
        ("id INT PRIMARY KEY, a TEXT CHARACTER SET utf8mb4", "id INT PRIMARY KEY, a TEXT CHARACTER SET utf8mb3", []),
        ("id INT PRIMARY KEY, e ENUM('a','?') CHARACTER SET utf8mb4",
         "id INT PRIMARY KEY, e ENUM('a','😀') CHARACTER SET utf8mb4",
         ["column e is enum('a','?') utf8mb4, in the mirror enum('a','😀') utf8mb4"]),
        (BASE, "id INT PRIMARY KEY, b INT, a VARCHAR(5) CHARACTER SET latin1", ["the columns stand in another order"]),
        ("a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (a, b)", "a INT NOT NULL, b INT NOT NULL, PRIMARY KEY (b, a)",
         ["the key is (a, b), in the mirror (b, a)"]),
        ("a INT NOT NULL", "a INT PRIMARY KEY", ["the key is (), in the mirror (a)"]),
        ("id INT AUTO_INCREMENT, UNIQUE KEY (id)", "id INT NULL, UNIQUE KEY (id)", []),
    ],
)  # fmt: skip
def test_each_difference_is_named(source, mirror, expected):
    assert differences(shown(source), shown(mirror)) == expected


def test_a_column_that_the_options_leave_out_is_no_difference():
    source, mirror = shown(BASE + ", g INT AS (b + 1)"), replace(shown(BASE), left_out=("g",))
    assert differences(source, mirror) == []


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE t", "RENAME TABLE t TO u", "ALTER TABLE t RENAME TO u", "ALTER TABLE t ADD a INT", "TRUNCATE t",
        "CREATE TABLE other.t (id INT PRIMARY KEY)", "CREATE TABLE u (id INT PRIMARY KEY)", "CREATE DATABASE d",
        "CREATE TABLE t LIKE u", "nothing", "", "/*!50000 DROP TABLE t */",
    ],
)  # fmt: skip
def test_what_defines_another_table_or_none_is_no_definition(text):
    name = TableName("d", "t")
    schema, reason = defined(text, name, "mariadb", AS_WRITTEN, NO_COLUMNS)
    assert schema is None and reason.startswith("ddl-unsupported: ")
    assert definition_of(lambda sql: [("t", text)], name, "mariadb", AS_WRITTEN) is None
