"""Find the tables that a statement may be about, if it is not understood, by its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mirrorlake.core.schema.history import Definitions
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.table_name import TableName

_WORD = re.compile(r"[0-9A-Za-z$_\u0080-\U0010ffff]+")
_DATABASE = re.compile(r"\b(?:DATABASE|SCHEMA)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(`(?:[^`]|``)+`|[\w$]+)", re.IGNORECASE)


def suspects(statement: str, database: str, definitions: Definitions) -> list[TableName]:
    """Followed tables whose name is a word of the statement, if their database is another word or the session's; and
    every table of a database that is named after DATABASE or SCHEMA. Words in texts and comments count.
    """
    text = folded(statement)
    words = {found[0] for found in _WORD.finditer(text)}
    databases = {folded(name) for name in _named_databases(statement)}

    def occurs(name: str) -> bool:
        name = folded(name)
        return name in words if _WORD.fullmatch(name) else name.replace("`", "``") in text

    def is_meant(name: TableName) -> bool:
        if folded(name.database) in databases:
            return True
        return (folded(name.database) == folded(database) or occurs(name.database)) and occurs(name.table)

    return [name for name in followed(definitions) if is_meant(name)]


def followed(definitions: Definitions) -> Iterable[TableName]:
    """Every followed table."""
    return (TableName(*name) for name in definitions.followed())


def _named_databases(statement: str) -> Iterator[str]:
    for found in _DATABASE.finditer(statement):
        name = found[1]
        yield name[1:-1].replace("``", "`") if name[0] == "`" else name
