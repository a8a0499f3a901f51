"""Strings with backslashes in character sets whose codes may have the byte of one, 0x5C, as their second.

There a server reads bytes: a backslash escapes one byte, also where this is the first of a character's code. The bytes
after it may then make up other codes, in which a backslash or a quote is none (measured: 9.7, 10.11).
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice

from mirrorlake.core.schema.charset_codes import code_pattern
from mirrorlake.core.schema.charsets import WITH_BACK_TICKS, codes_of, decode_loosely

_ESCAPES_A_CODE = re.compile(r"(?:[^\\]|\\[\x00-\x7f])*?\\[^\x00-\x7f]", re.DOTALL)
_FIRST_CHARACTERS = 256


def may_be_read_by_bytes(statement: str, start: int, end: int, charset: str | None) -> bool:
    """Does a backslash between these offsets escape a character of several bytes, in such a character set?"""
    return charset in WITH_BACK_TICKS and _ESCAPES_A_CODE.match(statement, start, end) is not None


def read_by_bytes(statement: str, start: int, charset: str, escaped: dict[str, str]) -> tuple[str, int] | None:
    """Return (text, offset after it) of the string that begins with the quote at ``start``; None: it does not end.
    escaped: what a letter means after a backslash."""
    quote, n_characters = statement[start], _FIRST_CHARACTERS
    while True:
        rest = statement[start + 1 : start + 1 + n_characters]
        is_all = start + 1 + n_characters >= len(statement)
        data, text = codes_of(rest, charset), bytearray()
        for found in _parts(charset, quote).finditer(data):
            if found["end"] and (is_all or found.end() < len(data)):  # else the next piece may double it
                nth = data.count(quote.encode(), 0, found.start())
                end = next(islice(re.finditer(quote, rest), nth, None)).end()
                return decode_loosely(bytes(text), charset), start + 1 + end
            if found["escaped"]:
                sign = found["escaped"].decode("latin-1")
                text += escaped.get(sign, sign).encode("latin-1")
            else:
                text += found["doubled"] or found["other"] or b""
        if is_all:
            return None
        n_characters *= 2


@cache
def _parts(charset: str, quote: str) -> re.Pattern[bytes]:
    mark = quote.encode()
    return re.compile(
        rb"\\(?P<escaped>.)|" + mark + rb"(?P<doubled>" + mark + rb")|(?P<end>" + mark + rb")|(?P<other>"
        + code_pattern(charset) + rb"|.)", re.DOTALL,
    )  # fmt: skip
