"""Conversions of and to text, and of bytes."""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.schema.charsets import UTF8, max_bytes
from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import BLOBS, LARGEST_BYTES, TEXTS, ColumnType
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.gold.convert.charsets import decoded, encoded, is_wrong, may_be_lacking, replaced
from mirrorlake.lake.gold.convert.conversion import Conversion, NotDerivable, any_of, family

_CONTAINED = {"utf8mb4": ("utf8mb3", "latin1", "ascii"), "utf8mb3": ("latin1", "ascii"), "latin1": ("ascii",)}
"""Character set -> the sets whose every character it has."""


def to_text(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    charset, before = new.type.charset, old.type.charset
    is_lossless = mode.is_strict or charset == before or before in _CONTAINED.get(charset or "", ())
    if is_lossless:
        found = into_text(value, new, mode, old)
        return found if charset == before else replace(found, fails=any_of(found.fails, is_wrong(value, charset)))
    sql = replaced(value, charset)
    found = into_text(sql or value, new, mode, old)
    return found if sql else replace(found, fails=any_of(found.fails, may_be_lacking(value, charset)))


def digits_as_text(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    return into_text(_digits(value, old), new, mode)


def digits_as_binary(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    return into_bytes(in_ascii(_digits(value, old)), new, mode)


def _digits(value: Sql, old: Column) -> Sql:
    if old.is_zerofill:
        raise NotDerivable(f"column {old.name} was ZEROFILL")
    return f"lpad(CAST({value} AS string), 4, '0')" if old.type.name == "year" else f"CAST({value} AS string)"


def shown_to_text(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    return to_text(value, replace(old, type=replace(old.type, charset="utf8mb4")), new, mode)


def shown_to_binary(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    return into_bytes(in_ascii(value), new, mode)


def into_text(sql: Sql, new: Column, mode: ServerMode, old: Column | None = None) -> Conversion:
    kind = new.type
    if kind.name in TEXTS:
        if old is None and mode.is_strict or old and _has_room(old.type, kind):
            return Conversion(sql)
        return Conversion(sql, f"{_size(sql, kind.charset)} > {LARGEST_BYTES[kind.name]}")
    shorter = old.type if old and old.type.name in ("char", "varchar") and old.type.length <= kind.length else None
    if shorter is None:
        sql = f"substring({sql}, 1, {kind.length})"
    keeps_no_blanks = shorter is not None and shorter.name == "char"
    return Conversion(f"rtrim({sql})" if kind.name == "char" and not keeps_no_blanks else sql)


def _has_room(old: ColumnType, new: ColumnType) -> bool:
    """Does every text of the old type fit into the new one? Strict servers, too, cut blanks at the end."""
    if old.name in TEXTS:
        return old.charset == new.charset and LARGEST_BYTES[old.name] <= LARGEST_BYTES[new.name]
    is_short = old.name in ("char", "varchar") and (old.length or 0) * max_bytes(new.charset) <= LARGEST_BYTES[new.name]
    return is_short or old.name == "time"


def _size(sql: Sql, charset: str | None) -> Sql:
    """The number of bytes that a text has, or at most has, in its character set."""
    if charset is None or charset in UTF8:
        return f"octet_length({sql})"
    return f"length({sql}) * {max_bytes(charset)}"


def to_binary(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    if family(old.type) == "binary":
        return into_bytes(value, new, mode)
    kind, charset = old.type, old.type.charset
    is_stored_so = kind.name == "char" and new.type.name == "binary" and kind.length == new.type.length
    if mode.flavor == "mysql" and is_stored_so and max_bytes(charset) == 1:
        value = with_blanks(value, old)  # it keeps the bytes as they are stored
    sql = encoded(value, charset)
    if sql is None:
        raise NotDerivable(f"column {new.name} became binary out of character set {charset}")
    return into_bytes(sql, new, mode)


def with_blanks(value: Sql, old: Column) -> Sql:
    """A CHAR as it is stored: with blanks up to its length."""
    return f"rpad({value}, {old.type.length}, ' ')"


def in_ascii(sql: Sql) -> Sql:
    return f"encode({sql}, 'UTF-8')"


def into_bytes(sql: Sql, new: Column, mode: ServerMode, fails: Sql | None = None) -> Conversion:
    kind = new.type
    if kind.name in BLOBS:
        limit = LARGEST_BYTES[kind.name]
        fails = any_of(fails, None if mode.is_strict else f"octet_length({sql}) > {limit}")
    else:
        sql = f"substring({sql}, 1, {kind.length})"
    return Conversion(f"rpad({sql}, {kind.length}, X'00')" if kind.name == "binary" else sql, fails)


def binary_to_text(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    found = decoded(value, new.type.charset)
    if found is None:
        raise NotDerivable(f"column {new.name} became text in character set {new.type.charset}")
    text, fails = found
    converted = into_text(text, new, mode, old)
    return replace(converted, fails=any_of(converted.fails, fails))
