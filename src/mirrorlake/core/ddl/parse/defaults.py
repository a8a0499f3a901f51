"""Read the values after DEFAULT and ON UPDATE."""

from __future__ import annotations

import re
from itertools import count, takewhile

from mirrorlake.core.ddl.parse.expressions import EMPTY_STRING_IS_NULL, in_its_session, is_as_written, read_expression
from mirrorlake.core.ddl.parse.lexer import Kind
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.schema.tables import Default

_NOW = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIMESTAMP", "LOCALTIME")
_MOMENTS = ("DATE", "TIME", "TIMESTAMP")
_LEADING_ZEROS = re.compile(r"\A0+(?=[0-9])")
_NUMBERS = {"TRUE": "1", "FALSE": "0"}


def read_default(tokens: Tokens) -> Default:
    """Read the text after DEFAULT: a literal, an expression in parentheses, or a function call."""
    literal = _read_parenthesised_literal(tokens) if tokens.sees("(") else _read_literal(tokens, is_plain=True)
    if literal is None and tokens.sees("("):
        return Default("expression", read_expression(tokens))
    is_null = tokens.server.flavor == "mariadb" and tokens.session.sql_mode & EMPTY_STRING_IS_NULL
    if literal == Default("string", "") and is_null:
        return Default("expression", in_its_session("('')", tokens))
    return literal or Default("expression", in_its_session(_read_expression(tokens), tokens))


def read_now(tokens: Tokens) -> Default | None:
    """Read CURRENT_TIMESTAMP in its synonyms. None if something else comes."""
    if not tokens.accept_any(*_NOW):
        return None
    digits = "0"
    if tokens.accept("("):
        digits = "0" if tokens.sees(")") else str(tokens.number())
        tokens.expect(")")
    return Default("now", digits)


def _read_parenthesised_literal(tokens: Tokens) -> Default | None:
    """Read one literal in any number of parentheses."""
    depth = 0
    while tokens.peek(depth).is_symbol("("):
        depth += 1
    first, second = tokens.peek(depth), tokens.peek(depth + 1)
    is_plain = first.kind in (Kind.STRING, Kind.NUMBER, Kind.BITS) or any(
        first.is_word(word) for word in ("NULL", "TRUE", "FALSE", *_NOW)
    )
    is_signed = first.kind is Kind.SYMBOL and first.text in "+-" and second.kind is Kind.NUMBER
    behind = depth + (2 if is_signed else 1)
    if not (is_plain or is_signed) or not all(tokens.peek(behind + n).is_symbol(")") for n in range(depth)):
        return None
    for _ in range(depth):
        tokens.expect("(")
    found = _read_literal(tokens)
    for _ in range(depth):
        tokens.expect(")")
    return found


def _read_literal(tokens: Tokens, is_plain: bool = False) -> Default | None:
    """is_plain: without parentheses, in which a text is an expression to MySQL."""
    if tokens.accept("NULL"):
        return Default("null")
    if now := read_now(tokens):
        return now
    word = tokens.accept_any(*_NUMBERS)
    if word:
        return Default("number", _NUMBERS[word])
    if _sees_number(tokens):
        return Default("number", _read_number(tokens))
    if tokens.peek().kind is Kind.BITS:
        return Default("bits", tokens.next().text)
    if _sees_plain_introducer(tokens):
        tokens.next()
    return _read_text(tokens, is_plain) if tokens.peek().kind is Kind.STRING else None


def _read_text(tokens: Tokens, is_plain: bool) -> Default:
    text = tokens.literal(is_default=is_plain)
    data = tokens.kept_bytes(text)
    return Default("string", text) if data is None else Default("bits", f"x'{data.hex()}'")


def _sees_number(tokens: Tokens) -> bool:
    n = 0
    while tokens.peek(n).is_symbol("-") or tokens.peek(n).is_symbol("+"):
        n += 1
    return tokens.peek(n).kind is Kind.NUMBER


def _read_number(tokens: Tokens) -> str:
    is_negative = False
    while tokens.peek().kind is Kind.SYMBOL:
        is_negative ^= tokens.next().text == "-"
    digits = tokens.next().text
    return "-" * is_negative + _LEADING_ZEROS.sub("", digits)


def _sees_plain_introducer(tokens: Tokens) -> bool:
    """Does a word come before a string that leaves the string's characters unchanged?"""
    word = tokens.peek()
    if word.kind is not Kind.WORD or tokens.peek(1).kind is not Kind.STRING:
        return False
    if word.text.upper() in _MOMENTS:
        return True
    strings = takewhile(lambda token: token.kind is Kind.STRING, map(tokens.peek, count(1)))
    text = "".join(token.text for token in strings)
    is_introducer = word.text.startswith("_") or word.text.upper() == "N"
    return is_introducer and is_as_written(word.text, text, tokens.session.connection_charset)


def _read_expression(tokens: Tokens) -> str:
    """Read a function call, a sequence's next value, a literal with an introducer; MariaDB's CASE and @variable."""
    mark = tokens.mark
    while tokens.accept("-") or tokens.accept("+"):
        pass
    if tokens.sees("@"):
        _skip_variable(tokens)
    elif tokens.sees("CASE"):
        _skip_case(tokens)
    elif tokens.peek().kind is Kind.WORD and tokens.peek(1).kind in (Kind.STRING, Kind.BITS):
        tokens.next()
        tokens.next()
        while tokens.peek().kind is Kind.STRING:
            tokens.next()
    elif tokens.accept_any("NEXT", "PREVIOUS"):
        tokens.expect("VALUE", "FOR")
        tokens.name()
    else:
        tokens.name()
    while tokens.accept("."):
        tokens.name()
    if tokens.sees("("):
        tokens.skip_parentheses()
    return tokens.text_since(mark)


def _skip_variable(tokens: Tokens) -> None:
    while tokens.accept("@"):
        pass
    tokens.name()
    if tokens.accept(":="):
        tokens.next()


def _skip_case(tokens: Tokens) -> None:
    """Skip CASE .. END, with others inside."""
    tokens.expect("CASE")
    depth = 1
    while depth:
        if tokens.at_end:
            raise tokens.unexpected()
        token = tokens.next()
        depth += token.is_word("CASE") - token.is_word("END")
