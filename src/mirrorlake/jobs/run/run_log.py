"""Records a run in ``control_runs``: when it begins, while it runs, and how it ends. It never makes a run fail."""

from __future__ import annotations

import getpass
import os
import platform
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from mirrorlake import __version__
from mirrorlake.jobs.run.password import warn
from mirrorlake.jobs.run.watcher import HandsOn, Watcher
from mirrorlake.lake.delta.failures import as_ours, what_failed
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.control.register import TableEntry, TableRegister
from mirrorlake.lake.gold.control.runs import OK, RunRow, record

BEAT_S = 60.0
"""Seconds between rows of a run that continues."""
STOPPED = "stopped"
LAST_HOP = {"run": "apply"}
"""The hop whose commits count for a verb, if it is not the verb itself."""


class RunLog(HandsOn):
    """Rows are written by a thread of their own, one after another, while the run continues."""

    def __init__(self, watcher: Watcher, lake: Lake, verb: str):
        super().__init__(watcher)
        self._lake, self._hop, now = lake, LAST_HOP.get(verb, verb), _now()
        self._row = RunRow(uuid.uuid4().hex, verb, _by(), __version__, now, now)
        self._complete_at: datetime | None = None
        self._failure: str | None = None
        self._writer = ThreadPoolExecutor(1, "mirrorlake-runs")
        self.has_begun, self.outcome = False, OK

    @property
    def lag_s(self) -> float | None:
        """See ``RunRow``."""
        return (_now() - self._complete_at).total_seconds() if self._complete_at else None

    def begins(self) -> None:
        self.has_begun = True
        self._write()
        super().begins()

    def complete(self, at: datetime) -> None:
        self._complete_at = at
        self._beat()
        super().complete(at)

    def finds(self, code: str) -> None:
        """What the run did is kept, and the row says this code all the same."""
        self.outcome = code

    def counted(self, sizes: list[dict[str, Any]]) -> None:
        """See ``RunRow``."""
        self._row = replace(self._row, sizes=sizes)

    def ingested(self, batch) -> None:
        self.committed("ingest", batch.lsns.to, batch.n_events)
        super().ingested(batch)

    def assembled(self, batch) -> None:
        self.committed("assemble", batch.lsns.to, batch.n_rows or 0)
        super().assembled(batch)

    def applied(self, done) -> None:
        self.committed("apply", done.epoch.lsns.to, done.n_changes)
        super().applied(done)

    def ended(self, outcome: str) -> None:
        """Write the last row, and wait until it is there."""
        if self.has_begun:
            now = _now()
            self._row = replace(self._row, ended=now, outcome=outcome)
            self._write()
        self._writer.shutdown()
        self._warn_if_failed()

    def committed(self, hop: str, lsn: int, n_rows: int) -> None:
        """Count a commit, if it is of the hop or the verb that the row is about."""
        if hop == self._hop:
            self._row = replace(self._row, lsn=lsn, rows=self._row.rows + n_rows)
        self._beat()

    def _beat(self) -> None:
        if (_now() - self._row.at).total_seconds() >= BEAT_S:
            self._write()

    def _write(self) -> None:
        self._row = replace(self._row, at=self._row.ended or _now(), lag_s=self.lag_s)
        self._writer.submit(self._record, self._row)
        self._warn_if_failed()

    def _warn_if_failed(self) -> None:
        """Warn of a row that could not be written, unless the run itself has an error to report."""
        if self._failure and self._row.outcome in (None, OK):
            warn(f"control_runs does not show this run: {self._failure}")

    def _record(self, row: RunRow) -> None:
        try:
            if self._hop == "apply":
                row = replace(row, refused=len(refused_tables(self._lake)))
            record(self._lake, row)
        except Exception as error:
            self._failure = what_failed(error)


@contextmanager
def recorded(lake: Lake, verb: str, watcher: Watcher) -> Iterator[RunLog]:
    """The watcher of a run that is recorded until the end of the ``with`` block, with the code that it raises."""
    log = RunLog(watcher, lake, verb)
    try:
        yield log
    except BaseException as error:
        log.ended(as_ours(error).code if isinstance(error, Exception) else STOPPED)
        raise
    log.ended(log.outcome)


def refused_tables(lake: Lake) -> list[TableEntry]:
    """The tables that are refused now, by name, without shadow tables."""
    register = TableRegister.read(lake)
    return [entry for entry in register if entry.is_refused and not register.is_shadow(entry)]


def _by() -> str:
    try:
        return f"{getpass.getuser()}@{platform.node()}"
    except (KeyError, OSError):  # a user id without a name, as in some containers
        return f"{os.getuid()}@{platform.node()}"


def _now() -> datetime:
    return datetime.now(timezone.utc)
