"""The hops as jobs, one function each, and all three in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from typing import TypeVar

from mirrorlake.config import Options
from mirrorlake.core.binlog.gtid_search import gtids_at
from mirrorlake.core.binlog.log_reader import LogChunk, LogReader
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.core.position import (
    FIRST_EVENT_OFFSET,
    UNTIL_CURRENT,
    BinlogPosition,
    LogEdge,
    parse_start,
    parse_until,
)
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.run.failover import follow_failover
from mirrorlake.jobs.run.log_bytes import LogExtent
from mirrorlake.jobs.run.open import as_compared
from mirrorlake.jobs.run.same_log import check_not_behind, check_same_log
from mirrorlake.jobs.run.watcher import PreparesNext, Watcher
from mirrorlake.lake.bronze.ingest import IngestedBatch, IngestProgress, ingest
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.recent import Recent
from mirrorlake.lake.delta.session import replaces_variables
from mirrorlake.lake.gold.apply import AppliedEpoch, ApplyHop, GroupHop, silver_fence
from mirrorlake.lake.gold.apply_group import WHOLE, ApplyGroup, SignsOfGroups
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.lake.gold.views.keeper import ViewKeeper
from mirrorlake.lake.gold.views.newest_syncpoint import NewestSyncpointViews
from mirrorlake.lake.silver.assemble import AssembleHop
from mirrorlake.mysql.binlog_files import FileSource

_Commit = TypeVar("_Commit")

KEEP_BYTES = 32 << 20
"""Batches up to this size are passed from hop to hop in memory, once their commit has returned."""


class IngestJob:
    """Ingests one source into bronze, from bronze's own progress."""

    def __init__(self, lake: Lake, source: BinlogSource, options: Options, *, keep_bytes: int = 0):
        """keep_bytes: see ``Recent``."""
        self._lake, self._source, self._options = lake, source, options
        self._until = parse_until(options.until, source.flavor)
        self._progress, self._is_taken_over = IngestProgress.read(lake), False
        if self._progress.position is None:
            self._progress = self._begun()
        elif self._progress.server != source.identity:
            self._progress, self._is_taken_over = follow_failover(lake, source, self._progress, options), True
        else:
            check_same_log(source, self._progress.last, self._progress.position)
        self.recent = Recent(self._progress.lsn, keep_bytes=keep_bytes)

    def _begun(self) -> IngestProgress:
        position = self._first_position()
        if position.offset == FIRST_EVENT_OFFSET:  # the file's list is read with it
            return replace(self._progress, position=position)
        try:
            gtids = gtids_at(self._source, position)
        except RefusedError:  # what comes before may be damaged: that may be why the lake begins here
            return replace(self._progress, position=position)
        return replace(self._progress, position=position, gtids=gtids, knows_before=True)

    def _first_position(self) -> BinlogPosition:
        start = parse_start(self._options.start, self._source.flavor)
        if isinstance(start, LogEdge):
            return self._source.earliest() if start is LogEdge.EARLIEST else self._source.current()
        return start if isinstance(start, BinlogPosition) else self._source.locate(start)

    def step(self, watcher: Watcher) -> Iterator[IngestedBatch]:
        """Read the present log, or up to --until; the end is fixed before the first byte is read."""
        progress, start = self._progress, self._progress.position
        if self._is_taken_over:
            watcher.took_over(progress.server, start)
            self._is_taken_over = False
        end = self._until if isinstance(self._until, BinlogPosition) else self._source.current()
        if end <= start:
            if end is not self._until:
                check_not_behind(end, start)
            return
        if watcher.wants_extents:
            watcher.ahead(LogExtent.of_source(self._source, self._options.source, start, end, progress.incarnation))
        reader = LogReader(
            start, progress.gtids, skip=progress.skip, incarnation=progress.incarnation, until=self._until
        )
        chunks = _announced(reader.read(self._source.read(start, end)), watcher)
        batch_bytes = self._options.bronze_batch_mb << 20
        for batch in ingest(self._lake, chunks, progress, batch_bytes=batch_bytes, recent=self.recent):
            self._progress = batch.progress
            yield batch
        self.is_finished = reader.is_finished

    is_finished = False
    """True after the GTID set or time to stop at was reached."""

    def is_done(self) -> bool:
        """Has everything been read that the options ask for? Raises RefusedError when it can never be."""
        if self._options.follow:
            return False
        if self._until is UNTIL_CURRENT or isinstance(self._until, datetime) or self.is_finished:
            return True
        if (
            isinstance(self._until, BinlogPosition)
            and max(self._progress.position, self._source.current()) >= self._until
        ):
            return True  # within a transaction: the boundary before it is the end
        if isinstance(self._source, FileSource):
            what = f"the log ends before {self._options.until}"
            raise RefusedError("log-missing", what, position=str(self._progress.position))
        return False


class Syncpoints:
    """Forwards every applied epoch, and takes a syncpoint after it when one is due. Keeps the views of the newest one,
    of whichever process, if the options ask for them."""

    def __init__(self, lake: Lake, hop: ApplyHop, options: Options, watcher: Watcher):
        self._lake, self._hop, self._every, self._watcher = lake, hop, options.syncpoint_interval, watcher
        self._views = _syncpoint_views(lake, options, watcher)
        self._last = max(syncpoints.published(lake), key=lambda point: point.at, default=None) if self._every else None

    def __call__(self, done: AppliedEpoch) -> None:
        self._watcher.applied(done)
        self.look()

    def look(self) -> None:
        """Take a syncpoint if one is due, and show the newest one, of whichever process, if it is new."""
        self._take_if_due()
        if self._views:
            self._views.keep_if_new()

    def keep_views(self) -> None:
        """Show the newest syncpoint."""
        if self._views:
            self._views.keep()

    def _take_if_due(self) -> None:
        """Take at most one per position in the log: an idle source needs no more."""
        if self._every is None or self._hop.lsn < 0 or self._last and self._last.lsn >= self._hop.lsn:
            return
        if self._last and (datetime.now(timezone.utc) - self._last.at).total_seconds() < self._every:
            return
        self._hop.flush()
        self._last = syncpoints.take(self._lake, self._hop.lsn)
        self._watcher.took(self._last)


def run_ingest(lake: Lake, source: BinlogSource, options: Options, watcher: Watcher) -> None:
    job, watcher = IngestJob(lake, source, options), _preparing(lake, options, watcher)

    def step() -> bool:
        return _report(job.step(watcher), watcher.ingested)

    _repeat(step, job.is_done, options, watcher)


def run_assemble(lake: Lake, options: Options, watcher: Watcher) -> None:
    hop = AssembleHop(lake, batch_bytes=options.silver_batch_mb << 20)
    watcher = _preparing(lake, options, watcher)
    if watcher.wants_extents:
        watcher.ahead(LogExtent.of_bronze(lake, hop.lsn))

    def step() -> bool:
        return _report(hop.advance(), watcher.assembled)

    _repeat(step, lambda: not options.follow, options, watcher)


def apply_hop(
    lake: Lake, options: Options, group: ApplyGroup = WHOLE, silver: Recent | None = None,
    views: ViewKeeper | None = None,
) -> ApplyHop:  # fmt: skip
    """Make the apply hop. Raises what ``ApplyHop`` raises."""
    return ApplyHop(
        lake, _rules(lake, options), epoch_changes=options.epoch_changes, group=group, silver=silver, views=views
    )


def _views(lake: Lake, options: Options, watcher: Watcher) -> ViewKeeper | None:
    template = options.kept_views(lake.names.is_unity)
    if template is None:
        return None
    return ViewKeeper(lake, template, watcher.left_out, parses_json=options.parses_json)


def _syncpoint_views(lake: Lake, options: Options, watcher: Watcher) -> NewestSyncpointViews | None:
    if options.syncpoint_views is None:
        return None
    return NewestSyncpointViews(lake, options.syncpoint_views, watcher.left_out, parses_json=options.parses_json)


def _rules(lake: Lake, options: Options) -> TableRules:
    """Rules per table; for MySQL without policies for generated columns and partial images, which it logs
    completely."""
    options = as_compared(options, lake)
    rules = TableRules(
        options.wants, options.policy_for_invalid, options.ignores, replaces_variables(lake.spark),
        knows_names=lake.name_case.setting is not None, change_feed=options.change_feed,
        commit_columns=options.commit_columns,
    )  # fmt: skip
    if lake.flavor == "mysql":
        return rules
    return replace(rules, generated=options.policy_for_generated, partial_images=options.policy_for_partial_images)


def run_apply(lake: Lake, options: Options, watcher: Watcher) -> None:
    group = ApplyGroup.parse(options.group) if options.group else WHOLE
    if not group.leads:
        _run_share(lake, group, options, watcher)
        return
    hop = apply_hop(lake, options, group, views=_views(lake, options, watcher))
    watcher = _preparing(lake, options, watcher)
    applied = Syncpoints(lake, hop, options, watcher)
    if watcher.wants_extents:
        watcher.ahead(LogExtent.of_bronze(lake, hop.lsn))

    def step() -> bool:
        has_worked = _report(hop.apply(), applied)
        applied.look()
        hop.flush()
        return has_worked

    _repeat(step, lambda: not options.follow, options, watcher)
    applied.keep_views()


def _run_share(lake: Lake, group: ApplyGroup, options: Options, watcher: Watcher) -> None:
    """Apply a group's share of the first group's plans, at least up to the present end of silver."""
    hop, fence, signs = GroupHop(lake, _rules(lake, options), group), silver_fence(lake), SignsOfGroups(group)

    def step() -> bool:
        before = hop.lsn
        has_worked = _report(hop.apply(), watcher.applied)
        if has_worked or hop.lsn != before:
            signs.seen()
        elif not is_done() and not options.follow:
            signs.wait([1])
        return has_worked

    def is_done() -> bool:
        return not options.follow and hop.lsn >= fence

    _repeat(step, is_done, options, watcher)


def run_all(lake: Lake, source: BinlogSource, options: Options, watcher: Watcher) -> None:
    """Run the three hops one after another. Each takes a small commit of the one before from memory."""
    ingest_job = IngestJob(lake, source, options, keep_bytes=KEEP_BYTES)
    assemble_hop = AssembleHop(lake, batch_bytes=options.silver_batch_mb << 20, bronze=ingest_job.recent)
    gold = apply_hop(lake, options, silver=assemble_hop.recent, views=_views(lake, options, watcher))
    watcher = _preparing(lake, options, watcher)
    applied = Syncpoints(lake, gold, options, watcher)

    def step() -> bool:
        has_ingested = _report(ingest_job.step(watcher), watcher.ingested)
        _report(assemble_hop.advance(), watcher.assembled)
        _report(gold.apply(), applied)
        applied.look()
        if not has_ingested:
            gold.flush()
        return has_ingested

    _repeat(step, ingest_job.is_done, options, watcher)
    gold.flush()
    applied.keep_views()


def _preparing(lake: Lake, options: Options, watcher: Watcher) -> Watcher:
    """Prepare next commits only in follow mode: a run that ends soon has none."""
    return PreparesNext(watcher, lake) if options.follow else watcher


def _repeat(step: Callable[[], bool], is_done: Callable[[], bool], options: Options, watcher: Watcher) -> None:
    """Take steps until it is done; pause after one that found nothing to do."""
    watcher.begins()
    while True:
        looked_at = datetime.now(timezone.utc)
        has_worked = step()
        if options.until == "current":
            watcher.complete(looked_at)
        if is_done():
            return
        if not has_worked:
            watcher.idle()
            time.sleep(options.poll_s)


def _announced(chunks: Iterable[LogChunk], watcher: Watcher) -> Iterator[LogChunk]:
    for chunk in chunks:
        if chunk.torn_at:
            watcher.rolled_back(chunk.torn_at)
        yield chunk


def _report(commits: Iterable[_Commit], report: Callable[[_Commit], None]) -> bool:
    """Report each commit as it is made; were there any?"""
    has_any = False
    for commit in commits:
        report(commit)
        has_any = True
    return has_any
