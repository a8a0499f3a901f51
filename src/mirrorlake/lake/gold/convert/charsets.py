"""Convert text whose column gets another character set, or becomes binary, in Spark SQL."""

from __future__ import annotations

from mirrorlake.core.schema.charset_codes import UNASSIGNED, code_table
from mirrorlake.core.schema.charsets import BINARY, MAX_BYTES
from mirrorlake.core.sql_text import Sql, literal

_BYTE_BY_BYTE = "ISO-8859-1"
"""Its characters are U+0000 to U+00FF, one for each byte."""
_UNICODE_OR_BYTES = ("ascii", BINARY)

_OUTSIDE = {
    "ascii": r"[^\\x00-\\x7F]",
    "latin1": r"[^\\x00-\\x7F\\x81\\x8D\\x8F\\x90\\x9D\\xA0-\\xFF\\u20AC\\u201A\\u0192\\u201E\\u2026\\u2020\\u2021"
    r"\\u02C6\\u2030\\u0160\\u2039\\u0152\\u017D\\u2018\\u2019\\u201C\\u201D\\u2022\\u2013\\u2014\\u02DC\\u2122\\u0161"
    r"\\u203A\\u0153\\u017E\\u0178]",
    "utf8mb3": r"[^\\u0000-\\uFFFF]",
}
"""Character set -> the characters that it lacks. latin1: cp1252, and the five codes that cp1252 does not have."""
_ENCODINGS = {
    **dict.fromkeys(("utf8mb4", "utf8mb3", "ascii"), "UTF-8"),
    **dict.fromkeys(("utf16", "ucs2"), "UTF-16BE"),
    "utf16le": "UTF-16LE",
    "utf32": "UTF-32",
}
"""Spark's names. Its UTF-32 is big-endian and has no mark."""
_WRONG = {"cp932": r"\\u6661", "tis620": _OUTSIDE["utf8mb3"]}
"""Character set -> the characters for which both servers may put others, without an error."""
NOT_ASCII = r"[^\\x00-\\x7F]"
_NOT_SURE = {"swe7": "[^\\\\x00-?A-Z_a-z]"}
"""Character set that lacks some of ASCII -> the characters that it may lack."""


def replaced(sql: Sql, charset: str | None) -> Sql | None:
    """The text as servers store it outside strict mode: ``?`` for each character that the set lacks. None: not
    known."""
    lacks = _OUTSIDE.get(charset or "")
    return lacks and f"regexp_replace({sql}, '{lacks}', '?')"


def may_be_lacking(sql: Sql, charset: str | None) -> Sql:
    """True for a text that may have a character that the set lacks."""
    return f"{sql} RLIKE '{_NOT_SURE.get(charset or '', NOT_ASCII)}'"


def is_wrong(sql: Sql, charset: str | None) -> Sql | None:
    """True for a text that may become another one in the character set, also in strict mode."""
    wrong = _WRONG.get(charset or "")
    return wrong and f"{sql} RLIKE '{wrong}'"


def blank(charset: str | None) -> Sql:
    """The character that servers pass over before a number, besides white space, for a regular expression: the byte A0
    in any character set of single bytes, such as the á of cp850 (measured on MySQL 9.7 and MariaDB 10.11)."""
    if not _has_single_bytes(charset):
        return ""
    point = int(code_table(charset or "")[0xA0])
    return "" if point == UNASSIGNED else f"\\\\u{point:04X}"


def encoded(sql: Sql, charset: str | None) -> Sql | None:
    """The bytes of a text in its character set; None: not known."""
    if charset in _ENCODINGS:
        return f"encode({sql}, '{_ENCODINGS[charset]}')"
    codes = _single_bytes(charset)
    if codes is None:
        return None
    characters = "".join(codes.values())
    return f"encode(translate({sql}, {literal(characters)}, {literal(''.join(codes))}), '{_BYTE_BY_BYTE}')"


def decoded(sql: Sql, charset: str | None) -> tuple[Sql, Sql | None] | None:
    """Return (the text of bytes, condition for bytes that are no text). None: not known."""
    text = f"CAST({sql} AS string)"
    if charset == "utf8mb4":
        return text, f"NOT is_valid_utf8({text})"
    if charset == "utf8mb3":
        return text, f"NOT is_valid_utf8({text}) OR {text} RLIKE '{_OUTSIDE[charset]}'"
    if charset == "ascii":
        return text, f"{text} RLIKE '{NOT_ASCII}'"
    codes = _single_bytes(charset)
    if codes is None:
        return None
    text, none = f"decode({sql}, '{_BYTE_BY_BYTE}')", _without_character(charset or "")
    characters = "".join(codes.values())
    fails = f"length(translate({text}, {literal(none)}, '')) < length({text})" if none else None
    return f"translate({text}, {literal(''.join(codes))}, {literal(characters)})", fails


def _single_bytes(charset: str | None) -> dict[str, str] | None:
    """For a single-byte character set, the bytes, as characters of ISO 8859-1, that mean other characters.

    None: another character set, or one in which a character has two codes.
    """
    if not _has_single_bytes(charset):
        return None
    points = [int(point) for point in code_table(charset or "")[:256]]
    assigned = [point for point in points if point != UNASSIGNED]
    if len(set(assigned)) < len(assigned):
        return None
    return {chr(code): chr(point) for code, point in enumerate(points) if point not in (code, UNASSIGNED)}


def _has_single_bytes(charset: str | None) -> bool:
    return charset is not None and charset not in _UNICODE_OR_BYTES and MAX_BYTES.get(charset) == 1


def _without_character(charset: str) -> str:
    """The bytes for which a character set of single bytes has no character, as characters of ISO 8859-1."""
    return "".join(chr(code) for code, point in enumerate(code_table(charset)[:256]) if point == UNASSIGNED)
