"""``control_runs``: who ran which verb when, how far it came, and how it ended."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import table_exists
from mirrorlake.lake.delta.progress import append_report
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


@dataclass(frozen=True, slots=True)
class RunRow:
    """One row about a run. by: user@host. ended, outcome: None while it runs, or if it was killed; else ``ok`` or a
    code. lsn: of its newest commit; None: it made none. rows: events, silver rows, row changes or rows of snapshots.
    refused: tables. lag_s: seconds since its newest look at what it reads after which nothing was left to do.
    sizes: of the tables that maintenance keeps, as ``{table, files, bytes}``.
    """

    run: str
    verb: str
    by: str
    version: str
    started: datetime
    at: datetime
    ended: datetime | None = None
    outcome: str | None = None
    lsn: int | None = None
    rows: int = 0
    refused: int | None = None
    lag_s: float | None = None
    sizes: list[dict[str, Any]] | None = None


def record(lake: Lake, row: RunRow) -> None:
    rows = lake.spark.createDataFrame(pa.Table.from_pylist([asdict(row)], schema=_ROW_SCHEMA), RUNS_COLUMNS)
    append_report(lake.names.control_runs, rows, lake.payload(HOP))


def last_runs(lake: Lake, n_runs: int) -> list[RunRow]:
    """The newest row of each of the runs that started last, newest first; none in a lake from before this table."""
    if not table_exists(lake.spark, lake.names.control_runs):
        return []
    found = lake.spark.sql(
        f"""SELECT * FROM {lake.names.control_runs}
            QUALIFY row_number() OVER (PARTITION BY run ORDER BY at DESC) = 1
            ORDER BY started DESC, run LIMIT {n_runs}"""
    )
    return [RunRow(**row) for row in found.toArrow().to_pylist()]
