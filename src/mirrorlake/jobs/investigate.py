"""Read-only looks into a lake: how far each hop is, one transaction through the hops, how busy and how late it was."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pandas as pd
from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.open import open_lake
from mirrorlake.jobs.status import read_status
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import literal
from mirrorlake.lake.gold.epoch import ANSWER
from mirrorlake.lake.gold.register import STREAMING, TableEntry, TableRegister

EPOCHS = 500
"""Newest epochs whose lag is shown."""


@dataclass(frozen=True, slots=True)
class Investigation:
    """lag: a row per hop, see ``HopStatus``. mirror_row, changes, events: one transaction in gold, silver, bronze.

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
    """table: ``database.table`` whose row is followed, else the first mirror that has rows. key: a SQL condition on
    the row, e.g. ``id = 7``; without one the row that changed last.

    Raises RefusedError ``lake-missing``; UsageError when no mirror has such a row.
    """
    lake = open_lake(options, spark)
    entry, row = _mirror_row(lake, table, key)
    changes, events = _transaction(lake, entry, int(row["_lsn"].iloc[0]))
    return Investigation(_lag(lake, options), row, changes, events, _activity(lake), _epochs(lake))


def _lag(lake: Lake, options: Options) -> pd.DataFrame:
    status = read_status(lake, options)
    hops = {"ingest": status.bronze, "assemble": status.silver, "apply": status.gold}
    return pd.DataFrame([{"hop": hop, **asdict(reached)} for hop, reached in hops.items()])


def _mirror_row(lake: Lake, table: str, key: str) -> tuple[TableEntry, pd.DataFrame]:
    condition = key or "true"
    for entry in TableRegister.read(lake):
        if entry.mirror_id and entry.state == STREAMING and table in ("", ".".join(entry.name)):
            mirror = lake.names.mirror(entry.mirror_id)
            row = lake.spark.sql(f"SELECT * FROM {mirror} WHERE {condition} ORDER BY _lsn DESC LIMIT 1").toPandas()
            if len(row):
                return entry, row
    raise UsageError("usage", f"there is no such row in a mirror of {table or 'any table'}")


def _transaction(lake: Lake, entry: TableEntry, lsn: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All silver rows and all raw events of the transaction that wrote a mirror row."""
    silver, bronze = lake.names.silver_changes, lake.names.bronze_events
    name = f"database = {literal(entry.database)} AND table = {literal(entry.table)}"
    (written,) = lake.spark.sql(f"SELECT tx_lsn FROM {silver} WHERE lsn = {lsn} AND {name} LIMIT 1").collect()
    changes = lake.spark.sql(
        "SELECT lsn, ordinal, op, gtid, commit_ts, database, table,"
        " to_json(before) AS before, to_json(after) AS after, changes"
        f" FROM {silver} WHERE tx_lsn = {written.tx_lsn} ORDER BY ordinal, lsn"
    )
    events = lake.spark.sql(
        "SELECT lsn, log_file, log_pos, end_log_pos, event_type, event_ts, octet_length(raw) bytes, crc_ok"
        f" FROM {bronze} WHERE tx_lsn = {written.tx_lsn} ORDER BY lsn"
    )
    return changes.toPandas(), events.toPandas()


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
