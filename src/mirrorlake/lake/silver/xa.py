"""Events of a range of bronze, those of prepared XA transactions where they commit."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.changes.xa import STAYING, XaPlan
from mirrorlake.lake.delta.lake import Lake

ORDER = ["lsn", "place"]
"""What orders the events: those that were moved share the lsn of their XA COMMIT. place: the lsn they had."""

_MOVES = pa.schema(
    [("prepared", pa.int64()), ("new_lsn", pa.int64()), ("new_tx_lsn", pa.int64()), ("new_gtid", pa.string()),
     ("new_event_ts", pa.timestamp("us", "UTC"))]
)  # fmt: skip
_MOVES_DDL = "prepared BIGINT, new_lsn BIGINT, new_tx_lsn BIGINT, new_gtid STRING, new_event_ts TIMESTAMP"


def placed_events(lake: Lake, lsn_from: int, lsn_to: int, plan: XaPlan) -> DataFrame:
    """``BRONZE_COLUMNS`` and place of the events with lsn_from < lsn <= lsn_to, which lies in the range of the plan."""
    bronze = lake.spark.table(lake.names.bronze_events).select(*BRONZE_COLUMNS, F.col("lsn").alias("place"))
    here = bronze.where((F.col("lsn") > lsn_from) & (F.col("lsn") <= lsn_to))
    if plan.is_empty:
        return here
    stays = F.col("event_type").isin(*map(int, STAYING))
    hidden = lake.spark.createDataFrame([(group,) for group in plan.hidden], "hidden BIGINT")
    others = here.where(~stays).join(F.broadcast(hidden), F.col("tx_lsn") == F.col("hidden"), "left_anti")
    found = here.where(stays).unionAll(others)
    moves = [move for move in plan.moves if lsn_from < move.lsn <= lsn_to]
    return found.unionAll(_moved(lake, bronze.where(~stays), moves)) if moves else found


def _moved(lake: Lake, bronze: DataFrame, moves: list) -> DataFrame:
    columns = [pa.array(cells, field.type) for cells, field in zip(zip(*moves, strict=True), _MOVES, strict=True)]
    table = lake.spark.createDataFrame(pa.Table.from_arrays(columns, schema=_MOVES), _MOVES_DDL)
    first, last = min(move.prepared for move in moves), max(move.lsn for move in moves)
    candidates = bronze.where((F.col("lsn") >= first) & (F.col("lsn") < last))
    joined = candidates.join(F.broadcast(table), F.col("tx_lsn") == F.col("prepared"))
    changed = ("lsn", "tx_lsn", "gtid", "event_ts")
    new = [F.col(f"new_{name}").alias(name) if name in changed else F.col(name) for name in BRONZE_COLUMNS]
    return joined.select(*new, "place")
