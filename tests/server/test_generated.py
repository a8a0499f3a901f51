"""MariaDB 11.8 leaves generated columns out of the images of UPDATE and DELETE: mirrors hold what SELECT shows.

Every expression that gold computes is a column here, of rows with odd values; what SELECT shows is the oracle.
"""

from __future__ import annotations

import json

import pytest

from mirrorlake.lake.gold.control.register import STREAMING
from tests.support.canonical import source_rows
from tests.support.lake_runs import LakeRun
from tests.support.server_logs import bring
from tests.support.servers import Server

NUMBERS = """
BIGINT i + 1, BIGINT u32 + 1, BIGINT i * i, INT -i, SMALLINT i * 3, TINYINT UNSIGNED i, BIGINT UNSIGNED u + 0,
INT i DIV 3, INT i DIV -7, INT i % 5, INT MOD(i, -5), INT i DIV z, INT i % z, BIGINT ABS(i), INT 7, INT NULL,
DECIMAL(12,2) d + i, DECIMAL(20,4) d * d, DECIMAL(10,0) d, DECIMAL(8,1) -d, INT d, TINYINT d * 1.5, DECIMAL(5,2) d,
DECIMAL(4,2) UNSIGNED d - 1, DECIMAL(10,3) 1.5 + z, DOUBLE i, DECIMAL(30,2) u * 1, INT d + 0.005, BIGINT b, INT b,
TINYINT i = 1, TINYINT i <=> NULL, TINYINT i <> d, TINYINT i >= 2 AND d < 3, TINYINT i = 1 OR z IS NULL,
TINYINT i BETWEEN -1 AND 1, TINYINT i NOT BETWEEN z AND 5, TINYINT i IN (1, -1, NULL), TINYINT i NOT IN (1, 7),
TINYINT NOT (i), TINYINT !z, TINYINT i IS NOT NULL, TINYINT i XOR z, TINYINT (i > 0) = (z > 0), INT (i > 0) + (z > 0),
INT IF(i > 0, i, -z), INT IF(i, 1, 2), DECIMAL(10,2) IF(z, i, d), INT IFNULL(i, 5), DECIMAL(12,2) COALESCE(i, d, 0),
INT NULLIF(i, 1), INT CASE WHEN i > 100 THEN 3 WHEN i > 0 THEN 2 END,
INT CASE i WHEN 1 THEN 10 WHEN -1 THEN 20 ELSE z END, BIGINT CAST(i AS SIGNED) + 1,
DECIMAL(10,2) CAST(i AS DECIMAL(6,2)), BIGINT CAST(d AS DECIMAL(4,0)), INT g0 + g3 * 2, VARCHAR(30) i, VARCHAR(2) i,
VARCHAR(40) CONCAT(i, '/', u, '/', b), CHAR(3) CONCAT(i, ' ', z), VARCHAR(9) i > 0
"""
NUMBER_ROWS = [
    "(NULL, NULL, NULL, NULL, NULL, NULL)", "(0, 0, 0, 0, 0, 0)", "(1, 1, 1, 1, 1.00, 1)", "(-1, 2, 3, -1, -0.01, -1)",
    "(2147483647, 4294967295, 18446744073709551615, 9223372036854775807, 9999999.99, 100)",
    "(-2147483648, 0, 7, -9223372036854775808, -9999999.99, 7)", "(100, 5, 9223372036854775808, 127, 2.50, -3)",
    "(-129, 129, 255, -32769, -2.50, 3)", "(7, 7, 7, 7, 0.99, -7)", "(32768, 1, 1, 65536, 127.49, 2)",
]  # fmt: skip
TEXTS = """
VARCHAR(80) CONCAT(w, '-', t), VARCHAR(5) CONCAT(w, w), CHAR(4) CONCAT(w, '  '), TEXT CONCAT(w, i),
LONGTEXT CONCAT(x, 'é'), VARCHAR(20) CONCAT(w, NULL), VARCHAR(60) CONCAT_WS(', ', w, t, i), VARCHAR(9) LEFT(w, 2),
VARCHAR(9) RIGHT(w, 2), VARCHAR(9) SUBSTRING(w, 2, 3), VARCHAR(9) SUBSTR(w, -3), VARCHAR(9) SUBSTRING(w FROM 2),
VARCHAR(9) SUBSTRING(w FROM -2 FOR 1), VARCHAR(9) SUBSTRING(w, 0, 2), VARCHAR(9) LEFT(w, 0), VARCHAR(9) RIGHT(w, 0),
VARCHAR(9) SUBSTRING(w, 2, -1), VARCHAR(30) TRIM(w), VARCHAR(30) LTRIM(w), VARCHAR(30) RTRIM(w), INT CHAR_LENGTH(w),
INT LENGTH(w), INT CHAR_LENGTH(t), VARCHAR(30) IF(i > 0, w, t), VARCHAR(30) COALESCE(w, t, 'none'),
VARCHAR(30) CASE WHEN i IS NULL THEN 'x' ELSE w END, VARCHAR(30) IFNULL(w, i), CHAR(32) MD5(w), CHAR(40) SHA1(w),
VARCHAR(99) SHA2(w, 256), VARCHAR(128) SHA2(w, 0), BIGINT CRC32(w), TINYINT w IS NULL, VARCHAR(30) CAST(i AS CHAR),
VARCHAR(30) CONVERT(t USING utf8mb4), VARCHAR(30) w COLLATE utf8mb4_bin, VARCHAR(30) 'it''s \\\\ 100%{}',
VARCHAR(60) CONCAT(g1, g8), CHAR(32) MD5(CONCAT(w, i))
"""
TEXT_ROWS = [
    "(NULL, NULL, NULL, NULL)", "('', '', '', 0)", "('abc', 'def', 'x', 1)", "('  a b  ', ' ', '\\t', -5)",
    "('é', 'ü', 'ß', 12)", "('😀x😀y', 'ÿ', REPEAT('é', 300), NULL)", "('a\\0b', '\\\\', '''', 7)",
    "('\\t tab \\n', 'z', 'z', 100)",
]  # fmt: skip
CASES = "VARCHAR(9) UPPER(w), VARCHAR(9) LOWER(w), VARCHAR(9) UCASE(LEFT(w, 3)), VARCHAR(30) LCASE(CONCAT(w, i))"
CASE_ROWS = ["(NULL, NULL, NULL, NULL)", "('', '', '', 0)", "('aBc', 'x', 'x', 1)", "('a-Z z~[', '', '', -1)"]
DATES = """
INT YEAR(da), INT MONTH(da), INT DAY(da), INT DAYOFMONTH(dt), INT QUARTER(dt), INT DAYOFYEAR(da), INT DAYOFWEEK(da),
INT WEEKDAY(dt), INT TO_DAYS(da), INT HOUR(dt), INT MINUTE(dt), INT SECOND(dt), DATE DATE(dt), DATE CAST(dt AS DATE),
DATE LAST_DAY(da), DATETIME(6) dt, DATETIME da, INT DATEDIFF(da, dt), INT YEAR(da) * 100 + MONTH(da),
TINYINT da IS NULL, DATE IF(HOUR(dt) < 12, da, CAST(dt AS DATE)), DATE COALESCE(da, dt2), TINYINT ts IS NULL,
SMALLINT YEAR(da) - 1900
"""
DATE_ROWS = [
    "(NULL, NULL, NULL, NULL)", "('2024-02-29', '2024-02-29 23:59:59.999', '2024-03-01', '2024-03-01 00:00:01')",
    "('1000-01-01', '1000-01-01 00:00:00', '1582-10-10', NULL)", 
    "('9999-12-31', '9999-12-31 12:00:00.001', '1970-01-01', '2038-01-01')",
       "('0099-03-04', '0001-01-01 01:02:03', '1999-12-31', '1971-01-01')",
    "(NULL, '2023-01-01 11:59:59.5', NULL, NULL)",
]  # fmt: skip
JSON = """
VARCHAR(3) JSON_VALUE(j, '$.a'), VARCHAR(40) JSON_UNQUOTE(JSON_EXTRACT(j, '$.a')), INT JSON_VALUE(j, '$."n n"'),
TEXT JSON_EXTRACT(j, '$.a'), VARCHAR(40) CONCAT(JSON_VALUE(j, '$.b.c'), i), TINYINT JSON_VALUE(j, '$.a') IS NULL
"""
JSON_ROWS = [
    "(NULL, 0)", """('{"a": "longer", "n n": "-2.5", "b": {"c": true}}', 1)""", "('{}', 2)",
    """('{"a": "é", "n n": 2147483648, "b": {"c": ""}}', 3)""", """('{"A": 1, "a": null, "b": "c"}', 4)""",
]  # fmt: skip
TABLES = {
    "json": ("j JSON, i INT", JSON, JSON_ROWS),
    "numbers": (
        "i INT, u32 INT UNSIGNED, u BIGINT UNSIGNED, b BIGINT, d DECIMAL(9,2), z SMALLINT", NUMBERS, NUMBER_ROWS,
    ),
    "texts": ("w VARCHAR(30), t VARCHAR(30) CHARACTER SET latin1, x TEXT, i INT", TEXTS, TEXT_ROWS),
    "cases": ("w VARCHAR(30), t CHAR(9), x TEXT, i INT", CASES, CASE_ROWS),
    "dates": ("da DATE, dt DATETIME(3), dt2 DATE, ts TIMESTAMP NULL", DATES, DATE_ROWS),
}  # fmt: skip
"""By name: columns, a type and an expression of each generated one, and rows."""
SQL = """
CREATE TABLE keyless (a INT, v INT AS (a + 1) VIRTUAL, s VARCHAR(9) AS (CONCAT('<', a, '>')) STORED);
INSERT INTO keyless (a) VALUES (1), (1), (2), (NULL), (5);
UPDATE keyless SET a = 3 WHERE a = 2;
DELETE FROM keyless WHERE a = 1 LIMIT 1;
UPDATE keyless SET a = NULL WHERE a = 5;
CREATE TABLE renamed (id INT PRIMARY KEY, a INT, b INT, v INT AS (a * 10 + b));
INSERT INTO renamed (id, a, b) VALUES (1, 1, 2), (2, 3, 4);
ALTER TABLE renamed CHANGE a b INT, CHANGE b a INT;
UPDATE renamed SET b = b + 1;
CREATE TABLE redefined (id INT PRIMARY KEY, a INT, v INT AS (a + 1));
ALTER TABLE redefined DROP COLUMN v, ADD COLUMN w INT AS (a + 2);
INSERT INTO redefined (id, a) VALUES (1, 1), (2, 2);
UPDATE redefined SET a = a * 2;
DELETE FROM redefined WHERE id = 1;
CREATE TABLE partly (id INT PRIMARY KEY, a INT, b INT DEFAULT 4, v INT AS (a + b), s INT AS (b * 2) STORED);
INSERT INTO partly (id, a) VALUES (1, 1), (2, 2), (3, 3);
SET SESSION binlog_row_image = MINIMAL;
UPDATE partly SET b = 7 WHERE id = 1;
INSERT INTO partly (id, a) VALUES (5, 5);
CREATE TABLE kept (id INT PRIMARY KEY, a INT, b INT DEFAULT 4, v INT AS (a + b));
INSERT INTO kept (id, a, b) VALUES (1, 1, 1), (2, 2, 2);
UPDATE kept SET id = 9, a = 5 WHERE id = 2;
SET SESSION binlog_row_image = FULL;
CREATE TABLE vectors (id INT PRIMARY KEY, e VECTOR(3) NOT NULL, v VECTOR(2));
INSERT INTO vectors VALUES (1, VEC_FromText('[1,2,3]'), NULL), (2, VEC_FromText('[0.5,-1,0]'), VEC_FromText('[0,0]'));
UPDATE vectors SET e = VEC_FromText('[9,9,9]') WHERE id = 2;
CREATE TABLE unknown (id INT PRIMARY KEY, a INT, v VARCHAR(40) AS (HEX(a)), w INT AS (a + 1));
INSERT INTO unknown (id, a) VALUES (1, 1);
CREATE TABLE less LIKE unknown;
INSERT INTO less (id, a) VALUES (1, 1), (2, 2);
UPDATE less SET a = 3 WHERE id = 1;
CREATE TABLE shouted (id INT PRIMARY KEY, w VARCHAR(9), v VARCHAR(9) AS (UPPER(w)));
INSERT INTO shouted (id, w) VALUES (1, 'é');
CREATE TABLE zero (id INT PRIMARY KEY, da DATE, v INT AS (YEAR(da)));
INSERT INTO zero (id, da) VALUES (1, '2020-01-01');
"""
CHANGED = "UPDATE unknown SET a = 2; UPDATE shouted SET w = 'ü'; UPDATE zero SET da = '0000-00-00'; DELETE FROM unknown"
MIRRORED = ("keyless", "kept", "less", "partly", "redefined", "renamed", "vectors")
NOT_COMPUTED = "the log leaves out generated column v, which is not computed"
WAY_OUT = "; --generated leave-out makes mirrors without such columns"
REFUSED = {
    "shouted": "the value of generated column v is not computed for a row",
    "unknown": f"{NOT_COMPUTED}: the function hex{WAY_OUT}",
    "zero": f"{NOT_COMPUTED} from column da: a value there may have no meaning{WAY_OUT}",
}


def generated(text: str) -> list[str]:
    """Definitions of columns g0, g1, .., VIRTUAL and STORED by turns."""
    found, depth, start = [], 0, 0
    for at, letter in enumerate(text + ","):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append(text[start:at].strip())
            start = at + 1
    parts = [_type_and_expression(each) for each in found]
    return [f"g{n} {kind} AS ({sql}) {('VIRTUAL', 'STORED')[n % 2]}" for n, (kind, sql) in enumerate(parts)]


def _type_and_expression(text: str) -> tuple[str, str]:
    kind, _, rest = text.partition(" ")
    if rest.startswith("UNSIGNED "):
        kind, rest = f"{kind} UNSIGNED", rest.removeprefix("UNSIGNED ")
    return kind, rest


def create(name: str) -> str:
    columns, text, _ = TABLES[name]
    return f"CREATE TABLE {name} (id INT PRIMARY KEY, n INT, {columns}, {', '.join(generated(text))})"


@pytest.fixture(scope="module")
def computing(mariadb118: Server, spark, tmp_path_factory):
    """The server with changed rows, and a lake of its log up to silver."""
    server = mariadb118
    server.reset()
    server.execute("CREATE DATABASE generated CHARACTER SET utf8mb4")
    with server.connect(database="generated") as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = '', time_zone = '+00:00'")
        for name, (columns, _, rows) in TABLES.items():
            cursor.execute(create(name))
            names = ", ".join(["id", *(part.split()[0] for part in columns.split(", "))])
            values = ", ".join(f"({n}, {row[1:]}" for n, row in enumerate(rows))
            cursor.execute(f"INSERT INTO {name} ({names}) VALUES {values}")
            cursor.execute(f"UPDATE {name} SET n = id")
            cursor.execute(f"DELETE FROM {name} WHERE id = 2")
        for sql in [*SQL.split(";\n"), *CHANGED.split("; ")]:
            if sql.strip():
                cursor.execute(sql)
    server.execute("FLUSH BINARY LOGS")
    folder = tmp_path_factory.mktemp("generated")
    bring(folder / "log", server.log_files()[:-1])
    run = LakeRun(spark, folder / "log", folder / "lake")
    run.ingest()
    run.assemble()
    return server, run


@pytest.mark.xdist_group("generated")
@pytest.mark.heavy
def test_computed_columns_are_what_select_shows(computing):
    server, run = computing
    run.apply(generated_of={"*.less": "leave-out"}, partial_images_of={"*.kept": "replica"})
    found = run.gold()
    with server.connect() as connection:
        expected = {name: sorted(source_rows(connection, *name)) for name in found}
    assert {name: different(found[name], expected[name]) for name in found} == dict.fromkeys(found, [])
    assert {entry.table: entry.reason for entry in run.register if entry.state != STREAMING} == REFUSED
    assert sorted(table for _, table in found) == sorted([*TABLES, *MIRRORED])
    assert {frozenset(json.loads(row)) - {"id", "a"} for row in found["generated", "less"]} == {frozenset({"w"})}


def different(found: list[str], expected: list[str]) -> list[tuple]:
    """(row, column, value in the mirror, value on the server) where both have the column, by id."""
    rows = (sorted(map(json.loads, lines), key=lambda row: str(row.get("id"))) for lines in (found, expected))
    pairs = list(zip(*rows, strict=True))
    return [(n, key, a[key], b[key]) for n, (a, b) in enumerate(pairs) for key in b if key in a and a[key] != b[key]]
