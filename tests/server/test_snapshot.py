"""`mirrorlake snapshot` and `resync`: tables are copied while the source goes on, and compared by `verify`."""

from __future__ import annotations

from random import Random

import pytest

from mirrorlake.config import Options
from mirrorlake.jobs.snapshot import CopiedTable, snapshot
from mirrorlake.jobs.verify import EQUAL, VerifiedTable, verify
from mirrorlake.jobs.watcher import Watcher
from tests.support.random_sql import create_sql, random_rows_sql, random_table_of

TABLES, TABLES_LONG = 12, 200
_SESSION = ("SET time_zone = '+00:00'", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")


def copied(options: Options, spark, **how) -> list[CopiedTable]:
    found: list[CopiedTable] = []
    snapshot(options, found.append, spark=spark, **how)
    return found


def verified(options: Options, spark) -> list[VerifiedTable]:
    return verify(options, Watcher(), spark=spark, moves=True, wait_s=60, n_keys=10)[1]


@pytest.mark.parametrize("policy", ["null", "text"])
def test_every_value_of_random_tables_is_copied(server, seed, is_long, spark, lake_dir, policy):
    random = Random(f"{seed} {server.flavor} {policy}")
    count = TABLES_LONG if is_long else TABLES
    tables = [random_table_of(random, "random_tables", f"t{n}", server.flavor) for n in range(count)]
    server.reset()
    server.execute("CREATE DATABASE random_tables CHARACTER SET utf8mb4")
    options = Options(source=server.url, lake=str(lake_dir), invalid_values=policy)
    with server.connect(database="random_tables") as connection, connection.cursor() as cursor:
        for sql in _SESSION:
            cursor.execute(sql)
        rows = []
        for table in tables:
            cursor.execute(create_sql(random, table, server.flavor))
            rows.append(random_rows_sql(random, table))
        for sql, args in (each for of_table in rows for each in of_table):
            cursor.execute(sql, args)
        found = copied(options, spark)
    assert [table for table in found if table.reason] == []
    found = verified(options, spark)
    refused = {table.table for table in found if table.reason == "refused (invalid-key)"}  # a zero date in the key
    assert [table for table in found if table.state != EQUAL and table.table not in refused] == []
    assert len(refused) < count / 2
    assert [table.table for table in found] == sorted(table.table for table in tables)
    assert all(table.rows == table.mirror_rows > 0 for table in found if table.state == EQUAL)
