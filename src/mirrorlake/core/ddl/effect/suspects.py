"""Find the tables that a statement may be about, if it is not understood, by its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mirrorlake.core.schema.history import Definitions
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.table_name import TableName

_WORD = re.compile(r"[0-9A-Za-z$_\u0080-\U0010ffff]+")
_END_OF_QUOTED = ("`", '"', "]")
"""Ends a name in back-ticks, ANSI quotes, or the brackets of MariaDB's sql_mode MSSQL; twice within the name."""
_DATABASE_WORD = re.compile(r"\b(?:DATABASE|SCHEMA)\b", re.IGNORECASE)
_DATABASE = re.compile(r"\b(?:DATABASE|SCHEMA)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(`(?:[^`]|``)+`|[\w$]+)", re.IGNORECASE)


def suspects(statement: str, database: str, definitions: Definitions) -> list[TableName]:
    """Followed tables whose name is a word of the statement, if their database is another word or the session's; and
    every table of a database that is named after DATABASE or SCHEMA. Words in texts and comments count.
    """
    occur = _occurring(_names(definitions), folded(statement))
    return _meant(occur, {folded(name) for name in _named_databases(statement)}, database, definitions)


def suspects_of_long(pieces: Iterable[str], database: str, definitions: Definitions) -> list[TableName]:
    """The same of a statement in pieces. DATABASE or SCHEMA may be in one piece, and the name in another."""
    names, occur, may_name_databases = _names(definitions), set[str](), False
    for piece in pieces:
        occur |= _occurring(names - occur, folded(piece))
        may_name_databases |= _DATABASE_WORD.search(piece) is not None
    return _meant(occur, occur if may_name_databases else set(), database, definitions)


def _names(definitions: Definitions) -> set[str]:
    return {folded(name) for table in followed(definitions) for name in table}


def _meant(occur: set[str], databases: set[str], database: str, definitions: Definitions) -> list[TableName]:
    words = occur | {folded(database)}
    return [
        name
        for name in followed(definitions)
        if folded(name.database) in databases or (folded(name.database) in words and folded(name.table) in occur)
    ]


def _occurring(names: set[str], text: str) -> set[str]:
    """Those of the names that the text has, as a word or in quotes. It keeps no words: there may be millions."""
    words = {name for name in names if _WORD.fullmatch(name)}
    found = {word for match in _WORD.finditer(text) if (word := match[0]) in words}
    return found | {name for name in names - words if any(name.replace(end, end * 2) in text for end in _END_OF_QUOTED)}


def followed(definitions: Definitions) -> Iterable[TableName]:
    """Every followed table."""
    return (TableName(*name) for name in definitions.followed())


def _named_databases(statement: str) -> Iterator[str]:
    for found in _DATABASE.finditer(statement):
        name = found[1]
        yield name[1:-1].replace("``", "`") if name[0] == "`" else name
