"""The columns that the expression of a generated column names, and their new names after a RENAME, as in MariaDB."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from mirrorlake.core.ddl.parse.lexer import Kind, LexError, Token
from mirrorlake.core.ddl.parse.session import SourceServer
from mirrorlake.core.ddl.parse.tokens import Tokens
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.sql_text import quote


def with_renamed(column: Column, names: Mapping[str, str | None]) -> Column:
    """Rename in a column. names: old name, case folded -> new name; None: it is dropped. MySQL renames no column that
    an expression names."""
    changed = {old: new for old, new in names.items() if new is not None and folded(new) != old}
    if column.generated is None or not changed:
        return column
    return replace(column, generated=_renamed(column.generated, changed))


def names_any(text: str, names: Collection[str]) -> str | None:
    """The first of these columns, case folded, that an expression names; also if it cannot be read."""
    try:
        return next((name for name, _ in _named(text) if name in names), None)
    except LexError:
        return next(iter(sorted(names)), None)


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Rename all at once: two columns may swap their names."""
    pieces, at = [], 0
    try:
        for name, token in _named(text):
            if name in names:
                pieces += [text[at : token.start], quote(names[name])]
                at = token.end
    except LexError:
        return text
    return "".join([*pieces, text[at:]])


def _named(text: str) -> Iterator[tuple[str, Token]]:
    """Each word that may be a column, case folded: not a function, and not in a text. Raises LexError."""
    tokens = Tokens(text, SourceServer("mariadb"))
    while not tokens.at_end:
        token, is_function = tokens.next(), tokens.peek().is_symbol("(")
        if token.kind is Kind.QUOTED or token.kind is Kind.WORD and not is_function:
            yield folded(token.text), token
