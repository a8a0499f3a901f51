"""Read the progress and the lag of every hop."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from mirrorlake.config import Options
from mirrorlake.core.gtid import parse_gtid_state
from mirrorlake.core.position import BinlogPosition
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.run.log_bytes import LogExtent
from mirrorlake.jobs.run.source import open_source
from mirrorlake.lake.bronze.ingest import server_of
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import Progress, parsing, read_progress
from mirrorlake.lake.gold.control.epochs import ROWS, Epoch, EpochLog, EpochTable
from mirrorlake.lake.gold.control.health import N_RUNS, RefusedTable, RunRow, age, count_states, since_complete
from mirrorlake.lake.gold.control.register import REFUSED, TableRegister
from mirrorlake.lake.gold.control.runs import last_runs
from mirrorlake.lake.gold.merge.changes import ROW_OPS
from mirrorlake.lake.gold.row_epoch import tables_to_do

LOOK_BACK_BYTES = 1 << 28
"""Bytes of log before a hop's lsn in which the time of its last event is looked for."""
NO_TIME = "event_ts > TIMESTAMP'1970-01-02'"  # some events of a file's head carry none


@dataclass(frozen=True, slots=True)
class HopStatus:
    """lsn: everything up to here is done; None: nothing. position: where the hop reads next.

    last_event_at: when the source wrote it. lag_s: how long ago that is if something newer waits, else 0; lag_bytes:
    how much log waits. None: not known (for bronze, if the source was not asked). waiting: durable upstream and not yet
    taken: events for silver, row changes for gold; None for bronze.
    """

    lsn: int | None
    position: str | None
    last_event_at: datetime | None
    lag_s: float | None
    lag_bytes: int | None
    waiting: int | None = None

    def to_json(self) -> dict[str, Any]:
        at = self.last_event_at.isoformat() if self.last_event_at else None
        return {
            "lsn": self.lsn,
            "position": self.position,
            "last_event_at": at,
            "lag_s": self.lag_s,
            "lag_bytes": self.lag_bytes,
            "waiting": self.waiting,
        }


@dataclass(frozen=True, slots=True)
class Status:
    """The lag of silver and gold is measured against bronze, that of bronze against the source.

    server: the one whose log bronze follows now. to_do: the tables that an open epoch of row changes waits for.
    runs: the last ones, newest first. lag_s: since when the mirrors may lack what the source has committed: of the hop
    that is latest if the source was asked, else since the look at it of the newest complete run; None: not known.
    """

    source: str
    server: str
    flavor: str
    bronze: HopStatus
    silver: HopStatus
    gold: HopStatus
    gtids: str
    n_events: int
    epoch: int | None
    open_epoch: Epoch | None
    to_do: tuple[str, ...]
    tables: dict[str, int]
    refused: tuple[RefusedTable, ...]
    runs: tuple[RunRow, ...]
    lag_s: float | None

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "server": self.server,
            "flavor": self.flavor,
            "bronze": self.bronze.to_json() | {"gtids": self.gtids, "events": self.n_events},
            "silver": self.silver.to_json(),
            "gold": self.gold.to_json() | {"epoch": self.epoch, "open_epoch": self._open_epoch_to_json()},
            "tables": self.tables,
            "refused": [table.to_json() for table in self.refused],
            "runs": [run.to_json() for run in self.runs],
            "lag_s": self.lag_s,
        }

    def _open_epoch_to_json(self) -> dict[str, Any] | None:
        if self.open_epoch is None:
            return None
        return {
            "epoch": self.open_epoch.number,
            "kind": self.open_epoch.kind,
            **self.open_epoch.lsns.to_json(),
            "tables": list(_names(self.open_epoch.tables)),
            "to_do": list(self.to_do),
        }


def read_status(lake: Lake, options: Options) -> Status:
    """Read the status; asks the source, if the options have one, for the end of its log. Raises RefusedError
    ``lake-source`` for another one."""
    bronze = read_progress(lake.spark, lake.names.bronze_events)
    assert bronze is not None, "a lake is opened by what its bronze table recorded"
    silver = read_progress(lake.spark, lake.names.silver_changes)
    epochs, register = EpochLog(lake), TableRegister.read(lake)
    states = count_states((entry.name, entry.state) for entry in register)
    reached = {"bronze": bronze.lsn, "silver": silver.lsn if silver else -1, "gold": epochs.applied_lsn}
    seen, now = _look(lake, reached), datetime.now(timezone.utc)
    hops = {hop: _hop(seen, hop, lsn, now) for hop, lsn in reached.items()}
    for hop in [hop for hop, lsn in reached.items() if lsn == bronze.lsn]:
        hops[hop] = replace(hops[hop], position=bronze.payload["resume"])  # after a ROTATE: in the next file
    hops["silver"] = replace(hops["silver"], waiting=seen["silver_events"])
    hops["gold"] = replace(hops["gold"], waiting=_held_changes(lake, reached["gold"]))
    with parsing(lake.names.bronze_events):
        resume = BinlogPosition.parse(bronze.payload["resume"])
        gtids = str(parse_gtid_state(lake.flavor, bronze.payload["gtids"]))
    hops["bronze"] = _bronze(hops["bronze"], bronze, resume, options, now)
    gold, runs = read_progress(lake.spark, lake.names.control_epochs), tuple(last_runs(lake, N_RUNS))
    lag_s = _latest(hops.values()) if options.source else since_complete(runs, now)
    return Status(
        lake.source, server_of(bronze), lake.flavor,
        hops["bronze"], hops["silver"], hops["gold"],
        gtids, lake.spark.table(lake.names.bronze_events).count(),
        gold.payload["epoch"] if gold else None, epochs.open, _to_do(lake, epochs.open), states,
        tuple(RefusedTable(*e.name, e.code, e.reason) for e in register if e.state == REFUSED), runs, lag_s,
    )  # fmt: skip


def _look(lake: Lake, reached: dict[Sql, int]) -> dict[str, Any]:
    """For each hop the time and position of its last event, and the bytes of log after it, in one pass over bronze's
    end."""
    columns = ["min(event_ts) FILTER (WHERE " + NO_TIME + ") AS first_at"]
    for hop, lsn in reached.items():
        columns += [
            f"max_by(event_ts, lsn) FILTER (WHERE lsn <= {lsn} AND {NO_TIME}) AS {hop}_at",
            f"max_by(concat(log_file, ':', end_log_pos), lsn) FILTER (WHERE lsn <= {lsn}) AS {hop}_position",
            f"coalesce(sum(end_log_pos - log_pos) FILTER (WHERE lsn > {lsn}), 0) AS {hop}_waiting",
            f"count(*) FILTER (WHERE lsn > {lsn}) AS {hop}_events",
        ]
    newer_than = min(reached.values()) - LOOK_BACK_BYTES
    query = f"SELECT {', '.join(columns)} FROM {lake.names.bronze_events}"
    seen = lake.spark.sql(f"{query} WHERE lsn > {newer_than}").toArrow().to_pylist()[0]
    if any(lsn >= 0 and seen[f"{hop}_position"] is None for hop, lsn in reached.items()):
        seen = lake.spark.sql(query).toArrow().to_pylist()[0]
    return seen


def _held_changes(lake: Lake, applied_lsn: int) -> int:
    """Row changes that silver has committed and gold has not taken."""
    changes = lake.spark.table(lake.names.silver_changes).where(f"lsn > {applied_lsn}")
    return changes.where(changes.op.isin(*ROW_OPS)).count()


def _hop(seen: dict[str, Any], hop: str, lsn: int, now: datetime) -> HopStatus:
    at, waiting = seen[f"{hop}_at"], seen[f"{hop}_waiting"]
    return HopStatus(
        lsn if lsn >= 0 else None,
        seen[f"{hop}_position"],
        at,
        age(at or seen["first_at"], now) if waiting else 0.0,
        waiting,
    )


def _bronze(hop: HopStatus, progress: Progress, resume: BinlogPosition, options: Options, now: datetime) -> HopStatus:
    if options.source is None:
        return replace(hop, lag_s=None, lag_bytes=None)
    source = open_source(options)
    try:
        if source.identity != server_of(progress):
            raise RefusedError("lake-source", f"the lake follows {server_of(progress)}, not {source.identity}")
        end = source.current()
        waiting = LogExtent.of_source(source, options.source, resume, end, 0).total if end > resume else 0
    finally:
        source.close()
    return replace(hop, lag_s=age(hop.last_event_at, now) if waiting else 0.0, lag_bytes=waiting)


def _latest(hops: Iterable[HopStatus]) -> float | None:
    lags = [hop.lag_s for hop in hops]
    return None if None in lags else max(lags)


def _to_do(lake: Lake, epoch: Epoch | None) -> tuple[str, ...]:
    return _names(tables_to_do(lake, epoch)) if epoch and epoch.kind == ROWS else ()


def _names(tables: Iterable[EpochTable]) -> tuple[str, ...]:
    return tuple(f"{t.database}.{t.table}" for t in tables)
