"""Read events of a range of bronze, those of prepared XA transactions where they commit; all, or those that define."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from mirrorlake.core.binlog.compression import PACKED_TYPES
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS, of_types
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.changes.undone import UNDONE_COLUMNS, Segments, Undone, rolled_back_groups, undone_rows
from mirrorlake.core.changes.xa import STAYING, XaPlan
from mirrorlake.core.constants import EventType
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.position import OFFSET_BITS
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.spill import SpilledBatches

NO_XA = XaPlan((), (), {})
ORDER = ["lsn", "own_lsn"]
"""Columns that order the events: moved ones share the lsn of their XA COMMIT. own_lsn: the one they had."""
SLICE_EVENTS = 200_000
"""How many events that define are collected at once, of whatever a statement is: a transaction may have millions."""

_DEFINING = pa.array(
    [EventType.QUERY, EventType.FORMAT_DESCRIPTION, EventType.TABLE_MAP, EventType.XA_PREPARE], pa.int16()
)
_MOVES = pa.schema(
    [("prepared", pa.int64()), ("new_lsn", pa.int64()), ("new_tx_lsn", pa.int64()), ("new_gtid", pa.string()),
     ("new_event_ts", pa.timestamp("us", "UTC"))]
)  # fmt: skip
_MOVES_DDL = "prepared BIGINT, new_lsn BIGINT, new_tx_lsn BIGINT, new_gtid STRING, new_event_ts TIMESTAMP"


def events_at_commits(lake: Lake, lsns: LsnRange, plan: XaPlan) -> DataFrame:
    """``BRONZE_COLUMNS`` and ``own_lsn`` of the events of a range, which is inside the range of the plan."""
    bronze = lake.spark.table(lake.names.bronze_events).select(*BRONZE_COLUMNS, F.col("lsn").alias("own_lsn"))
    here = bronze.where(lsns.condition)
    if plan.is_empty:
        return here
    stays = F.col("event_type").isin(*map(int, STAYING))
    hidden = lake.spark.createDataFrame([(group,) for group in plan.hidden], "hidden BIGINT")
    others = here.where(~stays).join(F.broadcast(hidden), F.col("tx_lsn") == F.col("hidden"), "left_anti")
    found = here.where(stays).unionAll(others)
    moves = [move for move in plan.moves if move.lsn in lsns]
    return found.unionAll(_moved(lake, bronze.where(~stays), moves)) if moves else found


def collect(events: DataFrame) -> list[pa.RecordBatch]:
    """``BRONZE_COLUMNS``, in log order. Spark's batches are not copied if each one is in order, as the files are."""
    found = events.select(*BRONZE_COLUMNS, "own_lsn").toArrow()
    batches = sorted(filter(len, found.to_batches()), key=lambda batch: batch.column("lsn")[0].as_py())
    ordered = pa.Table.from_batches(batches, found.schema)
    if (np.diff(ordered["lsn"].to_numpy()) <= 0).any():  # a transaction was moved, or somebody has rewritten the files
        ordered = found.sort_by([(name, "ascending") for name in ORDER])
    return ordered.select(list(BRONZE_COLUMNS)).to_batches()


@contextmanager
def definition_events(
    lake: Lake, lsns: LsnRange, plan_of: Callable[[Iterable[pa.RecordBatch]], XaPlan]
) -> Iterator[tuple[Iterable[pa.RecordBatch], XaPlan]]:
    """``BRONZE_COLUMNS`` of the events of a range that define, in log order and opened, and the range's plan.

    plan_of: makes the plan from them; events of XA transactions that it moves are then at their commits. Most of many
    events are on disk.
    """
    with SpilledBatches(collect_definitions(lake, lsns, NO_XA)) as events:
        plan = plan_of(events)
        if plan.is_empty:
            yield events, plan
            return
    with SpilledBatches(collect_definitions(lake, lsns, plan)) as events:
        yield events, plan


def collect_definitions(lake: Lake, lsns: LsnRange, plan: XaPlan, most: int = SLICE_EVENTS) -> Iterator[pa.RecordBatch]:
    """The same as an iterator, by a given plan. A range with more than ``most`` of them is collected in parts, each
    with its own first table maps."""
    found = _chosen(events_at_commits(lake, lsns, plan))
    some = collect(found.limit(most + 1).sortWithinPartitions(*ORDER))
    if sum(map(len, some)) <= most:
        yield from some
        return
    del some
    pa.default_memory_pool().release_unused()
    ends = _ends(lake, lsns, most)
    if not ends:  # one event, which is compressed
        yield from collect(found)
        return
    for part in lsns.split(ends):
        yield from collect_definitions(lake, part, plan, most)


def _ends(lake: Lake, lsns: LsnRange, most: int) -> list[int]:
    """Lsns that cut a range into parts with about half of ``most`` events each; none if all are at its end."""
    events = lake.spark.table(lake.names.bronze_events).where(lsns.condition)
    events = events.where(F.col("event_type").isin(*_DEFINING.to_pylist(), *map(int, PACKED_TYPES)))
    n = max(2, 2 * events.count() // most)
    shares = ", ".join(f"{k / n}D" for k in range(1, n))
    found = events.selectExpr(f"percentile_approx(lsn, array({shares})) AS ends").first().ends
    return sorted({end for end in found or () if end < lsns.to})


def _chosen(events: DataFrame) -> DataFrame:
    """The events that define: QUERY events other than BEGIN or COMMIT, each file's first event, XA_PREPARE events, the
    first TABLE_MAP of each body in a file; also inside compressed events. Those of XA transactions alone have a gtid.

    A body has a table id, and in one file, which one run of the server wrote, an id means one definition.
    """
    packed = events.where(F.col("event_type").isin(*map(int, PACKED_TYPES)))
    if not packed.isEmpty():
        packed = packed.drop("own_lsn")
        opened = packed.mapInArrow(_opened_definitions, packed.schema)
        events = events.unionAll(opened.withColumn("own_lsn", F.col("lsn")))
    end = "octet_length(raw) - IF(crc_ok IS NULL, 0, 4)"
    begin, commit = "X'00424547494E'", "X'00434F4D4D4954'"  # the texts after the 0 that ends the database's name
    is_query = (
        f"(event_type = 38 OR event_type IN (2, 15) AND substring(raw, {end} - 5, 6) <> {begin}"
        f" AND substring(raw, {end} - 6, 7) <> {commit})"
    )
    same = F.expr(f"IF(event_type = 19, xxhash64(substring(raw, 20, {end} - 19)), xxhash64(lsn, raw))")
    chosen = events.where(f"event_type = 19 OR {is_query}")  # in one pass: the log is read from Parquet once
    chosen = chosen.withColumn("gtid", F.expr("IF(event_type = 38 OR contains(raw, X'5841'), gtid, NULL)"))
    log_file = F.shiftright("own_lsn", OFFSET_BITS)  # a name may be that of a file of two servers
    firsts = chosen.groupBy(log_file, "event_type", same).agg(F.min_by(F.struct(*events.columns), "lsn").alias("event"))
    return firsts.select("event.*")


def _opened_definitions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Open compressed events, and leave out what is much larger than definitions: the rows."""
    for batch in open_events(batches):
        yield of_types(batch, _DEFINING)
        del batch  # it may be long, as the next one


def undone(events: DataFrame, definitions: Iterable[pa.RecordBatch]) -> Undone:
    """Find the changes that a range's own statements roll back. events: from ``events_at_commits``; definitions: those
    that define, opened."""
    groups = rolled_back_groups(definitions)
    if not groups:
        return Undone()
    wanted = events.sparkSession.createDataFrame([(group,) for group in groups], "rolled_back BIGINT")
    kinds = (EventType.QUERY, EventType.QUERY_COMPRESSED, EventType.TRANSACTION_PAYLOAD)
    queries = events.where(F.col("event_type").isin(*map(int, kinds)))
    theirs = queries.join(F.broadcast(wanted), F.col("tx_lsn") == F.col("rolled_back"), "left_semi")
    ordered = theirs.coalesce(1).sortWithinPartitions(*ORDER).select(*BRONZE_COLUMNS)
    return Undone(Segments(*row) for row in ordered.mapInArrow(undone_rows, UNDONE_COLUMNS).collect())


def _moved(lake: Lake, bronze: DataFrame, moves: list) -> DataFrame:
    columns = [pa.array(cells, field.type) for cells, field in zip(zip(*moves, strict=True), _MOVES, strict=True)]
    table = lake.spark.createDataFrame(pa.Table.from_arrays(columns, schema=_MOVES), _MOVES_DDL)
    first, last = min(move.prepared for move in moves), max(move.lsn for move in moves)
    candidates = bronze.where((F.col("lsn") >= first) & (F.col("lsn") < last))
    joined = candidates.join(F.broadcast(table), F.col("tx_lsn") == F.col("prepared"))
    changed = ("lsn", "tx_lsn", "gtid", "event_ts")
    new = [F.col(f"new_{name}").alias(name) if name in changed else F.col(name) for name in BRONZE_COLUMNS]
    return joined.select(*new, "own_lsn")
