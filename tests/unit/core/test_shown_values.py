"""Columns that are mirrored as the text which the server shows: TIME, and DECIMAL of more than 38 digits."""

from __future__ import annotations

from random import Random

import pytest

from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values.kinds import DECIMAL_TEXT, OLD_TIME, TIME
from mirrorlake.core.values.numeric import decimal_bytes
from tests.support.one_value import MALFORMED, decoded
from tests.support.row_encoding import encode_decimal, wire_type
from tests.support.values import edge_values, random_value


def shown_time(data: bytes, digits: int):
    return decoded((TIME, len(data), digits, 0, 0), data)


@pytest.mark.parametrize(
    ("data", "digits", "text"),
    [
        ("800000", 0, "00:00:00"), ("7fffff", 0, "-00:00:01"), ("b46efb", 0, "838:59:59"), ("4b9105", 0, "-838:59:59"),
        ("7fffffff", 1, "-00:00:00.0"), ("800000ff", 2, None), ("80000063", 2, "00:00:00.99"),
        ("7fffffffff", 4, "-00:00:00.0001"), ("7fffffffffff", 6, "-00:00:00.000001"), ("8064000f423f", 6,
        "06:16:00.999999"), ("800000000000", 6, "00:00:00.000000"), ("b47000", 0, None), ("800f00", 0, None),
        ("80003c", 0, None), ("8000000f4240", 6, None),
    ],
)  # fmt: skip
def test_time(data, digits, text):
    data = bytes.fromhex(data)
    if digits == 1:  # the last digit of a pair is not shown
        assert shown_time(data, digits) == text
    else:
        assert shown_time(data, digits) == (MALFORMED if text is None else text)


@pytest.mark.parametrize("digits", range(7))
def test_random_times(seed, digits):
    of, random = ColumnType("time", fraction_digits=digits), Random(seed)
    for value in edge_values(of) + [random_value(random, of) for _ in range(100)]:
        assert shown_time(wire_type(of).encode(value), digits) == value


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "00:00:00"), (8385959, "838:59:59"), (-8385959, "-838:59:59"), (-1, "-00:00:01"), (1203, "00:12:03"),
     (6000, MALFORMED)],
)  # fmt: skip
def test_time_as_it_was_stored_before_5_6(number, text):
    assert decoded((OLD_TIME, 3, 0, 0, 0), number.to_bytes(3, "little", signed=True)) == text


@pytest.mark.parametrize("sizes", [(65, 30), (65, 0), (39, 0), (39, 9), (60, 30), (40, 30), (48, 11), (30, 30), (1, 0)])
def test_wide_decimals(seed, sizes):
    of, random = ColumnType("decimal", precision=sizes[0], scale=sizes[1]), Random(seed)
    for value in edge_values(of) + [random_value(random, of) for _ in range(100)]:
        data = encode_decimal(value, *sizes)
        assert decoded((DECIMAL_TEXT, decimal_bytes(*sizes), *sizes, 0), data) == format(value, "f")


def test_what_is_no_decimal_digit_is_malformed():
    assert decoded((DECIMAL_TEXT, 4, 9, 0, 0), bytes.fromhex("bb9ac9ff")) == "999999999"
    assert decoded((DECIMAL_TEXT, 4, 9, 0, 0), bytes.fromhex("bb9aca00")) == MALFORMED
    assert decoded((DECIMAL_TEXT, 4, 9, 0, 0), bytes.fromhex("bb9ac9")) == MALFORMED
