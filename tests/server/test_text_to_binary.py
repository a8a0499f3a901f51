"""What ALTER TABLE makes of text that becomes binary, and of bytes that become text: gold against real servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pytest

from mirrorlake.core.schema.row_steps import Keep, ServerMode
from mirrorlake.core.sql_text import bytes_literal, literal
from mirrorlake.lake.gold.convert.by_type import conversion
from tests.support.interpreting import definitions_after, interpret

STRICT, PADDED = "STRICT_ALL_TABLES", "STRICT_ALL_TABLES,PAD_CHAR_TO_FULL_LENGTH"
_MODES = {"": 0, STRICT: 1 << 22, PADDED: 1 << 22 | 1 << 31}
TEXTS = {  # four characters, not all of them in ASCII
    "latin1": "a €ÿ", "ascii": "a bc", "utf8mb4": "a €😀", "utf8mb3": "a €é", "ucs2": "a €é", "utf16": "a €😀",
    "utf16le": "a €😀", "utf32": "a €😀", "cp1251": "a €Я", "latin2": "a Łő", "koi8r": "a ─Я", "cp850": "a é═",
    "greek": "a ΑΩ", "swe7": "a Åö",
}  # fmt: skip
CHARACTERS = ("CHAR(4)", "VARCHAR(4)", "TEXT")
BINARIES = ("BINARY(4)", "BINARY(6)", "BINARY(16)", "VARBINARY(16)", "BLOB")


@dataclass(frozen=True)
class Case:
    """A column of type ``before`` with these values, and what an ALTER TABLE says of it."""

    mode: str
    charset: str
    before: str
    clause: str
    values: tuple


def cases(is_long: bool) -> Iterator[Case]:
    """In the short form not each with each."""
    for n, (charset, before, after) in enumerate(product(TEXTS, CHARACTERS, BINARIES)):
        if is_long or n % 3 == 0 or charset == "latin1":
            values = ("", "a") if after in BINARIES[:2] else ("", "a", "a b", TEXTS[charset])
            yield Case(("", STRICT)[n % 2], charset, before, f"MODIFY c {after}", (*values, None))
    for charset, before in product(TEXTS if is_long else ("latin1", "koi8r", "utf8mb3", "ucs2"), CHARACTERS):
        if charset != "utf32":  # one character fits
            yield Case(STRICT, charset, before, "CONVERT TO CHARACTER SET binary", ("", "a", None))
    for before, after in product(CHARACTERS, (*BINARIES, "VARCHAR(4)", "TEXT")):
        yield Case(PADDED, "latin1", before, f"MODIFY c {after}", ("", "a", "a b", None))
    yield Case(PADDED, "ucs2", "CHAR(4)", "MODIFY c VARBINARY(16)", ("", "a", "a b", None))
    of_bytes = product(("latin1", "cp1251", "koi8r", "utf8mb4"), ("BINARY(4)", "VARBINARY(4)", "BLOB"), CHARACTERS)
    for n, (charset, before, after) in enumerate(of_bytes):
        if is_long or n % 2 == 0:
            values = (b"", b"a", b"a  ", b"a\0", b"a bc", b"\xc3\xa9 ", None)
            more = () if charset == "utf8mb4" else (b"\x80\x9f\xe1\xff",)
            yield Case(STRICT, charset, before, f"MODIFY c {after} CHARACTER SET {charset}", (*values, *more))


@pytest.mark.flavor("mysql")
def test_gold_makes_of_each_value_what_the_server_makes(server, spark, is_long):
    server.execute("CREATE DATABASE IF NOT EXISTS text_to_binary")
    asked, answers = [], []
    with server.connect(database="text_to_binary") as connection, connection.cursor() as cursor:
        for case in cases(is_long):
            asked.append(case)
            answers.append(made_by_server(cursor, case))
    made = made_by_gold(spark, server.flavor, asked)
    differ = [each for each in zip(asked, answers, made, strict=True) if each[1] != each[2]]
    assert differ == []


def made_by_server(cursor, case: Case) -> list[str | None]:
    cursor.execute(f"SET SESSION sql_mode = '{case.mode}'")
    cursor.execute("DROP TABLE IF EXISTS t")
    cursor.execute(creation(case))
    cursor.executemany("INSERT INTO t VALUES (%s, %s)", list(enumerate(case.values)))
    cursor.execute(f"ALTER TABLE t {case.clause}")
    shown = "HEX(CONVERT(c USING utf8mb4))" if isinstance(case.values[0], bytes) else "HEX(c)"
    cursor.execute("SET SESSION sql_mode = ''")  # as verify reads it
    cursor.execute(f"SELECT {shown} FROM t ORDER BY id")
    return [row[0] for row in cursor.fetchall()]


def creation(case: Case) -> str:
    charset = "latin1" if isinstance(case.values[0], bytes) else case.charset
    return f"CREATE TABLE t (id INT PRIMARY KEY, c {case.before}) CHARACTER SET {charset}"


def made_by_gold(spark, flavor: str, asked: list[Case]) -> list[list[str | None]]:
    """In one query."""
    columns = []
    for case in asked:
        context = {"database": "d", "sql_mode": _MODES[case.mode], "flavor": flavor, "server_charset": "latin1"}
        definitions = definitions_after(creation(case), **context)
        (change,) = interpret(f"ALTER TABLE t {case.clause}", definitions=definitions, **context)
        mode = next(step for step in change.steps if isinstance(step, ServerMode))
        kept = next(step for step in change.steps if isinstance(step, Keep) and step.name == "c")
        for value in case.values:
            found = conversion(in_mirror(value, case.before), kept.old, change.schema.columns[1], mode)
            failed = f"IF({found.fails}, 'fails', NULL)" if found.fails else "NULL"
            columns.append(f"coalesce({failed}, hex({found.sql}))")
    row = spark.sql(f"SELECT array({', '.join(columns)})").first()[0]
    ends = iter(row)
    return [[next(ends) for _ in case.values] for case in asked]


def in_mirror(value: str | bytes | None, before: str) -> str:
    """As a mirror holds it: CHAR without its blanks, BINARY with its zeros."""
    if value is None:
        return f"CAST(NULL AS {'string' if before in CHARACTERS else 'binary'})"
    if isinstance(value, bytes):
        return bytes_literal(value.ljust(4, b"\0") if before.startswith("BINARY") else value)
    return literal(value)
