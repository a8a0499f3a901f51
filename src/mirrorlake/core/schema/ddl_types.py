"""A column's type in DDL: reading it as written, and resolving it to the one canonical form.

The rules are the servers' own: synonyms, defaults, TEXT(n), text that becomes binary under CHARACTER SET binary, an
overlong VARCHAR that becomes TEXT outside strict mode. tests/server/test_definitions.py compares them with the servers.
"""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.schema.charsets import BINARY, SUPPORTED, canonical_charset, decode_text, max_bytes
from mirrorlake.core.schema.ddl_lexer import Kind
from mirrorlake.core.schema.ddl_statements import TypeSpec
from mirrorlake.core.schema.ddl_tokens import ParseError, Tokens
from mirrorlake.core.schema.types import (
    BINARY_TWIN,
    INTEGERS,
    LABELLED,
    LARGEST_BYTES,
    MAX_VARCHAR_BYTES,
    STRINGS,
    TEMPORALS_WITH_FRACTION,
    TEXTS,
    ColumnType,
    blob_type,
    text_type,
)

_REAL_AS_FLOAT, _MAXDB, _ORACLE = 1, 1 << 12, 1 << 9  # bits of sql_mode; the last two act on MariaDB only
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
_WIDTHS = {"ucs2": 2, "utf16": 2, "utf16le": 2, "utf32": 4}
"""Bytes of the narrowest character, if it is not 1."""
_MOST_FRACTION_DIGITS = 6
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
        _SYNONYMS.get(name, name), numbers, labels, unsigned, charset,
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
    if family.lower() == "utf8" and tokens.flavor == "mysql" and tokens.sql_mode & _UTF8_IS_UTF8MB4:
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
        name = "float" if tokens.sql_mode & _REAL_AS_FLOAT else "double"
    return _sql_mode_name(tokens, name, tokens.sql_mode), None


def _read_national(tokens: Tokens, name: str) -> str:
    if name == "national":
        name = tokens.accept_any("CHARACTER", "CHAR", "VARCHARACTER", "VARCHAR") or "char"
    is_varying = "VAR" in name.upper() or tokens.accept("VARYING") or tokens.accept_any("VARCHARACTER", "VARCHAR")
    return "varchar" if is_varying else "char"


def _sql_mode_name(tokens: Tokens, name: str, sql_mode: int) -> str:
    if tokens.flavor != "mariadb":
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
    return tokens.enclosed(lambda: _read_size(tokens)), ()


def _read_size(tokens: Tokens) -> int:
    size = tokens.number()
    tokens.accept_any("CHAR", "BYTE")  # Oracle mode: VARCHAR2(10 CHAR)
    return size


def _read_label(tokens: Tokens) -> str | bytes:
    """Read a string, or its bytes as a literal."""
    if tokens.peek().kind is not Kind.BITS:
        return tokens.string()
    digits = tokens.next().text
    is_hexadecimal = digits[0] in "xX" or digits[:2] == "0x"
    digits = digits.strip("xXbB'") if "'" in digits else digits[2:]
    n_bytes = -(-len(digits) // (2 if is_hexadecimal else 8))
    return int(digits or "0", 16 if is_hexadecimal else 2).to_bytes(n_bytes, "big")


def resolve_type(spec: TypeSpec, flavor: str, table_charset: str | None) -> ColumnType:
    """The canonical type. table_charset: the table's default, None when it is not known.

    Raises ParseError for a missing length.
    """
    name, numbers = spec.name, spec.numbers
    if name in INTEGERS:
        return ColumnType(name, unsigned=spec.unsigned)
    if name == "decimal":
        precision, scale = (*numbers, *(10, 0)[len(numbers) :])
        return ColumnType(name, spec.unsigned, precision=precision or 10, scale=scale)
    if name in ("float", "double"):
        is_double = name == "double" or (len(numbers) == 1 and numbers[0] > 24)
        return ColumnType("double" if is_double else "float", unsigned=spec.unsigned)
    if name == "bit":
        return ColumnType(name, length=(numbers or (1,))[0] or 1)
    if name in TEMPORALS_WITH_FRACTION:
        if max(numbers, default=0) > _MOST_FRACTION_DIGITS:
            raise ParseError(f"{name} with more than {_MOST_FRACTION_DIGITS} digits")
        return ColumnType(name, fraction_digits=(numbers or (0,))[0])
    if name in ("binary", "varbinary"):
        return _sized(name, numbers, None)
    if flavor == "mariadb" and numbers == (0,) and name in ("blob", "text"):
        return resolve_type(replace(spec, numbers=()), flavor, table_charset)
    if name == "blob":
        return ColumnType(blob_type(numbers[0]) if numbers else name)
    if name == "json" and flavor == "mariadb":
        return ColumnType("longtext", charset="utf8mb4")
    if name in STRINGS or name in LABELLED:
        return _text(spec, spec.charset or table_charset)
    return ColumnType(name)


def _text(spec: TypeSpec, charset: str | None) -> ColumnType:
    if spec.name in LABELLED:
        strip = "" if charset == BINARY else " "
        labels = (_label(label, charset).rstrip(strip) for label in spec.labels)
        return ColumnType(spec.name, charset=charset, labels=tuple(labels))
    if spec.name in ("char", "varchar"):
        return _sized(BINARY_TWIN[spec.name] if charset == BINARY else spec.name, spec.numbers, charset)
    if charset == BINARY:
        return ColumnType(blob_type(spec.numbers[0]) if spec.numbers else BINARY_TWIN[spec.name])
    name = text_type(spec.numbers[0] * max_bytes(charset)) if spec.numbers else spec.name
    return ColumnType(name, charset=charset)


def _label(label: str | bytes, charset: str | None) -> str:
    """Bytes are of the column's character set, with zeros before them that make up a whole character."""
    if isinstance(label, str):
        return label
    width = _WIDTHS.get(charset or "", 1)
    label = b"\0" * (-len(label) % width) + label
    is_known = charset in SUPPORTED and charset != BINARY
    text = decode_text(label, charset or "") if is_known else label.decode("ascii") if label.isascii() else None
    if text is None:
        raise ParseError("a label's bytes have no meaning in the column's character set")
    return text


def _sized(name: str, numbers: tuple[int, ...], charset: str | None) -> ColumnType:
    if not numbers and name.startswith("var"):
        raise ParseError(f"{name} without a length")
    length = numbers[0] if numbers else 1
    if name.endswith("binary"):
        return ColumnType(name, length=length) if length <= MAX_VARCHAR_BYTES else ColumnType(blob_type(length))
    if length * max_bytes(charset) > MAX_VARCHAR_BYTES:
        return ColumnType(text_type(length * max_bytes(charset)), charset=charset)
    return ColumnType(name, length=length, charset=charset)


def convert_type(kind: ColumnType, charset: str | None, keeps_room: bool) -> ColumnType:
    """The type of a text column after CONVERT TO CHARACTER SET. keeps_room: a TEXT grows so that its values fit."""
    if kind.name in LABELLED:
        return replace(kind, charset=charset)
    if kind.name in TEXTS:
        return _convert_text(kind, charset) if keeps_room or charset == BINARY else replace(kind, charset=charset)
    return _sized(BINARY_TWIN[kind.name] if charset == BINARY else kind.name, (kind.length or 0,), charset)


def _convert_text(kind: ColumnType, charset: str | None) -> ColumnType:
    if charset == BINARY:
        return ColumnType(BINARY_TWIN[kind.name])
    if max_bytes(charset) <= max_bytes(kind.charset):
        return replace(kind, charset=charset)
    characters = -(-LARGEST_BYTES[kind.name] // max_bytes(kind.charset))
    return ColumnType(text_type(characters * max_bytes(charset)), charset=charset)
