"""Random conversions by ALTER on real servers: gold makes the rows that SELECT shows, or refuses the table."""

from __future__ import annotations

from collections import Counter
from random import Random

from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import DATED, ColumnType
from tests.support.canonical import source_rows
from tests.support.conversions import DATABASE, SQL_MODES, TABLE, Conversion, converted, is_altered, values_before
from tests.support.random_sql import TYPES_OF
from tests.support.random_tables import COLUMN_TYPES, column_sql

CONVERSIONS, CONVERSIONS_LONG = 60, 5000
TIME_ZONES = ("+00:00", "+05:30", "-08:00")
NOT_CONVERTED = ("geometry", "vector", "json")  # only their refusals would be looked at
VALUES = (
    "NULL", "0", "1", "2", "-1", "2.5", "-0.05", "99.995", "127", "128", "255", "300", "-32769", "40000", "2024",
    "9007199254740993", "18446744073709551615", "1e10", "1.5e-3", "'a'", "'A'", "'a bc'", "'x,y'", "'small'", "'1'",
    "'  12 '", "'12 '", "'-3.75'", "'1e3'", "''", "' '", "'é'", "'Größe'", "'☃'", "'😀b'", "'日本'",
    "REPEAT('q', 300)", "REPEAT('é', 200)", "X'0041'", "X'4100'", "'2024-02-29'", "'9999-12-31'",
    "'2024-02-29 23:59:59.999999'", "'9999-12-31 23:59:59.5'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07.75'",
    "'12:34:56.789'", "'-01:00:00.5'", "'838:59:59'",
)  # fmt: skip
"""Values that many types take, as they are or changed. Bytes that are no text would be shown as a question mark."""


def test_random_conversions_give_what_the_server_shows_or_are_refused(server, spark, seed, is_long):
    random, outcomes = Random(f"{seed} {server.program}"), Counter[str]()
    server.reset()
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        cursor.execute(f"USE {DATABASE}")
        for _ in range(CONVERSIONS_LONG if is_long else CONVERSIONS):
            tried = random_conversion(random, server.flavor)
            before = values_before(cursor, tried)
            if not before or not is_altered(cursor, tried):
                continue
            found = converted(spark, server.flavor, tried, before)
            if found is not None:
                shown = source_rows(connection, DATABASE, TABLE)
                assert sorted(map(comparable, found)) == sorted(map(comparable, shown)), tried
            outcomes["refused" if found is None else "equal"] += 1
    assert min(outcomes["equal"], outcomes["refused"]) > 0, outcomes


def random_conversion(random: Random, flavor: str) -> Conversion:
    types = [kind for kind in COLUMN_TYPES + TYPES_OF[flavor] if kind.name not in NOT_CONVERTED]
    old, new = random.choice(types), random.choice(types)
    if random.random() < 0.5:
        new = random.choice([kind for kind in types if kind.name == old.name])
    return Conversion(
        f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, {definition(old)})",
        old.name in DATED,
        tuple(random.sample(VALUES, 8)),
        f"ALTER TABLE {TABLE} MODIFY {definition(new, random.random() < 0.8)}",
        random.choice(SQL_MODES),
        random.choice(TIME_ZONES),
    )


def definition(kind: ColumnType, nullable: bool = True) -> str:
    return column_sql(Column("c", kind, nullable))


def comparable(row: str) -> str:
    """A row without the sign of zero: SELECT of a FLOAT as a double loses it."""
    return row.replace('"-0.0"', '"0.0"')
