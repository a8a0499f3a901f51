"""Which views are dropped before any is made."""

from __future__ import annotations

import pytest

from mirrorlake.lake.gold.views.keeper import outdated


@pytest.mark.parametrize(
    ("what", "shown", "wanted", "dropped"),
    [
        ("nothing changed", {"a": 1, "b": 2}, {"a": 1, "b": 2}, []),
        ("a table was dropped", {"a": 1, "b": 2}, {"a": 1}, ["b"]),
        ("a table was created", {"a": 1}, {"a": 1, "b": 2}, []),
        ("a table was made again: its view is replaced", {"a": 1}, {"a": 2}, []),
        ("a table was renamed", {"a": 1}, {"b": 1}, ["a"]),
        ("two have changed their names", {"a": 1, "b": 2}, {"a": 2, "b": 1}, ["a", "b"]),
        ("three have", {"a": 1, "b": 2, "c": 3, "d": 4}, {"a": 2, "b": 3, "c": 1, "d": 4}, ["a", "b", "c"]),
        ("a chain", {"a": 1, "b": 2}, {"b": 1, "c": 2}, ["a", "b"]),
        ("a shadow table has taken the name", {"a": 1}, {"a": 9}, []),
        ("a renamed one left a name that is taken", {"a": 1}, {"a": 5, "b": 1}, ["a"]),
        ("the name is no longer possible", {"a": 1, "b": 2}, {}, ["a", "b"]),
    ],
)
def test_a_view_is_dropped_if_its_mirror_has_another_name_or_none(what, shown, wanted, dropped):
    assert outdated(shown, wanted) == dropped
