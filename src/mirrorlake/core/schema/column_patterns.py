"""Patterns of ``database.table.column`` that hide columns or hash them: ``shop.customers.phone``, ``*.*.password``.

``*`` fits any characters, ``?`` one, ``[abc]`` one of these. Columns compare without regard to case, as on the servers.
"""

from __future__ import annotations

import difflib
import fnmatch
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mirrorlake.core.schema.hashing import DigestKey
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN, NameCase
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.table_patterns import shadowed
from mirrorlake.core.schema.tables import Column, TableSchema

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
    """patterns: of hidden columns, each has two dots or more; hashed: of hashed ones. name_case: how the source
    compares names of databases and tables. key: of the digests; None: this process makes none."""

    patterns: tuple[str, ...] = ()
    name_case: NameCase = AS_WRITTEN
    hashed: tuple[str, ...] = ()
    key: DigestKey | None = field(default=None, repr=False, compare=False)

    @property
    def are_any(self) -> bool:
        return bool(self.patterns or self.hashed)

    def hides(self, column: ColumnName) -> bool:
        """Does a pattern hide the column? One of a shadow table is hidden with that of the other table."""
        return any(self._fits(pattern, column) for pattern in self.patterns)

    def marked(self, schema: TableSchema) -> TableSchema:
        """The definition with the columns hidden and hashed that a pattern fits."""
        return marked(schema, self._fitting(self.patterns, schema), self._fitting(self.hashed, schema))

    def _fitting(self, patterns: tuple[str, ...], schema: TableSchema) -> set[str]:
        names = {column.name: ColumnName(schema.name, column.name) for column in schema.columns}
        return {name for name, column in names.items() if any(self._fits(pattern, column) for pattern in patterns)}

    def unused(self, columns: Collection[ColumnName]) -> list[str]:
        """The patterns without a wildcard that fit none of these columns."""
        return [pattern for pattern in self._exact() if not any(self._fits(pattern, column) for column in columns)]

    def named_tables(self, tables: Collection[TableName]) -> set[TableName]:
        """The tables of these that the patterns without a wildcard name; for a pattern that names none, the nearest."""
        named = defaultdict[str, set[TableName]](set)
        for table in tables:
            for other in (table.table, *shadowed(table.table)):
                named[self.name_case.fold(f"{table.database}.{other}")].add(table)
        names = {self.name_case.fold(pattern.rpartition(".")[0]) for pattern in self._exact()}
        missing = sorted(names - named.keys())
        nearest = {like for name in missing for like in difflib.get_close_matches(name, named, cutoff=_LIKE)}
        return {table for name in nearest | names & named.keys() for table in named[name]}

    def _exact(self) -> list[str]:
        return [pattern for pattern in (*self.patterns, *self.hashed) if not any(sign in pattern for sign in _WILD)]

    def _fits(self, pattern: str, column: ColumnName) -> bool:
        table_pattern, _, column_pattern = pattern.rpartition(".")
        if not fnmatch.fnmatchcase(folded(column.column), folded(column_pattern)):
            return False
        database, table = column.table
        names = (f"{database}.{other}" for other in (table, *shadowed(table)))
        return any(fnmatch.fnmatchcase(*self.name_case.fold_all(name, table_pattern)) for name in names)


NO_COLUMNS = ColumnPatterns()


def marked(schema: TableSchema, hidden: Collection[str], hashed: Collection[str] = ()) -> TableSchema:
    """The definition with these columns hidden and hashed, besides those that are. A hidden column is not hashed."""

    def of(column: Column) -> Column:
        is_hidden = column.is_hidden or column.name in hidden
        return replace(
            column, is_hidden=is_hidden, is_hashed=not is_hidden and (column.is_hashed or column.name in hashed)
        )

    return replace(schema, columns=tuple(map(of, schema.columns)))


def column_fault_of(pattern: str) -> str | None:
    """What is wrong with a pattern; None: nothing."""
    parts = pattern.split(".")
    if len(parts) > 2 and all(parts) and not pattern.startswith("!"):
        return None
    return f"{pattern!r} is no pattern of database.table.column, such as shop.customers.phone or *.*.password"


def nearest_columns(pattern: str, columns: Collection[ColumnName]) -> list[str]:
    """At most three columns that are like a pattern; the best first."""
    return difflib.get_close_matches(pattern, sorted(map(str, columns)), cutoff=_LIKE)
