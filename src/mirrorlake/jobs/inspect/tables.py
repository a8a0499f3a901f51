"""The mirror tables of a lake as a list for people and programs."""

from __future__ import annotations

from typing import Any

from mirrorlake.core.schema.tables import Column
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.control.epochs import EpochLog
from mirrorlake.lake.gold.control.register import DROPPED, REFUSED, TableEntry, TableRegister


def list_tables(lake: Lake, *, with_shadows: bool = False) -> list[dict[str, Any]]:
    """``{database, table, path, state, applied_lsn, columns: [{name, source_type, spark_type}]}`` by name; code
    and reason if there are any. Leaves out tables that the source has dropped, and shadow tables unless
    with_shadows.

    path: None without a mirror. applied_lsn: the mirror holds every change up to here. spark_type: None for a type
    that has none.
    """
    applied_lsn, register = EpochLog(lake).applied_lsn, TableRegister.read(lake)
    entries = [entry for entry in register if with_shadows or not register.is_shadow(entry)]
    return [_described(lake, entry, applied_lsn) for entry in entries if entry.state != DROPPED]


def _described(lake: Lake, entry: TableEntry, applied_lsn: int) -> dict[str, Any]:
    described = {
        "database": entry.database,
        "table": entry.table,
        "path": lake.names.mirror_path(entry.mirror_id) if entry.mirror_id else None,
        "state": entry.state,
        "applied_lsn": _applied(entry, applied_lsn),
        "columns": [_column(column, entry.schema.as_text) for column in entry.schema.columns] if entry.schema else [],
    }
    return described | ({"code": entry.code, "reason": entry.reason} if entry.code else {})


def _applied(entry: TableEntry, applied_lsn: int) -> int | None:
    """A mirror that was refused ends before the change it was refused for."""
    if entry.mirror_id is None:
        return None
    return entry.lsn - 1 if entry.state == REFUSED else max(applied_lsn, entry.lsn)


def _column(column: Column, as_text: bool) -> dict[str, str | None]:
    try:
        mirrored = spark_type(column.type, as_text=as_text)
    except RefusedError:
        mirrored = None
    return {"name": column.name, "source_type": column.type.sql(), "spark_type": mirrored}
