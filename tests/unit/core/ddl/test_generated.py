"""Which columns an expression names."""

from __future__ import annotations

import pytest

from mirrorlake.core.ddl.effect.generated import names_any


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("a + 1", "a"), ("`a` + 1", "a"), ("A * b", "a"), ("concat(x, a)", "a"), ("x + ä", "ä"), ("(`b``c`)", "b`c"),
        ("json_value(j, '$.a')", None), ("j->>'$.a'", None), ("concat('a', x)", None), ("year(d)", None),
        ("year(d) + year", "year"), ("aa + _a", None), ("j /* a */ + 1", None), ("concat('a", "a"),
    ],
)  # fmt: skip
def test_a_column_is_named_by_a_word_outside_of_texts_and_functions(expression, found):
    assert names_any(expression, {"a", "ä", "b`c", "year"}) == found
