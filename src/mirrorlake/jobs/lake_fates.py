"""The fate of each table of a server or of a lake."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mirrorlake.config import Options
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.jobs.followed import awaited
from mirrorlake.jobs.inspect.tables import list_tables as mirror_tables
from mirrorlake.jobs.run.chosen_tables import seen_tables
from mirrorlake.jobs.run.source import server_login
from mirrorlake.jobs.table_fates import NOT_THERE, Known, TableFate, table_fates
from mirrorlake.lake.bronze.ingest import check_server
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.mysql.connection import ServerConnection

_SAID = ("code", "reason")
"""What a fate says in place of the register, which may be about to change."""


def lake_fates(lake: Lake, options: Options) -> list[dict[str, Any]]:
    """Each table of the server or of the lake, by name: what ``list_tables`` of a lake says, with ``fate`` and
    ``todo``.

    Raises RefusedError ``lake-source``; what ``ServerConnection`` and ``table_fates`` raise.
    """
    known = Known({entry.name: entry for entry in TableRegister.read(lake)}, awaited(lake))
    mirrors = {TableName(row["database"], row["table"]): row for row in mirror_tables(lake)}
    control = ServerConnection(server_login(options))
    try:
        check_server(lake, control.identity)
        fates = {fate.name: fate for fate in table_fates(control, *seen_tables(control, options), known)}
    finally:
        control.close()
    return [
        _row(fates.get(name) or TableFate(*name, NOT_THERE), mirrors.get(name))
        for name in sorted(mirrors.keys() | fates.keys())
    ]


def _row(fate: TableFate, mirror: dict[str, Any] | None) -> dict[str, Any]:
    none = {"database": fate.database, "table": fate.table, "path": None, "state": None, "applied_lsn": None}
    said = {key: value for key, value in asdict(fate).items() if value is not None}
    return {key: value for key, value in (mirror or none | {"columns": []}).items() if key not in _SAID} | said
