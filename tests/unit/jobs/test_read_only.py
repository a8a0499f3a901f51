"""What is refused where no parser can be asked."""

from __future__ import annotations

import pytest

from mirrorlake.jobs.inspect.read_only import _IN_TEXT


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT Reflect('a')",
        "SELECT `try_reflect`('a')",
        "SELECT java_method ('a')",
        "SELECT java_method/**/('a')",
        "SELECT TRANSFORM(a) USING 'touch x'",
        "SELECT TRANSFORM(a) USING/**/'touch x'",
        "SELECT IDENTIFIER('a' || 'b')()",
        "SELECT * FROM text.README",
        "SELECT * FROM text . README",
        "SELECT * FROM `text`.`README`",
        "SELECT * FROM Json.`x`",
        "SELECT * FROM delta.`/x`",
        "SELECT * FROM `a.b.TextFileFormat`.x",
        "SELECT * FROM read_files('x')",
        "SELECT * FROM text/**/.README",
        "SELECT * FROM text -- a\n .README",
    ],
)
def test_a_word_that_could_reach_beyond_the_lake_is_found_in_the_text(statement):
    assert _IN_TEXT.search(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT reflection, transform(a, x -> x) FROM shop.orders JOIN t USING (id)",
        "SELECT `a b` FROM shop__orders",
        "WITH text AS (SELECT 1) SELECT * FROM text",
        "SELECT a.text FROM a",
        "SELECT context.a FROM context",
    ],
)
def test_other_statements_are_not_held_up(statement):
    assert not _IN_TEXT.search(statement)
