"""Lag, refused tables and last runs of a lake, read through a SQL warehouse: the numbers of ``mirrorlake status``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, TextIO

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.show.health import lag_text, show_last_runs, show_refused
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.gold.control.health import (
    N_RUNS,
    REFUSED,
    RefusedTable,
    RunRow,
    count_states,
    newest_runs,
    newest_states,
    since_complete,
)
from mirrorlake.shown import json_text, say

Row = dict[str, str | None]
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """lag_s: since when the mirrors may lack what the source has committed; None: not known."""

    lag_s: float | None
    tables: dict[str, int]
    refused: tuple[RefusedTable, ...]
    runs: tuple[RunRow, ...]

    def to_json(self) -> dict[str, Any]:
        refused, runs = [one.to_json() for one in self.refused], [run.to_json() for run in self.runs]
        return {"lag_s": self.lag_s, "tables": self.tables, "refused": refused, "runs": runs}


def read_health(ask: Callable[[Sql], list[Row]], names: LakeNames) -> LakeStatus:
    """Read the status. ask: runs a query, and gives each value as text."""
    states = sorted(ask(newest_states(names.control_tables)), key=lambda row: (row["database"], row["table"]))
    runs = _last_runs(ask, names)
    refused = (row for row in states if row["state"] == REFUSED)
    return LakeStatus(
        since_complete(runs, datetime.now(timezone.utc)),
        count_states((TableName(row["database"], row["table"]), row["state"]) for row in states),
        tuple(RefusedTable(row["database"], row["table"], row["code"], row["reason"]) for row in refused),
        runs,
    )


def _last_runs(ask: Callable[[Sql], list[Row]], names: LakeNames) -> tuple[RunRow, ...]:
    """None in a lake from before ``control_runs``."""
    moments = ", ".join(f"unix_micros({name}) AS {name}" for name in ("started", "`at`", "ended"))
    columns = f"run, verb, `by`, version, {moments}, outcome, lsn, `rows`, refused, lag_s"
    try:
        found = ask(f"SELECT {columns} FROM ({newest_runs(names.control_runs, N_RUNS)}) AS newest")
    except RefusedError as error:
        if error.code != "lake-missing":
            raise
        return ()
    by_run = sorted((_run(row) for row in found), key=lambda run: run.run)
    return tuple(sorted(by_run, key=lambda run: run.started, reverse=True))


def _run(row: Row) -> RunRow:
    values: dict[str, Any] = dict(row)
    values |= {name: _moment(row[name]) for name in ("started", "at", "ended")}
    values |= {name: _or_none(int, row[name]) for name in ("lsn", "rows", "refused")}
    return RunRow(**values | {"lag_s": _or_none(float, row["lag_s"])})


def _moment(micros: str | None) -> datetime | None:
    return None if micros is None else _EPOCH + timedelta(microseconds=int(micros))


def _or_none(kind: Callable[[str], Any], text: str | None) -> Any:
    return None if text is None else kind(text)


def show_health(found: LakeStatus, as_json: bool, stream: TextIO) -> None:
    if as_json:
        print(json_text(found.to_json()), file=stream)
        return
    states = ", ".join(f"{n} {state}" for state, n in sorted(found.tables.items()))
    say(f"lag: {lag_text(found.lag_s)}   tables: {states or 'none'}", stream)
    show_refused(found.refused, stream)
    show_last_runs(found.runs, stream)
