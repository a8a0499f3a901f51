"""Read-only queries on a lake: progress of each hop, one transaction through the hops, activity and lag."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from mirrorlake.config import Options
from mirrorlake.core.sql_text import users_sql
from mirrorlake.errors import UsageError
from mirrorlake.jobs.inspect.read_only import check_reading
from mirrorlake.jobs.inspect.status import read_status
from mirrorlake.jobs.inspect.trace import written_by
from mirrorlake.jobs.run.failures import first_line
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.epochs import ANSWER
from mirrorlake.lake.gold.control.register import STREAMING, TableRegister
from mirrorlake.lake.gold.control.table import LSN_COLUMN

EPOCHS = 500
"""Newest epochs whose lag is shown."""


@dataclass(frozen=True, slots=True)
class Investigation:
    """lag: a row per hop, see ``HopStatus``. mirror_row, changes, events: one transaction in gold, silver, bronze; the
    last two are empty for a row that came with its table's snapshot.

    activity: row changes per minute of the source's clock. epochs: seconds from source commit to mirror commit.
    """

    lag: pd.DataFrame
    mirror_row: pd.DataFrame
    changes: pd.DataFrame
    events: pd.DataFrame
    activity: pd.DataFrame
    epochs: pd.DataFrame


def investigate(
    options: Options, spark: SparkSession | None = None, *, table: str = "", key: str = ""
) -> Investigation:
    """Collect all of it. table: ``database.table`` of the row to trace; empty: the first mirror that has rows. key: a
    SQL condition on the row, e.g. ``id = 7``; without one the row that changed last.

    Raises RefusedError ``lake-missing``; UsageError ``sql`` for a key that does anything but compare the row's columns,
    ``usage`` when no mirror has such a row.
    """
    lake = open_lake(options, spark)
    row = _mirror_row(lake, table, key)
    transaction = written_by(lake, int(row["_lsn"].iloc[0]))
    changes, events = (transaction.changes, transaction.events) if transaction else (pa.table({}), pa.table({}))
    frames = (row, changes.to_pandas(), events.to_pandas())
    return Investigation(_lag(lake, options), *frames, _activity(lake), _epochs(lake))


def _lag(lake: Lake, options: Options) -> pd.DataFrame:
    status = read_status(lake, options)
    hops = {"ingest": status.bronze, "assemble": status.silver, "apply": status.gold}
    return pd.DataFrame([{"hop": hop, **asdict(reached)} for hop, reached in hops.items()])


def _mirror_row(lake: Lake, table: str, key: str) -> pd.DataFrame:
    condition = users_sql(key.strip() or "true")
    try:
        check_reading(lake.spark, f"SELECT 1 WHERE ({condition}\n)", lambda name: False)
        for entry in TableRegister.read(lake):
            if entry.mirror_id and entry.state == STREAMING and table in ("", str(entry.name)):
                rows = lake.spark.table(lake.names.mirror(entry.mirror_id)).where(condition)
                row = rows.orderBy(F.desc(LSN_COLUMN)).limit(1).toPandas()
                if len(row):
                    return row
    except PySparkException as error:
        raise UsageError("sql", f"key: {first_line(error)}") from error
    raise UsageError("usage", f"there is no such row in a mirror of {table or 'any table'}")


def _activity(lake: Lake) -> pd.DataFrame:
    return lake.spark.sql(
        "SELECT date_trunc('MINUTE', commit_ts) minute, op, count(*) n_changes FROM " + lake.names.silver_changes
        + " WHERE op IN ('INSERT', 'UPDATE', 'DELETE') GROUP BY ALL ORDER BY minute, op"
    ).toPandas()  # fmt: skip


def _epochs(lake: Lake) -> pd.DataFrame:
    return lake.spark.sql(
        f"""SELECT e.epoch, e.at AS applied_at, max(c.commit_ts) AS source_time,
                   CAST(e.at AS DOUBLE) - CAST(max(c.commit_ts) AS DOUBLE) AS lag_s
            FROM (SELECT * FROM {lake.names.control_epochs} WHERE phase = 'done' AND kind <> '{ANSWER}'
                  ORDER BY epoch DESC LIMIT {EPOCHS}) e
            JOIN {lake.names.silver_changes} c ON c.op = 'COMMIT' AND c.lsn > e.lsn_from AND c.lsn <= e.lsn_to
            GROUP BY ALL ORDER BY e.epoch"""
    ).toPandas()
