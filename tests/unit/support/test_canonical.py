from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.support.canonical import TableDigest, canonical_row, canonical_value, mirror_rows


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (-7, "-7"),
        (Decimal("1E+2"), "100"),
        (Decimal("12.50"), "12.50"),
        (0.1, "0.1"),
        (date(1000, 1, 1), "1000-01-01"),
        (datetime(2024, 2, 29, 23, 59), "2024-02-29 23:59:00.000000"),
        (datetime.fromisoformat("2024-02-29T23:59:00+05:30"), "2024-02-29 18:29:00.000000"),
        (b"\x00\xff", "00ff"),
        ("naïve", "naïve"),
    ],
)
def test_each_kind_of_value_has_one_text(value, text):
    assert canonical_value(value) == text


def test_a_value_of_an_unknown_kind_is_no_text():
    with pytest.raises(TypeError):
        canonical_value(True)


def test_mirror_rows_equal_source_rows_whatever_the_order_of_columns():
    moment = datetime(2024, 5, 1, 10, tzinfo=timezone.utc)
    mirror = pa.table(
        {
            "_lsn": pa.array([5], pa.int64()),
            "single": pa.array([0.1], pa.float32()),
            "big": pa.array([Decimal(2**64 - 1)], pa.decimal128(20, 0)),
            "at": pa.array([moment], pa.timestamp("us", tz="Europe/Berlin")),
        }
    )
    source = {"at": datetime(2024, 5, 1, 10), "big": 2**64 - 1, "single": 0.10000000149011612}
    assert mirror_rows(mirror) == [canonical_row(source)]


def test_a_digest_does_not_depend_on_the_order_of_rows_but_on_their_number():
    assert TableDigest.of(["a", "b"]) == TableDigest.of(["b", "a"])
    assert TableDigest.of(["a", "a"]) != TableDigest.of(["a"])
