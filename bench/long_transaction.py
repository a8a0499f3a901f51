"""What a transaction of any size costs: bytes of log per second and the peak of memory of ingest and assemble.

    python -m bench.make_logs                 # once: a real server's log of row changes
    python -m bench.long_transaction --gigabytes 1 5 20

Every size is one transaction in one file: the row events of that log, again and again, with their positions and
checksums made new. What silver has is counted afterwards.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.process_tree import PeakMemory, Stopwatch
from mirrorlake.config import Options
from mirrorlake.core.binlog.framing import index_events
from mirrorlake.core.constants import EventType
from mirrorlake.jobs.run.open import create_lake
from mirrorlake.jobs.run.replicate import run_assemble, run_ingest
from mirrorlake.jobs.run.source import open_source
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.delta.session import open_session

LOG_POS = 13
"""Where a header has the event's end in its file, modulo 2**32."""
_MAGIC = b"\xfebin"
_ROWS = (EventType.TABLE_MAP, EventType.WRITE_ROWS_V1, EventType.UPDATE_ROWS_V1, EventType.DELETE_ROWS_V1)


def write_transaction(logs: Path, folder: Path, n_bytes: int) -> int:
    """One file of at least so many bytes; how many row changes its transaction has."""
    manifest = json.loads((logs / "manifest.json").read_text())
    buf = np.fromfile(logs / manifest["first_counted_file"], np.uint8)
    events, _ = index_events(buf, len(_MAGIC), len(buf))
    is_row = np.isin(events.event_type, _ROWS)
    first, commit = int(np.argmax(is_row)), int(np.argmax(events.event_type == EventType.XID))
    written, repeated = buf[: events.offset[first]].tobytes(), _Section(buf, events[is_row])
    changes, at = 0, len(written)
    with (folder / manifest["first_counted_file"]).open("wb") as file:
        file.write(written)
        while at < n_bytes:
            file.write(repeated.moved_to(at))
            changes, at = changes + manifest["row_changes"], at + repeated.n_bytes
        file.write(_Section(buf, events[commit : commit + 1]).moved_to(at))
    return changes


class _Section:
    """Events side by side, which can stand anywhere in a file."""

    def __init__(self, buf: np.ndarray, events):
        pieces = [buf[at : at + length] for at, length in zip(events.offset, events.length, strict=True)]
        self._bytes, self._ends = np.concatenate(pieces), np.cumsum(events.length)
        self._starts, self.n_bytes = self._ends - events.length, len(self._bytes)

    def moved_to(self, at: int) -> memoryview:
        positions = (at + self._ends).astype("<u4").view(np.uint8).reshape(-1, 4)
        self._bytes[self._starts[:, None] + np.arange(LOG_POS, LOG_POS + 4)] = positions
        whole = memoryview(self._bytes)
        for start, end in zip(self._starts.tolist(), self._ends.tolist(), strict=True):
            whole[end - 4 : end] = zlib.crc32(whole[start : end - 4]).to_bytes(4, "little")
        return whole


def measured(spark, logs: Path, gigabytes: float) -> Iterator[list[str]]:
    """A row of the table for each hop. Raises RuntimeError when silver has another number of row changes."""
    with tempfile.TemporaryDirectory(prefix="mirrorlake-bench-") as temporary:
        folder = Path(temporary) / "log"
        folder.mkdir()
        changes = write_transaction(logs, folder, int(gigabytes * 1e9))
        options = Options(source=f"files:{folder}", lake=f"{temporary}/lake")
        source = open_source(options)
        lake = create_lake(options, source, spark)
        hops = {
            "ingest": lambda: run_ingest(lake, source, options, Watcher()),
            "assemble": lambda: run_assemble(lake, options, Watcher()),
        }
        for name, run in hops.items():
            watch, memory = Stopwatch(), PeakMemory()
            memory.start()
            run()
            (wall, cpu), peak = watch.read(), memory.stop()
            sizes = [f"{peak[kind] / 2**30:.2f}" for kind in ("python", "jvm", "all")]
            yield [f"{gigabytes:g}", name, f"{changes:,}", f"{wall:.0f}", f"{cpu:.0f}", *sizes]
        found = spark.sql(
            f"SELECT count_if(op IN ('INSERT', 'UPDATE', 'DELETE')), max(changes) FROM {lake.names.silver_changes}"
        ).first()
        if tuple(found) != (changes, changes):
            raise RuntimeError(
                f"{changes:,} row changes are logged; silver has {found[0]:,}, its COMMIT says {found[1]:,}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, default=Path(".cache/bench-logs/mariadb/bulk"))
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[1, 5, 20])
    arguments = parser.parse_args()
    spark = open_session("bench")
    columns = ("GB", "hop", "changes", "seconds", "CPU s", "Python, GiB", "JVM, GiB", "all, GiB")
    table = Table(*columns, title="one transaction")
    for gigabytes in arguments.gigabytes:
        for row in measured(spark, arguments.logs, gigabytes):
            table.add_row(*row)
            print(*row, flush=True)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
