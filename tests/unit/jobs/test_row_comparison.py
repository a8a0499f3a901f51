"""What a server answers about the rows of a table is checked before it is trusted."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mirrorlake.errors import RefusedError
from mirrorlake.jobs.row_comparison import CHANGED, Parts, Side, differing_keys, for_source
from mirrorlake.lake.compare.row_text import Spelled

KEY, TEXT = Spelled("`id`", "`id`"), Spelled("`v`", "`v`")


def side(answer: list[tuple]) -> Side:
    return Side(lambda sql: answer, "`d`.`t`", for_source, "UNSIGNED")


def test_sums_are_digits():
    assert side([("5", 2, "99"), ("6", 1, "0")]).sums(KEY, TEXT) == {"5": (2, "99"), "6": (1, "0")}


@pytest.mark.parametrize(
    "row",
    [
        ("5", 2), ("5", 2, "9", "9"), (None, 2, "9"), (5, 2, "9"), ("5", None, "9"), ("5", "2", "9"), ("5", 2.0, "9"),
        ("5", Decimal(2), "9"), ("5", 2, None), ("5", 2, Decimal("NaN")), ("5", 2, Decimal("1E999999")),
        ("5", 2, "NaN"),
        ("5", 2, "9' OR 1"), ("' OR 1 -- ", 2, "9"), ("٥", 2, "9"), ("5", 2, "-9"), ("5" * 41, 2, "9"), ("", 2, "9"),
        ("5", 2, "9\n"),
    ],
)  # fmt: skip
def test_other_sums_are_refused(row):
    with pytest.raises(RefusedError, match="^server-protocol: .* `d`.`t` "):
        side([("1", 1, "1"), row]).sums(KEY, TEXT)


@pytest.mark.parametrize("row", [("h", "v"), ("h", None, "id=1"), (1, "v", "id=1"), ("h", b"v", "id=1"), ()])
def test_other_rows_are_refused(row):
    with pytest.raises(RefusedError, match="^server-protocol: .* `d`.`t` "):
        side([row]).rows(KEY, TEXT, KEY, Parts(0, ["1"]))


def test_a_row_with_too_few_values_is_different():
    assert differing_keys([("h", "1", "id=1")], [("h", "2,3", "id=1")], names=["a", "b"]) == [
        ("id=1", f"{CHANGED} in a")
    ]
