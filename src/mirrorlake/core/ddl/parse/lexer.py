"""SQL text -> tokens, as the server that logged it would cut it.

Cut lazily: of a stored procedure's body or a long INSERT only the first words are ever read.

Comments: ``#`` and ``-- `` to the end of the line, ``/* */``. The inside of ``/*!NNNNN */`` (MariaDB also ``/*M!``) is
SQL when the number is not above the server's version. MariaDB skips ``/*!50700`` to ``/*!99999``: MySQL's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from mirrorlake.core.ddl.parse.string_bytes import may_be_read_by_bytes, read_by_bytes
from mirrorlake.core.schema.charsets import (
    WIDE_BACKSLASH,
    WITH_BACK_TICKS,
    WITH_WIDE_BACKSLASH,
    after_back_ticks,
    ends_with_back_tick,
)

PIPES_AS_CONCAT = 1 << 1  # bits of sql_mode
ANSI_QUOTES = 1 << 2
NO_BACKSLASH_ESCAPES = 1 << 20


class LexError(ValueError):
    """The text cannot be cut into tokens; the message says where."""


class Kind(Enum):
    WORD = "word"  # keyword or plain identifier
    QUOTED = "quoted identifier"
    STRING = "string"
    BITS = "bit or hexadecimal literal"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end of the statement"


class Token(NamedTuple):
    """text: the value, quotes and escapes resolved; of symbols and words, as written."""

    kind: Kind
    text: str
    start: int
    end: int

    def is_word(self, word: str) -> bool:
        return self.kind is Kind.WORD and len(self.text) == len(word) and self.text.upper() == word

    def is_symbol(self, symbol: str) -> bool:
        return self.kind is Kind.SYMBOL and self.text == symbol


_IDENTIFIER = r"[0-9A-Za-z$_\u0080-\U0010ffff]+"
_SCANNER = re.compile(
    rf"""(?P<blank>[\x00-\x20]+|\#[^\n]*|--(?=[\x00-\x20]|\Z)[^\n]*)
    |(?P<comment>/\*)
    |(?P<close>\*/)
    |(?P<bits>0x[0-9A-Fa-f]+(?![0-9A-Za-z$_])|0b[01]+(?![0-9A-Za-z$_])|[xX]'[0-9A-Fa-f]*'|[bB]'[01]*')
    |(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+(?![0-9A-Za-z$_])|[0-9]+\.[0-9]*|\.[0-9]+
        |[0-9]+(?![0-9A-Za-z$_\u0080-\U0010ffff]))
    |(?P<word>{_IDENTIFIER})
    |(?P<quote>['"`])
    |(?P<symbol><=>|<<|>>|<>|!=|>=|<=|:=|\|\||&&|->>|->|.)""",
    re.VERBOSE | re.DOTALL,
)


_STOPS = {
    (quote, escapes): re.compile(rf"{quote}{quote}|\\.|{quote}" if escapes else f"{quote}{quote}?", re.DOTALL)
    for quote in "'\"`"
    for escapes in (True, False)
}
"""Patterns that look like the end of a quoted token: a doubled quote, which means one, and an escaped character."""
_ESCAPE_OR_QUOTE = {quote: re.compile(rf"[\\{quote}](.)", re.DOTALL) for quote in "'\""}
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_NAME, _DOT = re.compile(rf"(?P<word>{_IDENTIFIER})"), re.compile(r"(?P<symbol>\.)")
_KINDS = {
    "bits": Kind.BITS,
    "number": Kind.NUMBER,
    "word": Kind.WORD,
    "symbol": Kind.SYMBOL,
    "close": Kind.SYMBOL,
}
_VERSIONED = {  # measured on MySQL 9.7: a sixth digit counts before a blank only
    "mysql": re.compile(r"/\*(M?)!([0-9]{6}(?=\s)|[0-9]{5})?"),
    "mariadb": re.compile(r"/\*(M?)!([0-9]{5,6})?"),
}
_NO_BREAK_SPACE = "\u00a0"
_WITH_NO_BREAK_SPACE = frozenset(
    """armscii8 cp1250 cp852 cp866 dec8 geostd8 greek hebrew keybcs2 latin1 latin2 latin5 latin7""".split()
)
"""Character sets of a client in which it is a blank between words (measured: 9.7, 10.11, 11.8)."""
_ASCII, _SWE7 = "@[\\]^`{|}~", "ÉÄÖÅÜéäöåü"
_SIGNS_OF_SWE7, _LETTERS_OF_SWE7 = str.maketrans(_SWE7, _ASCII), str.maketrans(_ASCII, _SWE7)
"""The servers take a byte of swe7 for a sign of ASCII where they look for quotes and escapes (measured: 9.7, 11.8)."""
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_PLAIN_COMMENT_END = re.compile(r"\*/")


def with_signs(statement: str, client_charset: str | None) -> str:
    """The statement with a blank or sign of ASCII for each character that is one in the client's character set."""
    if client_charset == "swe7":
        return statement.translate(_SIGNS_OF_SWE7)
    return statement.replace(_NO_BREAK_SPACE, " ") if client_charset in _WITH_NO_BREAK_SPACE else statement


def tokenize(
    statement: str,
    *,
    sql_mode: int,
    flavor: str,
    server_version: int,
    quoted_in: str | None = None,
    client_charset: str | None = None,
) -> Iterator[Token]:
    """Tokens in order, ending with one END. server_version: 90704 for 9.7.4. quoted_in: the text from which quoted
    tokens are taken, as long as ``statement``. client_charset: of the session. Raises LexError while iterating."""
    is_swe7 = client_charset == "swe7"
    at, versioned_depth, previous = 0, 0, None
    while at < len(statement):
        start = at
        found = _match(statement, at, previous)
        kind, at, previous = found.lastgroup or "", found.end(), None
        if kind == "comment":
            at, opened = _open_comment(statement, start, flavor, server_version)
            versioned_depth += opened
        elif kind == "close" and versioned_depth:
            versioned_depth -= 1
        elif kind != "blank":
            if kind == "quote":
                quoted = statement if is_swe7 else quoted_in or statement
                previous, at = _quoted(quoted, start, sql_mode, client_charset)
                if statement[start] == "`" and client_charset in WITH_BACK_TICKS:
                    inside = statement[start + 1 : at - 1]
                    previous = previous._replace(text=_by_bytes(inside, previous.text, flavor, client_charset))
                if is_swe7:
                    previous = previous._replace(text=previous.text.translate(_LETTERS_OF_SWE7))
            else:
                previous = Token(_KINDS[kind], found.group(), start, at)
            if client_charset in WITH_WIDE_BACKSLASH:
                previous = previous._replace(text=previous.text.replace(WIDE_BACKSLASH, "\\"))
            yield previous
    if versioned_depth:
        raise LexError("a versioned comment is not closed")
    yield Token(Kind.END, "", len(statement), len(statement))


def bytes_of_bits(literal: str) -> bytes:
    """The bytes of a bit or hexadecimal literal as written; zeros before its digits make up a whole byte."""
    is_hexadecimal = literal[0] in "xX" or literal[:2] == "0x"
    digits = literal[2:].rstrip("'")
    n_bytes = -(-len(digits) // (2 if is_hexadecimal else 8))
    return int(digits or "0", 16 if is_hexadecimal else 2).to_bytes(n_bytes, "big")


def _match(statement: str, at: int, previous: Token | None) -> re.Match:
    """Match a token. previous: the token that ends right here, if any. Next to a dot, digits and ``1e5`` are names, not
    numbers."""
    if previous and previous.is_symbol(".") and (found := _NAME.match(statement, at)):
        return found
    if previous and previous.kind in (Kind.WORD, Kind.QUOTED) and (found := _DOT.match(statement, at)):
        return found
    scanned = _SCANNER.match(statement, at)
    assert scanned  # its last alternative takes any character
    return scanned


def _quoted(statement: str, start: int, sql_mode: int, charset: str | None) -> tuple[Token, int]:
    quote = statement[start]
    is_name = quote == "`" or (quote == '"' and sql_mode & ANSI_QUOTES)
    escapes = not is_name and not sql_mode & NO_BACKSLASH_ESCAPES
    stops = _STOPS[quote, escapes].finditer(statement, start + 1)
    end = next((stop.start() for stop in stops if stop.end() - stop.start() == 1), None)
    if escapes and may_be_read_by_bytes(statement, start + 1, len(statement) if end is None else end, charset):
        by_bytes = read_by_bytes(statement, start, charset, _ESCAPED)
        if by_bytes is not None:
            return Token(Kind.STRING, by_bytes[0], start, by_bytes[1]), by_bytes[1]
        end = None
    if end is None:
        raise LexError(f"the quote at character {start + 1} is not closed")
    text = statement[start + 1 : end]
    text = _unescape(text, quote) if escapes else text.replace(quote * 2, quote)
    return Token(Kind.QUOTED if is_name else Kind.STRING, text, start, end + 1), end + 1


def _by_bytes(inside: str, name: str, flavor: str, charset: str) -> str:
    """The name between back-ticks, in a character set whose codes may end with one. MySQL compares bytes with it only
    where a back-tick is doubled, and then takes bytes that come after the name (measured: 5.6, 9.7)."""
    if flavor == "mariadb":
        return after_back_ticks(inside, charset)
    if "``" in inside and ends_with_back_tick(inside, charset):
        raise LexError("a name has a back-tick, and a character whose code ends with the byte of one")
    return name


def _unescape(text: str, quote: str) -> str:
    if "\\" not in text:
        return text.replace(quote * 2, quote)
    return _ESCAPE_OR_QUOTE[quote].sub(_meant, text)


def _meant(found: re.Match) -> str:
    character = found[1]
    return _ESCAPED.get(character, character) if found[0][0] == "\\" else character


def _open_comment(statement: str, start: int, flavor: str, server_version: int) -> tuple[int, int]:
    """Return (where to continue, 1 if the inside is SQL that runs)."""
    found = _VERSIONED[flavor].match(statement, start)
    if found and _is_executed(found, flavor, server_version):
        return found.end(), 1
    if found and not (found.group(1) and flavor == "mysql"):
        return _skip_nested(statement, start), 0
    end = _PLAIN_COMMENT_END.search(statement, start + 2)
    if not end:
        raise LexError(f"the comment at character {start + 1} is not closed")
    return end.end(), 0


def _is_executed(found: re.Match, flavor: str, server_version: int) -> bool:
    is_mariadb_form, version = bool(found.group(1)), int(found.group(2) or 0)
    if flavor == "mysql":
        return not is_mariadb_form and version <= server_version
    if version <= server_version:
        return is_mariadb_form or not 50700 <= version <= 99999
    return False


def _skip_nested(statement: str, start: int) -> int:
    """The offset after a versioned comment that does not run; comments inside it count."""
    depth, at = 0, start
    while found := _COMMENT_EDGE.search(statement, at):
        depth, at = depth + (1 if found.group() == "/*" else -1), found.end()
        if depth == 0:
            return at
    raise LexError(f"the comment at character {start + 1} is not closed")
