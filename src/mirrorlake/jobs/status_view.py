"""The status of a lake for a person."""

from __future__ import annotations

from typing import TextIO

from mirrorlake.errors import REFUSALS
from mirrorlake.jobs.output import show_table
from mirrorlake.jobs.status import HopStatus, Status


def show_status(status: Status, stream: TextIO) -> None:
    followed = f"   now {status.server}" if status.server != status.source else ""
    print(f"{status.source}{followed}", file=stream)
    hops = (("bronze", status.bronze), ("silver", status.silver), ("gold", status.gold))
    columns = ("hop", "lsn", "position", "last event (UTC)", "lag", "log waiting", "rows waiting")
    show_table(columns, [(name, *_cells(hop)) for name, hop in hops], stream)
    print(f"events: {status.n_events:,}   GTIDs: {status.gtids or 'none'}", file=stream)
    states = ", ".join(f"{n} {state}" for state, n in sorted(status.tables.items()))
    epoch = f"epoch {status.epoch}{' (open)' if status.open_epoch else ''}" if status.epoch else "no epoch yet"
    print(f"tables: {states or 'none'}   {epoch}", file=stream)
    if status.to_do:
        print(f"the open epoch waits for the mirrors of {', '.join(status.to_do)}", file=stream)
    for entry in status.refused:
        print(
            f"refused {entry.database}.{entry.table}: {entry.code}: {entry.reason}\n        {REFUSALS[entry.code]}",
            file=stream,
        )


def _cells(hop: HopStatus) -> tuple[object, ...]:
    at = f"{hop.last_event_at:%Y-%m-%d %H:%M:%S}" if hop.last_event_at else "-"
    lag = "?" if hop.lag_s is None else f"{hop.lag_s:,.0f} s"
    waiting = "?" if hop.lag_bytes is None else f"{hop.lag_bytes:,} bytes"
    rows = "-" if hop.waiting is None else f"{hop.waiting:,}"
    return "-" if hop.lsn is None else hop.lsn, hop.position or "-", at, lag, waiting, rows
