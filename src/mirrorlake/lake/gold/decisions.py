"""Decide which row changes of an epoch go to which mirror, and which tables are refused."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from mirrorlake.core.changes.conditions import GENERATED, MAYBE_REPLACED
from mirrorlake.core.ddl.effect.name_doubts import CODE as NAME_CASE
from mirrorlake.core.position import show_lsn
from mirrorlake.core.schema.hashing import DIGEST
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema, is_sequence
from mirrorlake.core.schema.versioning import as_mirrored
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.control.register import (
    DROPPED,
    INVALID_VALUE,
    NEEDS_FIRST_COPY,
    NEEDS_RESYNC,
    REFUSED,
    STREAMING,
    TableEntry,
    TableRegister,
)
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.ddl.outcomes import left_out
from mirrorlake.lake.gold.merge.changes import TableChanges
from mirrorlake.lake.gold.merge.generated_columns import why_not_computed


@dataclass(slots=True)
class Decisions:
    """read_definitions: returns all of silver's definitions by schema_id."""

    read_definitions: Callable[[], dict[int, TableSchema]]
    rules: TableRules
    _definitions: dict[int, TableSchema] = field(default_factory=dict)

    def take(
        self, summary: list[TableChanges], register: TableRegister, planned: Collection[TableName]
    ) -> tuple[list[tuple[TableChanges, TableEntry]], list[TableEntry]]:
        """Decide what is applied to which mirror, and the tables that are refused.

        planned: tables of an open plan, whose decisions by options were made with the plan.
        """
        work, refused = [], []
        for changes in summary:
            entry, is_planned = register.get(changes.name), changes.name in planned
            if not is_planned and not self.rules.is_wanted(*changes.name):
                refused += left_out(entry, changes.first_lsn)
            elif entry is None or entry.state == DROPPED:
                refused += [] if self._is_sequence(changes) else self._unknown(changes, register)
            elif entry.state == STREAMING:
                cause = self._refusal(entry, changes, is_planned)
                if cause:
                    refused.append(entry.refused(changes.first_lsn, *cause))
                    continue
                if changes.n_changes:
                    work.append((changes, entry))
                if changes.refused:
                    lsn, refusal = changes.refused
                    refused.append(entry.refused(lsn, *refusal.split(": ", 1)))
        return work, refused

    def _unknown(self, changes: TableChanges, register: TableRegister) -> list[TableEntry]:
        """Refuse a table without a mirror, and each table that it may be, if nobody said how names compare.

        MariaDB logs RENAME of a temporary table as that of the ordinary one, whose rows then come under the old name.
        """
        unknown, lsn = TableEntry(changes.first_lsn, *changes.name, REFUSED), changes.first_lsn
        alike = [] if self.rules.knows_names else register.alike(changes.name)
        if not alike:
            mine = unknown.refused(lsn, NEEDS_FIRST_COPY, "its CREATE TABLE is not in the log")
            renamed = f"it was renamed from {changes.name}, of which the log has rows after that"
            return [mine, *(each.refused(lsn, NEEDS_RESYNC, renamed) for each in register.renamed_from(changes.name))]
        spelled = str(alike[0].name)
        mine = unknown.refused(lsn, NAME_CASE, f"its CREATE TABLE is not in the log, but that of {spelled}")
        theirs = f"the log has rows of {changes.name}, but not its CREATE TABLE"
        return [mine, *(entry.refused(lsn, NAME_CASE, theirs) for entry in alike if entry.state == STREAMING)]

    def _refusal(self, entry: TableEntry, changes: TableChanges, is_planned: bool) -> tuple[str, str] | None:
        """Code and reason why none of the changes is applied."""
        mirrored = entry.schema
        assert mirrored, "a table that is streaming has a mirror"
        difference = self._difference(mirrored, changes)
        if difference:
            return "definition-mismatch", difference
        if changes.first_invalid is not None and not is_planned and self.rules.refuses_invalid(*changes.name, mirrored):
            position = show_lsn(changes.first_invalid)
            return INVALID_VALUE, f"a row at {position} has a value that its mirror cannot hold"
        if not is_planned and MAYBE_REPLACED in changes.conditions and not self.rules.keeps_as_replica(*changes.name):
            return MAYBE_REPLACED, changes.conditions[MAYBE_REPLACED]
        reason = why_not_computed(mirrored, changes) if changes.lacks_generated else None
        return (GENERATED, reason) if reason else None

    def _is_sequence(self, changes: TableChanges) -> bool:
        """Are these the rows of a sequence that is older than the log?"""
        return bool(changes.schema_ids) and all(map(is_sequence, self._seen(changes)))

    def _seen(self, changes: TableChanges) -> list[TableSchema]:
        """The definitions of the changes' table maps."""
        if not changes.schema_ids <= self._definitions.keys():
            self._definitions = self.read_definitions()
        return [self._definitions[schema_id] for schema_id in sorted(changes.schema_ids)]

    def _difference(self, mirrored: TableSchema, changes: TableChanges) -> str | None:
        """How the mirror differs from the changes' table maps."""
        hashed = {column.name for column in mirrored.columns if column.is_hashed}
        for logged in self._seen(changes):
            seen = as_mirrored(logged, mirrored)
            if _types(seen, hashed) != _types(mirrored, hashed):
                return "the row events have other columns than the mirror"
            if seen.primary_key != mirrored.primary_key:
                return "the row events have another primary key than the mirror"
        return None


def _types(schema: TableSchema, hashed: Collection[str]) -> dict[str, str]:
    """Column types, whether or not the mirror has them as text. hashed: columns whose digests have one type."""
    return {c.name: spark_type(DIGEST if c.name in hashed else c.type) for c in schema.columns}
