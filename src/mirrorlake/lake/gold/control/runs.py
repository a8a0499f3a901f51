"""``control_runs``: who ran which verb when, how far it came, and how it ended."""

from __future__ import annotations

from dataclasses import asdict

import pyarrow as pa

from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import table_exists
from mirrorlake.lake.delta.progress import append_report
from mirrorlake.lake.gold.control.health import RunRow, newest_runs
from mirrorlake.lake.gold.control.table import RUNS_COLUMNS

HOP = "run"
OK = "ok"
_MOMENT = pa.timestamp("us", "UTC")
_SIZE = pa.struct([("table", pa.string()), ("files", pa.int64()), ("bytes", pa.int64())])
_ROW_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("run", "verb", "by", "version")]
    + [(name, _MOMENT) for name in ("started", "at", "ended")]
    + [("outcome", pa.string()), ("lsn", pa.int64()), ("rows", pa.int64()), ("refused", pa.int64())]
    + [("lag_s", pa.float64()), ("sizes", pa.list_(_SIZE))]
)


def record(lake: Lake, row: RunRow) -> None:
    rows = lake.spark.createDataFrame(pa.Table.from_pylist([asdict(row)], schema=_ROW_SCHEMA), RUNS_COLUMNS)
    append_report(lake.names.control_runs, rows, lake.payload(HOP))


def last_runs(lake: Lake, n_runs: int) -> list[RunRow]:
    """The newest row of each of the runs that started last, newest first; none in a lake from before this table."""
    if not table_exists(lake.spark, lake.names.control_runs):
        return []
    found = lake.spark.sql(newest_runs(lake.names.control_runs, n_runs))
    return [RunRow(**row) for row in found.toArrow().to_pylist()]
