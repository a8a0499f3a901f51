"""Decide the effect of one DDL on the mirrors and the register, before anything is done.

All changes of a statement see the register as it is before the statement; each has one outcome, or none if
neither a mirror nor an entry would change. Outcomes follow from the register alone, so they are the same when an epoch
is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from mirrorlake.core.schema.history import DefinitionChange
from mirrorlake.core.schema.row_steps import Exchange, From, FromSnapshot, Remove, TakeRows
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import SEQUENCE, TableSchema
from mirrorlake.core.schema.versioning import SYSTEM_TIME, of_rows_in_force
from mirrorlake.core.sql_text import literal
from mirrorlake.errors import RefusedError
from mirrorlake.lake.gold.control.register import (
    DROPPED,
    NEEDS_FIRST_COPY,
    NEEDS_RESYNC,
    REFUSED,
    STREAMING,
    TableEntry,
    TableRegister,
    form_of,
    mirror_id,
)
from mirrorlake.lake.gold.control.rules import DROP_PARTITION, DROP_TABLE, TRUNCATE, TableRules
from mirrorlake.lake.gold.control.source_properties import source_properties
from mirrorlake.lake.gold.control.table import own_columns
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.ddl.classes import DdlClass
from mirrorlake.lake.gold.ddl.columns import new_layout
from mirrorlake.lake.gold.ddl.held_definitions import altered, created, held_as, shows
from mirrorlake.lake.gold.ddl.snapshot_rows import take_snapshot
from mirrorlake.lake.gold.ddl.steps import UNCLEAR, Alter, AppendRows, Check, Create, Delete, ExchangeRows, Stop, Work
from mirrorlake.lake.gold.partition.rows import rows_in


@dataclass(frozen=True, slots=True)
class Outcome:
    """entry: the table's next; None if ``mirrored`` stays. work: on the mirror, before the entry is valid.
    is_ignored: the rules say that the mirror stays unchanged.
    """

    entry: TableEntry | None = None
    work: Work | None = None
    mirrored: TableEntry | None = None
    is_rename: bool = False
    is_ignored: bool = False

    @property
    def ddl_class(self) -> DdlClass:
        if self.is_ignored:
            return DdlClass.IGNORED
        if self.work:
            return self.work.ddl_class
        is_registered = self.is_rename or (self.entry and self.entry.state != STREAMING)
        return DdlClass.REGISTERED if is_registered else DdlClass.DEFINITION

    def stopped(self, lsn: int, stop: Stop) -> TableEntry:
        """The entry when the work could not be done: the mirror has the columns that it had."""
        after = self.entry or self.mirrored
        assert after, "work is on the mirror of a table"
        schema = self.mirrored.schema if self.mirrored else after.schema
        identity = self.mirrored.mirror_id if self.mirrored else None
        return replace(after, schema=schema, mirror_id=identity).refused(lsn, stop.code, stop.reason)


def outcomes(
    lsn: int, changes: Sequence[DefinitionChange], register: TableRegister, rules: TableRules
) -> list[Outcome]:
    """The outcomes of one statement's changes."""
    statement = _Statement(lsn, register, rules)
    found = (statement.outcome(change) for change in changes)
    return [outcome for outcome in found if outcome and (outcome.entry or outcome.work or outcome.is_ignored)]


def left_out(entry: TableEntry | None, lsn: int) -> list[TableEntry]:
    """End a mirror that misses changes because of the table filter, whatever the filter is later."""
    if entry is None or entry.state != STREAMING:
        return []
    return [entry.refused(lsn, NEEDS_FIRST_COPY, "changes were left out by --tables")]


@dataclass(frozen=True, slots=True)
class _Statement:
    lsn: int
    register: TableRegister
    rules: TableRules

    def outcome(self, change: DefinitionChange) -> Outcome | None:
        entry = self.register.get(change.name)
        if change.action in ("drop", "moved"):
            return self._end(change, entry)
        if not self.rules.is_wanted(change.database, change.table):
            return Outcome(next(iter(left_out(entry, self.lsn)), None))
        try:
            return _OUTCOMES[change.action](self, change, entry)
        except MemoryError:
            raise
        except RefusedError as error:
            return self._refused(change, (error.code, error.message), entry)
        except Exception as error:  # an unexpected failure must stop no other table
            return self._refused(change, ("ddl-unsupported", f"the statement raised {type(error).__name__}"), entry)

    def _end(self, change: DefinitionChange, entry: TableEntry | None) -> Outcome | None:
        if entry is None or entry.state == DROPPED:
            return None
        if change.action == "drop" and self._ignores(DROP_TABLE, entry):
            return Outcome(mirrored=entry, is_ignored=True)
        return Outcome(TableEntry(self.lsn, *entry.name, DROPPED), is_rename=change.action == "moved")

    def _ignores(self, kind: str, entry: TableEntry) -> bool:
        return entry.state == STREAMING and self.rules.ignores(*entry.name, kind)

    def _rows_kept(self, entry: TableEntry, kind: str) -> Outcome:
        return Outcome(entry.with_rows_kept(self.lsn, kind), mirrored=entry, is_ignored=True)

    def _create(self, change: DefinitionChange, entry: TableEntry | None) -> Outcome:
        refusal = self.rules.why_not_mirrored(change.schema, has_commits=self.rules.commit_columns)
        if refusal:
            return self._refused(change, refusal, None)
        if change.steps:
            create = self._create_of_snapshot if isinstance(change.steps[0], FromSnapshot) else self._create_of_rows
            return create(change)
        change = created(change, self.rules)
        identity = mirror_id(change.schema, self.lsn)
        return Outcome(self._streaming(change, identity), Work(identity, (self._created(change.schema),)))

    def _created(self, schema: TableSchema) -> Create:
        return Create(schema, self.rules.features_of(schema))

    def _create_of_snapshot(self, change: DefinitionChange) -> Outcome:
        """Make a separate mirror: a table may have two snapshots at one position."""
        (copied,) = change.steps
        shown = of_rows_in_force(change.schema)
        change = created(change, self.rules)
        refuses_invalid = self.rules.refuses_invalid(change.database, change.table, change.schema)
        take = take_snapshot(copied.copy_id, change.schema, shown, refuses_invalid=refuses_invalid)
        identity = copied.copy_id + form_of(change.schema)
        return Outcome(self._streaming(change, identity), Work(identity, (self._created(change.schema), take)))

    def _create_of_rows(self, change: DefinitionChange) -> Outcome:
        """CONVERT PARTITION: the table begins with rows of another one, and represents invalid values in the same
        way."""
        (taken,) = change.steps
        try:
            other = self._other_side(taken.other_database, taken.other_table)
            change = held_as(change, other.schema)
            rows = rows_in(taken.partitioning, (taken.name,), other.schema)
        except NotDerivable as stop:
            return self._refused(change, (NEEDS_RESYNC, str(stop)), None)
        columns, identity = _side_by_side(change.schema, other.schema), mirror_id(change.schema, self.lsn)
        append = AppendRows(other.mirror_id, columns, rows.where, rows.unclear)
        entry = self._streaming(change, identity, other.code, other.reason)
        return Outcome(entry, Work(identity, (self._created(change.schema), append)))

    def _other_side(self, database: str, table: str) -> TableEntry:
        """The entry of the other of two tables between which rows move. Raises NotDerivable."""
        other = self.register.get(TableName(database, table))
        if other is None or other.state != STREAMING or not self.rules.is_wanted(database, table):
            raise NotDerivable(f"rows came from {database}.{table}, which is not mirrored")
        return other

    def _refuse(self, change: DefinitionChange, entry: TableEntry | None) -> Outcome | None:
        if change.code == SEQUENCE:
            return self._end(change, entry)
        if entry is not None and entry.state == REFUSED:
            return None
        return self._refused(change, (change.code, change.reason), entry)

    def _alter(self, change: DefinitionChange, entry: TableEntry | None) -> Outcome | None:
        if entry is None or entry.state != STREAMING:
            return None
        if any(isinstance(step, Remove) for step in change.steps) and self._ignores(DROP_PARTITION, entry):
            return self._rows_kept(entry, DROP_PARTITION)
        return self._changed(change, entry)

    def _rename(self, change: DefinitionChange, entry: TableEntry | None) -> Outcome:
        source = next(step for step in change.steps if isinstance(step, From))
        moved = self.register.get(TableName(source.database, source.table))
        if moved is None or moved.state == DROPPED:
            reason = f"it was renamed from {source.database}.{source.table}, which is not mirrored"
            return self._refused(change, (NEEDS_FIRST_COPY, reason), None)
        if moved.state == REFUSED:
            return self._refused(change, (moved.code, moved.reason), moved)
        return self._changed(change, moved)

    def _truncate(self, change: DefinitionChange, entry: TableEntry | None) -> Outcome | None:
        if entry is None or entry.state != STREAMING:
            return None
        if self._ignores(TRUNCATE, entry):
            return self._rows_kept(entry, TRUNCATE)
        return Outcome(None, Work(entry.mirror_id, (Delete(),)), entry)

    def _exchange(self, change: DefinitionChange, entry: TableEntry | None) -> Outcome | None:
        if entry is None or entry.state != STREAMING:
            return None
        step = next(step for step in change.steps if isinstance(step, Exchange))
        try:
            other = self._other_side(step.other_database, step.other_table)
            _refuse_another_form(entry, other)
            rows = rows_in(step.partitioning, (step.name,), (entry if step.is_partitioned else other).schema)
        except NotDerivable as stop:
            return self._refused(change, (NEEDS_RESYNC, str(stop)), entry)
        columns = _side_by_side(entry.schema, other.schema)
        exchange = ExchangeRows(other.mirror_id, columns, rows.where, rows.unclear, step.is_partitioned)
        return Outcome(None, Work(entry.mirror_id, (exchange,)), entry)

    def _changed(self, change: DefinitionChange, entry: TableEntry) -> Outcome | None:
        refusal = self.rules.why_not_mirrored(change.schema, has_commits=entry.schema.has_commits)
        if refusal:
            return self._refused(change, refusal, entry)
        try:
            change = altered(change, entry.schema, self.rules)
            work = self._work(change, entry)
        except NotDerivable as stop:
            return self._refused(change, (NEEDS_RESYNC, str(stop)), entry)
        is_same = change.action == "alter" and not shows(change.schema, entry.schema)
        after = None if is_same else self._streaming(change, entry.mirror_id, entry.code, entry.reason)
        return Outcome(after, work, entry, is_rename=change.action == "rename")

    def _work(self, change: DefinitionChange, entry: TableEntry) -> Work | None:
        """The work on the mirror. Raises NotDerivable."""
        moves = next((step for step in change.steps if isinstance(step, Remove | TakeRows)), None)
        if isinstance(moves, TakeRows):
            other = self._other_side(moves.other_database, moves.other_table)
            _refuse_another_form(entry, other)
            append = AppendRows(other.mirror_id, _side_by_side(change.schema, other.schema))
            return Work(entry.mirror_id, (append,))
        if moves and moves.partitioning.method == SYSTEM_TIME:  # only history is deleted
            return None
        if moves:
            rows = rows_in(moves.partitioning, moves.names, entry.schema)
            unclear = (Check(rows.unclear, UNCLEAR),) if rows.unclear else ()
            return Work(entry.mirror_id, (Delete(rows.where),), unclear)
        refuses_invalid = self.rules.refuses_invalid(change.database, change.table, entry.schema)
        layout = new_layout(entry.schema, change.schema, change.steps, refuses_invalid=refuses_invalid)
        steps = (*layout.steps, *_described(entry.schema, change.schema))
        return Work(entry.mirror_id, steps, layout.checks, layout.in_one) if steps or layout.checks else None

    def _streaming(
        self, change: DefinitionChange, identity: str, code: str | None = None, reason: str | None = None
    ) -> TableEntry:
        return TableEntry(self.lsn, change.database, change.table, STREAMING, identity, change.schema, code, reason)

    def _refused(self, change: DefinitionChange, refusal: tuple[str, str], entry: TableEntry | None) -> Outcome:
        kept = (entry.mirror_id, entry.schema) if entry else (None, change.schema)
        return Outcome(TableEntry(self.lsn, change.database, change.table, REFUSED, *kept, *refusal))


def _refuse_another_form(mine: TableEntry, other: TableEntry) -> None:
    if mine.schema.as_text != other.schema.as_text:
        raise NotDerivable(f"rows came from {other.name}, which holds invalid values in another way")
    if mine.schema.has_commits != other.schema.has_commits:
        raise NotDerivable(f"rows came from {other.name}, and one of the two mirrors has no --commit-columns")
    if mine.schema.left_out != other.schema.left_out:
        raise NotDerivable(f"rows came from {other.name}, whose mirror lacks other columns")
    if [column.is_hashed for column in mine.schema.columns] != [column.is_hashed for column in other.schema.columns]:
        raise NotDerivable(f"rows came from {other.name}, in whose mirror other columns are hashed")


def _side_by_side(mine: TableSchema, theirs: TableSchema) -> tuple[tuple[str, str], ...]:
    pairs = ((one.name, other.name) for one, other in zip(mine.columns, theirs.columns, strict=True))
    return (*pairs, *((name, name) for name in own_columns(mine)))


def _described(old: TableSchema, new: TableSchema) -> Iterator[Alter]:
    """The commit that gives a mirror its new comment and properties, if they differ. old, new: the mirror's."""
    before, after = (source_properties(schema) | {"comment": schema.comment} for schema in (old, new))
    changed = [f"{literal(key)} = {literal(text)}" for key, text in after.items() if before[key] != text]
    if changed:
        yield Alter(f"SET TBLPROPERTIES ({', '.join(changed)})", may_repeat=True)


_OUTCOMES: dict[str, Callable[[_Statement, DefinitionChange, TableEntry | None], Outcome | None]] = {
    "create": _Statement._create,
    "alter": _Statement._alter,
    "rename": _Statement._rename,
    "truncate": _Statement._truncate,
    "exchange": _Statement._exchange,
    "refuse": _Statement._refuse,
}
ACTIONS = (*_OUTCOMES, "drop", "moved")
"""Actions of the changes that concern gold."""
