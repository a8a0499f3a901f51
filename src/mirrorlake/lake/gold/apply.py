"""The apply hop: silver's changes up to the fence -> mirror tables, epoch by epoch.

The fence is what silver has committed. It is cut at the first barrier: a range of row changes is one epoch, and the DDL
between two ranges is a separate epoch. A transaction is never cut, except where a table's mirroring ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import Progress, claim_source, read_progress, refuse_restored
from mirrorlake.lake.delta.recent import Recent
from mirrorlake.lake.gold.apply_group import WHOLE, ApplyGroup
from mirrorlake.lake.gold.catch_up import catch_up
from mirrorlake.lake.gold.control.epochs import ANSWER, DDL, ROWS, Epoch, EpochLog, EpochTable
from mirrorlake.lake.gold.control.register import REFUSED, TableEntry, TableRegister
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.control.versions import readable_version
from mirrorlake.lake.gold.ddl import barriers
from mirrorlake.lake.gold.ddl.barriers import Barrier, LedgerRow
from mirrorlake.lake.gold.ddl.classes import DdlClass
from mirrorlake.lake.gold.ddl.epoch import DdlWork, carry_out_epoch, with_effect
from mirrorlake.lake.gold.decisions import Decisions
from mirrorlake.lake.gold.merge.changes import ChangeReader
from mirrorlake.lake.gold.merge.net_effect import Sizes
from mirrorlake.lake.gold.row_epoch import RowEpochs
from mirrorlake.lake.gold.syncpoint.requests import SyncpointRequests
from mirrorlake.lake.gold.views.keeper import ViewKeeper
from mirrorlake.lake.silver.table import ANSWERS


@dataclass(frozen=True, slots=True)
class AppliedEpoch:
    """n_changes: committed by this process; an epoch that is repeated after a crash has none if all was committed
    before. invalid: (``database.table``, number of invalid values of these changes that are NULL in the mirror).
    ignored: (lsn, ``database.table``) of DDL that left the mirror unchanged, because the rules say so."""

    epoch: Epoch
    n_changes: int
    refused: tuple[TableEntry, ...] = ()
    invalid: tuple[tuple[str, int], ...] = ()
    ignored: tuple[tuple[int, str], ...] = ()


def silver_fence(lake: Lake) -> int:
    """The lsn up to which silver is complete; -1: nothing. Raises what ``claim_source`` raises."""
    silver = _silver(lake)
    return silver.lsn if silver else -1


class ApplyHop:
    """Continues from gold's own epochs; keeps the register and the definitions between them."""

    def __init__(
        self, lake: Lake, rules: TableRules, *, epoch_changes: int, sizes: Sizes | None = None,
        group: ApplyGroup = WHOLE, silver: Recent | None = None, views: ViewKeeper | None = None,
    ):  # fmt: skip
        """epoch_changes: about the number of row changes in one epoch. group: the first one of several that share the
        work. silver: what this process commits to it, if it is the only writer. views: to keep in step, if any."""
        self._lake, self._rules, self._epoch_changes, self._silver = lake, rules, epoch_changes, silver
        refuse_restored(lake.spark, lake.names.control_epochs, lake.names.control_tables, lake.names.control_barriers)
        self._log = EpochLog(lake)
        self._log.renew()
        self._register = TableRegister.read(lake, before=self._log.open.number if self._log.open else None)
        self._requests = SyncpointRequests(lake)
        self._rows = RowEpochs(lake, Decisions(lambda: barriers.read_definitions(lake), rules), sizes, group)
        self._versions: dict[str, int | None] = {}
        self._views, self._has_kept_views = views, views is None

    @property
    def lsn(self) -> int:
        """Every mirror has everything up to here; -1: nothing."""
        return self._log.applied_lsn

    def apply(self, *, up_to: int | None = None) -> Iterator[AppliedEpoch]:
        """Apply everything up to the fence. up_to: the end of an epoch, to stop at.

        The end of the last epoch is recorded with the next plan, or by ``flush``.
        Raises RefusedError ``lake-writer`` when another process planned the next epoch.
        """
        if half_way := self._log.open:
            ahead = self._ahead(half_way.lsns) if half_way.kind == DDL else []
            yield self._carry_out(half_way, ChangeReader(self._lake), ahead)
        if not self._has_kept_views:
            self._keep_views()
        self.answer_requests()
        fence, answers = self._end_of_silver()
        fresh = self._silver and self._silver.take(self.lsn, self._log.answers)
        yield from self._catch_up(answers)
        fence = fence if up_to is None else min(fence, up_to)
        reader = ChangeReader(self._lake, fresh.batches if fresh else None, is_wanted=self._rules.is_wanted)
        ahead = [] if fresh and not fresh.has_ddl or self.lsn >= fence else self._ahead(LsnRange(self.lsn, fence))
        while self.lsn < fence:
            end = self._requests.next_end(self.lsn, fence)
            epoch = self._next_epoch(LsnRange(self.lsn, end), reader, ahead)
            self._log.plan(epoch)
            yield self._carry_out(epoch, reader, ahead)
            self.answer_requests()

    def _end_of_silver(self) -> tuple[int, int]:
        """The lsn of the fence, and the number of answers before it."""
        if self._silver:
            return self._silver.lsn, self._silver.answers
        silver = _silver(self._lake)
        return (silver.lsn, silver.payload.get(ANSWERS, 0)) if silver else (-1, 0)

    def answer_requests(self) -> None:
        """Publish the requested syncpoints that gold has reached."""
        self._requests.answer(self.lsn)

    def flush(self) -> None:
        """Record the end of the last epoch. Without it a restart repeats the epoch's plan, without effect."""
        self._log.flush()

    def _ahead(self, lsns: LsnRange) -> list[Barrier]:
        return barriers.read(self._lake, lsns, self._log.answers)

    def _catch_up(self, n_answers: int) -> Iterator[AppliedEpoch]:
        """Catch up the tables whose overrides or snapshots silver has applied."""
        while self._log.answers < n_answers:
            self._log.answers += 1
            answered = barriers.answered(self._lake, self._log.answers)
            if answered and self._is_beyond(answered):
                tables = self._planned(answered.names)
                epoch = Epoch(self._log.next_number, ANSWER, LsnRange(answered.lsn - 1, self.lsn), tables)
                self._log.plan(epoch)
                yield self._carry_out(epoch, ChangeReader(self._lake), [])

    def _is_beyond(self, answered: Barrier) -> bool:
        """Has gold passed this position without the table?"""
        entry = self._register.get(answered.names[0])
        if answered.begins_snapshot or entry is None:
            return self.lsn >= answered.lsn
        return entry.state == REFUSED and entry.lsn == answered.lsn

    def _next_epoch(self, pending: LsnRange, reader: ChangeReader, ahead: list[Barrier]) -> Epoch:
        number, lsns = self._log.next_number, reader.cut(pending, self._epoch_changes)
        found = reader.summary(lsns)
        ahead = [barrier for barrier in ahead if barrier.lsn in lsns]
        ahead = with_effect(ahead, self._register, self._rules, {changes.name for changes in found})
        first = min((changes.first_lsn for changes in found), default=lsns.to)
        adjacent = [b for b in ahead if b.lsn <= first]
        if adjacent:
            names = dict.fromkeys(name for barrier in adjacent for name in barrier.names)
            return Epoch(number, DDL, lsns.until(adjacent[-1].lsn), self._planned(list(names)))
        if ahead:
            lsns = lsns.until(ahead[0].lsn - 1)
        tables = self._planned(self._rows.tables_of(reader, lsns, self._register))
        return Epoch(number, ROWS, lsns, tables)

    def _planned(self, names: list[TableName]) -> tuple[EpochTable, ...]:
        entries = {name: self._register.get(name) for name in names}
        identities = {name: entry.mirror_id if entry else None for name, entry in entries.items()}
        return tuple(EpochTable(*name, identity, self._version(identity)) for name, identity in identities.items())

    def _version(self, identity: str | None) -> int | None:
        """Delta version of our newest commit on a mirror, if this process knows it."""
        if identity is not None and identity not in self._versions:
            self._versions[identity] = readable_version(self._lake.spark, self._lake.names.mirror(identity))
        return self._versions.get(identity)

    def _carry_out(self, epoch: Epoch, reader: ChangeReader, ahead: list[Barrier]) -> AppliedEpoch:
        if epoch.kind == ANSWER:
            return self._carry_out_answer(epoch)
        if epoch.kind == DDL:
            return self._carry_out_ddl(epoch, [b for b in ahead if b.lsn in epoch.lsns])
        work = self._rows.carry_out(epoch, reader, self._register)
        self._versions |= {table.mirror_id: table.version for table in work.done}
        self._record(work.refused, epoch)
        self._log.finish(work.done)
        return AppliedEpoch(epoch, work.n_changes, tuple(work.refused), work.invalid)

    def _carry_out_ddl(self, epoch: Epoch, ahead: list[Barrier]) -> AppliedEpoch:
        work = carry_out_epoch(self._rows.session, self._lake, ahead, self._register, self._rules)
        self._record(work.entries, epoch)
        self._finish(epoch, work, [name for *_, named in work.executed for name in named])
        refused = tuple(entry for entry in work.entries if entry.state == REFUSED)
        return AppliedEpoch(epoch, 0, refused, tuple(sorted(work.invalid.items())), _ignored(work))

    def _carry_out_answer(self, epoch: Epoch) -> AppliedEpoch:
        n_changes, n_invalid, work = catch_up(
            self._rows, self._lake, epoch, self._register, self._rules, answers=self._log.answers,
            epoch_changes=self._epoch_changes,
        )  # fmt: skip
        self._record(work.entries, epoch)
        (table,) = epoch.tables
        self._finish(epoch, work, [table.name])
        invalid = ((str(table.name), n_invalid),) if n_invalid else ()
        refused = tuple(entry for entry in work.entries if entry.state == REFUSED)
        return AppliedEpoch(epoch, n_changes, refused, invalid, _ignored(work))

    def _record(self, entries: list[TableEntry], epoch: Epoch) -> None:
        """Commit entries to the register. The views follow before the epoch is done: an epoch that was killed repeats
        both."""
        self._register.commit(self._lake, entries, epoch.number)
        if entries:
            self._keep_views()

    def _keep_views(self) -> None:
        if self._views:
            self._views.keep(self._register)
            self._has_kept_views = True

    def _finish(self, epoch: Epoch, work: DdlWork, changed: list[TableName]) -> None:
        for identity in work.touched:
            self._versions.pop(identity, None)
        done = {table.name: table for table in self._planned(list(dict.fromkeys(changed)))}
        executed = [LedgerRow(lsn, kind, tuple(done[name] for name in named)) for lsn, kind, named in work.executed]
        barriers.record(self._lake, executed, epoch.number)
        self._log.finish(tuple(done.values()))


class GroupHop:
    """Applies its group's share of the epochs that the first group plans."""

    def __init__(self, lake: Lake, rules: TableRules, group: ApplyGroup):
        self._lake, self._register = lake, TableRegister()
        self._rows = RowEpochs(lake, Decisions(lambda: barriers.read_definitions(lake), rules), group=group)
        self._carried_out = 0
        self.lsn = -1
        """Every mirror of every group has everything up to here."""

    def apply(self) -> Iterator[AppliedEpoch]:
        """This group's mirrors of the epoch that is open; nothing when they are done or there is none."""
        log, lake = EpochLog(self._lake), self._lake
        self.lsn, epoch = log.applied_lsn, log.open
        if epoch is None or epoch.kind != ROWS or epoch.number == self._carried_out:
            return
        self._register.put(TableRegister.read(lake, before=epoch.number))
        work = self._rows.carry_out(epoch, ChangeReader(lake), self._register)
        for entry in work.refused:
            self._register.commit(lake, [entry], epoch.number, of=entry.mirror_id)
        self._carried_out = epoch.number
        yield AppliedEpoch(epoch, work.n_changes, tuple(work.refused), work.invalid)


def _ignored(work: DdlWork) -> tuple[tuple[int, str], ...]:
    found = ((lsn, name) for lsn, kind, named in work.executed if kind is DdlClass.IGNORED for name in named)
    return tuple((lsn, ".".join(name)) for lsn, name in found)


def _silver(lake: Lake) -> Progress | None:
    progress = read_progress(lake.spark, lake.names.silver_changes)
    claim_source(progress, lake.source)
    return progress
