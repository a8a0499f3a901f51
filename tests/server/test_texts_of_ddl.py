"""What rows that exist get in a new column whose DEFAULT or expression has texts: gold against real servers.

Each definition is added to a table of one row, in a session of its own; gold makes the server's value, or none.
"""

from __future__ import annotations

from mirrorlake.core.ddl.effect.interpret import interpret
from mirrorlake.core.schema.history import Definitions
from mirrorlake.core.schema.row_steps import Add, ServerMode
from mirrorlake.lake.gold.convert.column_values import value_of
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.generated.expressions import computed_column

TABLE = "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(9), n INT) CHARACTER SET utf8mb4"
ROW = "SELECT 1 AS id, 'é' AS s, 7 AS n"
V, U16, SWE7, LATIN1 = (f"VARCHAR(20) {each}" for each in ("", "CHARSET utf16", "CHARSET swe7", "CHARSET latin1"))
DEFAULTS = (
    """'a'"b" /* ' */ ''''""", """('a'"b")""", """(CONCAT('a'"b", 'c'))""", "_latin1'a' 'b'", "N'é'", "_utf16'ab'",
    "_swe7'[x]'", "_ucs2'ab'", "_utf32'a'", "_utf16le'ab'", "(_utf16'ab')", "_binary'ab'", "_utf8mb4'é'",
)  # fmt: skip
EXPRESSIONS = (
    """CONCAT('a'"b", s)""", """LENGTH('a'"b") + n""", "CONCAT(_latin1'a' 'b', s)", "CONCAT(_utf16'ab', s)",
    "CONCAT(_swe7'[x]', s)", "CHAR_LENGTH(_utf16'abcd') + n", """CASE WHEN n = 7 THEN 'x'"y" ELSE _ucs2'ab' END""",
    "UPPER(_binary'x')",
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
    "ENUM('[','Ä') CHARSET swe7 NOT NULL",
    "ENUM('\U0001f600') CHARSET utf8mb3 NOT NULL",
    "ENUM('é','b') CHARSET latin1 NOT NULL", "ENUM('ア') CHARSET sjis NOT NULL",
    "SET('b','Ä') CHARSET swe7 NOT NULL DEFAULT 'Ä'",
)  # fmt: skip
SESSIONS = {
    "SET character_set_connection = latin1": (
        f"{V} DEFAULT 'x☃y'", f"{V} DEFAULT 'é'", f"{V} AS (CONCAT('☃', s)) STORED", f"{V} AS (CONCAT('é', s)) STORED",
        "ENUM('☃','b') NOT NULL", "ENUM('é','b') NOT NULL", "INT AS (LENGTH('é')) STORED",
    ),
    "SET character_set_connection = swe7": (
        f"{V} DEFAULT 'x[y'", f"{V} DEFAULT 'xy'", f"{V} AS (CONCAT('[', s)) STORED", f"{V} DEFAULT (CONCAT('[', 'x'))",
    ),
    "SET character_set_connection = utf16": (
        f"{V} DEFAULT 'xé'", "INT AS (n + LENGTH('ab')) STORED", "INT AS (LENGTH(CAST(n AS CHAR))) STORED",
        f"{V} DEFAULT _latin1'a' 'b'", "ENUM('é') NOT NULL",
    ),
    "SET NAMES utf8mb3": (f"{V} AS (CONCAT('é', s)) STORED", f"{V} DEFAULT 'é'", "INT AS (LENGTH('é')) STORED"),
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES'": (
        f"{V} DEFAULT 'a\\'", f"{V} AS (CONCAT('a\\b', s)) STORED", f"{V} AS (CONCAT('\\n', s)) STORED",
        f"{V} DEFAULT (CONCAT('\\', 'b'))",
    ),
}  # fmt: skip
CASES = [
    *(("DO 0", f"{V} NOT NULL DEFAULT {text}") for text in DEFAULTS),
    *(("DO 0", f"{'INT' if 'LENGTH' in text else V} AS ({text}) STORED") for text in EXPRESSIONS),
    *(("DO 0", f"{kind} NOT NULL DEFAULT {text}") for kind, texts in BITS.items() for text in texts),
    *(("DO 0", definition) for definition in LABELS),
    *((session, definition) for session, definitions in SESSIONS.items() for definition in definitions),
]
NO_BACKSLASH_ESCAPES = 1 << 20


def test_gold_makes_of_each_text_what_the_server_makes(server, spark):
    server.execute("CREATE DATABASE IF NOT EXISTS texts CHARACTER SET utf8mb4")
    answers, made = {}, {}
    for case in CASES:
        answers[case], charset = made_by_server(server, *case)
        made[case] = made_by_gold(*case, charset, server.flavor)
    known = {case: sql for case, sql in made.items() if sql}
    shown = ", ".join(f"hex(CAST(({sql}) AS string))" for sql in known.values())
    found = dict(zip(known, spark.sql(f"SELECT array({shown}) FROM ({ROW})").first()[0], strict=True))
    assert {case: value for case, value in found.items() if value != answers[case]} == {}
    assert {definition for _, definition in CASES if not any(definition == d for _, d in known)} == {}


def made_by_server(server, session: str, definition: str) -> tuple[str, str]:
    """The value, as hexadecimal digits in UTF-8, and character_set_connection."""
    with server.connect(database="texts") as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = ''")
        cursor.execute("DROP TABLE IF EXISTS t")
        cursor.execute(TABLE)
        cursor.execute("INSERT INTO t VALUES (1, 'é', 7)")
        cursor.execute(session)
        cursor.execute(f"ALTER TABLE t ADD g {definition}")
        cursor.execute("SELECT @@character_set_connection")
        [(charset,)] = cursor.fetchall()
        cursor.execute("SET NAMES utf8mb4")
        is_binary = "BINARY(" in definition
        cursor.execute(
            "SELECT HEX(g) FROM t" if is_binary else "SELECT HEX(CONVERT(CAST(g AS CHAR) USING utf8mb4)) FROM t"
        )
        [(found,)] = cursor.fetchall()
        return found, charset


def made_by_gold(session: str, definition: str, charset: str, flavor: str) -> str | None:
    definitions, context = Definitions(), {"database": "d", "flavor": flavor, "default_charset": None}
    definitions.apply(interpret(TABLE, sql_mode=0, definitions=definitions, **context))
    [change] = interpret(
        f"ALTER TABLE t ADD g {definition}", definitions=definitions, connection_charset=charset,
        sql_mode=NO_BACKSLASH_ESCAPES if "BACKSLASH" in session else 0, **context,
    )  # fmt: skip
    if change.action == "refuse":
        return None
    column, added = change.schema.columns[-1], next(step for step in change.steps if isinstance(step, Add))
    try:
        if column.generated is not None:
            return computed_column(column, change.schema, flavor=flavor).sql
        return None if added.needs_empty else value_of(added.value, column, ServerMode(flavor, is_strict=False))
    except NotDerivable:
        return None
