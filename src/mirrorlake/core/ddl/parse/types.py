"""Read a column's type as DDL has it: names, synonyms, arguments, sign, character set.

The rules are the servers' own; tests/server/test_definitions.py compares them with the servers.
"""

from __future__ import annotations

from mirrorlake.core.ddl.parse.lexer import Kind, bytes_of_bits
from mirrorlake.core.ddl.parse.statements import TypeSpec
from mirrorlake.core.ddl.parse.tokens import ParseError, Tokens
from mirrorlake.core.schema.charsets import BINARY, canonical_charset

_REAL_AS_FLOAT, _MAXDB, _ORACLE = 1, 1 << 12, 1 << 9  # bits of sql_mode; the last two act on MariaDB only
_MOST_SIZES = 2  # DECIMAL(precision, scale)
_UTF8_IS_UTF8MB4 = 1 << 33  # INTERPRET_UTF8_AS_UTF8MB4 of MySQL 9.7
_SYNONYMS = {
    "bool": "tinyint", "boolean": "tinyint", "int1": "tinyint", "int2": "smallint", "int3": "mediumint",
    "middleint": "mediumint", "int4": "int", "integer": "int", "int8": "bigint", "serial": "bigint",
    "dec": "decimal", "numeric": "decimal", "fixed": "decimal", "float4": "float", "float8": "double",
    "character": "char", "varcharacter": "varchar",
    **dict.fromkeys(("point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon"), "geometry"),
    **dict.fromkeys(("geometrycollection", "geomcollection"), "geometry"),
}  # fmt: skip
_ORACLE_SYNONYMS = {"varchar2": "varchar", "raw": "varbinary", "clob": "longtext", "date": "datetime"}
_SCHEMA_MODES = {"oracle_schema": _ORACLE, "maxdb_schema": _MAXDB}
_NATIONAL = "utf8mb3"
_CHARSET_WORDS = {"ASCII": "latin1", "UNICODE": "ucs2", "BYTE": BINARY}
_LONG = {"varchar": "mediumtext", "char": "mediumtext", "character": "mediumtext", "varbinary": "mediumblob"}


def read_type(tokens: Tokens) -> TypeSpec:
    """Read a type with its arguments and the sign and character set words directly after it."""
    name, charset = _read_name(tokens)
    numbers, labels = _read_arguments(tokens)
    if name in ("enum", "set") and not labels:
        raise ParseError(f"{name} without labels")
    is_serial = name == "serial"
    unsigned, is_zerofill, is_binary = is_serial, False, False
    while word := tokens.accept_any("UNSIGNED", "SIGNED", "ZEROFILL"):
        unsigned |= word != "SIGNED"
        is_zerofill |= word == "ZEROFILL"
    while (found := read_charset_word(tokens) or read_charset(tokens)) or tokens.accept("BINARY"):
        charset, is_binary = found or charset, is_binary or not found
    return TypeSpec(
        _SYNONYMS.get(name, name), numbers, labels, tokens.session.connection_charset, unsigned, charset,
        is_binary=is_binary, is_serial=is_serial, is_zerofill=is_zerofill,
    )  # fmt: skip


def read_charset_word(tokens: Tokens) -> str | None:
    """Read ASCII, UNICODE or BYTE after a text type: the character set it means. None if something else comes."""
    word = tokens.accept_any(*_CHARSET_WORDS)
    return word and _CHARSET_WORDS[word]


def read_charset(tokens: Tokens) -> str | None:
    """Read ``CHARACTER SET name`` in all its synonyms. None if something else comes."""
    if not (tokens.accept("CHARACTER", "SET") or tokens.accept("CHARSET") or tokens.accept("CHAR", "SET")):
        return None
    tokens.accept("=")
    return canonical_charset(_charset_word(tokens))


def read_collation(tokens: Tokens) -> str | None:
    """Read the name after COLLATE. None if something else comes."""
    if not tokens.accept("COLLATE"):
        return None
    tokens.accept("=")
    return _charset_word(tokens)


def _charset_word(tokens: Tokens) -> str:
    name = tokens.string() if tokens.peek().kind is Kind.STRING else tokens.name()
    family, _, rest = name.partition("_")
    if family.lower() == "utf8" and tokens.server.flavor == "mysql" and tokens.session.sql_mode & _UTF8_IS_UTF8MB4:
        return f"utf8mb4_{rest}" if rest else "utf8mb4"
    return name


def _read_name(tokens: Tokens) -> tuple[str, str | None]:
    """Read (one lower-case word, character set that the name implies)."""
    name = tokens.name().lower()
    if tokens.accept("."):  # mariadb_schema.date: the type as another sql_mode understands it
        return _sql_mode_name(tokens, tokens.name().lower(), _SCHEMA_MODES.get(name, 0)), None
    if name == "double":
        tokens.accept("PRECISION")
    elif name == "long":
        word = tokens.accept_any("VARCHAR", "VARBINARY", "CHARACTER", "CHAR")
        tokens.accept("VARYING")
        return _LONG[(word or "varchar").lower()], None
    elif name in ("national", "nchar", "nvarchar"):
        return _read_national(tokens, name), _NATIONAL
    if name in ("char", "character") and tokens.accept("VARYING"):
        name = "varchar"
    if name == "real":
        name = "float" if tokens.session.sql_mode & _REAL_AS_FLOAT else "double"
    return _sql_mode_name(tokens, name, tokens.session.sql_mode), None


def _read_national(tokens: Tokens, name: str) -> str:
    if name == "national":
        name = tokens.accept_any("CHARACTER", "CHAR", "VARCHARACTER", "VARCHAR") or "char"
    is_varying = "VAR" in name.upper() or tokens.accept("VARYING") or tokens.accept_any("VARCHARACTER", "VARCHAR")
    return "varchar" if is_varying else "char"


def _sql_mode_name(tokens: Tokens, name: str, sql_mode: int) -> str:
    if tokens.server.flavor != "mariadb":
        return name
    if sql_mode & _ORACLE:
        if name == "number":
            return "decimal" if tokens.sees("(") else "double"
        return "longblob" if name == "blob" and not tokens.sees("(") else _ORACLE_SYNONYMS.get(name, name)
    return "datetime" if sql_mode & _MAXDB and name == "timestamp" else name


def _read_arguments(tokens: Tokens) -> tuple[tuple[int, ...], tuple[str | bytes, ...]]:
    if not tokens.sees("("):
        return (), ()
    if tokens.peek(1).kind in (Kind.STRING, Kind.BITS):
        return (), tokens.enclosed(lambda: _read_label(tokens))
    sizes = tokens.enclosed(lambda: _read_size(tokens))
    if len(sizes) > _MOST_SIZES:
        raise ParseError(f"a type with {len(sizes)} sizes")
    return sizes, ()


def _read_size(tokens: Tokens) -> int:
    size = tokens.number()
    tokens.accept_any("CHAR", "BYTE")  # Oracle mode: VARCHAR2(10 CHAR)
    return size


def _read_label(tokens: Tokens) -> str | bytes:
    """Read a string, or its bytes as a literal."""
    if tokens.peek().kind is Kind.BITS:
        return bytes_of_bits(tokens.next().text)
    text = tokens.literal()
    return tokens.kept_bytes(text) or text
