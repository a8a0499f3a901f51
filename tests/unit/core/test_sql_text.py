"""What a name or a text of a source becomes in a statement."""

from __future__ import annotations

import pytest

from mirrorlake.core.sql_text import bytes_literal, has_variable, literal, quote, server_literal


def test_a_name_doubles_backticks_and_keeps_dots_inside_a_part():
    assert quote("a`b", "c.d") == "`a``b`.`c.d`"


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("", "''"),
        ("it's a \\ slash", r"'it\'s a \\ slash'"),
        ("\\'", r"'\\\''"),
        ("${env:X}", r"'\u0024{env:X}'"),
        ('$ {} $["a"]', "'$ {} $[\"a\"]'"),
        ("\\${x}", r"'\\\u0024{x}'"),
        ("a\nb\0", "'a\nb\0'"),
    ],
)
def test_a_literal_of_spark_escapes_what_ends_it_and_what_begins_a_variable(text, sql):
    assert literal(text) == sql


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("binlog.000007", "'binlog.000007'"),
        ("a_b:1-5,", "'a_b:1-5,'"),
        ("it's", "CONVERT(X'69742773' USING utf8mb4)"),
        ("\\", "CONVERT(X'5c' USING utf8mb4)"),
        ("é", "CONVERT(X'c3a9' USING utf8mb4)"),
        ("%s", "CONVERT(X'2573' USING utf8mb4)"),
        ("a\n", "CONVERT(X'610a' USING utf8mb4)"),
    ],
)
def test_a_literal_of_the_servers_means_the_same_in_every_sql_mode(text, sql):
    assert server_literal(text) == sql


def test_bytes_are_hexadecimal_digits():
    assert bytes_literal(b"'\\\0") == "X'275c00'"


@pytest.mark.parametrize(("name", "expected"), [("a${b}", True), ("${", True), ("$a{b}", False), ("", False)])
def test_a_name_may_hold_what_spark_takes_for_a_variable(name, expected):
    assert has_variable(name) is expected
