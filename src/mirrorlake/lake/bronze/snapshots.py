"""Snapshots of source tables in bronze: the cells of every row as the server shows them, text as UTF-8.

A snapshot is written once and never changed. ``control_answers`` has its position in the log; one without an answer
was left by a killed run.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import pyarrow as pa

from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.lake.delta.creation import create_table
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import legible
from mirrorlake.lake.delta.progress import append_once
from mirrorlake.lake.delta.stage import Stage
from mirrorlake.lake.delta.types import cell_types

HOP = "copy"
_AS_NUMBER = {"bit": "{} + 0", "float": "{} * 1e0", "double": "{} * 1e0"}
"""The server shows a FLOAT with six digits, but a product with enough digits to identify it."""


def new_snapshot_id(schema: TableSchema, lsn: int) -> str:
    """Make an id, another one each time: a table may have two snapshots at one position."""
    return f"{legible(schema.database, schema.table)}__{lsn:x}_{uuid.uuid4().hex[:8]}"


def select_cells(schema: TableSchema) -> Sql:
    """The query, in the server's SQL, whose result ``write_snapshot`` takes."""
    cells = (_AS_NUMBER.get(column.type.name, "{}").format(quote(column.name)) for column in schema.columns)
    return f"SELECT {', '.join(cells)} FROM {quote(schema.database, schema.table)}"


def write_snapshot(lake: Lake, copy_id: str, schema: TableSchema, rows: Iterable[pa.RecordBatch], lsn: int) -> int:
    """Write the rows of a snapshot, and return their number."""
    copy, types = lake.names.snapshot(copy_id), cell_types(schema)
    columns = ", ".join(f"{quote(f.name)} {'BINARY' if pa.types.is_binary(f.type) else 'STRING'}" for f in types)
    create_table(lake.spark, copy, columns, {"delta.dataSkippingNumIndexedCols": "0"}, lake.names.location(copy))
    stage = Stage(lake.names.staging(HOP), types)
    try:
        for batch in rows:
            stage.add(batch)
        if stage.rows:
            found = lake.staged(stage, columns)
            payload = lake.payload(HOP, rows=stage.rows)
            append_once(lake.spark, copy, found, app_id=lake.app_id(f"{HOP}/{copy_id}"), lsn=lsn, payload=payload)
    finally:
        stage.discard()
    return stage.rows
