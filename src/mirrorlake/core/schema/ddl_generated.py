"""Update the expression of a generated column after other columns were renamed, as MariaDB does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mirrorlake.core.schema.ddl_lexer import Kind, LexError, Token
from mirrorlake.core.schema.ddl_tokens import Tokens
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.sql_text import quote

_NEWEST = 129999


def with_renamed(column: Column, names: Mapping[str, str | None]) -> Column:
    """Rename in a column. names: old name, case folded -> new name; None: it is dropped. MySQL renames no column that
    an expression names."""
    changed = {old: new for old, new in names.items() if new is not None and folded(new) != old}
    if column.generated is None or not changed:
        return column
    return replace(column, generated=_renamed(column.generated, changed))


def _renamed(text: str, names: Mapping[str, str]) -> str:
    """Rename all at once: two columns may swap their names."""
    tokens = Tokens(text, database="", sql_mode=0, flavor="mariadb", server_version=_NEWEST)
    pieces, at = [], 0
    try:
        while not tokens.at_end:
            token, is_function = tokens.next(), tokens.peek().is_symbol("(")
            new = names.get(_name(token))
            if new is not None and not (is_function and token.kind is Kind.WORD):
                pieces += [text[at : token.start], quote(new)]
                at = token.end
    except LexError:
        return text
    return "".join([*pieces, text[at:]])


def _name(token: Token) -> str:
    return folded(token.text) if token.kind in (Kind.WORD, Kind.QUOTED) else ""
