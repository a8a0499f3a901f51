"""Syncpoints that were asked for at GTID sets or positions: where gold's epochs have to end, and the answers.

A request is a row, so it outlives the process. Where its place in the log is follows from bronze alone, and once an
epoch has ended there, the syncpoint can be taken by any process at any time.
"""

from __future__ import annotations

from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.table_news import TableNews
from mirrorlake.lake.gold import syncpoints
from mirrorlake.lake.gold.epoch import DONE
from mirrorlake.lake.gold.log_gtids import end_at
from mirrorlake.lake.gold.syncpoints import Syncpoint


class SyncpointRequests:
    def __init__(self, lake: Lake):
        self._lake, self._news = lake, TableNews(lake, lake.names.control_syncpoints)
        self._asked: list[Syncpoint] = []
        self._ends: dict[str, int] = {}

    def answer(self, applied_lsn: int) -> None:
        """Take the syncpoints that gold has come to; those that it went past are missed."""
        if self._news.has_come():
            self._asked = syncpoints.waiting(self._lake)
        for asked in list(self._asked):
            end = self._end(asked)
            if end is not None and end <= applied_lsn:
                if end == applied_lsn or self._is_end_of_epoch(end):
                    syncpoints.take(self._lake, end, asked.name)
                else:
                    syncpoints.miss(self._lake, asked)
                self._asked.remove(asked)

    def next_end(self, applied_lsn: int, fence: int) -> int:
        """Where the next epoch has to end at the latest."""
        ends = [end for asked in self._asked if (end := self._end(asked)) is not None]
        return min((end for end in ends if applied_lsn < end < fence), default=fence)

    def _end(self, asked: Syncpoint) -> int | None:
        if asked.name not in self._ends:
            end = end_at(self._lake, asked.gtids)
            if end is None:
                return None
            self._ends[asked.name] = end
        return self._ends[asked.name]

    def _is_end_of_epoch(self, lsn: int) -> bool:
        epochs = self._lake.spark.table(self._lake.names.control_epochs)
        return not epochs.where(f"lsn_to = {lsn} AND phase = '{DONE}'").isEmpty()
