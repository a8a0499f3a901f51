"""Patterns of ``database.table.column`` that hide columns: ``shop.customers.phone``, ``*.*.password``.

``*`` fits any characters, ``?`` one, ``[abc]`` one of these. Columns compare without regard to case, as on the servers.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

from mirrorlake.core.schema.lower_case_names import AS_WRITTEN, NameCase
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.shadow_tables import shadowed
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema

_WILD = "*?["
_LIKE = 0.75
"""How like a name must be to be shown, from 0 to 1."""


class ColumnName(NamedTuple):
    table: TableName
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True, slots=True)
class ColumnPatterns:
    """patterns: each has two dots or more. name_case: how the source compares names of databases and tables."""

    patterns: tuple[str, ...] = ()
    name_case: NameCase = AS_WRITTEN

    def hides(self, column: ColumnName) -> bool:
        """Does a pattern fit the column? One of a shadow table is hidden with that of the other table."""
        return any(self._fits(pattern, column) for pattern in self.patterns)

    def marked(self, schema: TableSchema) -> TableSchema:
        """The definition with the columns hidden that a pattern fits."""
        return marked(schema, {c.name for c in schema.columns if self.hides(ColumnName(schema.name, c.name))})

    def unused(self, columns: Collection[ColumnName]) -> list[str]:
        """The patterns without a wildcard that fit none of these columns."""
        exact = (pattern for pattern in self.patterns if not any(sign in pattern for sign in _WILD))
        return [pattern for pattern in exact if not any(self._fits(pattern, column) for column in columns)]

    def _fits(self, pattern: str, column: ColumnName) -> bool:
        table_pattern, _, column_pattern = pattern.rpartition(".")
        if not fnmatch.fnmatchcase(folded(column.column), folded(column_pattern)):
            return False
        database, table = column.table
        names = (f"{database}.{other}" for other in (table, *shadowed(table)))
        return any(fnmatch.fnmatchcase(*self.name_case.fold_all(name, table_pattern)) for name in names)


NO_COLUMNS = ColumnPatterns()


def marked(schema: TableSchema, names: Collection[str]) -> TableSchema:
    """The definition with these columns hidden, besides those that are."""
    columns = tuple(replace(c, is_hidden=True) if c.name in names else c for c in schema.columns)
    return replace(schema, columns=columns)


def column_fault_of(pattern: str) -> str | None:
    """What is wrong with a pattern; None: nothing."""
    parts = pattern.split(".")
    if len(parts) > 2 and all(parts) and not pattern.startswith("!"):
        return None
    return f"{pattern!r} is no pattern of database.table.column, such as shop.customers.phone or *.*.password"


def nearest_columns(pattern: str, columns: Collection[ColumnName]) -> list[str]:
    """At most three columns that are like a pattern; the best first."""
    return difflib.get_close_matches(pattern, sorted(map(str, columns)), cutoff=_LIKE)
