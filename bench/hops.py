"""How fast each hop works through a backlog: rows per second and per CPU-second, and the peak of memory.

    python -m bench.make_logs                 # once: the logs, on a real server
    python -m bench.hops --logs .cache/bench-logs/mariadb

For every log: the part before the counted changes is replicated first (tables and base rows), then each hop runs alone
over the counted changes, all with the settings a user gets.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.process_tree import PeakMemory, Stopwatch
from mirrorlake.config import Options
from mirrorlake.jobs.run.open import create_lake
from mirrorlake.jobs.run.replicate import run_all, run_apply, run_assemble, run_ingest
from mirrorlake.jobs.run.source import open_source
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.delta.session import open_session


def measure(spark, logs: Path, lake_folder: Path, *, commit_columns: bool) -> dict[str, tuple[float, float]]:
    """{hop: (wall seconds, CPU seconds)}"""
    manifest = json.loads((logs / "manifest.json").read_text())
    options = Options(source=f"files:{logs}", lake=str(lake_folder), commit_columns=commit_columns)
    source = open_source(options)
    lake = create_lake(options, source, spark)
    if manifest["base_rows"]:
        run_all(lake, source, options.model_copy(update={"until": f"{manifest['first_counted_file']}:4"}), Watcher())
    hops = {
        "ingest": lambda: run_ingest(lake, source, options, Watcher()),
        "assemble": lambda: run_assemble(lake, options, Watcher()),
        "apply": lambda: run_apply(lake, options, Watcher()),
    }
    seconds = {}
    for name, run in hops.items():
        watch = Stopwatch()
        run()
        seconds[name] = watch.read()
    return seconds


def measured(spark, logs: Path, *, commit_columns: bool) -> dict[str, tuple[float, float]]:
    """The same with their sum, on a lake that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="mirrorlake-bench-") as folder:
        seconds = measure(spark, logs, Path(folder), commit_columns=commit_columns)
    return seconds | {"all three": tuple(map(sum, zip(*seconds.values(), strict=True)))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, default=Path(".cache/bench-logs/mariadb"))
    parser.add_argument(
        "--rounds", type=int, default=3, help="all hops are shown for the last one, their sum for the first, too"
    )
    parser.add_argument("--kinds", default="bulk,oltp")
    parser.add_argument("--commit-columns", action="store_true", help="mirrors have them, as with the option of `run`")
    arguments = parser.parse_args()
    spark, memory = open_session("bench"), PeakMemory()
    memory.start()
    table = Table(
        "log", "hop", "changes", "seconds", "changes/s", "CPU s", "changes/CPU s", title="a backlog, hop by hop"
    )
    for kind in arguments.kinds.split(","):
        logs = arguments.logs / kind
        changes = json.loads((logs / "manifest.json").read_text())["row_changes"]
        rounds = [measured(spark, logs, commit_columns=arguments.commit_columns) for _ in range(arguments.rounds)]
        shown = rounds[-1] | {"all three, first round": rounds[0]["all three"]}
        for hop, (wall, cpu) in shown.items():
            table.add_row(
                kind,
                hop,
                f"{changes:,}",
                f"{wall:.1f}",
                f"{changes / wall:,.0f}",
                f"{cpu:.1f}",
                f"{changes / cpu:,.0f}",
            )
    Console(width=120).print(table)
    peak = memory.stop()
    print(f"peak memory: python {peak['python'] / 2**30:.2f} GiB, JVM {peak['jvm'] / 2**30:.2f} GiB")


if __name__ == "__main__":
    main()
