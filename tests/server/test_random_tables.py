"""Random tables with every type of column on real servers: silver holds each cell as SELECT shows it.

A table is filled, read with SELECT, and emptied: its rows are logged as they came and as they went.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from mirrorlake.core.schema.tables import TableSchema
from tests.support.canonical import source_rows
from tests.support.random_sql import create_sql, random_rows_sql, random_table_of
from tests.support.random_tables import quoted
from tests.support.server_silver import silver_of
from tests.support.silver_rows import silver_rows

TABLES, TABLES_LONG, TABLES_PER_LOG = 40, 3000, 40
DATABASE = "random_tables"
_COMPRESS = "SET column_compression_threshold = 8, column_compression_zlib_wrap = "
_SESSION = ("SET time_zone = '+00:00'", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")


def test_every_cell_of_random_tables_is_what_select_shows(server, seed, is_long, tmp_path):
    random = Random(f"{seed} {server.flavor}")
    count = TABLES_LONG if is_long else TABLES
    for first in range(0, count, TABLES_PER_LOG):
        tables = [random_table_of(random, DATABASE, f"t{first + n}", server.flavor) for n in range(TABLES_PER_LOG)]
        expected = write_and_empty(server, random, tables)
        found = logged_rows(tmp_path / str(first), server, tables)
        for table in tables:
            for op in ("INSERT", "DELETE"):
                assert found[table.table].get(op, Counter()) == expected[table.table], table.to_json()


def write_and_empty(server, random: Random, tables: list[TableSchema]) -> dict[str, Counter]:
    """The rows that SELECT showed, of every table."""
    server.reset()
    found = {}
    with server.connect() as connection, connection.cursor() as cursor:
        for sql in (*_SESSION, f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4", f"USE {DATABASE}"):
            cursor.execute(sql)
        for table in tables:
            if server.flavor == "mariadb":
                cursor.execute(_COMPRESS + random.choice(("ON", "OFF")))
            cursor.execute(create_sql(random, table, server.flavor))
            for sql, args in random_rows_sql(random, table):
                cursor.execute(sql, args)
            found[table.table] = Counter(source_rows(connection, DATABASE, table.table))
            cursor.execute(f"DELETE FROM {quoted(table.table)}")
    return found


def logged_rows(folder: Path, server, tables: list[TableSchema]) -> dict[str, dict[str, Counter]]:
    """Table -> op -> the row images that silver has."""
    silver = silver_of(server, folder)
    found: dict[str, dict[str, Counter]] = {table.table: {} for table in tables}
    for op, *rest in silver_rows(silver, {table.schema_id: table for table in tables}):
        if op in ("INSERT", "DELETE"):
            (_, name), before, after = rest
            found[name].setdefault(op, Counter())[before or after] += 1
        elif op == "REFUSED":
            raise AssertionError(rest)
    return found
