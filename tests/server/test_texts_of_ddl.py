"""What rows that exist get in a new column whose DEFAULT or expression has texts: gold against real servers.

Each definition is added to a table of one row, in a session of its own; gold makes the server's value, or none.
"""

from __future__ import annotations

from mirrorlake.core.schema.row_steps import Add, ServerMode
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.lake.gold.convert.column_values import value_of
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.generated.expressions import computed_column
from tests.support.interpreting import definitions_after, interpret

TABLE = "CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, s VARCHAR(9), n INT) CHARACTER SET utf8mb4"
ROW = "SELECT 1 AS id, 'é' AS s, 7 AS n"
V, U16, SWE7, LATIN1 = (f"VARCHAR(20) {each}" for each in ("", "CHARSET utf16", "CHARSET swe7", "CHARSET latin1"))
DEFAULTS = (
    """'a'"b" /* ' */ ''''""", """('a'"b")""", """(CONCAT('a'"b", 'c'))""", "_latin1'a' 'b'", "N'é'", "_utf8mb4'é'",
)  # fmt: skip
OTHER_DEFAULTS = (
    "_utf16'ab'", "_swe7'[x]'", "_ucs2'ab'", "_utf32'a'", "_utf16le'ab'", "(_utf16'ab')", "_binary'ab'",
)  # fmt: skip
EXPRESSIONS = (
    """CONCAT('a'"b", s)""", """LENGTH('a'"b") + n""", "CONCAT(_latin1'a' 'b', s)",
    """CASE WHEN n = 7 THEN 'x'"y" ELSE 'z' END""",
)  # fmt: skip
OTHER_EXPRESSIONS = (
    "CONCAT(_utf16'ab', s)", "CONCAT(_swe7'[x]', s)", "CHAR_LENGTH(_utf16'abcd') + n", "COALESCE(_ucs2'ab', s)",
    "UPPER(_binary'x')", "CONVERT('[' USING swe7)", "LENGTH(CONVERT(n USING utf16))",
)  # fmt: skip
BITS = {
    U16: ("x'00410042'", "x'41'", "x'd83dde00'", "(x'0041')"),
    SWE7: ("x'5b'", "'Ä'"),
    LATIN1: ("x'e9'", "x'41'"),
    "VARCHAR(9) CHARSET ucs2": ("0x0041",),
    "VARCHAR(9) CHARSET utf32": ("x'0000263a'", "x'41'"),
    "VARCHAR(9) CHARSET sjis": ("x'8341'",),
    "CHAR(9)": ("x'412020'",),
    V: ("b'0100000101000010'", "0x141", "x'00'"),
    "VARBINARY(9)": ("0x141", "x'ff'"),
    "BINARY(4)": ("x'41'", "b'1'"),
    "BIGINT": ("0x41",),
    "DOUBLE": ("-0e0", "-0.0", "'-0'", "'-0e0'", "-0", "-0.5"),
}
LABELS = (
    "ENUM('☃','b') CHARSET latin1 NOT NULL", "ENUM('b☃☂') CHARSET ascii NOT NULL",
    "ENUM('[','Ä') CHARSET swe7 NOT NULL", "ENUM('\U0001f600') CHARSET utf8mb3 NOT NULL",
    "ENUM('é','b') CHARSET latin1 NOT NULL", "ENUM('ア') CHARSET sjis NOT NULL",
    "SET('b','Ä') CHARSET swe7 NOT NULL DEFAULT 'Ä'",
)  # fmt: skip
LATIN1_SESSION, SWE7_SESSION, UTF16_SESSION = (
    f"SET character_set_connection = {charset}" for charset in ("latin1", "swe7", "utf16")
)
WITHOUT_ESCAPES, PLAIN = "SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "DO 0"
VALUES = [
    *((PLAIN, f"{V} NOT NULL DEFAULT {text}") for text in DEFAULTS),
    *((PLAIN, f"{'INT' if 'LENGTH' in text else V} AS ({text}) STORED") for text in EXPRESSIONS),
    *((PLAIN, f"{kind} NOT NULL DEFAULT {text}") for kind, texts in BITS.items() for text in texts),
    *((PLAIN, definition) for definition in LABELS),
    (LATIN1_SESSION, f"{V} DEFAULT 'é'"),
    (LATIN1_SESSION, f"{V} AS (CONCAT('é', s)) STORED"),
    (LATIN1_SESSION, "ENUM('é','b') NOT NULL"),
    (SWE7_SESSION, f"{V} DEFAULT 'xy'"),
    (UTF16_SESSION, f"{V} DEFAULT 'xé'"),
    (UTF16_SESSION, "ENUM('é') NOT NULL"),
    ("SET NAMES binary", f"{V} DEFAULT 'é'"),
    ("SET NAMES binary", f"{V} CHARSET latin1 NOT NULL DEFAULT 'é'"),
    ("SET NAMES binary", "ENUM('é','x') CHARSET latin1 NOT NULL"),
    ("SET NAMES utf8mb3", f"{V} DEFAULT 'é'"),
    ("SET NAMES utf8mb3", f"{V} AS (CONCAT('é', s)) STORED"),
    ("SET NAMES utf8mb3", "INT AS (LENGTH('é')) STORED"),
    (WITHOUT_ESCAPES, f"{V} DEFAULT 'a\\'"),
]
MARIADB_VALUES = [
    (LATIN1_SESSION, "INT AS (LENGTH('é')) STORED"),
    (WITHOUT_ESCAPES, f"{V} AS (CONCAT('a\\b', s)) STORED"),
]
NONE = [
    *((PLAIN, f"{V} NOT NULL DEFAULT {text}") for text in OTHER_DEFAULTS),
    *((PLAIN, f"{'INT' if 'LENGTH' in text else V} AS ({text}) STORED") for text in OTHER_EXPRESSIONS),
    (LATIN1_SESSION, f"{V} DEFAULT 'x☃y'"),
    (LATIN1_SESSION, f"{V} AS (CONCAT('☃', s)) STORED"),
    (LATIN1_SESSION, "ENUM('☃','b') NOT NULL"),
    (SWE7_SESSION, f"{V} DEFAULT 'x[y'"),
    (SWE7_SESSION, f"{V} AS (CONCAT('[', s)) STORED"),
    (SWE7_SESSION, f"{V} DEFAULT (CONCAT('[', 'x'))"),
    (UTF16_SESSION, "INT AS (n + LENGTH('ab')) STORED"),
    (UTF16_SESSION, "INT AS (LENGTH(CAST(n AS CHAR))) STORED"),
    (UTF16_SESSION, f"{V} DEFAULT _latin1'a' 'b'"),
    ("SET NAMES binary", f"{V} AS (UPPER(CONCAT(s, 'x'))) STORED"),
    ("SET NAMES binary", f"{V} DEFAULT (UPPER('x'))"),
    (WITHOUT_ESCAPES, f"{V} DEFAULT (CONCAT('\\', 'b'))"),
]
"""Definitions for which gold has no value, and the server has one that the text alone does not show."""
NO_BACKSLASH_ESCAPES = 1 << 20


def test_gold_makes_of_each_text_what_the_server_makes(server, spark):
    server.execute("CREATE DATABASE IF NOT EXISTS texts CHARACTER SET utf8mb4")
    none = NONE + (MARIADB_VALUES if server.flavor == "mysql" else [])
    answers, made = {}, {}
    with server.connect(database="texts") as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        for case in (*VALUES, *MARIADB_VALUES, *NONE):
            answers[case], charset = made_by_server(cursor, *case)
            made[case] = made_by_gold(*case, charset, server.flavor)
    known = {case: sql for case, sql in made.items() if sql}
    shown = ", ".join(f"hex(CAST({sql} AS string))" for sql in known.values())
    found = dict(zip(known, spark.sql(f"SELECT array({shown}) FROM ({ROW})").first()[0], strict=True))
    assert {case: value for case, value in found.items() if value != answers[case]} == {}
    assert {case for case in made if case not in known} == set(none)


CONVERSIONS = {
    ("a", "utf8mb4"): ("latin1", "swe7", "utf8mb3", "utf16", "sjis", "cp850", "binary"),
    ("é[", "utf8mb4"): ("latin1", "utf8mb3", "utf8mb4", "cp850"),
    ("☃", "utf8mb3"): ("utf8mb4", "ascii"),
    ("\U0001f600", "utf8mb4"): ("utf8mb3",),
    ("é", "latin1"): ("utf8mb4", "latin1", "cp850"),
}
"""A label and its character set: others to which the table is converted."""
OTHER_LABELS = [
    *(("a", "utf8mb4", charset) for charset in ("swe7", "utf16")),
    *(("é[", "utf8mb4", charset) for charset in ("latin1", "cp850")),
    ("☃", "utf8mb3", "ascii"), ("\U0001f600", "utf8mb4", "utf8mb3"),
    *(("é", "latin1", charset) for charset in ("utf8mb4", "cp850")),
]  # fmt: skip
"""Those that are refused: the servers keep the labels' bytes, which mean other characters."""


def test_labels_in_another_character_set_are_those_of_the_server(server):
    server.execute("CREATE DATABASE IF NOT EXISTS texts CHARACTER SET utf8mb4")
    expected, found = {}, {}
    with server.connect(database="texts") as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        for (label, old), charsets in CONVERSIONS.items():
            for new in charsets:
                statements = (
                    f"CREATE TABLE t (e ENUM('{label}') CHARSET {old})",
                    f"ALTER TABLE t CONVERT TO CHARSET {new}",
                )
                for sql in ("DROP TABLE IF EXISTS t", *statements):
                    cursor.execute(sql)
                found[label, old, new] = labels(server.flavor, *statements)
                if found[label, old, new]:
                    cursor.execute("SHOW CREATE TABLE t")
                    expected[label, old, new] = labels(server.flavor, cursor.fetchall()[0][1])
    assert {case: shown for case, shown in found.items() if shown} == expected
    assert [case for case, shown in found.items() if not shown] == OTHER_LABELS


def labels(flavor: str, *statements: str) -> tuple[str, ...] | None:
    """None: the table is refused."""
    found = definitions_after(*statements, database="d", flavor=flavor).get("d", "t")
    return found.columns[0].type.labels if isinstance(found, TableSchema) else None


def made_by_server(cursor, session: str, definition: str) -> tuple[str, str]:
    """The value, as hexadecimal digits in UTF-8, and character_set_connection."""
    for sql in ("DROP TABLE IF EXISTS t", TABLE, "INSERT INTO t VALUES (1, 'é', 7)", session):
        cursor.execute(sql)
    cursor.execute(f"ALTER TABLE t ADD g {definition}")
    cursor.execute("SET @charset = @@character_set_connection")
    cursor.execute("SET NAMES utf8mb4, sql_mode = ''")
    cursor.execute("SELECT CAST(@charset AS CHAR)")
    [(charset,)] = cursor.fetchall()
    shown = "g" if "BINARY(" in definition else "CONVERT(CAST(g AS CHAR) USING utf8mb4)"
    cursor.execute(f"SELECT HEX({shown}) FROM t")
    [(found,)] = cursor.fetchall()
    return found, charset


def made_by_gold(session: str, definition: str, charset: str, flavor: str) -> str | None:
    context = {"database": "d", "flavor": flavor}
    definitions = definitions_after(TABLE.replace("TEMPORARY ", ""), **context)
    [change] = interpret(
        f"ALTER TABLE t ADD g {definition}", definitions=definitions, connection_charset=charset,
        sql_mode=NO_BACKSLASH_ESCAPES if session == WITHOUT_ESCAPES else 0, **context,
    )  # fmt: skip
    if change.action == "refuse":
        return None
    column, added = change.schema.columns[-1], next(step for step in change.steps if isinstance(step, Add))
    try:
        if column.generated is not None:
            return computed_column(column, change.schema, flavor=flavor).sql
        if added.needs_empty:
            return None
        sql = value_of(added.value, column, ServerMode(flavor, is_strict=False))
        return f"regexp_replace({sql}, '[.]0$', '')" if column.type.name == "double" else sql
    except NotDerivable:
        return None
