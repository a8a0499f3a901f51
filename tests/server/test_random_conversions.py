"""Random conversions by ALTER on real servers: gold makes the rows that SELECT shows, or refuses the table."""

from __future__ import annotations

from collections import Counter
from random import Random

from tests.support.conversions import DATABASE, converted, is_altered, rows_after, values_before
from tests.support.random_conversions import random_conversion

CONVERSIONS, CONVERSIONS_LONG = 60, 5000


def test_random_conversions_give_what_the_server_shows_or_are_refused(server, spark, seed, is_long):
    random, outcomes = Random(f"{seed} {server.program}"), Counter[str]()
    server.reset()
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        cursor.execute(f"USE {DATABASE}")
        while outcomes.total() < (CONVERSIONS_LONG if is_long else CONVERSIONS):
            tried = random_conversion(random, server.flavor)
            before = values_before(cursor, tried)
            if not before or not is_altered(cursor, tried):
                continue
            shown = rows_after(connection, tried)
            if shown is None:
                continue
            found = converted(spark, server.flavor, tried, before)
            if found is not None:
                assert sorted(map(comparable, found)) == sorted(map(comparable, shown)), tried
            outcomes["refused" if found is None else "equal"] += 1
    assert min(outcomes["equal"], outcomes["refused"]) > 0, outcomes


def comparable(row: str) -> str:
    """A row without the sign of zero: SELECT of a FLOAT as a double loses it."""
    return row.replace('"-0.0"', '"0.0"')
