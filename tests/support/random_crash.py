"""A crash at any call to Spark, the file system or the server, or at any step of our own, chosen by a number.

    crashes = RandomCrashes(monkeypatch)
    calls = crashes.crashes_in(work, call_number=17, when="before")     # None: it came to its end before that call

The process goes on, but nothing of it does: the next attempt opens everything anew, from the lake alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pytest import MonkeyPatch

from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.dump_stream import DumpStream
from tests.support.crash import When, failing
from tests.support.crash_sites import OUTSIDE, OWN, UnheardOf, is_ours, resolve

SERVER: list[tuple[Any, str]] = [(LiveSource, "current"), (DumpStream, "read")]


class RandomCrashes:
    """last: the call that crashed. calls: how many there were in the work done last."""

    def __init__(self, monkeypatch: MonkeyPatch):
        self._lock, self.calls, self._due, self._when, self.last = threading.Lock(), 0, 0, "before", ""
        for owner, name in OUTSIDE + SERVER + [resolve(name) for name in OWN]:
            monkeypatch.setattr(owner, name, self._crashing(f"{owner.__name__}.{name}", getattr(owner, name)))

    def crashes_in(self, work: Callable[[], object], call_number: int, when: When) -> bool:
        """Do ``work`` up to its call_number-th call; false: it has fewer, and is done."""
        self.calls, self._due, self._when = 0, call_number, when
        try:
            work()
        except UnheardOf:
            return True
        finally:
            self._due = 0
        return False

    def _crashing(self, name: str, function: Callable) -> Callable:
        def when_due() -> When | None:
            return self._when if self._due and is_ours() and self._count(name) else None

        return failing(function, when_due, lambda: UnheardOf(name))

    def _count(self, name: str) -> bool:
        with self._lock:
            self.calls += 1
            if self.calls != self._due:
                return False
            self._due, self.last = 0, f"{self._when} {name}"  # what other threads have begun goes on
            return True
