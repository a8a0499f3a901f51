"""What becomes of text whose column gets another character set, or becomes binary, in Spark SQL."""

from __future__ import annotations

from mirrorlake.core.sql_text import Sql

_OUTSIDE = {
    "ascii": r"[^\\x00-\\x7F]",
    "latin1": r"[^\\x00-\\x7F\\x81\\x8D\\x8F\\x90\\x9D\\xA0-\\xFF\\u20AC\\u201A\\u0192\\u201E\\u2026\\u2020\\u2021"
    r"\\u02C6\\u2030\\u0160\\u2039\\u0152\\u017D\\u2018\\u2019\\u201C\\u201D\\u2022\\u2013\\u2014\\u02DC\\u2122\\u0161"
    r"\\u203A\\u0153\\u017E\\u0178]",
    "utf8mb3": r"[^\\u0000-\\uFFFF]",
}
"""Character set -> the characters that it lacks. latin1: cp1252, with the five codes that this leaves out."""
_ENCODINGS = {
    **dict.fromkeys(("utf8mb4", "utf8mb3", "ascii"), "UTF-8"),
    **dict.fromkeys(("utf16", "ucs2"), "UTF-16BE"),
    "utf16le": "UTF-16LE",
    "latin1": "ISO-8859-1",
}
NOT_ASCII = r"[^\\x00-\\x7F]"
_NOT_ISO_8859_1 = r"[^\\x00-\\x7F\\x81\\x8D\\x8F\\x90\\x9D\\xA0-\\xFF]"


def replaced(sql: Sql, charset: str | None) -> Sql | None:
    """As servers store it outside strict mode: ``?`` for each character that the set lacks. None: not known which."""
    lacks = _OUTSIDE.get(charset or "")
    return lacks and f"regexp_replace({sql}, '{lacks}', '?')"


def encoded(sql: Sql, charset: str | None) -> tuple[Sql, Sql | None] | None:
    """(its bytes in the character set, what is true for a text whose bytes are others). None: not known."""
    encoding = _ENCODINGS.get(charset or "")
    fails = f"{sql} RLIKE '{_NOT_ISO_8859_1}'" if charset == "latin1" else None
    return (f"encode({sql}, '{encoding}')", fails) if encoding else None


def decoded(sql: Sql, charset: str | None) -> tuple[Sql, Sql] | None:
    """(the text of bytes, what is true for bytes that are none or another one). None: not known."""
    text = f"CAST({sql} AS string)"
    if charset == "utf8mb4":
        return text, f"NOT is_valid_utf8({text})"
    if charset == "utf8mb3":
        return text, f"NOT is_valid_utf8({text}) OR {text} RLIKE '{_OUTSIDE[charset]}'"
    return (text, f"{text} RLIKE '{NOT_ASCII}'") if charset in ("ascii", "latin1") else None
