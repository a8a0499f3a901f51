"""Values that are kept as the text which the server shows: TIME, wide DECIMALs, and dates that no calendar has."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

import pytest

from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.values.kinds import (
    BIT,
    DATE,
    DATETIME,
    DECIMAL,
    DECIMAL_TEXT,
    OLD_DATETIME,
    OLD_FINE_DATETIME,
    OLD_FINE_TIME,
    OLD_FINE_TIMESTAMP,
    OLD_TIME,
    OLD_TIMESTAMP,
    TIME,
    TIMESTAMP,
)
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


@pytest.mark.parametrize("kind", [DECIMAL, DECIMAL_TEXT])
@pytest.mark.parametrize(
    ("stored", "sizes"),
    [("bb9aca00", (9, 0)), ("ffffffff", (9, 0)), ("00000000", (9, 0)), ("80000001" "64", (10, 2)),
     ("e4" + "00000000" * 4, (38, 0)), ("80" "00000000" "3b9aca00", (20, 18)), ("8a", (1, 0)), ("75", (1, 0))],
)  # fmt: skip
def test_a_group_has_no_more_digits_than_its_type(kind, stored, sizes):
    assert decoded((kind, decimal_bytes(*sizes), *sizes, 0), bytes.fromhex(stored)) == MALFORMED


def test_a_bit_beyond_the_type_is_malformed():
    assert decoded((BIT, 2, 2, 10, 0), bytes.fromhex("03ff")) == 1023
    assert decoded((BIT, 2, 2, 10, 0), bytes.fromhex("0400")) == MALFORMED
    assert decoded((BIT, 8, 8, 63, 0), b"\xff" * 8) == MALFORMED


@pytest.mark.parametrize(
    ("of", "value", "text"),
    [
        (ColumnType("date"), (0, 0, 0), "0000-00-00"), (ColumnType("date"), (2020, 2, 0), "2020-02-00"),
        (ColumnType("date"), (2021, 2, 30), "2021-02-30"), (ColumnType("date"), (0, 1, 1), "0000-01-01"),
        (ColumnType("date"), (10000, 1, 0), MALFORMED), (ColumnType("date"), (2020, 13, 1), MALFORMED),
        (ColumnType("datetime"), (0, 0, 0, 0, 0, 0, 0), "0000-00-00 00:00:00"),
        (ColumnType("datetime", fraction_digits=3), (2020, 2, 0, 23, 59, 58, 7000), "2020-02-00 23:59:58.007"),
        (ColumnType("datetime", fraction_digits=6), (2021, 4, 31, 0, 0, 0, 1), "2021-04-31 00:00:00.000001"),
        (ColumnType("datetime"), (2020, 1, 1, 24, 0, 0, 0), MALFORMED),
        (ColumnType("timestamp"), (0,) * 7, "0000-00-00 00:00:00"),
        (ColumnType("timestamp", fraction_digits=3), (0,) * 7, "0000-00-00 00:00:00.000"),
    ],
)  # fmt: skip
def test_dates_that_no_calendar_has(of, value, text):
    kind = {"date": DATE, "datetime": DATETIME, "timestamp": TIMESTAMP}[of.name]
    data = wire_type(of).encode(value)
    assert decoded((kind, len(data), of.fraction_digits or 0, 0, 0), data) == text


def test_zero_dates_as_they_were_stored_before_5_6():
    assert decoded((OLD_DATETIME, 8, 0, 0, 0), bytes(8)) == "0000-00-00 00:00:00"
    assert decoded((OLD_DATETIME, 8, 0, 0, 0), (20200200101112).to_bytes(8, "little")) == "2020-02-00 10:11:12"
    assert decoded((OLD_DATETIME, 8, 0, 0, 0), b"\xff" * 8) == MALFORMED
    assert decoded((OLD_TIMESTAMP, 4, 0, 0, 0), bytes(4)) == "0000-00-00 00:00:00"


@pytest.mark.parametrize("kind", [DATETIME, TIMESTAMP])
@pytest.mark.parametrize(("fraction", "digits"), [("64", 2), ("ff", 1), ("2710", 4), ("0f4240", 6), ("ffffff", 5)])
def test_a_fraction_of_a_second_or_more_is_malformed(kind, fraction, digits):
    data = bytes.fromhex(("99b2000000" if kind == DATETIME else "585ac27c") + fraction)
    assert decoded((kind, len(data), digits, 0, 0), data) == MALFORMED


@pytest.mark.parametrize(("fraction", "digits"), [("0a", 1), ("ff", 2), ("03e8", 3), ("0f4240", 6)])
def test_a_fraction_of_a_second_or_more_in_mariadbs_old_timestamp_is_malformed(fraction, digits):
    data = bytes.fromhex("585ac27c" + fraction)
    assert decoded((OLD_FINE_TIMESTAMP, len(data), digits, 10 ** (6 - digits), 0), data) == MALFORMED


@pytest.mark.parametrize(
    ("kind", "data", "digits", "value"),
    [
        (OLD_FINE_DATETIME, "00a8ca5937d9", 1, "2016-12-21 17:57:16.1"),
        (OLD_FINE_DATETIME, "0697e77c2e7c", 2, "2016-12-21 17:57:16.12"),
        (OLD_FINE_DATETIME, "0041ef0ad9d0db", 3, "2016-12-21 17:57:16.123"),
        (OLD_FINE_DATETIME, "0293566c822892", 4, "2016-12-21 17:57:16.1234"),
        (OLD_FINE_DATETIME, "19c1603d1595b9", 5, "2016-12-21 17:57:16.12345"),
        (OLD_FINE_DATETIME, "01018dc262d7d940", 6, "2016-12-21 17:57:16.123456"),
        (OLD_FINE_TIMESTAMP, "585ac27c01", 1, "2016-12-21 17:57:16.1"),
        (OLD_FINE_TIMESTAMP, "585ac27c0c", 2, "2016-12-21 17:57:16.12"),
        (OLD_FINE_TIMESTAMP, "585ac27c007b", 3, "2016-12-21 17:57:16.123"),
        (OLD_FINE_TIMESTAMP, "585ac27c01e240", 6, "2016-12-21 17:57:16.123456"),
    ],
)
def test_dates_with_a_fraction_as_mariadb_stored_them_before_10_1(kind, data, digits, value):
    """The bytes are MariaDB 10.11's with mysql56_temporal_format=OFF."""
    data = bytes.fromhex(data)
    found = decoded((kind, len(data), digits, 10 ** (6 - digits), 0), data)
    since_1970 = datetime.fromisoformat(value.ljust(26, "0")) - datetime(1970, 1, 1)
    assert found == since_1970 // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("data", "digits", "text"),
    [
        ("01cce054", 1, "-00:00:01.2"), ("1200c345", 2, "-00:00:01.23"), ("00b407a0ae", 3, "-00:00:01.234"),
        ("07084c46c7", 4, "-00:00:01.2345"), ("4652fac3c0", 5, "-00:00:01.23456"),
        ("02bf3dcba579", 6, "-00:00:01.234567"), ("00b407a580", 3, "00:00:00.000"), ("00b407a581", 3, "00:00:00.001"),
        ("057e7bbcf7ff", 6, "838:59:59.999999"), ("000000000001", 6, "-838:59:59.999999"), ("ffffffffff", 3, MALFORMED),
    ],
)  # fmt: skip
def test_times_with_a_fraction_as_mariadb_stored_them_before_10_1(data, digits, text):
    data = bytes.fromhex(data)
    assert decoded((OLD_FINE_TIME, len(data), digits, 10 ** (6 - digits), 0), data) == text


def test_zero_dates_with_a_fraction_as_mariadb_stored_them_before_10_1():
    assert decoded((OLD_FINE_DATETIME, 7, 3, 1000, 0), bytes(7)) == "0000-00-00 00:00:00.000"
    assert decoded((OLD_FINE_DATETIME, 8, 6, 1, 0), b"\xff" * 8) == MALFORMED
    assert decoded((OLD_FINE_TIMESTAMP, 5, 2, 10000, 0), bytes(5)) == "0000-00-00 00:00:00.00"
