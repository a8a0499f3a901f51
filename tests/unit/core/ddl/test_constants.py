"""Expressions of constants in a DEFAULT, and those of which the literal is not known."""

from __future__ import annotations

import pytest

from mirrorlake.core.ddl.parse.constants import constant
from mirrorlake.core.schema.tables import Default


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("(1 + 2)", "number", "3"),
        ("1 + 2 * 3 - -4", "number", "11"),
        ("(-(4 - 6))", "number", "2"),
        ("9223372036854775806 + 1", "number", "9223372036854775807"),
        ("(CONCAT('a', 'b'))", "string", "ab"),
        ("CONCAT('ä', 7, UPPER('x'))", "string", "ä7X"),
        ("lcase(UCASE('it''s'))", "string", "it's"),
        ("('x')", "string", "x"),
    ],
)
def test_the_literal_it_stands_for(text, kind, value):
    assert constant(text) == Default(kind, value)


@pytest.mark.parametrize(
    "text",
    ["uuid()", "(a + 1)", "UPPER('ä')", "UPPER(1)", "'a' + 1", "1 / 2", "9223372036854775807 + 1", "CONCAT('a', NULL)",
     "CONCAT('a\\n')", "CONCAT('a'", "1 2", "RAND()", "CONCAT()", ""],
)  # fmt: skip
def test_what_has_no_constant(text):
    assert constant(text) is None
