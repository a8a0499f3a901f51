"""Find the newest transaction in bronze, and where its log begins."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from mirrorlake.core.binlog.failover import KnownTransaction, moment_of
from mirrorlake.core.binlog.transactions import EVENT_ROLES, ROLE_IGNORED, ROLE_OUTSIDE
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS, BronzeEvents
from mirrorlake.core.position import FIRST_EVENT_OFFSET, unpack_lsn
from mirrorlake.lake.delta.lake import Lake

_OUTSIDE = [k for k in range(256) if EVENT_ROLES[k] in (ROLE_OUTSIDE, ROLE_IGNORED)]


def newest_transaction(lake: Lake) -> KnownTransaction | None:
    """The newest transaction; None: it has no GTID, or there is none."""
    of_newest = _in_transactions(lake).where(F.col("tx_lsn") == newest_tx_lsn(lake))
    first_two = of_newest.orderBy("lsn").limit(2).select(*BRONZE_COLUMNS).toArrow()
    if first_two.num_rows < 2 or not first_two["gtid"][0].is_valid:
        return None
    found = BronzeEvents(first_two.sort_by("lsn").combine_chunks().to_batches()[0])
    moment = moment_of(lake.flavor, int(found.event_type[0]), found.body(0), int(found.timestamp[1]))
    return KnownTransaction(found.gtid[0].as_py(), moment)


def newest_tx_lsn(lake: Lake) -> int | None:
    """The tx_lsn of the newest transaction; None: there is none."""
    return _in_transactions(lake).agg(F.max("tx_lsn")).first()[0]


def first_lsn(lake: Lake) -> int | None:
    """The lsn of the first event; None: bronze is empty."""
    return lake.spark.table(lake.names.bronze_events).agg(F.min("lsn")).first()[0]


def begins_with_file(lake: Lake) -> bool:
    """Does bronze begin at the start of a file, and so with the file's list of GTIDs?"""
    first = first_lsn(lake)
    return first is not None and unpack_lsn(first)[2] == FIRST_EVENT_OFFSET


def _in_transactions(lake: Lake) -> DataFrame:
    return lake.spark.table(lake.names.bronze_events).where(~F.col("event_type").isin(_OUTSIDE))
