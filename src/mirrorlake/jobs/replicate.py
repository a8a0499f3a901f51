"""The hops as jobs, one function each, and all three in one process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from typing import Protocol

from mirrorlake.config import Options
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.core.position import UNTIL_CURRENT, BinlogPosition, LogEdge, parse_gtid_set, parse_start, parse_until
from mirrorlake.errors import RefusedError
from mirrorlake.lake.bronze.ingest import IngestedBatch, IngestProgress, ingest
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.apply import AppliedEpoch, ApplyHop
from mirrorlake.lake.silver.assemble import AssembledBatch, AssembleHop, EventRange
from mirrorlake.mysql.binlog_files import FileSource

KEEP_BYTES = 64 << 20
"""Batches up to this size are handed from hop to hop in memory, once the commit before has returned."""


class Watcher(Protocol):
    """Is told of every commit."""

    def ingested(self, batch: IngestedBatch) -> None: ...
    def assembled(self, batch: AssembledBatch) -> None: ...
    def applied(self, epoch: AppliedEpoch) -> None: ...


class IngestJob:
    """Follows one source into bronze, from bronze's own progress."""

    def __init__(self, lake: Lake, source: BinlogSource, options: Options):
        self._lake, self._source, self._options = lake, source, options
        self._until = parse_until(options.until, source.flavor)
        self._progress = IngestProgress.read(lake)
        self._position = self._progress.position
        if self._position is None:
            self._position = self._first_position()

    def _first_position(self) -> BinlogPosition:
        start = parse_start(self._options.start, self._source.flavor)
        if isinstance(start, LogEdge):
            return self._source.earliest() if start is LogEdge.EARLIEST else self._source.current()
        return start if isinstance(start, BinlogPosition) else self._source.locate(start)

    def step(self) -> Iterator[IngestedBatch]:
        """Read what there is now, or up to --until; the end is fixed before the first byte is read."""
        end = self._until if isinstance(self._until, BinlogPosition) else self._source.current()
        if end <= self._position:
            return
        start = self._position
        reader = LogReader(start, self._progress.gtids, incarnation=self._lake.incarnation, until=self._until)
        chunks = reader.read(self._source.read(start, end))
        batch_bytes = self._options.bronze_batch_mb << 20
        for batch in ingest(self._lake, chunks, self._progress, batch_bytes=batch_bytes, keep_bytes=KEEP_BYTES):
            yield batch
            self._position = batch.resume.position
        self._progress = IngestProgress.read(self._lake) if self._position != start else self._progress
        self.is_finished = reader.is_finished

    is_finished = False
    """A GTID set or time to stop at was reached."""

    def is_done(self) -> bool:
        """Was everything read that the options ask for? Raises RefusedError when it can never be."""
        if self._options.follow:
            return False
        if self._until is UNTIL_CURRENT or isinstance(self._until, datetime) or self.is_finished:
            return True
        if isinstance(self._until, BinlogPosition) and self._position >= self._until:
            return True
        if isinstance(self._source, FileSource):
            raise RefusedError("log-missing", f"the log ends before {self._options.until}", position=str(self._position))
        return False


def run_ingest(lake: Lake, source: BinlogSource, options: Options, watcher: Watcher) -> None:
    job = IngestJob(lake, source, options)
    while True:
        idle = True
        for batch in job.step():
            idle = False
            watcher.ingested(batch)
        if job.is_done():
            return
        if idle:
            time.sleep(options.poll_s)


def run_assemble(lake: Lake, options: Options, watcher: Watcher) -> None:
    hop = AssembleHop(lake, batch_bytes=options.silver_batch_mb << 20)
    while True:
        idle = True
        for part in hop.pending():
            idle = False
            watcher.assembled(hop.assemble(part))
        if not options.follow:
            return
        if idle:
            time.sleep(options.poll_s)


def run_apply(lake: Lake, options: Options, watcher: Watcher) -> None:
    hop = ApplyHop(lake, options.wants, epoch_changes=options.epoch_changes)
    while True:
        idle = True
        for epoch in hop.apply():
            idle = False
            watcher.applied(epoch)
        if not options.follow:
            return
        if idle:
            time.sleep(options.poll_s)


def run_all(lake: Lake, source: BinlogSource, options: Options, watcher: Watcher) -> None:
    """All three hops in turn. A small batch goes on from memory; the lake is the truth, memory a cache."""
    ingest_job = IngestJob(lake, source, options)
    assemble_hop = AssembleHop(lake, batch_bytes=options.silver_batch_mb << 20, keep_bytes=KEEP_BYTES)
    apply_hop = ApplyHop(lake, options.wants, epoch_changes=options.epoch_changes)
    while True:
        ingested = []
        for batch in ingest_job.step():
            watcher.ingested(batch)
            ingested = [*ingested[-1:], batch]
        assembled = []
        for part in _parts(assemble_hop, ingested):
            assembled = [*assembled[-1:], assemble_hop.assemble(part)]
            watcher.assembled(assembled[-1])
        only = assembled[0] if len(assembled) == 1 and assembled[0].lsn_from == apply_hop.lsn else None
        for epoch in apply_hop.apply(only.changes if only else None):
            watcher.applied(epoch)
        if ingest_job.is_done():
            return
        if not ingested:
            time.sleep(options.poll_s)


def _parts(hop: AssembleHop, ingested: list[IngestedBatch]) -> Iterator[EventRange]:
    if len(ingested) == 1 and ingested[0].events is not None and ingested[0].lsn_from == hop.lsn:
        return iter([EventRange(hop.lsn, ingested[0].lsn_to, events=ingested[0].events)])
    return hop.pending()
