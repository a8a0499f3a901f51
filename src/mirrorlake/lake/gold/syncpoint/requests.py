"""Syncpoints requested at GTID sets or positions: where gold's epochs must end, and their publication.

A request is a row, so it survives the process. Its position in the log follows from bronze alone. Once an epoch has
ended there, any process can take the syncpoint at any time.
"""

from __future__ import annotations

from mirrorlake.errors import UsageError
from mirrorlake.lake.delta.damaged_rows import own_rows
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.notes import TableNews
from mirrorlake.lake.gold.control.epochs import DONE
from mirrorlake.lake.gold.control.table import EPOCHS_COLUMNS
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.lake.gold.syncpoint.positions import end_at, is_same_position
from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint


class SyncpointRequests:
    def __init__(self, lake: Lake):
        self._lake, self._news = lake, TableNews(lake.spark, lake.names.control_syncpoints)
        self._asked: list[Syncpoint] = []
        self._ends: dict[str, int] = {}

    def answer(self, applied_lsn: int) -> None:
        """Take the syncpoints that gold has reached; those that it passed, or that no log can have, are missed."""
        if self._news.has_come():
            self._asked = syncpoints.waiting(self._lake)
        for asked in list(self._asked):
            if self._is_answered(asked, applied_lsn):
                self._asked.remove(asked)

    def _is_answered(self, asked: Syncpoint, applied_lsn: int) -> bool:
        try:
            end = self._end(asked)
        except UsageError:  # no log can have this position
            syncpoints.miss(self._lake, asked)
            return True
        if end is None or applied_lsn < end:
            return False
        ended = applied_lsn if is_same_position(self._lake, end, applied_lsn) else self._end_of_epoch(end)
        if ended is not None:
            syncpoints.take(self._lake, ended, asked.name)
        else:
            syncpoints.miss(self._lake, asked)
        return True

    def next_end(self, applied_lsn: int, fence: int) -> int:
        """The lsn at which the next epoch must end at the latest."""
        ends = [end for asked in self._asked if (end := self._end(asked)) is not None]
        return min((end for end in ends if applied_lsn < end < fence), default=fence)

    def _end(self, asked: Syncpoint) -> int | None:
        if asked.name not in self._ends:
            end = end_at(self._lake, asked.gtids)
            if end is None:
                return None
            self._ends[asked.name] = end
        return self._ends[asked.name]

    def _end_of_epoch(self, lsn: int) -> int | None:
        """The end of the epoch that ended there."""
        epochs = own_rows(self._lake, "control_epochs", EPOCHS_COLUMNS)
        first = epochs.where(f"lsn_to >= {lsn} AND phase = '{DONE}'").agg({"lsn_to": "min"}).first()[0]
        return first if first is not None and is_same_position(self._lake, lsn, first) else None
