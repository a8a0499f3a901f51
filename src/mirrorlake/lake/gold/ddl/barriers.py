"""Barriers ahead of gold, and ``control_barriers``, the ledger of their execution."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter

import pyarrow as pa
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.history import DefinitionChange
from mirrorlake.core.schema.row_steps import FromSnapshot
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.lake.delta.damaged_rows import own_rows, reading
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import named
from mirrorlake.lake.delta.progress import append_once
from mirrorlake.lake.gold.control.epochs import TABLE_STRUCT, EpochTable
from mirrorlake.lake.gold.control.table import BARRIERS_COLUMNS
from mirrorlake.lake.gold.ddl.classes import DdlClass
from mirrorlake.lake.gold.ddl.outcomes import ACTIONS
from mirrorlake.lake.silver.table import DEFINITION_COLUMNS

HOP = "apply/barriers"
PREPARED, EXECUTED = "prepared", "executed"
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
    """One DDL statement, or the start of snapshots; changes: the effect on each table that it names."""

    lsn: int
    changes: tuple[DefinitionChange, ...]

    @property
    def names(self) -> list[TableName]:
        return [change.name for change in self.changes]

    @property
    def begins_snapshot(self) -> bool:
        return any(isinstance(step, FromSnapshot) for change in self.changes for step in change.steps)


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One DDL in one phase; tables: each with its mirror's Delta version before (prepared) or after it (executed)."""

    lsn: int
    ddl_class: DdlClass
    tables: tuple[EpochTable, ...]


def read(lake: Lake, lsns: LsnRange, answers: int, *, only: TableName | None = None) -> list[Barrier]:
    """Barriers of a range, in log order. only: of this table alone.

    answers: number of the operator's answers that count; of a statement's rows about one table, the newest answer's are
    used.
    """
    rows = _schemas(lake)
    rows = rows.where(f"{lsns.condition} AND answer <= {answers}")
    rows = rows.where(named(only)) if only else rows
    return _barriers(rows)


def _schemas(lake: Lake) -> DataFrame:
    return own_rows(lake, "silver_table_schemas", DEFINITION_COLUMNS)


def answered(lake: Lake, number: int) -> Barrier | None:
    """The barrier that an answer has made; None: silver could not accept the answer."""
    rows = _schemas(lake).where(f"answer = {number}")
    return next(iter(_barriers(rows)), None)


def _barriers(rows: DataFrame) -> list[Barrier]:
    """Make barriers of rows; for one table and statement the row of the newest answer is used."""
    acting = rows.where(F.col("action").isin(*ACTIONS)).collect()
    with reading("silver_table_schemas"):
        return _by_lsn(acting)


def _by_lsn(acting: Iterable[Row]) -> list[Barrier]:
    found: dict[int, dict[TableName, DefinitionChange]] = {}
    for row in sorted(acting, key=attrgetter("answer"), reverse=True):
        changes = found.setdefault(row.lsn, {})
        changes.setdefault(TableName(row.database, row.table), DefinitionChange.from_row(row.asDict()))
    return [barrier for lsn, changes in sorted(found.items()) for barrier in _at_lsn(lsn, changes)]


def _at_lsn(lsn: int, changes: dict[TableName, DefinitionChange]) -> list[Barrier]:
    """Make barriers for one lsn: one statement, or independent snapshots."""
    together = Barrier(lsn, tuple(changes[name] for name in sorted(changes)))
    return [Barrier(lsn, (change,)) for change in together.changes] if together.begins_snapshot else [together]


def read_definitions(lake: Lake) -> dict[int, TableSchema]:
    """Return schema_id -> definition."""
    rows = _schemas(lake).where("schema_id IS NOT NULL").select("schema_id", "columns")
    with reading("silver_table_schemas"):
        return {row.schema_id: TableSchema.from_json(row.columns) for row in rows.collect()}


def pin(lake: Lake, row: LedgerRow) -> dict[str, int | None]:
    """Return mirror id -> Delta version that a self-inverse DDL reads, from its ``prepared`` row, which is written
    once. None: there was none, or its history could not be read.

    row: with the present versions, used if there is no such row yet.
    """
    app_id = lake.app_id(f"{HOP}/{PREPARED}/{row.tables[0].mirror_id}")  # others may be prepared at the same time
    _append(lake, PREPARED, [row], app_id=app_id, txn_version=row.lsn)
    ledger = own_rows(lake, "control_barriers", BARRIERS_COLUMNS)
    ledger = ledger.where(f"lsn = {row.lsn} AND phase = '{PREPARED}'")
    with reading("control_barriers"):
        return {table.mirror_id: table.version for table in ledger.first().tables}


def record(lake: Lake, rows: Sequence[LedgerRow], epoch: int) -> None:
    """Write the DDL that an epoch has executed, in one commit, once."""
    if rows:
        _append(lake, EXECUTED, rows, app_id=lake.app_id(HOP), txn_version=epoch)


def _append(lake: Lake, phase: str, rows: Iterable[LedgerRow], *, app_id: str, txn_version: int) -> None:
    now = dt.datetime.now(dt.timezone.utc)
    cells = [
        {
            "lsn": row.lsn, "kind": row.ddl_class.value, "phase": phase, "at": now,
            "tables": [asdict(table) for table in row.tables],
        }
        for row in rows
    ]  # fmt: skip
    frame = lake.spark.createDataFrame(pa.Table.from_pylist(cells, schema=_ROW_SCHEMA), BARRIERS_COLUMNS)
    append_once(
        lake.spark, lake.names.control_barriers, frame, app_id=app_id, lsn=txn_version,
        payload=lake.payload(HOP, phase=phase),
    )  # fmt: skip
