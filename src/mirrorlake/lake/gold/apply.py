"""The apply hop: silver's changes up to the fence -> mirror tables, epoch by epoch.

The fence is what silver has committed. It is cut at the first barrier: a range of row changes is one epoch, the DDL
between two of them is one epoch of its own. A transaction is never cut, except by the end of a table's mirroring.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException

from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import table_exists
from mirrorlake.lake.delta.progress import StepCommit, claim_source, read_progress, refuse_restored
from mirrorlake.lake.delta.session import private_session
from mirrorlake.lake.gold import barriers
from mirrorlake.lake.gold.barriers import Barrier, LedgerRow
from mirrorlake.lake.gold.changes import ChangeReader, TableChanges
from mirrorlake.lake.gold.ddl_epoch import carry_out_epoch, with_effect
from mirrorlake.lake.gold.decisions import Decisions
from mirrorlake.lake.gold.epoch import DDL, ROWS, Epoch, EpochLog, EpochTable
from mirrorlake.lake.gold.evolve import TableFilter
from mirrorlake.lake.gold.keyless import DIVERGED, net_copies_of, write_copies
from mirrorlake.lake.gold.merge import append_rows, merge_rows
from mirrorlake.lake.gold.net_effect import Sizes, net_effect_of
from mirrorlake.lake.gold.register import MIRROR_CHANGED, REFUSED, TableEntry, TableRegister
from mirrorlake.lake.gold.syncpoint_requests import SyncpointRequests
from mirrorlake.lake.gold.table import mirror_types
from mirrorlake.lake.gold.versions import newest_version

MAX_THREADS = 4
_IN_SPARK = re.compile(f"(invalid-key|{DIVERGED[0]}): (key column .* has a value that has no meaning|{DIVERGED[1]})")


@dataclass(frozen=True, slots=True)
class AppliedEpoch:
    """invalid: (``database.table``, how many values of its changes have no meaning and are NULL in the mirror)."""

    epoch: Epoch
    n_changes: int
    refused: tuple[TableEntry, ...] = ()
    invalid: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class FreshChanges:
    """A silver commit that this process has just made, still in memory. has_ddl: a DDL may lie in it."""

    lsn_from: int
    lsn_to: int
    batches: list[pa.RecordBatch]
    has_ddl: bool


class ApplyHop:
    """Goes on from gold's own epochs; keeps the register and the definitions between them."""

    def __init__(
        self, lake: Lake, is_wanted: TableFilter, *, epoch_changes: int,
        refuses_invalid: TableFilter = lambda *_: False, sizes: Sizes | None = None,
    ):  # fmt: skip
        """is_wanted(database, table): the table filter. epoch_changes: about how many row changes one epoch takes.
        refuses_invalid: see ``Decisions``."""
        self._lake, self._is_wanted, self._epoch_changes = lake, is_wanted, epoch_changes
        self._sizes = sizes or Sizes()
        refuse_restored(lake.spark, lake.names.control_epochs, lake.names.control_tables, lake.names.control_barriers)
        self._log = EpochLog(lake)
        self._log.renew()
        self._register = TableRegister.read(lake, up_to=self._log.open.lsn_from if self._log.open else None)
        self._requests = SyncpointRequests(lake)
        self._decisions = Decisions(lambda: barriers.read_definitions(lake), is_wanted, refuses_invalid)
        self._versions: dict[str, int | None] = {}
        self._sessions = threading.local()

    @property
    def lsn(self) -> int:
        """Every mirror has everything up to here; -1: nothing."""
        return self._log.applied_lsn

    def apply(self, fresh: FreshChanges | None = None, *, up_to: int | None = None) -> Iterator[AppliedEpoch]:
        """Bring the mirrors to the fence. fresh: all of silver beyond ``lsn``, where it is still in memory. up_to: the
        end of an epoch, to stop at.

        The end of the last epoch is recorded with the next plan, or by ``flush``.
        Raises RefusedError ``lake-writer`` when another process planned the next epoch.
        """
        if self._log.open:
            yield self._carry_out(self._log.open, ChangeReader(self._lake))
        self.answer_requests()
        fence = fresh.lsn_to if fresh else self._fence()
        fence = fence if up_to is None else min(fence, up_to)
        reader = ChangeReader(self._lake, fresh.batches if fresh else None)
        ahead = [] if fresh and not fresh.has_ddl or self.lsn >= fence else barriers.read(self._lake, self.lsn, fence)
        while self.lsn < fence:
            end = self._requests.next_end(self.lsn, fence)
            epoch = self._next_epoch(end, reader, [b for b in ahead if b.lsn > self.lsn])
            self._log.plan(epoch)
            yield self._carry_out(epoch, reader)
            self.answer_requests()

    def answer_requests(self) -> None:
        """Take the syncpoints that were asked for and that gold has come to."""
        self._requests.answer(self.lsn)

    def flush(self) -> None:
        """Record the end of the last epoch. Without it a restart repeats the epoch's plan, to no effect."""
        self._log.flush()

    def _fence(self) -> int:
        silver = read_progress(self._lake.spark, self._lake.names.silver_changes)
        claim_source(silver, self._lake.source)
        return silver.lsn if silver else -1

    def _next_epoch(self, fence: int, reader: ChangeReader, ahead: list[Barrier]) -> Epoch:
        number, lsn_from = self._log.next_number, self.lsn
        lsn_to = reader.epoch_end(lsn_from, fence, self._epoch_changes)
        found = reader.summary(lsn_from, lsn_to)
        ahead = [barrier for barrier in ahead if barrier.lsn <= lsn_to]
        ahead = with_effect(ahead, self._register, self._is_wanted, {changes.name for changes in found})
        first = min((changes.first_lsn for changes in found), default=lsn_to)
        adjacent = [b for b in ahead if b.lsn <= first]
        if adjacent:
            names = dict.fromkeys(name for barrier in adjacent for name in barrier.names)
            return Epoch(number, DDL, lsn_from, adjacent[-1].lsn, self._planned(list(names)))
        if ahead:
            lsn_to = min(lsn_to, ahead[0].lsn - 1)
        work, _ = self._decisions.take(reader.summary(lsn_from, lsn_to), self._register, ())
        return Epoch(number, ROWS, lsn_from, lsn_to, self._planned([changes.name for changes, _ in work]))

    def _planned(self, names: list[tuple[str, str]]) -> tuple[EpochTable, ...]:
        entries = {name: self._register.get(name) for name in names}
        identities = {name: entry.mirror_id if entry else None for name, entry in entries.items()}
        return tuple(EpochTable(*name, identity, self._version(identity)) for name, identity in identities.items())

    def _version(self, identity: str | None) -> int | None:
        """Of a mirror's newest commit of ours, as far as this process knows it."""
        if identity is not None and identity not in self._versions:
            self._versions[identity] = newest_version(self._lake.spark, self._lake.names.mirror(identity))
        return self._versions.get(identity)

    def _carry_out(self, epoch: Epoch, reader: ChangeReader) -> AppliedEpoch:
        if epoch.kind == DDL:
            return self._carry_out_ddl(epoch)
        planned = {(t.database, t.table): t for t in epoch.tables}
        summary = reader.summary(epoch.lsn_from, epoch.lsn_to)
        work, refused = self._decisions.take(summary, self._register, planned.keys())
        with ThreadPoolExecutor(max(1, min(MAX_THREADS, len(work)))) as pool:
            steps = list(pool.map(lambda item: self._apply_or_refuse(epoch, reader, planned, *item), work))
        done = [step for step in steps if isinstance(step, EpochTable)]
        refused += [step for step in steps if isinstance(step, TableEntry)]
        self._register.commit(self._lake, refused, epoch.number)
        self._log.finish(tuple(done))
        invalid = tuple(
            (".".join(changes.name), changes.n_invalid)
            for (changes, _), step in zip(work, steps, strict=True)
            if changes.n_invalid and isinstance(step, EpochTable)
        )
        return AppliedEpoch(epoch, sum(changes.n_changes for changes, _ in work), tuple(refused), invalid)

    def _apply_or_refuse(
        self, epoch: Epoch, reader: ChangeReader, planned: dict[tuple[str, str], EpochTable], changes: TableChanges,
        entry: TableEntry,
    ) -> EpochTable | TableEntry:  # fmt: skip
        """The table's step, or why it is mirrored no more: others changed the mirror, or the work found a refusal."""
        mirror = self._lake.names.mirror(entry.mirror_id)
        try:
            done, changed_by = self._apply_table(epoch, reader, planned.get(changes.name), changes, entry)
        except AnalysisException:
            if table_exists(self._session(), mirror):
                raise
            return _changed(entry, changes.first_lsn, "the mirror table is gone")
        except Exception as error:  # of what Spark ran only the text comes back
            found = _IN_SPARK.search(str(error))
            if found is None:
                raise
            return entry.refused(changes.first_lsn, found[1], found[2])
        if changed_by:
            return _changed(entry, changes.first_lsn, f"others changed the mirror table: {', '.join(changed_by)}")
        return done

    def _apply_table(
        self, epoch: Epoch, reader: ChangeReader, planned: EpochTable | None, changes: TableChanges, entry: TableEntry
    ) -> tuple[EpochTable, tuple[str, ...]]:
        """The step, and what others did to the mirror before it."""
        lake, session = self._lake, self._session()
        lsn_to = min(epoch.lsn_to, changes.refused[0] - 1) if changes.refused else epoch.lsn_to
        types, key = mirror_types(entry.schema), entry.schema.primary_key
        payload = lake.payload(
            "apply", epoch=epoch.number, lsn_from=epoch.lsn_from, lsn_to=epoch.lsn_to, invalid=changes.n_invalid
        )
        mirror = lake.names.mirror(entry.mirror_id)
        if not key:
            copies = net_copies_of(session, reader, changes, epoch.lsn_from, lsn_to, types, self._sizes)
            step = write_copies(session, lake, entry.mirror_id, copies, types, epoch.lsn_to, payload)
            return self._done(entry, step)
        net = net_effect_of(session, reader, changes, epoch.lsn_from, lsn_to, types, key, self._sizes, mirror)
        if changes.only_inserts or (planned and planned.version == 0):
            step = append_rows(session, lake, entry.mirror_id, net, list(types), epoch.lsn_to, payload)
        else:
            step = merge_rows(session, lake, entry.mirror_id, net, list(types), key, epoch.lsn_to, payload)
        return self._done(entry, step)

    def _done(self, entry: TableEntry, step: StepCommit) -> tuple[EpochTable, tuple[str, ...]]:
        self._versions[entry.mirror_id] = step.version
        return EpochTable(*entry.name, entry.mirror_id, step.version), step.changed_by

    def _carry_out_ddl(self, epoch: Epoch) -> AppliedEpoch:
        lake, filters = self._lake, (self._is_wanted, self._decisions.refuses_invalid)
        work = carry_out_epoch(self._session, lake, epoch, self._register, *filters)
        self._register.commit(lake, work.entries, epoch.number)
        for identity in work.touched:
            self._versions.pop(identity, None)
        names = dict.fromkeys(name for *_, named in work.executed for name in named)
        done = {(table.database, table.table): table for table in self._planned(list(names))}
        executed = [LedgerRow(lsn, kind, tuple(done[name] for name in named)) for lsn, kind, named in work.executed]
        barriers.record(lake, executed, epoch.number)
        self._log.finish(tuple(done.values()))
        return AppliedEpoch(epoch, 0, tuple(e for e in work.entries if e.state == REFUSED))

    def _session(self):
        if not hasattr(self._sessions, "session"):
            self._sessions.session = private_session(self._lake.spark)
        return self._sessions.session


def _changed(entry: TableEntry, lsn: int, reason: str) -> TableEntry:
    return entry.refused(lsn, MIRROR_CHANGED, reason)
