"""Keys and foreign keys of a table as values, in the order in which the servers keep them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.table_name import TableName

PRIMARY, UNIQUE, PLAIN, FULLTEXT, SPATIAL, VECTOR = "primary", "unique", "plain", "fulltext", "spatial", "vector"
PRIMARY_NAME = "PRIMARY"
CASCADE, SET_NULL = "CASCADE", "SET NULL"
ROW_CHANGING_ACTIONS = frozenset((CASCADE, SET_NULL))
"""Actions that change rows; no engine executes SET DEFAULT."""
NOT_FOLLOWED = "foreign-key-cascade"
"""Code of a refusal: the effect of a foreign key on the table's rows does not follow from the log."""

_Table = TypeVar("_Table")
_DIGITS = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class KeyPart:
    """A column, or its first ``length`` characters (bytes of a binary column), or an expression as SQL."""

    column: str | None = None
    length: int | None = None
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """kind: see the constants. is_generated: made by the server for a foreign key, dropped when another key can be
    used.

    uses_hash: USING HASH is written. is_hash: MariaDB's UNIQUE that is too long for an index, or USING HASH if the
    engine has no such index. period: of WITHOUT OVERLAPS.
    """

    name: str
    kind: str
    parts: tuple[KeyPart, ...]
    is_generated: bool = False
    uses_hash: bool = False
    is_hash: bool = False
    period: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(part.column for part in self.parts if part.column is not None)

    @property
    def is_unique(self) -> bool:
        return self.kind in (PRIMARY, UNIQUE)

    @property
    def is_whole(self) -> bool:
        """Is each part a whole column?"""
        return not self.is_hash and all(part.column is not None and part.length is None for part in self.parts)


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """parent_database: "" in a statement that does not name it. on_delete, on_update: CASCADE, SET NULL, SET DEFAULT,
    NO ACTION, RESTRICT, or None when not written."""

    name: str | None
    columns: tuple[str, ...]
    parent_database: str
    parent_table: str
    parent_columns: tuple[str, ...] = ()
    on_delete: str | None = None
    on_update: str | None = None

    @property
    def changes_rows(self) -> bool:
        """Does a change of the parent change rows of this table? Most servers do not log that."""
        return not ROW_CHANGING_ACTIONS.isdisjoint((self.on_delete, self.on_update))

    @property
    def parent(self) -> TableName:
        return TableName(self.parent_database, self.parent_table)


def settle_foreign_keys(keys: Iterable[ForeignKey], database: str, table: str) -> tuple[ForeignKey, ...]:
    """Foreign keys of a table as InnoDB keeps them: the parent is in the same database if no other is named, and a key
    without a name gets the table's name, and a number above all others."""
    keys = tuple(replace(key, parent_database=key.parent_database or database) for key in keys)
    made_up = folded(f"{table}_ibfk_")
    known = (folded(key.name or "") for key in keys)
    numbers = [int(name.removeprefix(made_up)) for name in known if _is_numbered(name, made_up)]
    count = itertools.count(max(numbers, default=0) + 1)
    return tuple(key if key.name else replace(key, name=f"{table}_ibfk_{next(count)}") for key in keys)


def foreign_keys_of_renamed(keys: Iterable[ForeignKey], old: str, new: str) -> tuple[ForeignKey, ...]:
    """Foreign keys of a table that was named ``old``: names that InnoDB generated follow the new name."""
    made_up = f"{old}_ibfk_"
    return tuple(
        replace(key, name=f"{new}_ibfk_{key.name[len(made_up) :]}")
        if key.name and _is_numbered(folded(key.name), folded(made_up))
        else key
        for key in keys
    )


def _is_numbered(name: str, made_up: str) -> bool:
    return name.startswith(made_up) and _DIGITS.fullmatch(name, len(made_up)) is not None


def identity_key(keys: Iterable[Key], never_null: Collection[str]) -> Key | None:
    """The key by which the server identifies rows: the PRIMARY KEY, else the first UNIQUE key of whole columns that
    are never NULL. never_null: column names, case folded."""
    keys = tuple(keys)
    primary = next((key for key in keys if key.kind == PRIMARY), None)
    return primary or next((key for key in keys if _can_be_promoted(key, never_null)), None)


def _can_be_promoted(key: Key, never_null: Collection[str]) -> bool:
    return key.kind == UNIQUE and key.is_whole and all(folded(name) in never_null for name in key.columns)


def server_order(keys: Iterable[Key], never_null: Collection[str]) -> tuple[Key, ...]:
    """Sort the keys of a table as both servers do, whatever the order of its definition (sort_keys in sql_table.cc)."""

    def rank(key: Key) -> int:
        if key.kind == PRIMARY:
            return 0
        if key.kind == UNIQUE:
            is_nullable = any(folded(name) not in never_null for name in key.columns)
            return 3 if is_nullable else 1 if key.is_whole else 2
        return 5 if key.kind == FULLTEXT else 4

    return tuple(sorted(keys, key=rank))


def named(key: Key, known: Iterable[Key], columns: Iterable[str]) -> Key:
    """A key without a name gets its first column's, with a number after it if that is taken."""
    if key.kind == PRIMARY:
        return replace(key, name=PRIMARY_NAME)
    if key.name:
        return key
    first = key.parts[0].column if key.parts else None
    spelled = next((name for name in columns if first and folded(name) == folded(first)), first)
    base = spelled or "functional_index"
    taken = {folded(other.name) for other in known} | {folded(PRIMARY_NAME)}
    numbered = (f"{base}_{n}" for n in range(2, len(taken) + 3))
    return replace(key, name=base if folded(base) not in taken else next(n for n in numbered if folded(n) not in taken))


def parents_first(parents: Mapping[_Table, Collection[_Table]]) -> tuple[list[_Table], list[_Table]]:
    """Order tables, given with the tables that each references: those that come after all of these, then the others,
    which are in a circle or reference one that is not in order. A table that references itself is a circle."""
    sorter, ordered = TopologicalSorter(dict.fromkeys(parents, ())), list[_Table]()
    for table, referenced in parents.items():
        sorter.add(table, *(parents.keys() & referenced))
    with suppress(CycleError):  # the tables outside of circles come all the same
        sorter.prepare()
    while free := sorter.get_ready():
        ordered += free
        sorter.done(*free)
    in_order = {*ordered}
    return ordered, [table for table in parents if table not in in_order]
