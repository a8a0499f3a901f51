"""Barriers ahead of gold, and ``control_barriers``, the ledger of their execution."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass

import pyarrow as pa
from pyspark.sql import functions as F

from mirrorlake.core.schema.history import DefinitionChange
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import append_once
from mirrorlake.lake.gold.epoch import TABLE_STRUCT, Epoch, EpochTable
from mirrorlake.lake.gold.table import BARRIERS_COLUMNS

HOP = "apply/barriers"
_ACTIONS = ("create", "alter", "drop", "refuse")
_PHASES = ("prepared", "executed")
_ROW_SCHEMA = pa.schema(
    [
        ("lsn", pa.int64()),
        ("kind", pa.string()),
        ("phase", pa.string()),
        ("tables", pa.list_(TABLE_STRUCT)),
        ("at", pa.timestamp("us", "UTC")),
    ]
)


@dataclass(frozen=True, slots=True)
class Barrier:
    """A DDL with effect on one table. A statement that changes several tables is several barriers of one lsn."""

    lsn: int
    change: DefinitionChange


def read(lake: Lake, lsn_from: int, lsn_to: int) -> list[Barrier]:
    """Barriers with lsn_from < lsn <= lsn_to, in log order."""
    rows = lake.spark.table(lake.names.silver_table_schemas).where(f"lsn > {lsn_from} AND lsn <= {lsn_to}")
    found = {}
    for row in rows.where(F.col("action").isin(*_ACTIONS)).collect():
        change = DefinitionChange.from_row(row.asDict())
        found.setdefault((row.lsn, row.database, row.table, row.action), Barrier(row.lsn, change))
    return sorted(found.values(), key=lambda barrier: (barrier.lsn, barrier.change.action != "drop"))


def read_definitions(lake: Lake) -> dict[int, TableSchema]:
    """schema_id -> definition."""
    rows = (
        lake.spark.table(lake.names.silver_table_schemas).where("schema_id IS NOT NULL").select("schema_id", "columns")
    )
    return {row.schema_id: TableSchema.from_json(row.columns) for row in rows.collect()}


def record(lake: Lake, barriers: list[Barrier], phase: str, epoch: Epoch) -> None:
    """Write the ledger rows of an epoch's barriers, once; the tables' versions are those of ``epoch``."""
    if not barriers:
        return
    by_lsn: dict[int, list[EpochTable]] = {}
    versions = {(t.database, t.table): t for t in epoch.tables}
    for barrier in barriers:
        name = (barrier.change.database, barrier.change.table)
        by_lsn.setdefault(barrier.lsn, []).append(versions.get(name) or EpochTable(*name, None))
    now = dt.datetime.now(dt.timezone.utc)
    cells = [
        {"lsn": lsn, "kind": "ddl", "phase": phase, "at": now, "tables": [asdict(table) for table in tables]}
        for lsn, tables in by_lsn.items()
    ]
    rows = lake.spark.createDataFrame(pa.Table.from_pylist(cells, schema=_ROW_SCHEMA), BARRIERS_COLUMNS)
    append_once(
        lake.spark, lake.names.control_barriers, rows, app_id=lake.app_id(HOP),
        lsn=2 * epoch.number + _PHASES.index(phase),
        payload=lake.payload(HOP, epoch=epoch.number, phase=phase),
    )  # fmt: skip
