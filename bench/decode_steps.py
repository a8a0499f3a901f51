"""Decoding alone, step by step: CPU milliseconds of each step between a binlog's bytes and silver's Arrow batches.

    python -m bench.make_logs                 # once: a real server's logs
    python -m bench.decode_steps [--logs .cache/bench-logs/mariadb] [--passes 3]

The best pass of each log, by its sum. A step's time is without that of the steps it calls.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.decoders.to_arrow import images_of, read_events
from mirrorlake.core.binlog import log_reader
from mirrorlake.core.binlog.rows import decode
from mirrorlake.core.binlog.rows.table_map_cache import TableSlots
from mirrorlake.core.changes import assembler
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.servers import CHECKOUT

STEPS = (
    ("read the file, find events", FileSource, "_blocks"),
    ("checksums", log_reader, "verify_checksums"),
    ("continuity", log_reader, "verify_continuity"),
    ("transactions", log_reader, "assign_groups"),
    ("GTIDs", log_reader.LogReader, "_note_gtids"),
    ("batches of events", log_reader, "event_batch"),
    ("compressed events, fragments", assembler, "open_events"),
    ("events as arrays", assembler, "BronzeEvents"),
    ("table maps", TableSlots, "resolve"),
    ("row images (kernel)", decode, "decode_events"),
    ("batches of changes", Assembler, "_record_batch"),
)
REST = "the rest"


class Clock:
    """CPU seconds by step, each without the steps that it calls."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._steps, self._since = [REST], time.process_time()

    def enter(self, step: str) -> None:
        self._turn()
        self._steps.append(step)

    def leave(self) -> None:
        self._turn()
        self._steps.pop()

    def _turn(self) -> None:
        now = time.process_time()
        self.seconds[self._steps[-1]] += now - self._since
        self._since = now

    def timed(self, step: str, function: Callable) -> Callable:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.enter(step)
            try:
                found = function(*args, **kwargs)
            finally:
                self.leave()
            return self._each(step, found) if isinstance(found, Iterator) else found

        return call

    def _each(self, step: str, items: Iterator) -> Iterator:
        while True:
            self.enter(step)
            try:
                item = next(items, None)
            finally:
                self.leave()
            if item is None:
                return
            yield item


def one_pass(source: FileSource) -> tuple[int, Counter[str]]:
    """(row images, CPU seconds by step)"""
    clock = Clock()
    kept = [(owner, name, getattr(owner, name)) for _, owner, name in STEPS]
    for step, owner, name in STEPS:
        setattr(owner, name, clock.timed(step, getattr(owner, name)))
    try:
        images = sum(images_of(changes, None) for changes in Assembler(source.flavor).assemble(read_events(source)))
        clock.enter(REST)
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)
    return images, clock.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, default=CHECKOUT / ".cache/bench-logs/mariadb")
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    best = {}
    for kind in ("bulk", "oltp"):
        source = FileSource(options.logs / kind)
        passes = [one_pass(source) for _ in range(options.passes + 1)][1:]  # the first compiles
        best[kind] = min(passes, key=lambda done: done[1].total())
    table = Table("step", *(f"{kind}, ms" for kind in best))
    for step in (*(step for step, _, _ in STEPS), REST):
        table.add_row(step, *(f"{1000 * seconds[step]:.0f}" for _, seconds in best.values()))
    table.add_row("all", *(f"{1000 * seconds.total():.0f}" for _, seconds in best.values()))
    table.add_row("row images", *(f"{images:,}" for images, _ in best.values()))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
