"""The demo: the bundled logs of real servers through all three hops, stopped half-way, resumed, and shown."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import TextIO

from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.demo.report import report, report_counts
from mirrorlake.jobs.run.hops import run
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.show.view import HOPS, open_view
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.session import open_session

FLAVORS = ("mariadb", "mysql")
MARK = ".mirrorlake-demo"
"""File that marks a folder which the demo has made and may remove."""


def run_demo(
    folder: str, flavor: str, out: TextIO, progress: TextIO, spark: SparkSession | None = None
) -> dict[str, Path]:
    """Make the demo's lakes again, report on them, and return the folder of each flavor's lake.

    flavor: ``mariadb``, ``mysql``, or ``both``: then the MySQL lake is ``<folder>-mysql``, next to the first one.
    Raises UsageError for a folder with something else in it: nothing is removed that the demo has not made.
    """
    if flavor not in (*FLAVORS, "both"):
        raise UsageError("usage", f"--flavor is one of mariadb, mysql, both, not {flavor}")
    flavors = FLAVORS if flavor == "both" else (flavor,)
    lakes = {name: Path(folder if i == 0 else f"{folder}-{name}") for i, name in enumerate(flavors)}
    for lake in lakes.values():
        _make_anew(lake, out)
    spark = spark or open_session("mirrorlake-demo")
    for i, (name, lake) in enumerate(lakes.items()):
        with as_file(files("mirrorlake") / "demo_data" / name) as logs:
            expected = json.loads((logs / "expected.json").read_text())
            mirrored = _replicate(name, logs, lake, expected, spark, out, progress)
            (report if i == 0 else report_counts)(mirrored, expected, out)
    _say_what_next(lakes, out)
    return lakes


def _make_anew(lake: Path, out: TextIO) -> None:
    if lake.is_file() or (lake.is_dir() and any(lake.iterdir()) and not (lake / MARK).exists()):
        raise UsageError(
            "usage", f"{lake} is there already and is no demo lake; choose another --lake or remove it yourself"
        )
    if lake.exists():
        print(f"{lake}: removing the demo lake of the last time", file=out)
        shutil.rmtree(lake)
    lake.mkdir(parents=True)
    (lake / MARK).write_text("made by `mirrorlake demo`, which removes this folder when it runs again\n")


def _replicate(
    name: str, logs: Path, lake: Path, expected: dict, spark: SparkSession, out: TextIO, progress: TextIO
) -> Lake:
    """Run the first half, stop, then the second half: the second run knows nothing but the lake."""
    log_files = expected["log_files"]
    size = sum(log_files.values()) / 1e6
    print(
        f"\n=== {expected['server_version']}: {len(log_files)} binlog files, {size:.1f} MB -> {lake}",
        file=out,
        flush=True,
    )
    options = Options(source=f"files:{logs}", lake=str(lake))
    for until in _halves(log_files):
        if until == "current":
            print("started again: continues from what the lake's commits recorded", file=out, flush=True)
        with open_view(progress, HOPS) as view:
            run(options.model_copy(update={"until": until}), view, spark)
        print(
            f"{'the log ends: ' if until == 'current' else f'stopped at {until}: '}{view.summary()}",
            file=out,
            flush=True,
        )
    return open_lake(options, spark)


def _halves(log_files: dict[str, int]) -> Iterator[str]:
    names = sorted(log_files)
    middle = names[len(names) // 2 - 1]
    yield f"{middle}:{log_files[middle]}"
    yield "current"


def _say_what_next(lakes: dict[str, Path], out: TextIO) -> None:
    first = next(iter(lakes.values()))
    print(f"\nThe lakes stay: {', '.join(str(lake) for lake in lakes.values())}. For example:", file=out)
    print(f"  mirrorlake status --lake {first}", file=out)
    print(f'  mirrorlake sql --lake {first} "SELECT * FROM shop.orders LIMIT 5"', file=out)
    print(f"  mirrorlake trace --lake {first} shop.customers 5", file=out)
