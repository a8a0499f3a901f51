"""Find the work of an epoch on each mirror: logged changes, and the changes that foreign keys make because of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.keys import NOT_FOLLOWED
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.cascade.cascades import leaves_keys
from mirrorlake.lake.gold.cascade.foreign_keys import Reference, above, alone, reached, references
from mirrorlake.lake.gold.cascade.row_versions import OrderedRows
from mirrorlake.lake.gold.control.register import TableEntry, TableRegister
from mirrorlake.lake.gold.decisions import Decisions
from mirrorlake.lake.gold.merge.changes import ChangeReader, TableChanges
from mirrorlake.lake.gold.merge.net_effect import Sizes

_NO_TRANSACTION = (
    "its definition names no engine, and its changes are logged as those of an engine without transactions, which "
    "ignores foreign keys"
)


@dataclass(frozen=True, slots=True)
class TableWork:
    """changes: logged ones, or none. rows: if foreign keys may change more, the logged rows that they act on."""

    changes: TableChanges
    entry: TableEntry
    rows: OrderedRows | None = None


@dataclass(slots=True)
class EpochWork:
    """Finds the work of an epoch. What it read of the last range is cached: an epoch is planned, then done."""

    lake: Lake
    decisions: Decisions
    sizes: Sizes
    _along: dict[LsnRange, list[Reference]] = field(default_factory=dict)
    _outside: dict[LsnRange, set[TableName]] = field(default_factory=dict)

    def find(
        self, session: SparkSession, reader: ChangeReader, lsns: LsnRange, register: TableRegister,
        planned: Collection[TableName], versions: Mapping[str, int | None],
    ) -> tuple[list[TableWork], list[TableEntry]]:  # fmt: skip
        """Find the work by mirror, and the tables that are refused. planned: see ``Decisions.take``. versions: see
        ``OrderedRows``."""
        summary = reader.summary(lsns)
        taken, refused = self.decisions.take(summary, register, planned)
        found, orphans = references(register, self.decisions.rules)
        orphans = alone(register) if reader.only else orphans
        lost = {orphan.child.name: (orphan.child, orphan.reason) for orphan in orphans}
        changes = {each.name: each for each in summary}
        for child in self._without_keys(reader, lsns, found, changes):
            lost.setdefault(child.name, (child, _NO_TRANSACTION))
        rows = OrderedRows(self.lake, reader, lsns, changes, (), versions, self.sizes)
        along = self._followed(session, rows, found) if found else []
        work = {entry.name: TableWork(each, entry) for each, entry in taken}
        stopped = {entry.name for entry in refused}
        for child in {reference.child.name: reference.child for reference in along}.values():
            if child.name in stopped and child.name not in work:
                continue
            ways = above(child.name, along)
            reason = _why_lost(ways, (stopped | lost.keys()) - {child.name}) or _why_unknown(ways, changes)
            if reason:
                lost.setdefault(child.name, (child, reason))
            first = min(changes[r.parent.name].first_lsn for r in ways if r.parent.name in changes)
            own = changes.get(child.name) or TableChanges.none(child.name, first)
            work[child.name] = TableWork(own, child, replace(rows, along=ways))
        refused = [entry for entry in refused if entry.name not in lost]
        refused += [child.refused(lsns.after + 1, NOT_FOLLOWED, reason) for child, reason in lost.values()]
        return [each for name, each in work.items() if name not in lost], refused

    def _without_keys(
        self, reader: ChangeReader, lsns: LsnRange, found: list[Reference], changes: Mapping[TableName, TableChanges]
    ) -> list[TableEntry]:
        """Children whose definition names no engine, and whose changes say that it has no transactions."""
        unsure = {r.child.name: r.child for r in found if r.child.schema.engine is None and r.child.name in changes}
        if unsure and lsns not in self._outside:
            self._outside = {lsns: reader.outside_transactions(lsns)}
        return [child for name, child in unsure.items() if name in self._outside[lsns]]

    def _followed(self, session: SparkSession, rows: OrderedRows, found: list[Reference]) -> list[Reference]:
        """The references that carry a change."""
        if rows.lsns not in self._along:
            first = [r for r in found if (c := rows.changes.get(r.parent.name)) and r.may_follow(c)]
            leaving = [r for r in first if rows.changes[r.parent.name].refused or leaves_keys(session, rows, r)]
            self._along = {rows.lsns: reached(found, leaving)}
        return self._along[rows.lsns]


def _why_unknown(ways: list[Reference], changes: Mapping[TableName, TableChanges]) -> str | None:
    """Why effects are not known: row images without values of generated columns hide where their foreign keys lead."""
    for reference in ways:
        for entry, names in ((reference.parent, reference.parent_columns), (reference.child, reference.columns)):
            lacks = entry.name in changes and changes[entry.name].lacks_generated
            if lacks and any(c.generated is not None for c in entry.schema.columns if c.name in names):
                return f"the log leaves out generated columns of {entry.name} that a foreign key is about"
    return None


def _why_lost(ways: list[Reference], refused: Collection[TableName]) -> str | None:
    for reference in ways:
        parent = str(reference.parent.name)
        if reference.parent.name in refused:
            return f"a foreign key changes its rows, and its parent {parent} is not mirrored any more"
        if reference.doubt:
            return f"a foreign key to {parent} changes rows of {reference.child.name}: {reference.doubt}"
    return None
