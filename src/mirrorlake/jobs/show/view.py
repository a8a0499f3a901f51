"""Show a running job to a person: bars on a terminal, one line per commit elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.position import FIRST_EVENT_OFFSET, BinlogPosition, show_lsn
from mirrorlake.errors import REFUSALS, RetryableError, next_step
from mirrorlake.jobs.run.log_bytes import LogExtent, offset_of
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.bronze.ingest import IngestedBatch
from mirrorlake.lake.gold.apply import AppliedEpoch
from mirrorlake.lake.gold.control.register import TableEntry
from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint
from mirrorlake.lake.gold.views.wanted import LeftOut
from mirrorlake.lake.silver.assemble import AssembledBatch
from mirrorlake.shown import as_line, shown

HOPS = ("ingest", "assemble", "apply")
LAST_EVENT_BYTES = 64
"""A log ends with an XID, a ROTATE or a STOP: shorter than this."""
UNITS = dict(zip(HOPS, ("events", "rows", "changes"), strict=True))


def open_view(stream: TextIO, hops: Sequence[str] = HOPS) -> View:
    """Bars if the stream is a terminal, else lines. hops: those that will run."""
    console = Console(file=stream, soft_wrap=True, highlight=False)
    return BarView(console, hops) if console.is_terminal else LineView(console)


class View(Watcher):
    """A watcher between ``with`` and its end. counts, seconds: what each hop committed, in its unit, and its work.
    invalid: by table, how many values became NULL because no mirror can hold them."""

    def __init__(self, console: Console):
        self._console = console
        self.counts, self.seconds = dict.fromkeys(HOPS, 0), dict.fromkeys(HOPS, 0.0)
        self.invalid: Counter[str] = Counter()
        self._since = time.monotonic()

    def __enter__(self) -> View:
        self._since = time.monotonic()
        return self

    def __exit__(self, *_) -> None: ...

    def ingested(self, batch: IngestedBatch) -> None:
        self._commit("ingest", batch.lsns, batch.n_events)

    def assembled(self, batch: AssembledBatch) -> None:
        self._commit("assemble", batch.lsns, batch.n_rows)

    def applied(self, done: AppliedEpoch) -> None:
        epoch = done.epoch
        self._commit("apply", epoch.lsns, done.n_changes, f"epoch {epoch.number} ({epoch.kind})")
        for entry in done.refused:
            for line in refusal_lines(entry):
                self.say(line)
        for lsn, table in done.ignored:
            self.say(f"ignored   {table}: the DDL at {show_lsn(lsn)} leaves the mirror as it is")
        for table, n in done.invalid:
            self.invalid[table] += n
            self.say(f"invalid   {table}: {n:,} became NULL")

    def took_over(self, server: str, position: BinlogPosition) -> None:
        self.say(f"failover  {server} continues, read from {position}")

    def rolled_back(self, start: BinlogPosition) -> None:
        self.say(f"crash     the server rolled back the transaction that begins at {start}; it is left out")

    def took(self, point: Syncpoint) -> None:
        self.say(f"syncpoint {point.name}  {point.gtids}")

    def not_mirrored(self, n_tables: int, command: str) -> None:
        tables = "1 table of the server is" if n_tables == 1 else f"{n_tables:,} tables of the server are"
        self.say(f"{tables} not mirrored: {command} shows why")

    def left_out(self, mirror: LeftOut) -> None:
        self.say(f"no view   {mirror.table}: {mirror.code}: {shown(mirror.reason)}")
        self.say(f"          {REFUSALS[mirror.code]}")

    def idle(self) -> None:
        self._since = time.monotonic()

    def retrying(self, error: RetryableError, wait_s: float) -> None:
        self.say(f"again in {wait_s:.0f} s: {error}")

    def say(self, line: str) -> None:
        self._console.print(as_line(line), markup=False)

    def summary(self) -> str:
        """Text about everything committed since the view began."""
        done = ", ".join(f"{hop} {n:,} {UNITS[hop]}" for hop, n in self.counts.items() if self.seconds[hop])
        invalid = ", ".join(f"{table} {n:,}" for table, n in sorted(self.invalid.items()))
        return (done or "nothing new") + (f"; invalid values that became NULL: {invalid}" if invalid else "")

    def _commit(self, hop: str, lsns: LsnRange, n: int | None, what: str = "") -> None:
        now = time.monotonic()
        seconds, self._since = now - self._since, now
        self.counts[hop] += n or 0
        self.seconds[hop] += seconds
        self._show(hop, lsns, n, what, seconds)

    def _show(self, hop: str, lsns: LsnRange, n: int | None, what: str, seconds: float) -> None:
        raise NotImplementedError


class LineView(View):
    """One line per commit: hop, the range of the log as file number and offset, rows, seconds."""

    def _show(self, hop: str, lsns: LsnRange, n: int | None, what: str, seconds: float) -> None:
        rows = f"  {n:,} {UNITS[hop]}" if n is not None else ""
        self.say(f"{hop:<9} {_range(lsns)}{rows}{what and f'  {what}'}  {seconds:.2f} s")


class BarView(View):
    """One bar per hop, in bytes of log; without an end if the amount of log ahead is not known."""

    wants_extents = True

    def __init__(self, console: Console, hops: Sequence[str]):
        super().__init__(console)
        columns = (
            SpinnerColumn(finished_text=" "), TextColumn("{task.description:<8}"), BarColumn(bar_width=24),
            TaskProgressColumn(), TextColumn("{task.fields[counts]}"),
        )  # fmt: skip
        self._progress = Progress(*columns, console=console)
        self._tasks = {hop: self._progress.add_task(hop, total=None, counts="") for hop in hops}
        self._extent: LogExtent | None = None
        self._base: dict[str, int] = {}

    def __enter__(self) -> View:
        self._progress.start()
        return super().__enter__()

    def __exit__(self, *_) -> None:
        for hop, task in self._tasks.items():
            if not self.seconds[hop]:
                self._progress.update(task, visible=False)
            self._progress.stop_task(task)
        self._progress.stop()

    def ahead(self, extent: LogExtent) -> None:
        """A new range of log: restart every bar."""
        self._extent, self._base = extent, {}
        for task in self._tasks.values():
            self._progress.update(task, total=None, completed=0)

    def _show(self, hop: str, lsns: LsnRange, n: int | None, what: str, seconds: float) -> None:
        task, rate = self._tasks[hop], self.counts[hop] / max(self.seconds[hop], 1e-3)
        self._progress.update(
            task, counts=f"{self.counts[hop]:,} {UNITS[hop]} in {self.seconds[hop]:.0f} s, {rate:,.0f}/s {what}"
        )
        if self._extent is not None and self._extent.total > 0:
            before = self._extent.bytes_to(offset_of(lsns.after)) if lsns.after >= 0 else 0
            base = self._base.setdefault(hop, min(0, before))
            self._progress.update(task, total=self._extent.total - base, completed=self._reached(lsns.to) - base)

    def _reached(self, lsn: int) -> int:
        """An lsn is where an event begins; a hop that has the last event has reached the end."""
        extent = self._extent
        reached = extent.bytes_to(offset_of(lsn))
        return extent.total if extent.total - reached < LAST_EVENT_BYTES else reached


def refusal_lines(entry: TableEntry) -> tuple[str, str]:
    """Say why a table is no longer mirrored, and what to do."""
    table, reason = f"{entry.database}.{entry.table}", shown(entry.reason)
    return f"refused   {table}: {entry.code}: {reason}", f"          {next_step(entry.code)}"


def _range(lsns: LsnRange) -> str:
    return " .. ".join(show_lsn(max(lsn, FIRST_EVENT_OFFSET)) for lsn in (lsns.after, lsns.to))
