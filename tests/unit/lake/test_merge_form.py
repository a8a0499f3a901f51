"""Which changes of a large mirror are written among its rows, and which by MERGE."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from mirrorlake.lake.gold.merge.merge import MAX_LISTED, are_few_among, rows_among
from mirrorlake.lake.gold.merge.net_effect import NetEffect

MORE = MAX_LISTED + 1


@pytest.mark.parametrize(
    ("values", "few"),
    [
        ([1, 10**9], True), (["a", "b"], True), ([datetime.date(2026, 1, 1)], True), ([b"\x00"], True),
        (list(range(MORE)), True), ([*range(0, 2 * MORE, 2)], True), ([*range(0, 3 * MORE, 3)], False),
        ([*range(MORE - 1), 10**12], False), ([str(n) for n in range(MORE)], False), ([1.5], False), ([1, None], False),
    ],
)  # fmt: skip
def test_few_rows_are_among_keys_that_are_listed_or_side_by_side(values, few):
    net = NetEffect(None, pa.table({"id": pa.chunked_array([values])}), is_at_hand=True)
    assert are_few_among(net, ("id",)) == few
    assert not few or rows_among(net.local["id"], "id")


def test_rows_of_a_key_of_two_columns_or_of_changes_that_are_elsewhere_may_be_many():
    local = pa.table({"id": [1], "n": [1]})
    assert not are_few_among(NetEffect(None, local, is_at_hand=True), ("id", "n"))
    assert not are_few_among(NetEffect(None, None, is_at_hand=False), ("id",))
