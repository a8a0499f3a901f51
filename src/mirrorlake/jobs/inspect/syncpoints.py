"""Syncpoints on request, and the list of them."""

from __future__ import annotations

from typing import Any

from mirrorlake.core.position import LogEdge, parse_start
from mirrorlake.errors import UsageError
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.epochs import EpochLog
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint


def make_syncpoint(lake: Lake, name: str | None, position: str | None) -> Syncpoint:
    """Take a syncpoint at gold's present lsn, with or without an active run.

    position: a GTID set or FILE:POS; then this only requests one, and the apply hop publishes it.

    Raises UsageError ``syncpoint``: the name is taken, or nothing is applied yet.
    """
    if position is not None:
        if name is None:
            raise UsageError("usage", "a syncpoint that is asked for needs a name")
        asked = parse_start(position, lake.flavor)
        if isinstance(asked, LogEdge):
            raise UsageError("usage", "a syncpoint is asked for at a GTID set or FILE:POS")
        return syncpoints.request(lake, name, asked)
    applied_lsn = EpochLog(lake).applied_lsn
    if applied_lsn < 0:
        raise UsageError("syncpoint", "nothing is applied yet")
    return syncpoints.take(lake, applied_lsn, name, is_new=name is not None)


def list_syncpoints(lake: Lake) -> list[dict[str, Any]]:
    """``{name, phase, lsn, gtids, commit_ts, at, tables: [{database, table, path, version}]}``: those that are kept in
    log order, then open requests, and those that were missed.
    """
    found = [*syncpoints.published(lake), *syncpoints.waiting(lake), *syncpoints.missed(lake)]
    return [_described(lake, point) for point in found]


def _described(lake: Lake, point: Syncpoint) -> dict[str, Any]:
    return {
        "name": point.name,
        "phase": point.phase,
        "lsn": point.lsn,
        "gtids": point.gtids,
        "commit_ts": point.commit_ts.isoformat() if point.commit_ts else None,
        "at": point.at.isoformat(),
        "tables": [
            {
                "database": table.database,
                "table": table.table,
                "path": lake.names.mirror_path(table.mirror_id),
                "version": table.version,
            }
            for table in point.tables
        ],
    }
