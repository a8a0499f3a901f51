"""Wall clocks of zones with summer time as moments, in Spark, against Python's account of the same time zones."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from mirrorlake.core.ddl.parse.session_moments import utc_of
from mirrorlake.lake.gold.convert.time_zones import from_utc, to_utc

CHANGES = (
    ("America/Chicago", "2024-03-10"),
    ("America/Chicago", "2024-11-03"),
    ("Europe/Berlin", "2024-03-31"),
    ("Europe/Berlin", "1980-09-28"),
    ("Australia/Lord_Howe", "2024-04-07"),  # half an hour
    ("America/Caracas", "2016-05-01"),  # the zone's own time changed
    ("Pacific/Apia", "2011-12-30"),  # a day that was not
    ("Asia/Kolkata", "2024-03-10"),
)


@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_only_times_that_come_twice_or_never_have_no_moment(spark, zone, day):
    first = datetime.fromisoformat(day) - timedelta(days=2)
    clocks = [first + timedelta(minutes=15 * n) for n in range(5 * 24 * 4)]
    sql, is_unsure = to_utc("clock", zone)
    rows = ", ".join(f"(TIMESTAMP_NTZ'{clock}')" for clock in clocks)
    query = f"SELECT CAST(IF({is_unsure}, NULL, {sql}) AS timestamp_ntz) FROM VALUES {rows} AS t(clock)"
    made = [row[0] for row in spark.sql(query).collect()]
    expected = [utc_of(str(clock), zone) for clock in clocks]
    assert made == expected
    n_unsure = {"America/Chicago": 4, "Europe/Berlin": 4, "Australia/Lord_Howe": 2, "America/Caracas": 2,
                "Pacific/Apia": 96, "Asia/Kolkata": 0}[zone]  # fmt: skip
    assert made.count(None) == n_unsure


@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_each_moment_has_a_wall_clock(spark, zone, day):
    first = datetime.fromisoformat(day).replace(tzinfo=timezone.utc) - timedelta(days=2)
    moments = [first + timedelta(minutes=15 * n) for n in range(5 * 24 * 4)]
    rows = ", ".join(f"(TIMESTAMP'{moment}')" for moment in moments)
    made = spark.sql(f"SELECT {from_utc('moment', zone)} FROM VALUES {rows} AS t(moment)").collect()
    assert [row[0] for row in made] == [m.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for m in moments]


def test_zones_that_are_not_known_have_no_moment():
    for zone in (None, "", "SYSTEM", "Nowhere/Atlantis", "america/chicago;", "../etc/passwd"):
        assert (to_utc("c", zone), from_utc("c", zone)) == (None, None)
    assert to_utc("c", "+05:30") == ("to_utc_timestamp(CAST(c AS timestamp), '+05:30')", None)
