"""Find the tables that a statement may be about, if it is not understood, by its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mirrorlake.core.ddl.parse.lexer import Kind, LexError, tokenize, with_signs
from mirrorlake.core.ddl.parse.session import LoggedSession, SourceServer
from mirrorlake.core.ddl.parse.tokens import MAX_TOKENS, NO_CHARACTER
from mirrorlake.core.schema.history import Definitions
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.table_name import TableName

_WORD = re.compile(r"[0-9A-Za-z$_\u0080-\U0010ffff]+")
_END_OF_QUOTED = ("`", '"', "]")
"""Ends a name in back-ticks, ANSI quotes, or the brackets of MariaDB's sql_mode MSSQL; twice within the name."""
_DATABASE_WORD = re.compile(r"\b(?:DATABASE|SCHEMA)\b", re.IGNORECASE)
_DATABASE = re.compile(r"\b(?:DATABASE|SCHEMA)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(`(?:[^`]|``)+`|[\w$]+)", re.IGNORECASE)
_PIECE_CHARACTERS, _OVERLAP_CHARACTERS = 1 << 20, 1 << 10
"""Of ``outside_comments``. The overlap is longer than any name."""


class LongStatement(NamedTuple):
    """pieces: all of it that may name a table."""

    n_bytes: int
    pieces: Iterable[str]


def outside_comments(statement: str, server: SourceServer, session: LoggedSession) -> Iterator[str]:
    """Yield a statement in pieces, without comments and texts: anybody can write another's table into these. After
    ``MAX_TOKENS``, or where no token is found, comes all of the rest."""
    statement = with_signs(statement, session.client_charset)
    tokens = tokenize(
        statement, sql_mode=session.sql_mode, flavor=server.flavor, server_version=server.assumed_version,
        client_charset=session.client_charset,
    )  # fmt: skip
    parts, n_characters, end = list[str](), 0, 0
    try:
        for _, token in zip(range(MAX_TOKENS), tokens, strict=False):
            between = statement[end : min(token.start, end + _OVERLAP_CHARACTERS)]  # a comment may be long
            parts.append(between if between.isspace() or not between else " ")
            parts.append(" " if token.kind is Kind.STRING else statement[token.start : token.end])
            n_characters, end = n_characters + len(parts[-1]), token.end
            if n_characters > _PIECE_CHARACTERS:
                piece = "".join(parts)
                yield piece
                parts, n_characters = [piece[-_OVERLAP_CHARACTERS:]], 0
    except LexError:
        pass
    yield "".join(parts)
    for start in range(end, len(statement), _PIECE_CHARACTERS):
        yield statement[max(0, start - _OVERLAP_CHARACTERS) : start + _PIECE_CHARACTERS]


def suspects(statement: str, database: str, definitions: Definitions) -> list[TableName]:
    """Followed tables whose name is a word of the statement, if their database is another word or the session's; and
    every table of a database that is named after DATABASE or SCHEMA. statement: see ``outside_comments``.
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


def meant_by_unread(tables: Iterable[TableName], database: str | None, definitions: Definitions) -> list[TableName]:
    """Followed tables that these names may mean to the server, and those of this database."""
    named: dict[str, set[str]] = {}
    for name in tables:
        named.setdefault(_readable(name.database), set()).add(_readable(name.table))
    dropped = database and _readable(database)

    def is_meant(name: TableName) -> bool:
        homes = _readings(name.database)
        return dropped in homes or any(
            not named[home].isdisjoint(_readings(name.table)) for home in homes & named.keys()
        )

    return list(filter(is_meant, followed(definitions)))


def _readable(name: str) -> str:
    """The name up to what cannot be read."""
    return "".join(name.partition(NO_CHARACTER)[:2])


def _readings(name: str) -> set[str]:
    """What ``_readable`` makes of each statement's name that may mean this one."""
    unread = (i for i, character in enumerate(name) if character in ("?", NO_CHARACTER))
    return {name, name + NO_CHARACTER, *(name[:i] + NO_CHARACTER for i in unread)}


def followed(definitions: Definitions) -> Iterable[TableName]:
    """Every followed table."""
    return (TableName(*name) for name in definitions.followed())


def _named_databases(statement: str) -> Iterator[str]:
    for found in _DATABASE.finditer(statement):
        name = found[1]
        yield name[1:-1].replace("``", "`") if name[0] == "`" else name
