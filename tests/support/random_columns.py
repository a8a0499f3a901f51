"""Random column definitions as DDL spells them, what columns may be converted to, and literals for their values."""

from __future__ import annotations

from random import Random

_ENUMS = ("ENUM('small','big')", "ENUM('big','small','huge')", "ENUM('','small','big','größe')", "ENUM('x','y')")
_SETS = ("SET('a','b','c')", "SET('c','b','a')", "SET('a','b','c','d','e')", "SET('x','a')")
TYPES: dict[str, tuple[str, ...]] = {
    "integer": (
        "TINYINT", "TINYINT UNSIGNED", "SMALLINT", "SMALLINT UNSIGNED", "MEDIUMINT", "MEDIUMINT UNSIGNED", "INT",
        "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED",
    ),
    "decimal": ("DECIMAL(5,2)", "DECIMAL(10,2)", "DECIMAL(20,6)", "DECIMAL(10,0)", "DECIMAL(12,2) UNSIGNED"),
    "float": ("FLOAT", "DOUBLE"),
    "bit": ("BIT(1)", "BIT(8)", "BIT(33)"),
    "year": ("YEAR",),
    "date": ("DATE",),
    "datetime": ("DATETIME", "DATETIME(3)", "DATETIME(6)"),
    "timestamp": ("TIMESTAMP", "TIMESTAMP(2)", "TIMESTAMP(6)"),
    "time": ("TIME", "TIME(1)", "TIME(6)"),
    "text": (
        "CHAR(4)", "CHAR(12)", "VARCHAR(5)", "VARCHAR(30)", "VARCHAR(300)", "TINYTEXT", "TEXT", "MEDIUMTEXT",
        "VARCHAR(20) CHARACTER SET latin1", "CHAR(9) CHARACTER SET latin1", "TEXT CHARACTER SET latin1",
        "VARCHAR(12) CHARACTER SET ascii", "VARCHAR(15) CHARACTER SET utf16", "VARCHAR(15) CHARACTER SET utf8mb3",
    ),
    "enum": _ENUMS,
    "set": _SETS,
    "binary": ("BINARY(4)", "BINARY(9)", "VARBINARY(6)", "VARBINARY(30)", "TINYBLOB", "BLOB"),
    "json": ("JSON",),
}  # fmt: skip
"""Family -> types."""

_OFTEN = ("integer", "integer", "text", "text", "decimal", "datetime", "enum", "set")
_ELSEWHERE = {
    "integer": ("decimal", "float", "text", "bit"),
    "decimal": ("integer", "float", "text"),
    "float": ("integer",),
    "bit": ("integer", "decimal"),
    "year": ("integer", "text"),
    "date": ("datetime", "timestamp", "text"),
    "datetime": ("date", "timestamp", "text"),
    "timestamp": ("date", "datetime"),
    "time": ("text",),
    "text": ("binary", "integer", "decimal", "enum"),
    "enum": ("text", "integer"),
    "set": ("text",),
    "binary": ("text",),
    "json": ("text",),
}
_VALUES: dict[str, tuple[str, ...]] = {
    "integer": ("0", "1", "-1", "7", "42", "127", "-128", "255", "1000", "40000", "3000000000", "-77777"),
    "decimal": ("0", "1.5", "-2.25", "0.005", "99.995", "123.45", "-0.01", "12345.678", "7"),
    "float": ("0", "1.5", "-2.5", "0.1", "3.5e4", "-7", "1e10", "123.456"),
    "bit": ("0", "1", "5", "200", "100000"),
    "year": ("0", "1999", "2024", "2155"),
    "date": ("'2024-02-29'", "'1999-12-31'", "'2000-01-01'", "'2037-06-15'"),
    "datetime": (
        "'2024-02-29 23:59:59.999999'",
        "'1999-12-31 12:00:00'",
        "'2020-06-15 00:00:00'",
        "'2021-03-28 02:30:00.5'",
    ),
    "timestamp": ("'2024-02-29 23:59:59.999999'", "'1999-12-31 12:00:00'", "'2020-06-15 00:00:00.25'"),
    "time": ("'12:34:56.789'", "'-01:00:00'", "'838:59:59'", "'00:00:00'", "'23:59:59.96'"),
    "text": (
        "''",
        "'a'",
        "'ab  '",
        "'small'",
        "'12'",
        "'-3.75'",
        "'größe'",
        "'Ünïcødé'",
        "'a,b'",
        "'x\\\\y''z'",
        "'longer than most'",
        "REPEAT('q', 200)",
    ),
    "enum": ("1", "2", "'small'", "'big'"),
    "set": ("'a'", "'a,c'", "''", "'x,a'", "3"),
    "binary": ("''", "'abc'", "X'00FF10'", "X'61620000'", "'a '"),
    "json": ("'{\"a\": 1}'", "'[1, \"é\", null]'", "'12'", "'\"t\"'"),
}
_DEFAULTS = {
    "integer": ("0", "5", "'7'", "-3"), "decimal": ("0", "1.25", "'3.456'", "-2"), "float": ("0", "1.5", "'2.25'"),
    "bit": ("b'1'", "0", "1"), "year": ("2001", "'1999'"), "date": ("'2020-02-29'",),
    "datetime": ("'2020-02-29 01:02:03'", "CURRENT_TIMESTAMP", "'2020-01-01'"),
    "timestamp": ("'2020-02-29 01:02:03'", "CURRENT_TIMESTAMP"), "time": ("'01:02:03'", "'-10:00:00'"),
    "text": ("''", "'dflt'", "'d '", "12", "'é'"), "enum": ("'small'", "'x'"), "set": ("'a'", "'a,b'", "''"),
    "binary": ("'ab'", "''", "X'00'"),
}  # fmt: skip
_KINDS = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint"), "integer"),
    **dict.fromkeys(("float", "double"), "float"),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext"), "text"),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), "binary"),
}


def family(kind: str) -> str:
    """kind: a bare type of information_schema."""
    return _KINDS.get(kind, kind)


def random_type(random: Random) -> str:
    return random.choice(TYPES[random.choice((*_OFTEN, *TYPES))])


def another_type(random: Random, kind: str) -> str:
    """Mostly of the same family, at times one that values may be converted to, seldom any."""
    dice, group = random.random(), family(kind)
    if dice < 0.75:
        return random.choice(TYPES[group])
    return random.choice(TYPES[random.choice(_ELSEWHERE[group])]) if dice < 0.98 else random_type(random)


def family_of_type(type_sql: str) -> str:
    return next(group for group, types in TYPES.items() if type_sql in types)


def random_attributes(random: Random, type_sql: str) -> str:
    """NULL, NOT NULL, DEFAULT and ON UPDATE, as far as they fit."""
    text, group = random.choice(("", " NULL", " NOT NULL", " NOT NULL")), family_of_type(type_sql)
    is_blob = any(word in type_sql for word in ("TEXT", "BLOB"))
    if random.random() < 0.6 and group in _DEFAULTS and not is_blob:
        default = random.choice(_DEFAULTS[group])
        digits = type_sql[type_sql.index("(") :] if "(" in type_sql else ""
        if default == "CURRENT_TIMESTAMP":
            default += digits
            text += random.choice(("", f" ON UPDATE {default}"))
        text += f" DEFAULT {default}"
    elif group == "timestamp":  # outside strict mode NOT NULL without a default has its own rules
        text = " NULL"
    return text


def random_column(random: Random) -> str:
    """Type and attributes."""
    type_sql = random_type(random)
    return type_sql + random_attributes(random, type_sql)


def random_value(random: Random, kind: str, nullable: bool) -> str:
    """A literal; it may be too large or too long for a narrow column."""
    return "NULL" if nullable and random.random() < 0.15 else random.choice(_VALUES[family(kind)])
