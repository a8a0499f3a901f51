"""Observers of a run: the terminal's view, the report, and the threads that prepare the next commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.snapshots_ahead import SnapshotsAhead

if TYPE_CHECKING:
    from datetime import datetime

    from mirrorlake.core.position import BinlogPosition
    from mirrorlake.errors import RetryableError
    from mirrorlake.jobs.run.log_bytes import LogExtent
    from mirrorlake.lake.bronze.ingest import IngestedBatch
    from mirrorlake.lake.gold.apply import AppliedEpoch
    from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint
    from mirrorlake.lake.gold.views.wanted import LeftOut
    from mirrorlake.lake.silver.assemble import AssembledBatch


class Watcher:
    """Receives every commit. wants_extents: also, before the work, the amount of log ahead."""

    wants_extents = False

    def begins(self) -> None:
        """The hops are open, and their work begins."""

    def complete(self, at: datetime) -> None:
        """Everything is done that was there to be read at this moment."""

    def ahead(self, extent: LogExtent) -> None: ...
    def took_over(self, server: str, position: BinlogPosition) -> None:
        """Another server took over; its log is read from ``position`` on."""

    def rolled_back(self, start: BinlogPosition) -> None:
        """A crash of the server rolled the transaction back that begins at ``start``; it is left out."""

    def ingested(self, batch: IngestedBatch) -> None: ...
    def assembled(self, batch: AssembledBatch) -> None: ...
    def applied(self, done: AppliedEpoch) -> None: ...
    def took(self, point: Syncpoint) -> None: ...
    def left_out(self, mirror: LeftOut) -> None:
        """A mirror has no view, or one that is not as it should be; the run continues."""

    def idle(self) -> None:
        """There is nothing to do until new log arrives."""

    def not_mirrored(self, n_tables: int, command: str) -> None:
        """The run ends, and these tables of the server have no mirror; the command shows why."""

    def retrying(self, error: RetryableError, wait_s: float) -> None:
        """A job that follows its source was stopped and begins again."""


class HandsOn(Watcher):
    """Forwards everything to another watcher."""

    def __init__(self, watcher: Watcher):
        self._watcher, self.wants_extents = watcher, watcher.wants_extents

    def begins(self) -> None:
        self._watcher.begins()

    def complete(self, at: datetime) -> None:
        self._watcher.complete(at)

    def ahead(self, extent: LogExtent) -> None:
        self._watcher.ahead(extent)

    def took_over(self, server: str, position: BinlogPosition) -> None:
        self._watcher.took_over(server, position)

    def rolled_back(self, start: BinlogPosition) -> None:
        self._watcher.rolled_back(start)

    def ingested(self, batch: IngestedBatch) -> None:
        self._watcher.ingested(batch)

    def assembled(self, batch: AssembledBatch) -> None:
        self._watcher.assembled(batch)

    def applied(self, done: AppliedEpoch) -> None:
        self._watcher.applied(done)

    def took(self, point: Syncpoint) -> None:
        self._watcher.took(point)

    def left_out(self, mirror: LeftOut) -> None:
        self._watcher.left_out(mirror)

    def idle(self) -> None:
        self._watcher.idle()

    def not_mirrored(self, n_tables: int, command: str) -> None:
        self._watcher.not_mirrored(n_tables, command)

    def retrying(self, error: RetryableError, wait_s: float) -> None:
        self._watcher.retrying(error, wait_s)


class PreparesNext(HandsOn):
    """Computes what the next commit to a table needs while the run is busy with other tables."""

    def __init__(self, watcher: Watcher, lake: Lake):
        super().__init__(watcher)
        self._names, self._snapshots = lake.names, SnapshotsAhead(lake.spark)

    def ingested(self, batch: IngestedBatch) -> None:
        self._snapshots.prepare(self._names.bronze_events)
        super().ingested(batch)

    def assembled(self, batch: AssembledBatch) -> None:
        self._snapshots.prepare(self._names.silver_changes)
        super().assembled(batch)

    def applied(self, done: AppliedEpoch) -> None:
        mirrors = (self._names.mirror(table.mirror_id) for table in done.epoch.tables if table.mirror_id)
        self._snapshots.prepare(self._names.control_epochs, *mirrors)
        super().applied(done)
