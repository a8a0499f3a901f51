"""The status of a lake for a person."""

from __future__ import annotations

from typing import TextIO

from mirrorlake.jobs.inspect.status import HopStatus, Status
from mirrorlake.jobs.show.health import lag_text, show_last_runs, show_refused
from mirrorlake.jobs.show.output import show_table
from mirrorlake.shown import say


def show_status(status: Status, stream: TextIO) -> None:
    followed = f"   now {status.server}" if status.server != status.source else ""
    say(f"{status.source}{followed}", stream)
    hops = (("bronze", status.bronze), ("silver", status.silver), ("gold", status.gold))
    columns = ("hop", "lsn", "position", "last event (UTC)", "lag", "log waiting", "rows waiting")
    show_table(columns, [(name, *_cells(hop)) for name, hop in hops], stream)
    say(f"events: {status.n_events:,}   GTIDs: {status.gtids or 'none'}", stream)
    states = ", ".join(f"{n} {state}" for state, n in sorted(status.tables.items()))
    epoch = f"epoch {status.epoch}{' (open)' if status.open_epoch else ''}" if status.epoch else "no epoch yet"
    say(f"tables: {states or 'none'}   {epoch}", stream)
    if status.to_do:
        say(f"the open epoch waits for the mirrors of {', '.join(status.to_do)}", stream)
    show_refused(status.refused, stream)
    show_last_runs(status.runs, stream)


def _cells(hop: HopStatus) -> tuple[object, ...]:
    at = f"{hop.last_event_at:%Y-%m-%d %H:%M:%S}" if hop.last_event_at else "-"
    waiting = "?" if hop.lag_bytes is None else f"{hop.lag_bytes:,} bytes"
    rows = "-" if hop.waiting is None else f"{hop.waiting:,}"
    return "-" if hop.lsn is None else hop.lsn, hop.position or "-", at, lag_text(hop.lag_s), waiting, rows
