"""Text of others is parsed by ASCII digits: Python's own ideas of a digit are those of every script."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mirrorlake
from mirrorlake.core.digits import is_number
from mirrorlake.errors import UsageError
from mirrorlake.lake.gold.apply_group import ApplyGroup

SOURCE = Path(mirrorlake.__file__).parent
OF_EVERY_SCRIPT = ("isdigit", "isdecimal", "isnumeric")


def test_no_source_file_asks_python_what_a_digit_is():
    """In a pattern backslash-d means them; a class of characters with ``0-9`` does not."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_pattern = isinstance(node, ast.Constant) and isinstance(node.value, str) and "\\d" in node.value
            if is_pattern or isinstance(node, ast.Attribute) and node.attr in OF_EVERY_SCRIPT:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert found == []


@pytest.mark.parametrize(("text", "is_one"), [("0", True), ("9" * 20, True), ("9" * 21, False), ("", False)])
def test_a_number_has_one_to_twenty_digits(text, is_one):
    assert is_number(text) is is_one


@pytest.mark.parametrize("text", ["٣", "３", "²", "1٣", "-1", "+1", "1_0", " 1", "1\n"])
def test_other_digits_and_signs_are_no_number(text):
    assert not is_number(text)


@pytest.mark.parametrize("text", ["١/2", "1/２", "1/²", "9/" + "9" * 5000])
def test_a_share_in_other_digits_is_a_usage_error(text):
    with pytest.raises(UsageError):
        ApplyGroup.parse(text)
