"""Apply a statement to the foreign keys of tables that it does not name.

A foreign key that changes rows of its table, the child, can be followed only while its parent is: the unlogged changes
of the child follow from the parent's changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from mirrorlake.core.schema.history import DefinitionChange, Definitions, Refused
from mirrorlake.core.schema.keys import NOT_FOLLOWED, ForeignKey
from mirrorlake.core.schema.name_case import folded
from mirrorlake.core.schema.row_steps import From, Keep
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema

_GONE = ("drop", "moved")


def children_of(parent: TableName, definitions: Definitions) -> list[TableSchema]:
    """Other followed tables whose rows a foreign key to ``parent`` changes."""
    children = (child for child in definitions.children() if child.name != parent)
    return [child for child in children if any(key.parent == parent for key in child.row_changing_keys)]


def with_references(changes: Sequence[DefinitionChange], definitions: Definitions) -> list[DefinitionChange]:
    """The changes of one statement, with tables whose foreign keys name what it renames, and without children of
    parents that are not followed: these are refused. definitions: before the statement."""
    if not any(change.table for change in changes):
        return list(changes)
    found = {change.name: change for change in changes}
    renames = _Renames.of(changes)
    for child in definitions.children():
        name = child.name
        is_named = name in found or renames.tables.get(name, name) in found
        if not is_named and renames.follow(child) is not child:
            found[name] = DefinitionChange("alter", *name, child)
    named = {name: renames.followed(change) for name, change in found.items()}
    return _refuse_children(named, definitions)


@dataclass(slots=True)
class _Renames:
    """tables: old name -> new. columns: of a table by its old name, case folded -> new name."""

    tables: dict[TableName, TableName] = field(default_factory=dict)
    columns: dict[TableName, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, changes: Iterable[DefinitionChange]) -> _Renames:
        renames = cls()
        for change in changes:
            name = change.name
            source = next((TableName(s.database, s.table) for s in change.steps if isinstance(s, From)), name)
            if source != name:
                renames.tables[source] = name
            kept = (step for step in change.steps if isinstance(step, Keep))
            renamed = {folded(step.old.name): step.name for step in kept if step.old.name != step.name}
            if renamed:
                renames.columns[source] = renamed
        return renames

    def followed(self, change: DefinitionChange) -> DefinitionChange:
        """Apply renames to a change. A CREATE uses the parents' names after the statement."""
        if change.schema is None or change.action in ("create", "refuse"):
            return change
        return replace(change, schema=self.follow(change.schema))

    def follow(self, schema: TableSchema) -> TableSchema:
        """Apply renames to a definition; the same object if nothing that it refers to was renamed."""
        keys = tuple(map(self._key, schema.foreign_keys))
        return schema if keys == schema.foreign_keys else replace(schema, foreign_keys=keys)

    def _key(self, key: ForeignKey) -> ForeignKey:
        database, table = self.tables.get(key.parent, key.parent)
        renamed = self.columns.get(key.parent, {})
        columns = tuple(renamed.get(folded(name), name) for name in key.parent_columns)
        return replace(key, parent_database=database, parent_table=table, parent_columns=columns)


def _refuse_children(found: dict[TableName, DefinitionChange], definitions: Definitions) -> list[DefinitionChange]:
    """Refuse tables whose rows a refused parent, or one older than the log, may change; and their children as well."""
    after = {s.name: s for s in definitions.children()}
    after = {name: schema for name, schema in after.items() if name not in found}
    after |= {name: c.schema for name, c in found.items() if c.schema and c.action not in (*_GONE, "refuse")}
    lost = {name for name, change in found.items() if change.action == "refuse"}

    def why_lost(key: ForeignKey) -> str | None:
        known = definitions.get(*key.parent)
        if key.parent in lost or isinstance(known, Refused) and key.parent not in found:
            return "is not followed any more"
        return "is older than the log" if known is None and key.parent not in found else None

    is_stable = False
    while not is_stable:
        is_stable = True
        for name, schema in list(after.items()):
            keys = (key for key in schema.row_changing_keys if key.parent != name)
            cause = next(((key, why) for key in keys if (why := why_lost(key))), None)
            if cause:
                reason = f"a foreign key changes its rows, and its parent {cause[0].parent} {cause[1]}"
                found[name] = DefinitionChange("refuse", *name, schema, code=NOT_FOLLOWED, reason=reason)
                lost.add(name)
                del after[name]
                is_stable = False
    return list(found.values())
