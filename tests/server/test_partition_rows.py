"""Rows of a partition: gold's condition takes those that the server has in it, or refuses the table."""

from __future__ import annotations

import pymysql
from pyspark.errors import PySparkException

from mirrorlake.lake.gold.ddl.steps import Delete
from tests.support.canonical import source_values
from tests.support.conversions import view_of
from tests.support.ddl_outcomes import Replay

RANGES = "(PARTITION p0 VALUES LESS THAN ({}), PARTITION p1 VALUES LESS THAN {})"
BOUNDS = (
    "2020-01-01", "2020-01-01 00:00:00", "2020-1-1", "20200101", "200101", "20-01-01", "2020/01/01",
    "2020-01-01T00:00:01",
    "2020-01-01 00:00:00.5", "2020-01-01 00:00:00.50", "2020-01-01 00:00:00.25", "2020-01-01 23:59:59.9999999",
    "2020-01-01 10:00:00+05:00", "2020-01-01 00:00:00.000", "2020-01-01 10:00", "20200101000001",
)  # fmt: skip
DATES = ("2019-12-31", "2020-01-01", "2020-01-02", "0020-01-01")
TIMES = (
    *DATES, "2019-12-31 23:59:59", "2020-01-01 00:00:01", "2020-01-01 05:00:00", "2020-01-01 10:00:00",
    "2020-01-01 00:00:00.3", "2020-01-01 00:00:00.5", "2020-01-01 23:59:59", "2020-01-01 00:00:02",
)  # fmt: skip
OF_DATES = [
    *((kind, "RANGE COLUMNS (c) " + RANGES.format(f"'{bound}'", "(MAXVALUE)"))
      for kind in ("DATE", "DATETIME", "DATETIME(1)") for bound in BOUNDS),
    *((kind, f"LIST COLUMNS (c) (PARTITION p0 VALUES IN ('1999-01-01', '{bound}'), PARTITION p1 VALUES IN"
       " ('2019-12-31', '2020-01-02'))") for kind in ("DATE", "DATETIME") for bound in BOUNDS),
    *((kind, f"RANGE ({of}(c)) " + RANGES.format(f"{of}('{bound}')", "MAXVALUE"))
      for kind, of in (("DATE", "TO_DAYS"), ("DATETIME(1)", "YEAR")) for bound in BOUNDS),
]  # fmt: skip


def test_dates_in_a_partition_are_those_of_the_server_or_the_table_is_refused(server, spark):
    outcomes = {}
    server.reset()
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE d CHARACTER SET utf8mb4")
        cursor.execute("USE d")
        for kind, partitions in OF_DATES:
            values = DATES if kind == "DATE" else TIMES
            found = compared(spark, cursor, f"CREATE TABLE t (c {kind}) PARTITION BY {partitions}", values)
            if found is not None:
                outcomes[kind, partitions] = found
    assert {tried: each for tried, each in outcomes.items() if each not in ("equal", "refused")} == {}
    assert {*outcomes.values()} == {"equal", "refused"}


def compared(spark, cursor, create: str, values: tuple[str, ...]) -> object:
    """``equal``, ``refused``, or the rows that differ; None if the server does not take the statement."""
    cursor.execute("DROP TABLE IF EXISTS t")
    try:
        cursor.execute(create)
    except pymysql.MySQLError:
        return None
    for value in values:
        cursor.execute(f"INSERT IGNORE INTO t VALUES ('{value}')")
    replay = Replay("create database d charset utf8mb4", create)
    [outcome] = replay.run("ALTER TABLE t TRUNCATE PARTITION p0")
    if outcome.work is None:
        return "refused"
    [delete] = outcome.work.steps
    assert isinstance(delete, Delete)
    rows = view_of(replay.definitions.get("d", "t"), source_values(cursor.connection, "d", "t"))
    try:
        found = spark.sql(f"SELECT CAST(c AS string) FROM {rows} WHERE NOT ({delete.where})").collect()
    except PySparkException:
        return "refused"
    cursor.execute("SELECT CAST(c AS CHAR) FROM t PARTITION (p1)")
    shown, left = sorted(row[0].removesuffix(".0") for row in cursor.fetchall()), sorted(row[0] for row in found)
    return "equal" if left == shown else (left, shown)
