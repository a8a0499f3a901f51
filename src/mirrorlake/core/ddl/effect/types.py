"""Resolve a column's type as written to the one canonical form.

The rules are the servers' own: defaults, TEXT(n), text that becomes binary under CHARACTER SET binary, an overlong
VARCHAR that becomes TEXT outside strict mode. tests/server/test_definitions.py compares them with the servers.
"""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.ddl.parse.statements import TypeSpec
from mirrorlake.core.ddl.parse.tokens import ParseError
from mirrorlake.core.schema.charsets import (
    BINARY,
    SUPPORTED,
    UTF8,
    as_converted,
    decode_bytes_of_literal,
    keeps_ascii,
    max_bytes,
)
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

_MOST_FRACTION_DIGITS = 6


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
        return _sized(name, numbers, None, flavor)
    if flavor == "mariadb" and numbers == (0,) and name in ("blob", "text"):
        return resolve_type(replace(spec, numbers=()), flavor, table_charset)
    if name == "blob":
        return ColumnType(blob_type(numbers[0]) if numbers else name)
    if name == "json" and flavor == "mariadb":
        return ColumnType("longtext", charset="utf8mb4")
    if name in STRINGS or name in LABELLED:
        return _text(spec, spec.charset or table_charset, flavor)
    return ColumnType(name)


def _text(spec: TypeSpec, charset: str | None, flavor: str) -> ColumnType:
    if spec.name in LABELLED:
        strip = "" if charset == BINARY else " "
        labels = (_label(label, charset, spec.connection_charset).rstrip(strip) for label in spec.labels)
        return ColumnType(spec.name, charset=charset, labels=tuple(labels))
    if spec.name in ("char", "varchar"):
        name = BINARY_TWIN[spec.name] if charset == BINARY else spec.name
        return _sized(name, spec.numbers, charset, flavor)
    if charset == BINARY:
        return ColumnType(blob_type(spec.numbers[0]) if spec.numbers else BINARY_TWIN[spec.name])
    name = text_type(spec.numbers[0] * max_bytes(charset)) if spec.numbers else spec.name
    return ColumnType(name, charset=charset)


def _label(label: str | bytes, charset: str | None, written_in: str | None) -> str:
    """A label that is bytes is in the column's character set; a text is converted to it. A column of bytes takes those
    of character_set_connection (measured: MariaDB 10.11, 11.8)."""
    if isinstance(label, str):
        if may_be_other_text(label, charset, written_in):
            raise ParseError(f"a label of a column of {charset}, in {written_in}")
        if charset == BINARY and written_in not in (None, *UTF8) and not label.isascii():
            raise ParseError(f"a label of a column of bytes, in {written_in}")
        return as_converted(label, charset or "")
    is_known = charset in SUPPORTED and charset != BINARY
    if is_known:
        text = decode_bytes_of_literal(label, charset or "")
    else:
        text = label.decode("ascii") if label.isascii() else None
    if text is None:
        raise ParseError("a label's bytes have no meaning in the column's character set")
    return text


def may_be_other_text(text: str, charset: str | None, written_in: str | None) -> bool:
    """Has a text of ASCII other characters in a column that takes its bytes, as with character_set_connection binary?
    Not so in a statement that the server itself wrote (measured: MySQL 5.6, 9.7, MariaDB 10.11, 11.8)."""
    is_known = charset in SUPPORTED and charset != BINARY
    return written_in == BINARY and bool(text) and is_known and not keeps_ascii(charset or "")


def _sized(name: str, numbers: tuple[int, ...], charset: str | None, flavor: str) -> ColumnType:
    if not numbers and name.startswith("var"):
        raise ParseError(f"{name} without a length")
    length, most = numbers[0] if numbers else 1, MAX_VARCHAR_BYTES[flavor]
    if name.endswith("binary"):
        return ColumnType(name, length=length) if length <= most else ColumnType(blob_type(length))
    if length * max_bytes(charset) > most:
        return ColumnType(text_type(length * max_bytes(charset)), charset=charset)
    return ColumnType(name, length=length, charset=charset)


def convert_type(kind: ColumnType, charset: str | None, keeps_room: bool, flavor: str) -> ColumnType:
    """The type of a text column after CONVERT TO CHARACTER SET. keeps_room: a TEXT grows so that its values fit.

    Raises ParseError for labels that become others: both servers keep their bytes.
    """
    if kind.name in LABELLED:
        if not all(_has_same_bytes(label, kind.charset or "", charset or "") for label in kind.labels):
            raise ParseError("CONVERT TO CHARACTER SET of labels whose bytes mean other characters in it")
        return replace(kind, charset=charset)
    if kind.name in TEXTS:
        return _convert_text(kind, charset) if keeps_room or charset == BINARY else replace(kind, charset=charset)
    name = BINARY_TWIN[kind.name] if charset == BINARY else kind.name
    return _sized(name, (kind.length or 0,), charset, flavor)


def _has_same_bytes(label: str, old: str, new: str) -> bool:
    if label.isascii():
        return all(charset in (BINARY, "") or keeps_ascii(charset) for charset in (old, new))
    return old == new or {old, new} <= UTF8 | {BINARY} and as_converted(label, new) == label


def _convert_text(kind: ColumnType, charset: str | None) -> ColumnType:
    if charset == BINARY:
        return ColumnType(BINARY_TWIN[kind.name])
    if max_bytes(charset) <= max_bytes(kind.charset):
        return replace(kind, charset=charset)
    characters = -(-LARGEST_BYTES[kind.name] // max_bytes(kind.charset))
    return ColumnType(text_type(characters * max_bytes(charset)), charset=charset)
