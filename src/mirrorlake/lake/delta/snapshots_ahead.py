"""Warm Delta's state of tables that will soon be written again, between their commits.

Delta answers "is this transaction id new?" with a query over all files and ids of the newest version: 0.35 of the 0.6 s
of a small append. It keeps the answer with that version, so asking between two commits makes them faster
(``bench/freshness.py``: p50 6.1 -> 3.7 s). Nothing depends on it: the next commit meets any failure itself.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from pyspark.sql import SparkSession

from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.session import is_own, private_session

MAX_TABLES = 8
"""Per epoch: with more tables, the MERGEs take the time and not the steps around them."""


class SnapshotsAhead:
    """Two threads that run next to the hops, for a session of our own, where it was measured. Elsewhere it does
    nothing."""

    def __init__(self, spark: SparkSession):
        self._session = private_session(spark) if is_own(spark) else None
        self._pool = ThreadPoolExecutor(2, "snapshots-ahead")  # ends with this object
        self._waiting: set[str] = set()

    def prepare(self, *tables: Sql) -> list[Future]:
        """Begin warming tables that were just committed to; returns at once."""
        if self._session is None or len(tables) > MAX_TABLES:
            return []
        new = {*tables} - self._waiting
        self._waiting |= new
        return [self._pool.submit(self._compute, table) for table in new]

    def _compute(self, table: Sql) -> None:
        self._waiting.discard(table)
        self._session.sql(f"DESCRIBE DETAIL {table}").collect()  # has to count the files
