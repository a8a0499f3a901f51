"""One hop as a notebook runs it: a call that returns a table of what was committed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

import pandas as pd
from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.jobs.run import hops
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.bronze.ingest import IngestedBatch
from mirrorlake.lake.gold.apply import AppliedEpoch
from mirrorlake.lake.gold.views.wanted import LeftOut
from mirrorlake.lake.silver.assemble import AssembledBatch
from mirrorlake.shown import say, shown


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One commit: lsn_from < lsn <= lsn_to. n_rows: events, silver rows or row changes; None: not counted.

    seconds: since the commit before. refused: tables that stopped being mirrored here, as ``database.table: code``.
    invalid: tables with values that became NULL, as ``database.table: number``. ignored: the DDL that was ignored.
    """

    hop: str
    lsn_from: int
    lsn_to: int
    n_rows: int | None
    seconds: float
    refused: str = ""
    invalid: str = ""
    ignored: str = ""


@dataclass
class Report(Watcher):
    """Keeps a row of every commit, and prints which mirrors have no view."""

    rows: list[ReportRow] = field(default_factory=list)
    _since: float = field(default_factory=time.monotonic)

    def ingested(self, batch: IngestedBatch) -> None:
        self._add("ingest", batch.lsns, batch.n_events)

    def assembled(self, batch: AssembledBatch) -> None:
        self._add("assemble", batch.lsns, batch.n_rows)

    def applied(self, done: AppliedEpoch) -> None:
        refused = ", ".join(f"{entry.database}.{entry.table}: {entry.code}" for entry in done.refused)
        invalid = ", ".join(f"{table}: {n}" for table, n in done.invalid)
        ignored, epoch = ", ".join(table for _, table in done.ignored), done.epoch
        self._add(f"apply {epoch.kind}", epoch.lsns, done.n_changes, refused, invalid, ignored)

    def left_out(self, mirror: LeftOut) -> None:
        say(f"no view {mirror.table}: {mirror.code}: {shown(mirror.reason)}", sys.stdout)

    def to_pandas(self) -> pd.DataFrame:
        return pd.DataFrame([asdict(row) for row in self.rows], columns=list(ReportRow.__slots__))

    def _add(self, hop: str, lsns: LsnRange, n_rows: int | None, *tables: str) -> None:
        now = time.monotonic()
        self.rows.append(ReportRow(hop, lsns.after, lsns.to, n_rows, round(now - self._since, 3), *tables))
        self._since = now


def report_ingest(options: Options, spark: SparkSession | None = None) -> Report:
    return _report(hops.ingest, options, spark)


def report_assemble(options: Options, spark: SparkSession | None = None) -> Report:
    return _report(hops.assemble, options, spark)


def report_apply(options: Options, spark: SparkSession | None = None) -> Report:
    return _report(hops.apply, options, spark)


def _report(hop: Callable[..., None], options: Options, spark: SparkSession | None) -> Report:
    report = Report()
    hop(options, report, spark)
    return report
