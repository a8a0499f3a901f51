"""What the control tables alone say of a lake: its last runs, its lag, the state of each table. Needs no Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.table_patterns import shadowed
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RetryableError

STREAMING, REFUSED, DROPPED = "streaming", "refused", "dropped"
N_RUNS = 10
"""How many of the last runs the lag is read from, and a status shows."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One row about a run. by: user@host. ended, outcome: None while it runs, or if it was killed; else ``ok`` or a
    code. lsn: of its newest commit; None: it made none. rows: events, silver rows, row changes or rows of snapshots.
    refused: tables. lag_s: seconds since its newest look at what it reads after which nothing was left to do.
    sizes: of the tables that maintenance keeps, as ``{table, files, bytes}``.
    """

    run: str
    verb: str
    by: str
    version: str
    started: datetime
    at: datetime
    ended: datetime | None = None
    outcome: str | None = None
    lsn: int | None = None
    rows: int = 0
    refused: int | None = None
    lag_s: float | None = None
    sizes: list[dict[str, Any]] | None = None

    def to_json(self) -> dict[str, Any]:
        """All but the sizes, of which there may be thousands."""
        values = {name: one for name, one in asdict(self).items() if name != "sizes"}
        return {name: one.isoformat() if isinstance(one, datetime) else one for name, one in values.items()}


@dataclass(frozen=True, slots=True)
class RefusedTable:
    database: str
    table: str
    code: str
    reason: str

    def to_json(self) -> dict[str, str]:
        return asdict(self)


def newest_runs(control_runs: Sql, n_runs: int) -> Sql:
    """The newest row of each of the runs that started last, newest first."""
    return (
        f"SELECT * FROM {control_runs} QUALIFY row_number() OVER (PARTITION BY run ORDER BY `at` DESC) = 1"
        f" ORDER BY started DESC, run LIMIT {n_runs}"
    )


def newest_states(control_tables: Sql) -> Sql:
    """The valid row of each table that the lake has or had."""
    return (
        f"SELECT `database`, `table`, state, code, reason FROM {control_tables}"
        " QUALIFY row_number() OVER (PARTITION BY `database`, `table` ORDER BY lsn DESC, epoch DESC) = 1"
    )


def since_complete(runs: Iterable[RunRow], now: datetime) -> float | None:
    """Seconds since the newest moment at which a run of all hops had everything; None: not known."""
    seen = [run.at - timedelta(seconds=run.lag_s) for run in runs if run.verb == "run" and run.lag_s is not None]
    return age(max(seen, default=None), now)


def age(at: datetime | None, now: datetime) -> float | None:
    """Seconds since a moment."""
    return round(max(0.0, (now - at).total_seconds()), 3) if at else None


def check_lag(lag_s: float | None, max_lag: float | None) -> None:
    """lag_s: None: not known. max_lag: seconds, or None. Raises RetryableError ``lag``."""
    if max_lag is not None and (lag_s is None or lag_s > max_lag):
        found = "is not known" if lag_s is None else f"is {lag_s:,.0f} s"
        raise RetryableError("lag", f"the lag {found}, and may be {max_lag:,.0f} s")


def count_states(states: Iterable[tuple[TableName, str]]) -> dict[str, int]:
    """How many tables are in each state; shadow tables next to their table count as ``shadow``."""
    state_of = dict(states)
    there = {name for name, state in state_of.items() if state != DROPPED}
    return dict(Counter(_shown_state(name, state, there) for name, state in state_of.items()))


def _shown_state(name: TableName, state: str, there: set[TableName]) -> str:
    return "shadow" if state != DROPPED and is_shadow(name, there.__contains__) else state


def is_shadow(name: TableName, is_there: Callable[[TableName], bool]) -> bool:
    """Is this a shadow table, mirrored together with the table that the tool changes? name: of a table that is there,
    which means known and not dropped."""
    return any(is_there(TableName(name.database, other)) for other in shadowed(name.table))
