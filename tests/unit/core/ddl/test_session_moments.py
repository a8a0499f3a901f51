"""UNIX_TIMESTAMP of a text, as bounds of partitions have it, in the time zone of the session."""

from __future__ import annotations

import pytest

from mirrorlake.core.ddl.parse.session_moments import as_number
from mirrorlake.core.schema.history import Definitions
from tests.support.interpreting import interpret

MARCH = "UNIX_TIMESTAMP('2024-03-10 08:00:00')"


@pytest.mark.parametrize(
    ("sql", "time_zone", "number"),
    [
        (MARCH, "+00:00", "1710057600"),
        (MARCH, "UTC", "1710057600"),
        (MARCH, "+05:30", "1710037800"),
        (MARCH, "-08:00", "1710086400"),
        (MARCH, "America/Chicago", "1710075600"),  # the first morning of summer time
        ("unix_timestamp ( '2024-03-10' )", "America/Chicago", "1710050400"),
        (MARCH, "SYSTEM", MARCH),
        (MARCH, None, MARCH),
        (MARCH, "Nowhere/Atlantis", MARCH),
        (MARCH, "../../etc/passwd", MARCH),
        ("UNIX_TIMESTAMP('2024-11-03 01:30:00')", "America/Chicago", "UNIX_TIMESTAMP('2024-11-03 01:30:00')"),  # twice
        ("UNIX_TIMESTAMP('2024-03-10 02:30:00')", "America/Chicago", "UNIX_TIMESTAMP('2024-03-10 02:30:00')"),  # never
        ("UNIX_TIMESTAMP('2024-02-30')", "UTC", "UNIX_TIMESTAMP('2024-02-30')"),
        ("UNIX_TIMESTAMP('1970-01-01')", "UTC", "UNIX_TIMESTAMP('1970-01-01')"),
        ("UNIX_TIMESTAMP('2038-01-18')", "UTC", "UNIX_TIMESTAMP('2038-01-18')"),
        ("UNIX_TIMESTAMP('24-3-1')", "UTC", "UNIX_TIMESTAMP('24-3-1')"),
        ("UNIX_TIMESTAMP('2024-03-10 08:00:00') + 1", "UTC", "UNIX_TIMESTAMP('2024-03-10 08:00:00') + 1"),
        ("1710057600", "UTC", "1710057600"),
        *(
            (MARCH, zone, MARCH)
            for zone in (
                "SYSTEM",
                "localtime",
                "LocalTime",
                "posixrules",
                "Factory",
                "posix/UTC",
                "right/Europe/Berlin",
                "+99:99",
                "+24:00",
                "-24:00",
                "Nowhere/Else",
            )
        ),
    ],
)
def test_a_text_is_the_number_that_the_server_makes_of_it_where_that_is_certain(sql, time_zone, number):
    assert as_number(sql, time_zone) == number


def test_bounds_of_partitions_are_numbers_in_every_statement_that_has_them():
    definitions = Definitions()
    for sql, zone in (
        (f"CREATE TABLE t (ts TIMESTAMP NOT NULL) PARTITION BY RANGE (UNIX_TIMESTAMP(ts)) "
         f"(PARTITION p0 VALUES LESS THAN ({MARCH}), PARTITION p1 VALUES LESS THAN (1710100000))", "UTC"),
        ("ALTER TABLE t ADD PARTITION (PARTITION p2 VALUES LESS THAN (UNIX_TIMESTAMP('2024-04-01')))", "+02:00"),
        ("ALTER TABLE t REORGANIZE PARTITION p1 INTO (PARTITION p1a VALUES LESS THAN "
         "(UNIX_TIMESTAMP('2024-03-10 09:00:00')), PARTITION p1b VALUES LESS THAN (1710100000))", "UTC"),
    ):  # fmt: skip
        found = interpret(sql, database="d", flavor="mysql", definitions=definitions, time_zone=zone)
        definitions.apply(found)
    partitioning = definitions.get("d", "t").partitioning
    assert partitioning.expression == "UNIX_TIMESTAMP(ts)"
    assert [(partition.name, partition.bounds[0].values) for partition in partitioning.partitions] == [
        ("p0", ("1710057600",)),
        ("p1a", ("1710061200",)),
        ("p1b", ("1710100000",)),
        ("p2", ("1711922400",)),
    ]
