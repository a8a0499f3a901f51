"""Find the part of bronze that nothing needs any more: whole binlog files that all hops have passed.

Bronze then begins with a file as it did before, with its description and its list of GTIDs, so that decoding,
syncpoints and a failover still find what they need.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import functions as F

from mirrorlake.core.constants import EventType
from mirrorlake.core.position import FIRST_EVENT_OFFSET
from mirrorlake.lake.bronze.newest import newest_tx_lsn
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.gold.control.epochs import EpochLog
from mirrorlake.lake.gold.syncpoint.positions import noted_lsn
from mirrorlake.lake.silver.assemble import PREPARED
from mirrorlake.lake.silver.overrides import read_answers


def first_kept(lake: Lake, days: int) -> int | None:
    """The lsn of the first event to keep, in a file that began ``days`` days ago or earlier: all before it is older.
    None: everything stays."""
    starts = lake.spark.table(lake.names.bronze_events).where(
        f"lsn <= {min(_needed(lake))} AND event_type = {int(EventType.FORMAT_DESCRIPTION)}"
        f" AND log_pos = {FIRST_EVENT_OFFSET} AND event_ts <= current_timestamp() - INTERVAL {int(days)} DAYS"
    )
    return starts.agg(F.max("lsn")).first()[0]


def _needed(lake: Lake) -> Iterator[int]:
    """Yield an lsn for each thing that may still be read."""
    epochs, newest = EpochLog(lake), newest_tx_lsn(lake)
    yield epochs.applied_lsn
    yield noted_lsn(lake, epochs.applied_lsn)
    yield epochs.applied_lsn if newest is None else newest
    yield from (answer.lsn for answer in read_answers(lake)[epochs.answers :])
    silver = read_progress(lake.spark, lake.names.silver_changes)
    yield from silver.payload.get(PREPARED, {}).values() if silver else ()
