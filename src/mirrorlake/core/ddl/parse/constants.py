"""A DEFAULT's expression of constants -> its value as a literal, if every server gets the same.

    sum       term, then + or - and a term, any number of times
    term      factor, then * and a factor, any number of times
    factor    - factor, (sum), an integer, a string, or CONCAT, UPPER, UCASE, LOWER, LCASE of such

Integers have 63 bits, and texts whose case changes are ASCII. Anything else gives no constant.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from mirrorlake.core.ddl.parse.lexer import Kind, LexError
from mirrorlake.core.ddl.parse.session import SourceServer
from mirrorlake.core.ddl.parse.tokens import ParseError, Tokens
from mirrorlake.core.schema.tables import Default

_LARGEST = 2**63 - 1
_CASES = {"UPPER": str.upper, "UCASE": str.upper, "LOWER": str.lower, "LCASE": str.lower}
_T = TypeVar("_T")
_Nested = Generator["_Nested[Any]", Any, _T]
"""A call that yields the calls that it makes and gets what each returns."""


def constant(text: str) -> Default | None:
    """The constant; None: there is none. text: of a Default of kind ``expression``."""
    if "\\" in text:  # which may or may not escape, by an sql_mode that the text does not show
        return None
    reader = _Reader(text)
    try:
        value = reader.read()
    except (LexError, ParseError):
        return None
    return Default("string", value) if isinstance(value, str) else Default("number", str(value))


class _Reader:
    def __init__(self, text: str):
        self._tokens = Tokens(text, SourceServer("mysql"))

    def read(self) -> int | str:
        value = _unnest(self._sum())
        if not self._tokens.at_end:
            raise self._tokens.unexpected()
        return value

    def _sum(self) -> _Nested[int | str]:
        value = yield self._term()
        while operator := next((o for o in "+-" if self._tokens.accept(o)), None):
            other = self._number((yield self._term()))
            value = self._integer(self._number(value) + (other if operator == "+" else -other))
        return value

    def _term(self) -> _Nested[int | str]:
        value = yield self._factor()
        while self._tokens.accept("*"):
            value = self._integer(self._number(value) * self._number((yield self._factor())))
        return value

    def _factor(self) -> _Nested[int | str]:
        tokens = self._tokens
        if tokens.accept("-"):
            return -self._number((yield self._factor()))
        if tokens.accept("("):
            return self._closed((yield self._sum()))
        if tokens.peek().kind is Kind.NUMBER:
            return self._integer(tokens.number())
        if tokens.peek().kind is Kind.STRING:
            return tokens.string()
        return (yield self._function(tokens.name().upper()))

    def _function(self, name: str) -> _Nested[str]:
        self._tokens.expect("(")
        if name == "CONCAT":
            parts = [str((yield self._sum()))]
            while self._tokens.accept(","):
                parts.append(str((yield self._sum())))
            return self._closed("".join(parts))
        text = self._closed((yield self._sum()))
        if name not in _CASES or not isinstance(text, str) or not text.isascii():
            raise self._tokens.unexpected()
        return _CASES[name](text)

    def _closed(self, value):
        self._tokens.expect(")")
        return value

    def _number(self, value: int | str) -> int:
        if isinstance(value, str):
            raise self._tokens.unexpected()
        return value

    def _integer(self, value: int) -> int:
        if abs(value) > _LARGEST:
            raise self._tokens.unexpected()
        return value


def _unnest(call: _Nested[_T]) -> _T:
    """Return the result of the call, on an explicit stack, so that an expression may nest to any depth.

    Raises what the call, or one inside it, raises.
    """
    calls: list[_Nested[Any]] = [call]
    returned: Any = None
    while calls:
        try:
            inner = calls[-1].send(returned)
        except StopIteration as end:
            calls.pop()
            returned = end.value
        else:
            calls.append(inner)
            returned = None
    return returned
