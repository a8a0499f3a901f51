"""Find foreign keys between mirrors that change rows, and the children that an epoch's changes may reach."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum

from mirrorlake.core.schema.keys import CASCADE, ROW_CHANGING_ACTIONS, SET_NULL, ForeignKey
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.versioning import end_column
from mirrorlake.lake.gold.control.register import DROPPED, STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.merge.changes import TableChanges

Referenced = tuple[TableName, tuple[str, ...]]
"""A table, and its columns that children reference."""
_COMPARED_BY_VALUE = frozenset(
    ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year", "bit", "binary", "varbinary", "uuid",
     "inet4", "inet6")
)  # fmt: skip
_TEMPORAL = frozenset(("date", "datetime", "timestamp"))
_TEXTS = frozenset(("char", "varchar"))
_ALIKE = {"text": _TEXTS, "bytes": frozenset(("binary", "varbinary"))}
_OF_ALL_LANGUAGES = re.compile(
    r"[a-z0-9]+_(general|unicode|unicode_520|0900|uca1400|tolower)(_nopad)?(_[ac][is])+|latin1_swedish(_nopad)?_ci"
)
"""Collations without rules of a single language, which could make two ASCII texts equal."""


_UNCOMPARED = "its columns are not compared by their values alone"


class Comparison(Enum):
    """BY_VALUE: equal values. PADDED: the same, except spaces at their ends. ASCII: texts of ASCII that differ in more
    than case and spaces at their ends are different; which other texts are equal, only the server knows."""

    BY_VALUE = "by value"
    PADDED = "padded"
    ASCII = "ascii"


@dataclass(frozen=True, slots=True)
class Reference:
    """columns, parent_columns: as the two tables spell them. comparisons: how their values are compared, one each.
    doubt: why its effect does not follow from the log."""

    child: TableEntry
    parent: TableEntry
    columns: tuple[str, ...]
    parent_columns: tuple[str, ...]
    on_delete: str | None
    on_update: str | None
    comparisons: tuple[Comparison, ...] = ()
    doubt: str | None = None

    @property
    def removes(self) -> bool:
        return self.on_delete == CASCADE

    @property
    def setting(self) -> list[bool]:
        """Values of ``moved`` of the parent's rows for which it sets its columns."""
        actions = (False, self.on_delete == SET_NULL), (True, self.on_update in ROW_CHANGING_ACTIONS)
        return [moved for moved, sets in actions if sets]

    def may_set_for(self, lower: Reference) -> bool:
        """May it set columns that the other references, so that the server changes rows of the other's child, too?"""
        return self._sets_key_of(lower) and lower.on_update in ROW_CHANGING_ACTIONS

    def may_hide_from(self, lower: Reference, along: Iterable[Reference]) -> bool:
        """May it set columns that the other references, of a row that is removed later? Then the row gives up another
        key than the log knows."""
        is_removed = any(upper.removes and upper.child.name == self.child.name for upper in along)
        return is_removed and self._sets_key_of(lower) and lower.on_delete in ROW_CHANGING_ACTIONS

    def _sets_key_of(self, lower: Reference) -> bool:
        is_about = lower.parent.name == self.child.name and not set(lower.parent_columns).isdisjoint(self.columns)
        return is_about and bool(self.setting)

    def may_continue_in(self, lower: Reference) -> bool:
        """May what it does to rows of its child change rows of the other's child, too?"""
        is_removal = self.removes and lower.parent.name == self.child.name and lower.on_delete in ROW_CHANGING_ACTIONS
        return is_removal or self.may_set_for(lower)

    @property
    def referenced(self) -> Referenced:
        return self.parent.name, self.parent_columns

    def may_follow(self, changes: TableChanges) -> bool:
        """May changes of the parent have an effect? With system versioning an UPDATE may remove a row."""
        n_updates = changes.n_changes - changes.n_inserts - changes.n_deletes
        is_versioned = end_column(self.parent.schema) is not None
        may_remove = changes.n_deletes > 0 or is_versioned and n_updates > 0
        acts = [action in ROW_CHANGING_ACTIONS for action in (self.on_delete, self.on_update)]
        return changes.refused is not None or acts[0] and may_remove or acts[1] and n_updates > 0


@dataclass(frozen=True, slots=True)
class Orphan:
    """A mirror whose rows a parent changes in a way that cannot be followed."""

    child: TableEntry
    reason: str


def references(register: TableRegister, rules: TableRules) -> tuple[list[Reference], list[Orphan]]:
    """References between mirrors, and orphans. A parent that does not exist yet, or no longer, changes nothing."""
    found: list[Reference] = []
    orphans: list[Orphan] = []
    for child in register:
        if child.state != STREAMING:
            continue
        keys = child.schema.row_changing_keys
        for key in keys:
            parent = register.get(key.parent)
            is_absent = parent is None or parent.state == DROPPED
            if is_absent and rules.is_wanted(*key.parent):
                continue
            reference = None if is_absent or parent.state != STREAMING else _reference(child, parent, key, keys)
            if reference is None:
                named = str(key.parent)
                orphans.append(Orphan(child, f"a foreign key changes its rows, and its parent {named} is not mirrored"))
                break
            found.append(reference)
    return found, orphans


def _reference(
    child: TableEntry, parent: TableEntry, key: ForeignKey, keys: Collection[ForeignKey]
) -> Reference | None:
    """Make a reference; None if the mirrors lack such columns."""
    referenced = key.parent_columns or parent.schema.primary_key
    theirs, mine = _columns(referenced, parent.schema), _columns(key.columns, child.schema)
    if not len(theirs) == len(mine) == len(referenced) == len(key.columns):
        return None
    names, parent_names = (tuple(column.name for column in columns) for columns in (mine, theirs))
    are_values = not any(column.is_hashed for column in theirs) and list(map(_form, mine)) == list(map(_form, theirs))
    compared = tuple(map(_comparison, mine)) if are_values else (None,)
    doubt = _why_unclear(child, parent, key, mine, keys) or (_UNCOMPARED if None in compared else None)
    return Reference(
        child, parent, names, parent_names, key.on_delete, key.on_update, tuple(filter(None, compared)), doubt
    )


def _columns(names: Iterable[str], schema: TableSchema) -> list[Column]:
    """The columns with these names that the table has."""
    indexes = (schema.position(name) for name in names)
    return [schema.columns[i] for i in indexes if i is not None]


def alone(register: TableRegister) -> list[Orphan]:
    """Tables that are replayed without the others, although their parents would change rows."""
    return [
        Orphan(entry, "a foreign key changes its rows, but it is followed without its parent")
        for entry in register
        if entry.state == STREAMING and any(key.parent != entry.name for key in entry.schema.row_changing_keys)
    ]


def _form(column: Column) -> tuple[str, int, int]:
    """Equal for columns whose equal values have equal bytes. InnoDB compares bytes, whatever they mean: it takes 1.05
    in a DECIMAL(4,2) for 1.5 in a DECIMAL(3,1), and a YEAR for a number."""
    name = next((kind for kind, names in _ALIKE.items() if column.type.name in names), column.type.name)
    return name, column.type.scale or 0, column.type.fraction_digits or 0


def _comparison(column: Column) -> Comparison | None:
    """How values of a column are compared; None: not known."""
    collation = column.collation or "utf8mb4_general_ci"
    if column.type.name not in _TEXTS or collation == "binary" or collation.endswith(("_0900_bin", "_nopad_bin")):
        return Comparison.BY_VALUE
    if collation.endswith("_bin"):
        return Comparison.PADDED
    return Comparison.ASCII if _OF_ALL_LANGUAGES.fullmatch(collation) else None


def _why_unclear(
    child: TableEntry, parent: TableEntry, key: ForeignKey, columns: list[Column], keys: Collection[ForeignKey]
) -> str | None:
    if not child.schema.primary_key:
        return "it has no key"
    temporal = frozenset() if child.schema.as_text or parent.schema.as_text else _TEMPORAL
    if not all(column.type.name in _COMPARED_BY_VALUE | temporal | _TEXTS for column in columns):
        return _UNCOMPARED
    mine = {folded(column.name) for column in columns}
    others = {folded(name) for other in keys if other is not key for name in other.columns}
    if not mine.isdisjoint(others):
        return "another foreign key has columns of it"
    own_key = {folded(name) for name in child.schema.primary_key}
    return "it changes the table's key" if SET_NULL in (key.on_delete, key.on_update) and mine & own_key else None


def above(child: TableName, along: Iterable[Reference]) -> list[Reference]:
    """The references through which changes reach ``child``."""
    along, found = list(along), list[Reference]()
    is_complete = False
    while not is_complete:
        more = [
            r for r in along
            if r not in found
            and (r.child.name == child or any(r.may_continue_in(o) or r.may_hide_from(o, along) for o in found))
        ]  # fmt: skip
        found, is_complete = [*found, *more], not more
    return found


def reached(found: Iterable[Reference], leaving: Iterable[Reference]) -> list[Reference]:
    """The references that carry changes. leaving: the ones whose parents' logged changes have an effect."""
    found, along = list(found), list(leaving)
    is_complete = False
    while not is_complete:
        more = [r for r in found if r not in along and any(upper.may_continue_in(r) for upper in along)]
        along, is_complete = [*along, *more], not more
    return along
