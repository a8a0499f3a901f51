"""Poll a small control table that other processes write."""

from __future__ import annotations

import time

from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.notes import newest_version

LOOK_EVERY_S = 5.0
"""Seconds between two polls of a process that follows."""


class TableNews:
    """Polls one table. A table is empty when created, so its first version is no news."""

    def __init__(self, lake: Lake, table: Sql):
        self._lake, self._table, self._version, self._looked_at = lake, table, 0, float("-inf")

    def has_come(self) -> bool:
        """Is there a version that did not exist at the last call? Polls at most every ``LOOK_EVERY_S``."""
        if time.monotonic() - self._looked_at < LOOK_EVERY_S:
            return False
        self._looked_at, known = time.monotonic(), self._version
        self._version = newest_version(self._lake.spark, self._table)
        return self._version != known
