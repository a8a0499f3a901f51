"""A crash at any call to Spark, the file system or the server, or at any step of our own.

    crashes = RandomCrashes(monkeypatch)
    crashes.crashes_in(work, "DataFrame.collect", 3, "before")     # at its third call; false: it reached its end before

The process continues, but nothing of it does: the next attempt opens everything again, from the lake alone.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from pytest import MonkeyPatch

from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.dump_stream import DumpStream
from tests.support.crash import When, failing
from tests.support.crash_sites import OUTSIDE, OWN, UnheardOf, is_ours, resolve

SERVER: list[tuple[Any, str]] = [(LiveSource, "current"), (DumpStream, "read")]


class RandomCrashes:
    """calls: how often the work done last called each."""

    def __init__(self, monkeypatch: MonkeyPatch):
        self._lock, self._is_working, self._has_crashed = threading.Lock(), False, False
        self._name, self._number, self._when = "", 0, "before"
        self.calls: Counter[str] = Counter()
        for owner, name in OUTSIDE + SERVER + [resolve(name) for name in OWN]:
            monkeypatch.setattr(owner, name, self._crashing(f"{owner.__name__}.{name}", getattr(owner, name)))

    def crashes_in(self, work: Callable[[], object], name: str = "", number: int = 0, when: When = "before") -> bool:
        """Do ``work`` up to its number-th call of ``name``; false: it has fewer, and is done."""
        self.calls, self._has_crashed, self._is_working = Counter(), False, True
        self._name, self._number, self._when = name, number, when
        try:
            work()
        except UnheardOf:
            return True
        finally:
            self._is_working = False
        return False

    def _crashing(self, name: str, function: Callable) -> Callable:
        def when_due() -> When | None:
            return self._when if self._is_working and is_ours() and self._is_due(name) else None

        return failing(function, when_due, lambda: UnheardOf(name))

    def _is_due(self, name: str) -> bool:
        with self._lock:
            if self._has_crashed:  # what other threads have begun continues
                return False
            self.calls[name] += 1
            self._has_crashed = (name, self.calls[name]) == (self._name, self._number)
            return self._has_crashed
