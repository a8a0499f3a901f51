"""The verbs that move data: open what a hop needs, run it, close it; repeatedly in follow mode."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.jobs.run.not_mirrored import count_not_mirrored, warn_of_unused
from mirrorlake.jobs.run.open import as_compared, create_lake, create_tables, open_lake
from mirrorlake.jobs.run.replicate import run_all, run_apply, run_assemble, run_ingest
from mirrorlake.jobs.run.retry import keep_running
from mirrorlake.jobs.run.run_log import RunLog, recorded, refused_tables
from mirrorlake.jobs.run.source import check_source, open_source
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import UNITY
from mirrorlake.lake.gold.control.health import check_lag
from mirrorlake.mysql.binlog_dump import LiveSource

MOST_NAMES = 5
"""Refused tables that the error of ``--fail-on refused`` names."""


def run(options: Options, watcher: Watcher, spark: SparkSession | None = None) -> None:
    """Run all three hops. Raises what opening the source, its preflight and the hops raise."""
    if options.group:
        raise UsageError(
            "usage", "--group shares the work of apply: run ingest, assemble and apply as processes of their own"
        )
    _follow(options, watcher, partial(_with_source, "run", _run_all, options, spark))


def _run_all(lake: Lake, source: BinlogSource, options: Options, watcher: Watcher) -> None:
    """Run all hops; of a server, say which patterns fit nothing, and how many tables have no mirror."""
    if not isinstance(source, LiveSource):
        run_all(lake, source, options, watcher)
        return
    compared = as_compared(options, lake)
    warn_of_unused(lake, source.control, compared)
    run_all(lake, source, options, watcher)
    if n_tables := count_not_mirrored(lake, source.control, compared):
        watcher.not_mirrored(n_tables, _command(options))


def _command(options: Options) -> str:
    """The command that lists the tables of the server."""
    given = {"--lake": options.lake, "--source": options.source or "", "--tables": ",".join(options.tables)}
    words = [word for name, value in given.items() if value != "*" for word in (name, shlex.quote(value))]
    return " ".join(["mirrorlake tables", *words])


def ingest(options: Options, watcher: Watcher, spark: SparkSession | None = None) -> None:
    _follow(options, watcher, partial(_with_source, "ingest", run_ingest, options, spark))


def assemble(options: Options, watcher: Watcher, spark: SparkSession | None = None) -> None:
    """Run this hop, which needs no source. Raises RefusedError ``lake-missing`` before the first ingest."""
    _follow(options, watcher, partial(_with_lake, "assemble", run_assemble, options, spark))


def apply(options: Options, watcher: Watcher, spark: SparkSession | None = None) -> None:
    """Run this hop, which needs no source. Raises RefusedError ``lake-missing`` before the first ingest."""
    _follow(options, watcher, partial(_with_lake, "apply", run_apply, options, spark))


def _follow(options: Options, watcher: Watcher, attempt: Callable[[Watcher], None]) -> None:
    if options.follow and options.until != "current":
        raise UsageError("usage", "--follow runs until stopped, --until sets an end: use only one")
    if options.follow and (options.fail_on or options.max_lag):
        raise UsageError("usage", "--fail-on and --max-lag are about the end of a run, which --follow does not have")
    if options.until != "current" and options.max_lag:
        raise UsageError("usage", "--max-lag is for a run until current, --until sets another end")
    if not options.lake.startswith(UNITY) and Path(options.lake).is_file():
        raise UsageError("usage", f"--lake is a folder, and {options.lake} is a file")
    if options.follow:
        keep_running(attempt, watcher)
    else:
        attempt(watcher)


def _with_lake(
    verb: str,
    work: Callable[[Lake, Options, Watcher], None],
    options: Options,
    spark: SparkSession | None,
    watcher: Watcher,
) -> None:
    lake = open_lake(options, spark)
    create_tables(lake)
    with recorded(lake, verb, watcher) as log:
        work(lake, options, log)
        check_end(lake, options, log)


def _with_source(
    verb: str,
    work: Callable[[Lake, BinlogSource, Options, Watcher], None],
    options: Options,
    spark: SparkSession | None,
    watcher: Watcher,
) -> None:
    """Open the source first: its errors are reported before Spark has started."""
    source = open_source(options)
    try:
        check_source(source)
        lake = create_lake(options, source, spark)
        with recorded(lake, verb, watcher) as log:
            work(lake, source, options, log)
            check_end(lake, options, log)
    finally:
        source.close()


def check_end(lake: Lake, options: Options, log: RunLog) -> None:
    """Raise RefusedError ``tables-refused``, RetryableError ``lag``, if the options ask for it."""
    if options.fail_on == "refused" and (refused := refused_tables(lake)):
        named = [f"{entry.name} ({entry.code})" for entry in refused[:MOST_NAMES]]
        more = f" and {len(refused) - MOST_NAMES} more" if len(refused) > MOST_NAMES else ""
        raise RefusedError("tables-refused", f"{', '.join(named)}{more}")
    check_lag(log.lag_s, options.max_lag)
