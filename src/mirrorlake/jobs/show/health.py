"""The last runs and the refused tables of a lake, for a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TextIO

from mirrorlake.errors import next_step
from mirrorlake.jobs.show.output import show_table
from mirrorlake.lake.gold.control.health import RefusedTable, RunRow
from mirrorlake.shown import say, shown


def show_refused(tables: Iterable[RefusedTable], stream: TextIO) -> None:
    for one in tables:
        what = f"{one.database}.{one.table}: {one.code}: {shown(one.reason)}"
        say(f"refused {what}", stream)
        say(f"        {next_step(one.code)}", stream)


def show_last_runs(runs: Sequence[RunRow], stream: TextIO) -> None:
    titles = ("last runs", "verb", "by", "ended", "outcome", "rows", "refused", "lag")
    if runs:
        show_table(titles, [_cells(run) for run in runs], stream)


def lag_text(lag_s: float | None) -> str:
    return "?" if lag_s is None else f"{lag_s:,.0f} s"


def _cells(run: RunRow) -> tuple[object, ...]:
    ended = f"{run.ended:%Y-%m-%d %H:%M:%S}" if run.ended else f"last seen {run.at:%Y-%m-%d %H:%M:%S}"
    refused = "-" if run.refused is None else run.refused
    started = f"{run.started:%Y-%m-%d %H:%M:%S}"
    return started, run.verb, run.by, ended, run.outcome or "-", run.rows, refused, lag_text(run.lag_s)
