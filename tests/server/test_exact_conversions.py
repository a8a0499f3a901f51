"""Conversions by ALTER whose result the server shows in other digits or characters than the value had: every mirror
equals SELECT."""

from __future__ import annotations

import pytest

from tests.support.canonical import source_rows
from tests.support.lake_runs import LakeRun
from tests.support.server_logs import bring

WIDE, EXACT = "DECIMAL(65,30)", ("9007199254740993", "18446744073709551614")
CONVERTED = [
    ("INT", "DECIMAL(65,1)", ("127", "-5")),
    ("DECIMAL(10,2)", "DECIMAL(65,30)", ("1.25", "-0.05")),
    ("DECIMAL(38,10)", "DECIMAL(50,12)", ("0.0000000001", "-7")),
    (WIDE, "DECIMAL(65,2)", ("1.25", "-0.05")),
    (WIDE, "TINYINT", ("0.499999999999999999999999999999", "-2.5")),
    ("DECIMAL(65,0)", "BIGINT", ("-5", EXACT[0])),
    ("DECIMAL(65,0) UNSIGNED", "BIGINT UNSIGNED", EXACT),
    ("ENUM('a','b')", "DECIMAL(40,2)", ("'a'", "'b'")),
    ("JSON", "TEXT CHARACTER SET latin1", ("'\"a\"'", "'\"é\"'")),
]
OUTSIDE_STRICT_MODE = [
    ("DECIMAL(20,0)", "BIGINT UNSIGNED", EXACT),
    ("CHAR(9)", "CHAR(2)", ("'a bc'", "'b'")),
    ("JSON", "VARCHAR(20) CHARACTER SET latin1", ("'\"é\"'", "'\"☃\"'")),
    ("JSON", "TEXT CHARACTER SET utf8mb3", ("'\"é\"'", "'\"\U0001f600\"'")),
]
"""(type, its next type, two values)"""
ADDED = (
    "DECIMAL(65,4) NOT NULL",
    "DECIMAL(65,4) DEFAULT 1.5",
    "DECIMAL(65,0) DEFAULT '-0'",
    "DECIMAL(40,1) DEFAULT 1.25",
)


@pytest.mark.parametrize("sql_mode", ["", "STRICT_TRANS_TABLES"])
@pytest.mark.heavy
def test_the_mirror_has_the_digits_and_characters_that_the_server_shows(server, spark, tmp_path, sql_mode):
    server.reset()
    columns = [*CONVERTED, *(() if sql_mode else OUTSIDE_STRICT_MODE)]
    before = ", ".join(f"c{n} {kind}" for n, (kind, _, _) in enumerate(columns))
    changes = [f"MODIFY c{n} {kind}" for n, (_, kind, _) in enumerate(columns)]
    changes += [f"ADD n{n} {kind}" for n, kind in enumerate(ADDED)]
    rows = [", ".join(values[n] for _, _, values in columns) for n in (0, 1)]
    with server.connect() as connection, connection.cursor() as cursor:
        for sql in (
            "CREATE DATABASE d CHARACTER SET utf8mb4",
            "USE d",
            f"SET sql_mode = '{sql_mode}'",
            f"CREATE TABLE t (id INT PRIMARY KEY, {before})",
            f"INSERT INTO t VALUES (1, {rows[0]}), (2, {rows[1]})",
            f"ALTER TABLE t {', '.join(changes)}",
            "FLUSH BINARY LOGS",
        ):
            cursor.execute(sql)
        expected = sorted(source_rows(connection, "d", "t"))
    bring(tmp_path / "logs", server.log_files()[:-1])
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run.all_hops()
    assert run.gold() == {("d", "t"): expected}
