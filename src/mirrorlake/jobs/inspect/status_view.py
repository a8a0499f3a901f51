"""The status of a lake for a person."""

from __future__ import annotations

from typing import TextIO

from mirrorlake.errors import REFUSALS
from mirrorlake.jobs.inspect.status import HopStatus, Status
from mirrorlake.jobs.show.output import show_table
from mirrorlake.lake.gold.control.runs import RunRow
from mirrorlake.shown import say, shown


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
    for entry in status.refused:
        what = f"{entry.database}.{entry.table}: {entry.code}: {shown(entry.reason)}"
        say(f"refused {what}", stream)
        say(f"        {REFUSALS[entry.code]}", stream)
    if status.runs:
        titles = ("last runs", "verb", "by", "ended", "outcome", "rows", "refused", "lag")
        show_table(titles, [_run(run) for run in status.runs], stream)


def _run(run: RunRow) -> tuple[object, ...]:
    ended = f"{run.ended:%Y-%m-%d %H:%M:%S}" if run.ended else f"last seen {run.at:%Y-%m-%d %H:%M:%S}"
    lag = "?" if run.lag_s is None else f"{run.lag_s:,.0f} s"
    refused = "-" if run.refused is None else run.refused
    return f"{run.started:%Y-%m-%d %H:%M:%S}", run.verb, run.by, ended, run.outcome or "-", run.rows, refused, lag


def _cells(hop: HopStatus) -> tuple[object, ...]:
    at = f"{hop.last_event_at:%Y-%m-%d %H:%M:%S}" if hop.last_event_at else "-"
    lag = "?" if hop.lag_s is None else f"{hop.lag_s:,.0f} s"
    waiting = "?" if hop.lag_bytes is None else f"{hop.lag_bytes:,} bytes"
    rows = "-" if hop.waiting is None else f"{hop.waiting:,}"
    return "-" if hop.lsn is None else hop.lsn, hop.position or "-", at, lag, waiting, rows
