"""Random tables, rows, and an ALTER of several clauses, chosen from tables of SQL. Servers refuse some of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

from mirrorlake.core.schema.tables import Column
from tests.support.conversions import TABLE, Conversion
from tests.support.random_sql import TYPES_OF
from tests.support.random_tables import COLUMN_TYPES, column_sql

_NOT_CONVERTED = ("geometry", "vector")  # only their refusals would be looked at
_TYPES = (
    "INT ZEROFILL", "BIGINT UNSIGNED", "DECIMAL(5,2) ZEROFILL", "DECIMAL(65,30) UNSIGNED", "FLOAT(7,3)", "FLOAT(30)",
    "DOUBLE UNSIGNED", "DOUBLE(20,5)", "REAL", "BOOLEAN", "BIT(33)", "JSON", "NATIONAL VARCHAR(9)", "CHAR(2)",
    "CHAR(0)", "VARCHAR(0)", "VARCHAR(3) CHARACTER SET binary", "TEXT CHARACTER SET binary",
    "CHAR(5) CHARACTER SET cp1251",
    "CHAR(5) CHARACTER SET sjis", "CHAR(5) CHARACTER SET gbk", "CHAR(5) CHARACTER SET ucs2", "TEXT CHARACTER SET ucs2",
    "TINYTEXT CHARACTER SET utf8mb3", "VARCHAR(9) CHARACTER SET cp1251", "TEXT CHARACTER SET cp850",
    "VARCHAR(30) COLLATE utf8mb4_bin", "VARCHAR(30) CHARACTER SET latin1 COLLATE latin1_bin",
    "TEXT COLLATE utf8mb4_bin", "ENUM('a','A','é','e','b')",
    "ENUM('a','A','é','e','b') COLLATE utf8mb4_bin", "ENUM('b','a')", "ENUM('A','B','E')",
    "ENUM('','a','1','2')", "ENUM('2','1','0')", "ENUM('a ','b ')", "ENUM('small','SMALLER') CHARACTER SET latin1",
    "ENUM('Größe','日本','x') CHARACTER SET ucs2", "ENUM('Ж','x') CHARACTER SET cp1251",
    "ENUM('a','b') CHARACTER SET binary",
    "SET('a','A','b')", "SET('a','A','b') COLLATE utf8mb4_bin", "SET('b','a')", "SET('x','y') CHARACTER SET latin1",
    "SET('','x','1','2')", "SET('é','e') COLLATE utf8mb4_bin", "SET('Größe','small') CHARACTER SET utf8mb3",
)  # fmt: skip
"""Besides every mirrored type."""
_VALUES = (
    "NULL", "0", "1", "2", "3", "-1", "2.5", "-0.05", "99.995", "127", "128", "255", "300", "-32769", "40000", "2024",
    "9007199254740993", "18446744073709551615", "1e10", "1.5e-3", "'a'", "'A'", "'a bc'", "'x,y'", "'small'", "'1'",
    "'  12 '", "'12 '", "'-3.75'", "'1e3'", "''", "' '", "'é'", "'Größe'", "'☃'", "'😀b'", "'日本'", "'Ж'", "'a\\\\b'",
    "REPEAT('q', 300)", "REPEAT('é', 200)", "X'0041'", "X'4100'", "'2024-02-29'", "'9999-12-31'", "'a,b'", "'b '",
    "'2024-02-29 23:59:59.999999'", "'9999-12-31 23:59:59.5'", "'1970-01-01 00:00:01'", "'2038-01-19 03:14:07.75'",
    "'12:34:56.789'", "'-01:00:00.5'", "'838:59:59'", "'2023-02-30'", "'0000-00-00'", "'2023-00-10 01:02:03'",
    "CONCAT(_latin1 X'A0', '12')", "X'6101'", "1e300", "-1e39", "'0000-00-00 00:00:00'",
    "'{\"b\": 1, \"a\": [1.5, \"é\", null]}'", "'\"t\"'", "REPEAT('9', 38)", "REPEAT('9', 65)", "1234567890123.456789",
)  # fmt: skip
"""Values that many types take, as they are or changed. Bytes that are no text would be shown as a question mark."""
_DEFAULTS = (
    *_VALUES, "CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP(3)", "CURRENT_TIMESTAMP(6)", "(CURRENT_TIMESTAMP)", "NULL",
    "(CURRENT_DATE)", "(1 + 2)", "(-5)", "(3 * 100)", "(CONCAT('a', 'b'))", "(UPPER('x'))", "('ab')", "(300)", "(2.5)",
    "('{}')", "('2020-01-01')", "(NULL)", "b'101'", "X'41'", "TRUE", "DATE'2024-01-02'", "TIME'01:02:03'",
    "TIMESTAMP'2024-01-02 03:04:05'", "_latin1'e'", "N'é'", "'b'", "'x'", "20240102", "240102030405", "'12:5'", "'1:2'",
    "70", "'69'", "0.0", "-0.0", "'-0'", "1.005", "1e-3", "5e2", "'0x41'", "0x41", "' 7'", "'7 '", "'7x'", "-1.5",
    "('a ')", "(LOWER('Ä'))", "(1.5 + 1)", "(2 * '3')",
)  # fmt: skip
_EXPRESSIONS = (
    "{old}", "{old} + 1", "{old} * 2", "- {old}", "{old} DIV 2", "{old} % 3", "{old} / 3", "{old} IS NULL",
    "COALESCE({old}, 5)", "IFNULL({old}, 'x')", "CONCAT({old}, 'x')", "CONCAT({old}, {other})", "UPPER({old})",
    "LEFT({old}, 2)", "SUBSTRING({old}, 2)", "CHAR_LENGTH({old})", "LENGTH({old})", "ROUND({old}, 1)", "ABS({old})",
    "IF({old} > 1, {old}, 0)", "{old} = {other}", "{old} + {other}", "NULLIF({old}, 1)", "GREATEST({old}, 1)",
    "CAST({old} AS CHAR)", "CAST({old} AS SIGNED)", "CAST({old} AS DECIMAL(10,2))", "DATE({old})", "YEAR({old})",
    "TRIM({old})", "HEX({old})", "1", "'a'", "{old} IN (1, 2)", "{old} BETWEEN 1 AND 3", "FLOOR({old})", "id + 1",
    "CASE WHEN {old} > 1 THEN 'big' ELSE 'small' END", "REPLACE({old}, 'a', 'b')", "NOT {old}",
)  # fmt: skip
_ATTRIBUTES = (
    *("",) * 4, *(" NOT NULL",) * 4, *(" DEFAULT {default}",) * 3, *(" NOT NULL DEFAULT {default}",) * 3,
    *(" AS ({expression}) STORED",) * 2, " AS ({expression}) VIRTUAL",
)  # fmt: skip
_ATTRIBUTES_BEFORE = ("", "", "", " NOT NULL", "{attributes}")
_CLAUSES = (
    *("MODIFY {old} {alike}{attributes}{place}",) * 7, *("MODIFY {old} {type}{attributes}{place}",) * 4,
    *("CHANGE {old} {new} {alike}{attributes}{place}",) * 2, *("ADD COLUMN {new} {type}{attributes}{place}",) * 7,
    *("DROP COLUMN {old}",) * 2, *("RENAME COLUMN {old} TO {new}",) * 2, "MODIFY id BIGINT{place}",
    "RENAME COLUMN {old} TO {other}, RENAME COLUMN {other} TO {old}", "CHANGE {old} {other} {type}, DROP {other}",
    "DROP COLUMN {old}, ADD COLUMN {old} {type}{attributes}", "MODIFY {old} {was}{attributes}{place}",
    *("MODIFY {old} {alike}{kept}{place}",) * 2,
    "CHANGE {old} {other} {was}, CHANGE {other} {old} {alike}", "ALTER {old} SET DEFAULT {default}",
    "ALTER {old} DROP DEFAULT", *("CONVERT TO CHARACTER SET {charset}",) * 3, "CHARACTER SET {charset}",
    "DROP PRIMARY KEY", "DROP PRIMARY KEY, ADD PRIMARY KEY ({old})", "ADD KEY k ({old})",
    "ADD UNIQUE KEY u ({old}, id)",
    "DROP PRIMARY KEY, ADD COLUMN {new} INT AUTO_INCREMENT PRIMARY KEY{place}", "MODIFY id INT AUTO_INCREMENT",
    "ADD COLUMN {new} INT AUTO_INCREMENT UNIQUE", "ORDER BY {old}", "ALGORITHM=COPY", "FORCE", "ENGINE=MyISAM",
)  # fmt: skip
_CHARSETS = (
    "latin1", "utf8mb3", "ucs2", "cp1251", "sjis", "gbk", "binary", "utf16", "ascii", "utf8mb4",
    "utf8mb4 COLLATE utf8mb4_bin", "latin1 COLLATE latin1_bin",
)  # fmt: skip
_BITS = {"IGNORE_SPACE": 3, "NO_BACKSLASH_ESCAPES": 20, "STRICT_TRANS_TABLES": 21, "STRICT_ALL_TABLES": 22,
         "NO_ZERO_IN_DATE": 23, "NO_ZERO_DATE": 24, "ALLOW_INVALID_DATES": 25, "PAD_CHAR_TO_FULL_LENGTH": 31,
         "TIME_TRUNCATE_FRACTIONAL, EMPTY_STRING_IS_NULL": 32}  # fmt: skip
_BITS_OF_MARIADB = {"TIME_ROUND_FRACTIONAL": 34}
_ANSI = 1 << 18 | 0b1111
_TIME_ZONES = ("+00:00", "+05:30", "-08:00")
_BRACES = re.compile(r"\{(\w+)\}")
_NAMES, _NEW_NAMES = ("`c`", "`größe`", "`a b`", "`Order`"), ("`n`", "`C2`", "`née`")


def random_conversion(random: Random, flavor: str) -> Conversion:
    mirrored = (kind for kind in COLUMN_TYPES + TYPES_OF[flavor] if kind.name not in _NOT_CONVERTED)
    types = [*_TYPES, *(column_sql(Column("", kind)).removeprefix("`` ").removesuffix(" NULL") for kind in mirrored)]
    columns = {name: random.choice(types) for name in random.sample(_NAMES, random.choice((1, 2, 2, 3)))}
    attributes = {
        name: _filled(random, random.choice(_ATTRIBUTES_BEFORE), _parts(random, columns, {}, types)) for name in columns
    }
    lines = [f"{name} {columns[name]}{attributes[name]}" for name in columns]
    filled = ["id", *(name for name in columns if " AS (" not in attributes[name])]
    clauses = [
        _filled(random, random.choice(_CLAUSES), _parts(random, columns, attributes, types))
        for _ in range(random.choice((1, 1, 2, 3)))
    ]
    return Conversion(
        f"CREATE TABLE {TABLE} (id INT PRIMARY KEY, {', '.join(lines)})",
        tuple(
            f"INSERT IGNORE INTO {TABLE} ({', '.join(filled)})"
            f" VALUES ({', '.join([str(n), *random.choices(_VALUES, k=len(filled) - 1)])})"
            for n in range(random.choice((3, 8)))
        ),
        f"ALTER TABLE {TABLE} {', '.join(clauses)}",
        _sql_mode(random, flavor),
        random.choice(_TIME_ZONES),
        as_text=random.random() < 0.3,
    )


def _parts(
    random: Random, columns: Mapping[str, str], attributes: Mapping[str, str], types: Sequence[str]
) -> dict[str, Sequence[str]]:
    """What may be put into the braces of a template: always the same columns, and anything for the others."""
    old, other = random.sample(["id", *columns] if len(columns) == 1 else [*columns], 2)
    was = columns.get(old, "INT")
    return {
        "old": (old,), "other": (other,), "was": (was,), "kept": (attributes.get(old, ""),),
        "new": _NEW_NAMES, "type": types,
        "alike": [kind for kind in types if _name(kind) == _name(was)], "attributes": _ATTRIBUTES,
        "default": _DEFAULTS, "expression": _EXPRESSIONS, "charset": _CHARSETS,
        "place": ("", "", " FIRST", f" AFTER {other}"),
    }  # fmt: skip


def _filled(random: Random, template: str, parts: Mapping[str, Sequence[str]]) -> str:
    while _BRACES.search(template):
        template = _BRACES.sub(lambda found: random.choice(parts[found[1]]), template)
    return template


def _name(type_sql: str) -> str:
    return re.split(r"\W", type_sql.lower(), maxsplit=1)[0]


def _sql_mode(random: Random, flavor: str) -> int:
    bits = [*_BITS.values(), *(_BITS_OF_MARIADB.values() if flavor == "mariadb" else ())]
    mode = sum(1 << bit for bit in random.sample(bits, random.choice((0, 0, 1, 1, 2, 3))))
    return mode | _ANSI if random.random() < 0.1 else mode
