"""An epoch of row changes: one commit for each mirror, in parallel threads, and in several processes if requested.

    1. plan row        control_epochs, before anything else; names the mirrors
    2. mirror commits  each carries the epoch's end as its transaction id; an existing one is not made again
    3. register commit for tables that stop being mirrored
    4. done row        with the next plan

If groups share the work (``apply_group.py``), each makes the commits of its own mirrors. The first group takes the
other steps, and continues when every mirror's history shows its commit.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from mirrorlake.core.changes.conditions import GENERATED
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.keys import NOT_FOLLOWED
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import table_exists
from mirrorlake.lake.delta.progress import StepCommit, step_done
from mirrorlake.lake.delta.refusals import crossed
from mirrorlake.lake.delta.session import private_session, takes_settings
from mirrorlake.lake.gold.apply_group import WHOLE, ApplyGroup, SignsOfGroups
from mirrorlake.lake.gold.cascade.cascades import with_cascades
from mirrorlake.lake.gold.cascade.foreign_keys import Reference
from mirrorlake.lake.gold.control.epochs import Epoch, EpochTable
from mirrorlake.lake.gold.control.failures import condition_of_table, damage_of
from mirrorlake.lake.gold.control.register import (
    DDL_IGNORED,
    INVALID_KEY,
    MIRROR_CHANGED,
    MIRROR_DIVERGED,
    REFUSED,
    SPARK_REFUSED,
    TableEntry,
    TableRegister,
)
from mirrorlake.lake.gold.control.table import LSN_COLUMN, mirror_types, own_columns
from mirrorlake.lake.gold.control.versions import held_lsn, unless_damaged
from mirrorlake.lake.gold.decisions import Decisions
from mirrorlake.lake.gold.epoch_work import EpochWork, TableWork
from mirrorlake.lake.gold.merge.changes import ChangeReader, TableChanges
from mirrorlake.lake.gold.merge.keyless import net_counts_of, write_counts
from mirrorlake.lake.gold.merge.merge import append_rows, are_few_among, merge_rows, rewrite_rows
from mirrorlake.lake.gold.merge.mirror_files import Rewriting, prepare_files
from mirrorlake.lake.gold.merge.net_effect import Sizes, net_effect_of, no_effect

MAX_THREADS = 4
_OF_A_TABLE = (INVALID_KEY, MIRROR_DIVERGED, NOT_FOLLOWED, GENERATED)
"""Codes that refuse one table; any other stops the run."""


@dataclass(frozen=True, slots=True)
class RowWork:
    """done: the mirrors with the versions that contain the epoch. refused: the tables that its changes or its work
    stop. n_changes, invalid: committed by this call, not by an earlier try; see ``AppliedEpoch``.
    """

    done: tuple[EpochTable, ...]
    refused: list[TableEntry]
    n_changes: int
    invalid: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """A mirror's step. is_new: this process made its commit; False: it existed already."""

    outcome: EpochTable | TableEntry
    is_new: bool = False


class RowEpochs:
    """Executes epochs of row changes one by one."""

    def __init__(self, lake: Lake, decisions: Decisions, sizes: Sizes | None = None, group: ApplyGroup = WHOLE):
        self._lake, self._group = lake, group
        self._sizes, self._sessions = sizes or Sizes(), threading.local()
        self._work, self._rules = EpochWork(lake, decisions, self._sizes), decisions.rules

    def session(self) -> SparkSession:
        """The calling thread's own session."""
        if not hasattr(self._sessions, "session"):
            self._sessions.session = private_session(self._lake.spark)
        return self._sessions.session

    def tables_of(self, reader: ChangeReader, lsns: LsnRange, register: TableRegister) -> list[TableName]:
        """The tables whose mirrors an epoch of this range will change."""
        work, _ = self._work.find(self.session(), reader, lsns, register, (), {})
        return [item.entry.name for item in work]

    def carry_out(self, epoch: Epoch, reader: ChangeReader, register: TableRegister) -> RowWork:
        """Take step 2 for this group's mirrors; the first group waits for the others, and returns the refusals of
        all."""
        planned = {table.name: table for table in epoch.tables}
        versions = {table.mirror_id: table.version for table in epoch.tables}
        work, refused = self._work.find(self.session(), reader, epoch.lsns, register, planned.keys(), versions)
        mine = [item for item in work if self._is_mine(planned, item)]
        with ThreadPoolExecutor(max(1, min(MAX_THREADS, len(mine)))) as pool:
            steps = list(pool.map(lambda item: self._apply_or_refuse(epoch, reader, planned, item), mine))
        new = [item for item, step in zip(mine, steps, strict=True) if step.is_new]
        outcomes = [step.outcome for step in steps]
        if self._group.leads:
            outcomes += self._steps_of_others(epoch, [item for item in work if not self._is_mine(planned, item)])
        done = tuple(each for each in outcomes if isinstance(each, EpochTable))
        stopped = [each for each in outcomes if isinstance(each, TableEntry)]
        n_changes = sum(item.changes.n_changes for item in new)
        return RowWork(done, [*refused, *stopped] if self._group.leads else stopped, n_changes, _invalid_values(new))

    def _is_mine(self, planned: Mapping[TableName, EpochTable], work: TableWork) -> bool:
        """Is the mirror in this group? One that the plan lacks, because options were different, is the first
        group's."""
        return self._group.owns(work.entry.mirror_id) if work.entry.name in planned else self._group.leads

    def _apply_or_refuse(
        self, epoch: Epoch, reader: ChangeReader, planned: Mapping[TableName, EpochTable], work: TableWork
    ) -> _Step:
        """Take the mirror's step, or return why the table is refused: others changed it, or the work found a
        refusal."""
        changes, entry = work.changes, work.entry
        mirror = self._lake.names.mirror(entry.mirror_id)
        try:
            commit = self._apply(epoch, reader, planned.get(changes.name), work)
            return _Step(_outcome(changes, entry, commit), commit.is_new)
        except Exception as error:
            if self._group.shares and _has_lost_race(error):
                step = _step_of(self.session(), self._lake, epoch, entry.mirror_id)
                if step is not None:  # by a former owner of the mirror
                    return _Step(_outcome(changes, entry, step))
            cause = self._why_refused(error, mirror, work.rows.along if work.rows else ())
            if cause is None:
                raise
            return _Step(entry.refused(changes.first_lsn, *cause))

    def _why_refused(self, error: Exception, mirror: Sql, along: Sequence[Reference]) -> tuple[str, str] | None:
        """Code and reason; None: the failure is not this table's alone. Then nothing of the epoch is in the mirror."""
        found = crossed(error)
        if found and found.code in _OF_A_TABLE:
            return found.code, found.message
        if isinstance(error, AnalysisException) and not table_exists(self.session(), mirror):
            return MIRROR_CHANGED, "the mirror table is gone"
        if damage := damage_of(self.session(), mirror, error):
            return MIRROR_CHANGED, damage
        for parent in (reference.parent for reference in along):
            if damage_of(self.session(), self._lake.names.mirror(parent.mirror_id), error):
                return NOT_FOLLOWED, f"a foreign key changes its rows, and the mirror of {parent.name} is damaged"
        condition = condition_of_table(error)
        return (SPARK_REFUSED, f"Spark does not take its changes: {condition}") if condition else None

    def _apply(self, epoch: Epoch, reader: ChangeReader, planned: EpochTable | None, work: TableWork) -> StepCommit:
        lake, session, changes, entry = self._lake, self.session(), work.changes, work.entry
        schema = entry.schema
        types, own, key = mirror_types(schema), own_columns(schema), schema.primary_key
        lsns = epoch.lsns.until(changes.refused[0] - 1) if changes.refused else epoch.lsns
        invalid = _n_nulls(changes, entry)
        payload = lake.payload("apply", epoch=epoch.number, **epoch.lsns.to_json(), invalid=invalid)
        mirror = lake.names.mirror(entry.mirror_id)
        is_empty = planned is not None and planned.version == 0
        may = Rewriting.ALL if is_empty else prepare_files(session, mirror, self._rules.features_of(schema))
        if not key:
            lsns = lsns.since(held_lsn(session, mirror))
            counts = net_counts_of(session, reader, changes, lsns, schema, self._sizes.of_table(schema))
            if schema.has_commits:
                counts = replace(counts, rows=_with_commits(session, reader, counts.rows, [changes.name], lsns))
            step = (session, lake, entry.mirror_id, counts, types, list(own), epoch.lsns.to, payload)
            return write_counts(*step, may is Rewriting.ALL)
        if changes.n_changes:
            net = net_effect_of(session, reader, changes, lsns, schema, self._sizes.of_table(schema), mirror)
        else:
            net = no_effect(session, schema)
        if work.rows:
            net = with_cascades(session, replace(work.rows, lsns=lsns), net, entry)
        if schema.has_commits:
            names = {changes.name, *(reference.parent.name for reference in (work.rows.along if work.rows else ()))}
            net = replace(net, rows=_with_commits(session, reader, net.rows, names, lsns))
        columns = [*types, *own]
        is_nothing = net.local is not None and not len(net.local)
        is_new = changes.only_inserts and entry.code != DDL_IGNORED and not work.rows
        if is_new or is_nothing or is_empty:
            return append_rows(session, lake, entry.mirror_id, net, columns, epoch.lsns.to, payload)
        change = (session, lake, entry.mirror_id, net, columns, key, epoch.lsns.to, payload)
        rewrites = may is Rewriting.ALL or may is Rewriting.FEW and are_few_among(net, key)
        if rewrites or not takes_settings(session):
            return rewrite_rows(*change, is_small=may is Rewriting.ALL)
        return merge_rows(*change)

    def _steps_of_others(self, epoch: Epoch, others: list[TableWork]) -> list[EpochTable | TableEntry]:
        """Wait until the others have made all their steps. Raises RetryableError ``apply-groups``."""
        found: list[EpochTable | TableEntry] = []
        waiting, signs = others, SignsOfGroups(self._group)
        while waiting:
            ended = self._ended(epoch, waiting)
            found += ended.values()
            waiting = [item for item in waiting if item.entry.mirror_id not in ended]
            if ended:
                signs.seen()
            if waiting:
                signs.wait(self._group.owner_of(item.entry.mirror_id) for item in waiting)
        return found

    def _ended(self, epoch: Epoch, waiting: list[TableWork]) -> dict[str, EpochTable | TableEntry]:
        """Steps or refusals of the mirrors for which another group has made one."""
        ended: dict[str, EpochTable | TableEntry] = {}
        for item in waiting:
            mirror_id = item.entry.mirror_id
            step = _step_of(self.session(), self._lake, epoch, mirror_id)
            if step is not None:
                ended[mirror_id] = _outcome(item.changes, item.entry, step)
        if len(ended) < len(waiting):
            register = TableRegister.read(self._lake, before=epoch.number + 1)
            found = [register.get(item.entry.name) for item in waiting]
            for known in found:
                if known and known.state == REFUSED and known.epoch == epoch.number:
                    ended.setdefault(known.mirror_id, known)
        return ended


def tables_to_do(lake: Lake, epoch: Epoch) -> tuple[EpochTable, ...]:
    """Tables of an open epoch of row changes whose mirrors do not have it yet."""
    return tuple(table for table in epoch.tables if _step_of(lake.spark, lake, epoch, table.mirror_id) is None)


def _invalid_values(work: list[TableWork]) -> tuple[tuple[str, int], ...]:
    return tuple((str(item.entry.name), n) for item in work if (n := _n_nulls(item.changes, item.entry)))


def _n_nulls(changes: TableChanges, entry: TableEntry) -> int:
    """Number of invalid values that are NULL in the mirror."""
    return 0 if entry.schema.as_text else changes.n_invalid


def _with_commits(
    session: SparkSession, reader: ChangeReader, rows: DataFrame, tables: Collection[TableName], lsns: LsnRange
) -> DataFrame:
    """Give the rows of a net effect when the source committed them, and their GTID. tables: whose changes they are."""
    return rows.join(reader.commits(session, tables, lsns), LSN_COLUMN, "left")


def _has_lost_race(error: Exception) -> bool:
    return isinstance(error, RefusedError) and error.code == "lake-writer"


def _step_of(session: SparkSession, lake: Lake, epoch: Epoch, mirror_id: str) -> StepCommit | None:
    """None if the mirror does not have it, or its history cannot be read."""
    mirror, app_id = lake.names.mirror(mirror_id), lake.app_id(mirror_id)
    return unless_damaged(partial(step_done, session, mirror, app_id=app_id, lsn=epoch.lsns.to))


def _outcome(changes: TableChanges, entry: TableEntry, step: StepCommit) -> EpochTable | TableEntry:
    if step.changed_by:
        what = f"others changed the mirror table: {', '.join(step.changed_by)}"
        return entry.refused(changes.first_lsn, MIRROR_CHANGED, what)
    return EpochTable(*entry.name, entry.mirror_id, step.version)
