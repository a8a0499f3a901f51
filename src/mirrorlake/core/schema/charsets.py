"""Character sets as the two servers number and spell them, and the text of a statement in one.

Ids are what information_schema.COLLATIONS of MySQL 9.7 and MariaDB 10.11 list; both families kept the ids of MySQL 5.5
for everything below 248. MariaDB gives its later collations blocks of ids, one for each character set
(``my_collation_id_is_mysql_uca1400`` and ``MY_PAGE2_COLLATION_ID_*`` of its m_ctype.h), so that ids of servers newer
than 10.11 are known too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import product

from mirrorlake.core.schema.charset_codes import LINEAR, code_table, decode_by_table, decode_single_bytes

OTHER = "other"
"""Instead of the character set of an unknown collation."""
BINARY = "binary"
MAX_BYTES = {
    "armscii8": 1, "ascii": 1, "big5": 2, BINARY: 1, "cp1250": 1, "cp1251": 1, "cp1256": 1, "cp1257": 1, "cp850": 1,
    "cp852": 1, "cp866": 1, "cp932": 2, "dec8": 1, "eucjpms": 3, "euckr": 2, "gb18030": 4, "gb2312": 2, "gbk": 2,
    "geostd8": 1, "greek": 1, "hebrew": 1, "hp8": 1, "keybcs2": 1, "koi8r": 1, "koi8u": 1, "latin1": 1, "latin2": 1,
    "latin5": 1, "latin7": 1, "macce": 1, "macroman": 1, "sjis": 2, "swe7": 1, "tis620": 1, "ucs2": 2, "ujis": 3,
    "utf16": 4, "utf16le": 4, "utf32": 4, "utf8mb3": 3, "utf8mb4": 4,
}  # fmt: skip
"""Bytes of the widest character."""
SUPPORTED = frozenset(MAX_BYTES)
"""All character sets of the two servers."""

_SHARED = {
    "big5": (1, 84), "latin2": (2, 9, 21, 27, 77), "dec8": (3, 69), "cp850": (4, 80),
    "latin1": (5, 8, 15, 31, 47, 48, 49, 94), "hp8": (6, 72), "koi8r": (7, 74), "swe7": (10, 82), "ascii": (11, 65),
    "ujis": (12, 91), "sjis": (13, 88), "cp1251": (14, 23, 50, 51, 52), "hebrew": (16, 71), "tis620": (18, 89),
    "euckr": (19, 85), "latin7": (20, 41, 42, 79), "koi8u": (22, 75), "gb2312": (24, 86), "greek": (25, 70),
    "cp1250": (26, 34, 44, 66, 99), "gbk": (28, 87), "cp1257": (29, 58, 59), "latin5": (30, 78), "armscii8": (32, 64),
    "utf8mb3": (33, 76, 83, *range(192, 216), 223), "ucs2": (35, 90, *range(128, 152), 159), "cp866": (36, 68),
    "keybcs2": (37, 73), "macce": (38, 43), "macroman": (39, 53), "cp852": (40, 81),
    "utf8mb4": (45, 46, *range(224, 248)), "utf16": (54, 55, *range(101, 125)), "utf16le": (56, 62),
    "cp1256": (57, 67), "utf32": (60, 61, *range(160, 184)), BINARY: (63,), "geostd8": (92, 93), "cp932": (95, 96),
    "eucjpms": (97, 98),
}  # fmt: skip
_0900_FAMILY = range(255, 324)
"""MySQL's since 8.0; MariaDB 11.8 has the same names and numbers."""
_MYSQL = {"gb18030": range(248, 251), "utf8mb4": _0900_FAMILY}
_MARIADB = {
    "utf8mb3": (*range(576, 608), *range(2048, 2304)),  # 2048 and up: UCA 14.0.0, 256 ids per character set
    "utf8mb4": (*_0900_FAMILY, *range(608, 640), *range(2304, 2560)),
    "ucs2": (*range(640, 672), *range(2560, 2816)),
    "utf16": (*range(672, 704), *range(2816, 3072)),
    "utf16le": range(704, 736),
    "utf32": (*range(736, 768), *range(3072, 3328)),
}
_MARIADB_NOPAD = 1024  # a NO PAD collation has the id of its PAD SPACE twin plus this


def _number(*families: dict) -> dict[int, str]:
    return {number: charset for family in families for charset, numbers in family.items() for number in numbers}


_CHARSET_OF = {
    "mysql": _number(_SHARED, _MYSQL),
    "mariadb": _number(_SHARED, _MARIADB)
    | {number + _MARIADB_NOPAD: charset for number, charset in _number(_SHARED).items() if charset != BINARY},
}


def charset_of_collation_id(collation_id: int, flavor: str) -> str:
    """The character set of a collation number in the log; ``OTHER`` for a number of neither server."""
    return _CHARSET_OF[flavor].get(collation_id, OTHER)


def canonical_charset(name: str) -> str:
    """A character set as SQL spells it -> the one name we use (utf8 is the three-byte one, the default of both)."""
    name = name.lower()
    return "utf8mb3" if name == "utf8" else name


def charset_of_collation_name(name: str) -> str | None:
    """``latin1_bin`` -> ``latin1``. None: the name fits several character sets (MariaDB's short ``uca1400_...``)."""
    family = name.lower().partition("_")[0]
    return None if family == "uca1400" else canonical_charset(family)


def max_bytes(charset: str | None) -> int:
    """Bytes of the widest character; 1 for a character set we do not know."""
    return MAX_BYTES.get(charset or "", 1)


_UNICODE = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", BINARY: "utf-8", "ucs2": "utf-16-be", "utf16": "utf-16-be",
            "utf16le": "utf-16-le", "utf32": "utf-32-be"}  # fmt: skip
WITH_BACK_TICKS = frozenset(("big5", "cp932", "gbk", "sjis", "gb18030"))
"""Character sets in which a code of two bytes may end with 0x60, a back-tick, or 0x5C, a backslash; MariaDB lacks the
last one."""
WITH_WIDE_BACKSLASH = frozenset(("sjis", "ujis"))
"""Character sets in which a code of two bytes is the character of a backslash, too. In a statement it is no sign."""
WIDE_BACKSLASH = "\uff3c"
"""What a statement has instead of it until it is cut into tokens; no other code of these character sets is this."""
_INVALID = b"\xff\xff"
UTF8 = frozenset(("utf8mb4", "utf8mb3"))
_LAST_OF_BMP = "\uffff"
_BEYOND_BMP = re.compile("[\U00010000-\U0010ffff]")
_OF_BMP = ("utf8mb3", "ucs2")
_OF_ALL_CHARACTERS = ("utf8mb4", "utf16", "utf16le", "utf32", "gb18030", BINARY)
_WIDTHS = {"ucs2": 2, "utf16": 2, "utf16le": 2, "utf32": 4}
"""Bytes of the narrowest character, if it is not 1."""


def decode_text(data: bytes, charset: str) -> str | None:
    """Decode bytes in a character set of ``SUPPORTED``; None if they are invalid in it.

    binary is shown as UTF-8; utf8mb3 may be utf8mb4, see ``values.text``.
    """
    if charset not in SUPPORTED:
        return None
    if charset not in _UNICODE:
        points = list(decode_by_table(data, code_table(charset)))
        return None if None in points else "".join(map(chr, points))
    try:
        text = data.decode(_UNICODE[charset])
    except UnicodeDecodeError:
        return None
    return None if charset == "ucs2" and max(text, default="") > _LAST_OF_BMP else text


def decode_loosely(data: bytes, charset: str) -> str:
    """Decode text that must be read in any case: U+FFFD replaces each invalid code, so that no byte of a code is
    read as a separate character. A character set not known is read as UTF-8."""
    if charset not in SUPPORTED or charset in _UNICODE:
        return data.decode(_UNICODE.get(charset, "utf-8"), "replace")
    if MAX_BYTES[charset] == 1:
        return decode_single_bytes(data, code_table(charset))
    if data.isascii() and keeps_ascii(charset):
        return data.decode("ascii")
    return _decoded(decode_by_table(data, code_table(charset)))


def _decoded(points: Iterable[int | None]) -> str:
    return "".join("\ufffd" if point is None else chr(point) for point in points)


def decode_bytes_of_literal(data: bytes, charset: str) -> str | None:
    """The text that the bytes of a literal are in a column's character set; None: they are invalid in it. The servers
    put zeros before them that make up a whole character."""
    return decode_text(b"\0" * (-len(data) % _WIDTHS.get(charset, 1)) + data, charset)


@cache
def keeps_ascii(charset: str) -> bool:
    """Does ASCII text have ASCII's bytes in it? False for binary, and for a character set that is not known.

    No code of several bytes begins with one of these.
    """
    if charset in _UNICODE or charset not in SUPPORTED:
        return charset in UTF8
    ascii_codes = bytes(range(128))
    return list(decode_by_table(ascii_codes, code_table(charset))) == list(ascii_codes)


def has_ascii_bytes_for_ascii_alone(charset: str | None) -> bool:
    """Is a byte below 80 always the character of ASCII, and no part of another? None: read as UTF-8."""
    return charset in (None, BINARY, *UTF8) or MAX_BYTES.get(charset) == 1 and keeps_ascii(charset)


def holds_ascii(charset: str) -> bool:
    """Has it all characters of ASCII, with whatever bytes? swe7 has letters of Swedish instead of some."""
    return charset != "swe7"


def as_converted(text: str, charset: str) -> str:
    """The text with ``?`` for each character that a character set lacks, as the servers convert it. A character set
    that is not known lacks none."""
    if text.isascii() and charset in _OF_BMP:
        return text
    if charset in _OF_BMP:
        return _BEYOND_BMP.sub("?", text)
    if charset not in SUPPORTED or charset in _OF_ALL_CHARACTERS or text.isascii() and keeps_ascii(charset):
        return text
    characters, text = _characters(charset), _with_wrong_characters(text, charset)
    return "".join(character if ord(character) in characters else "?" for character in text)


def _with_wrong_characters(text: str, charset: str) -> str:
    """The text with the characters that both servers put for others, without an error (measured on every one)."""
    if charset == "cp932":
        return text.replace("\u6661", "\u6659")
    return _BEYOND_BMP.sub(lambda found: chr(ord(found[0]) & 0xFFFF), text) if charset == "tis620" else text


def after_back_ticks(name: str, charset: str) -> str:
    """A name between back-ticks as MariaDB reads it: it skips the byte after each 0x60, also after one that ends a
    character's code (measured: 10.11, 11.8). U+FFFD replaces what is no character, or has several codes."""
    data = codes_of(name, charset)
    if b"`" not in data:
        return name
    return decode_loosely(re.sub(rb"`.", b"`", data, flags=re.DOTALL), charset)


def ends_with_back_tick(name: str, charset: str) -> bool:
    """Has the name a character whose code ends with 0x60, other than a back-tick itself?"""
    return any(b"`" in _codes(charset).get(each, b"") for each in name if each != "`")


def codes_of(text: str, charset: str) -> bytes:
    """The bytes of a text in a character set of one and two bytes; two invalid ones for what is no character, or has
    several codes."""
    return b"".join(_codes(charset).get(each, _INVALID) for each in text)


@cache
def _codes(charset: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for code in (*product(range(256)), *product(range(0x80, 256), range(256))):
        if (text := decode_text(bytes(code), charset)) is not None:
            text = WIDE_BACKSLASH if text == "\\" and len(code) == 2 else text
            found[text] = _INVALID if text in found and not text.isascii() else found.get(text, bytes(code))
    return found


@cache
def _characters(charset: str) -> frozenset[int]:
    table = code_table(charset)
    return frozenset(table[table < LINEAR].tolist())


def decode_statement(statement: bytes, client_collation_id: int | None) -> str:
    """Decode a statement. Never fails: an invalid code becomes U+FFFD. None = not logged, which servers read as
    UTF-8."""
    if client_collation_id is None:
        return statement.decode("utf-8", "replace")
    charset = charset_of_collation_id(client_collation_id, "mysql")
    if charset == OTHER:  # the two flavors' numbers never contradict each other
        charset = charset_of_collation_id(client_collation_id, "mariadb")
    if charset in WITH_WIDE_BACKSLASH and not statement.isascii():
        return _decoded(decode_by_table(statement, code_table(charset), wide={ord("\\"): ord(WIDE_BACKSLASH)}))
    return decode_loosely(statement, charset)
