"""CPU time and memory of this process and the JVM and Python workers below it, from /proc."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")


def _fields(pid: int) -> list[str] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _tree(root: int) -> list[tuple[int, list[str]]]:
    found = {int(p.name): fields for p in Path("/proc").glob("[0-9]*") if (fields := _fields(int(p.name)))}
    chosen, grew = {root}, True
    while grew:
        below = {pid for pid, fields in found.items() if int(fields[1]) in chosen}
        grew, chosen = not below <= chosen, chosen | below
    return [(pid, found[pid]) for pid in chosen if pid in found]


def cpu_seconds() -> float:
    """User and system time of the tree, ended children included."""
    return sum(sum(map(int, fields[11:15])) for _, fields in _tree(os.getpid())) / _TICK


def resident_bytes() -> dict[str, int]:
    """Memory by kind: ``python`` (this process and Spark's workers), ``jvm``, ``all``. A shared page counts once."""
    sizes = {"python": 0, "jvm": 0}
    for pid, _ in _tree(os.getpid()):
        try:
            kind = "jvm" if "java" in os.readlink(f"/proc/{pid}/exe") else "python"
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        sizes[kind] += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) << 10
    return sizes | {"all": sum(sizes.values())}


class PeakMemory(threading.Thread):
    """Looks at the tree's memory once a second; ``peak`` in bytes by kind."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak = {"python": 0, "jvm": 0, "all": 0}
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(1):
            now = resident_bytes()
            self.peak = {kind: max(self.peak[kind], now[kind]) for kind in now}

    def stop(self) -> dict[str, int]:
        self._stopped.set()
        self.join()
        return self.peak


class Stopwatch:
    """Wall and CPU seconds since it was made."""

    def __init__(self):
        self._wall, self._cpu = time.perf_counter(), cpu_seconds()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self._wall, cpu_seconds() - self._cpu
