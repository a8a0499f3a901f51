"""The verbs that move data: open what a hop needs, run it, close it; repeatedly in follow mode."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.open import create_lake, open_lake, open_source
from mirrorlake.jobs.run.preflight import check_source
from mirrorlake.jobs.run.replicate import run_all, run_apply, run_assemble, run_ingest
from mirrorlake.jobs.run.retry import keep_running
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.delta.names import UNITY


def run(options: Options, watcher: Watcher, spark: SparkSession | None = None) -> None:
    """Run all three hops. Raises what opening the source, its preflight and the hops raise."""
    if options.group:
        raise UsageError(
            "usage", "--group shares the work of apply: run ingest, assemble and apply as processes of their own"
        )
    _follow(
        options,
        watcher,
        lambda watcher: _with_source(options, spark, lambda lake, source: run_all(lake, source, options, watcher)),
    )


def ingest(options: Options, watcher: Watcher, spark: SparkSession | None = None) -> None:
    _follow(
        options,
        watcher,
        lambda watcher: _with_source(options, spark, lambda lake, source: run_ingest(lake, source, options, watcher)),
    )


def assemble(options: Options, watcher: Watcher, spark: SparkSession | None = None) -> None:
    """Run this hop, which needs no source. Raises RefusedError ``lake-missing`` before the first ingest."""
    _follow(options, watcher, lambda watcher: run_assemble(open_lake(options, spark), options, watcher))


def apply(options: Options, watcher: Watcher, spark: SparkSession | None = None) -> None:
    """Run this hop, which needs no source. Raises RefusedError ``lake-missing`` before the first ingest."""
    _follow(options, watcher, lambda watcher: run_apply(open_lake(options, spark), options, watcher))


def _follow(options: Options, watcher: Watcher, attempt: Callable[[Watcher], None]) -> None:
    if options.follow and options.until != "current":
        raise UsageError("usage", "--follow runs until stopped, --until sets an end: use only one")
    if not options.lake.startswith(UNITY) and Path(options.lake).is_file():
        raise UsageError("usage", f"--lake is a folder, and {options.lake} is a file")
    if options.follow:
        keep_running(attempt, watcher)
    else:
        attempt(watcher)


def _with_source(options: Options, spark: SparkSession | None, work: Callable) -> None:
    """Open the source first: its errors are reported before Spark has started."""
    source = open_source(options)
    try:
        check_source(source)
        work(create_lake(options, source, spark), source)
    finally:
        source.close()
