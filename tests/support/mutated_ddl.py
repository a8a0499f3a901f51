"""Statements of tests, changed at random: of the cases, of the definitions' tests, and of the servers' own test files
where these were fetched."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
SERVER_TESTS = ROOT / ".cache/server-tests"
_TOKEN = re.compile(r"\s+|[A-Za-z_0-9$]+|'(?:[^'\\]|\\.|'')*'|`[^`]*`|.", re.DOTALL)
_ODD = (
    "(", ")", "'", "`", '"', "/*", "*/", "/*!50000", "/*!99999", "--", "#", ";", ",", ".", "=", "@", "\\", "\0", "ſ",
    "٣", "\ud7ff", "\U0001f600", "0x", "b'", "''", "0" * 5000 + "7", "9" * 30, "1e5", "18446744073709551616", "-1", "0",
    "NULL", "DEFAULT", "LIKE", "SELECT", "CASE", "END", "IF EXISTS", "PARTITION BY", "RENAME TO", "TABLE", "d.t", "`t`",
)  # fmt: skip
_MOST_LEVELS = 3000
_ROWS = re.compile(r"(insert|replace|update|delete|set)\b", re.IGNORECASE)
_TABLE = re.compile(r"(?<=\btable )(?:if (?:not )?exists )?[`\w.]+", re.IGNORECASE)
KNOWN_TABLES = ("t", "t1", "t2", "p")


@cache
def statements() -> tuple[str, ...]:
    """In a fixed order, without those that bring rows."""
    return tuple(dict.fromkeys(sql for sql in _statements_of_cases() if not _ROWS.match(sql)))


def _statements_of_cases() -> list[str]:
    cases = sorted(ROOT.glob("tests/cases/*/source.sql"))
    tables = sorted(ROOT.glob("tests/server/definitions/*.sql"))
    found = [sql for path in (*cases, *tables) for sql in re.split(r";\s*\n", path.read_text())]
    for path in sorted(ROOT.glob("tests/server/definitions/columns*.txt")):
        found += [f"create table @t (id int primary key, c {line}, z int)" for line in path.read_text().splitlines()]
    found = [re.sub(r"^(\s*--[^\n]*\n)+", "", sql).strip().replace("@t", "t") for sql in found]
    return [sql for sql in found if sql]


def server_statements() -> list[str]:
    """Of the servers' own tests as ``bench.server_tests`` keeps them; none where they were not fetched."""
    from bench.server_tests import ddl_statements

    return [sql for path in sorted(SERVER_TESTS.rglob("*.test")) for sql in ddl_statements(path)]


def mutated(random: Random, pool: tuple[str, ...]) -> str:
    """Up to four changes of a statement, mostly about a table that is known: of its words, or of its characters."""
    sql = random.choice(pool)
    if random.random() < 0.8:
        sql = _TABLE.sub(random.choice(KNOWN_TABLES), sql, count=1)
    for _ in range(random.choice((0, 1, 1, 1, 2, 4))):
        sql = random.choice(_CHANGES)(random, sql, pool)
    return sql


def _cut(random: Random, sql: str) -> list[str]:
    return _TOKEN.findall(sql)


def _without(random: Random, sql: str, pool: tuple[str, ...]) -> str:
    tokens = _cut(random, sql)
    at = random.randrange(len(tokens) + 1)
    return "".join(tokens[:at] + tokens[at + random.randint(1, 4) :])


def _odd(random: Random, sql: str, pool: tuple[str, ...]) -> str:
    tokens = _cut(random, sql)
    at = random.randrange(len(tokens) + 1)
    return "".join([*tokens[:at], random.choice(_ODD), *tokens[at + random.randint(0, 1) :]])


def _word_of_another(random: Random, sql: str, pool: tuple[str, ...]) -> str:
    tokens, others = _cut(random, sql), _cut(random, random.choice(pool))
    at, other = random.randrange(len(tokens) + 1), random.randrange(len(others) + 1)
    length = random.choice((1, 1, 3, 12))
    return "".join([*tokens[:at], " ", *others[other : other + length], " ", *tokens[at + random.randint(0, 1) :]])


def _repeated(random: Random, sql: str, pool: tuple[str, ...]) -> str:
    tokens = _cut(random, sql)
    at, length = random.randrange(len(tokens) + 1), random.randint(1, 8)
    return "".join(tokens[:at] + tokens[at : at + length] * random.choice((2, 2, 3, 50)) + tokens[at + length :])


def _nested(random: Random, sql: str, pool: tuple[str, ...]) -> str:
    tokens, levels = _cut(random, sql), random.choice((1, 2, 9, _MOST_LEVELS))
    at = random.randrange(len(tokens) + 1)
    opening, closing = random.choice((("(", ")"), ("-(", ")"), ("case ", " end"), ("/*!50000 ", " */"), ("((", ")")))
    return "".join([*tokens[:at], opening * levels, *tokens[at : at + 1], closing * levels, *tokens[at + 1 :]])


def _noise(random: Random, sql: str, pool: tuple[str, ...]) -> str:
    at = random.randrange(len(sql) + 1)
    return (
        sql[:at]
        + chr(random.choice((random.randrange(128), random.randrange(0xD800))))
        + sql[at + random.randint(0, 2) :]
    )


def _shorter(random: Random, sql: str, pool: tuple[str, ...]) -> str:
    return sql[: random.randrange(len(sql) + 1)]


_CHANGES = (_without, _odd, _word_of_another, _word_of_another, _repeated, _nested, _noise, _shorter)
