"""Crashes at named points, without a hook in the code that crashes.

with pytest.raises(SimulatedCrash):
    crash_at(monkeypatch, "mirrorlake.lake.delta.progress.append_from", when="after", call_number=2)
    run(...)
monkeypatch.undo()
run(...)  # and it continues from what was committed
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Literal

from pytest import MonkeyPatch

from tests.support.lake_runs import LakeRun, n_commits

COMMITS = tuple(
    f"mirrorlake.lake.delta.progress.{name}"
    for name in ("append_from", "append_once", "replace_once", "run_statement", "run_ddl")
) + ("mirrorlake.lake.gold.control.features.turn_on",)
"""Every way to commit to a lake."""


When = Literal["before", "after"]
"""It does anything, or all that it does."""


class SimulatedCrash(BaseException):
    """No Exception: code that survives errors must not survive this."""


@dataclass
class CrashPoint:
    """calls: how often the function has been called so far."""

    name: str
    calls: int = 0
    has_crashed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def is_due(self, call_number: int) -> bool:
        with self._lock:
            self.calls += 1
            return self.calls == call_number

    def crash(self) -> SimulatedCrash:
        self.has_crashed = True
        return SimulatedCrash(self.name)


def crash_at(monkeypatch: MonkeyPatch, name: str, when: When, call_number: int = 1) -> CrashPoint:
    """Makes the call_number-th call of a function crash before it does anything, or after all it does.

    name: dotted, of a module's function or a class's method; modules that imported the function by name crash too.
    Check ``has_crashed`` where nothing else shows that the point was reached. Raises AttributeError for an unknown
    name.
    """
    point = CrashPoint(name)

    def when_due() -> When | None:
        return when if point.is_due(call_number) else None

    replace_everywhere(monkeypatch, [name], lambda function: failing(function, when_due, point.crash))
    return point


def replace_everywhere(
    monkeypatch: MonkeyPatch, names: Iterable[str], replacement: Callable[[Callable], Callable]
) -> None:
    """Put ``replacement(function)`` instead of each function, also in modules that imported it by its name."""
    for name in names:
        owner, attribute = _resolve(name)
        original = getattr(owner, attribute)
        put = replacement(original)
        for holder, alias in _holders(owner, attribute, original):
            monkeypatch.setattr(holder, alias, put)


def failing(function: Callable, when_due: Callable[[], When | None], error: Callable[[], BaseException]) -> Callable:
    """The function, which fails before it does anything or after all it does, in a call for which that is due."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        due = when_due()
        if due == "before":
            raise error()
        result = function(*args, **kwargs)
        if due == "after":
            raise error()
        return result

    return call


def _resolve(name: str) -> tuple[Any, str]:
    """The module or class that holds the last part of a dotted name."""
    path, _, attribute = name.rpartition(".")
    try:
        return import_module(path), attribute
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        module, _, class_name = path.rpartition(".")
        return getattr(import_module(module), class_name), attribute


def _holders(owner: Any, attribute: str, original: Callable) -> list[tuple[Any, str]]:
    package = original.__module__.partition(".")[0]
    found = [(owner, attribute)]
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").partition(".")[0] == package and module is not owner:
            found += [(module, alias) for alias, value in list(vars(module).items()) if value is original]
    return found


def crash_at_random(monkeypatch: MonkeyPatch, names: Iterable[str], random: Random, share: float) -> None:
    """Each call of these functions crashes with this probability: half of them before, half after what it does."""

    def when_due() -> When | None:
        dice = random.random()
        return "before" if dice < share / 2 else "after" if dice < share else None

    replace_everywhere(
        monkeypatch, names, lambda function: failing(function, when_due, lambda: SimulatedCrash(function.__name__))
    )


def carry_out_under_kills(
    monkeypatch: MonkeyPatch, folder: Path, hops: Iterable[Callable[[], Any]], *, every: int = 1
) -> int:
    """Each hop, killed after each commit, or after every third and so on, and begun again; how often."""
    kills = 0
    with monkeypatch.context() as patch:
        crash_after_commits(patch, folder, every=every)
        for hop in hops:
            while True:
                try:
                    hop()
                    break
                except SimulatedCrash:
                    kills += 1
    return kills


def crash_after_commits(monkeypatch: MonkeyPatch, folder: Path, *, every: int = 1) -> None:
    """Every commit that is made, or every third and so on, is the last thing its process does."""
    made = count(1)

    def crashing(commit):
        def call(*args, **kwargs):
            before = n_commits(folder)
            result = commit(*args, **kwargs)
            if n_commits(folder) > before and next(made) % every == 0:
                raise SimulatedCrash
            return result

        return call

    replace_everywhere(monkeypatch, COMMITS, crashing)


def apply_with_kills(run: LakeRun, monkeypatch: MonkeyPatch, every: int = 1) -> int:
    """Gold, killed after each of its commits, or after every third and so on; how often that was."""
    kills = 0
    monkeypatch.setattr("mirrorlake.lake.gold.ddl.epoch.MAX_THREADS", 1)  # else a kill takes several commits with it
    crash_after_commits(monkeypatch, run.folder, every=every)
    while True:
        try:
            run.apply()
            break
        except SimulatedCrash:
            kills += 1
    return kills
