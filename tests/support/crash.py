"""Crashes at named points, without a hook in the code that crashes.

with pytest.raises(SimulatedCrash):
    crash_at(monkeypatch, "mirrorlake.lake.delta.progress.append_from", when="after", call_number=2)
    run(...)
monkeypatch.undo()
run(...)  # and it goes on from what was committed
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import wraps
from importlib import import_module
from random import Random
from typing import Any, Literal

from pytest import MonkeyPatch

COMMITS = tuple(
    f"mirrorlake.lake.delta.progress.{name}"
    for name in ("append_from", "append_once", "overwrite_once", "run_statement", "run_ddl")
)
"""Every way to commit to a lake."""


class SimulatedCrash(BaseException):
    """No Exception: code that survives errors must not survive this."""


@dataclass
class CrashPoint:
    """calls: how often the function has been called so far."""

    name: str
    calls: int = 0
    has_crashed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self) -> int:
        with self._lock:
            self.calls += 1
            return self.calls

    def crash(self) -> None:
        self.has_crashed = True
        raise SimulatedCrash(self.name)


def crash_at(monkeypatch: MonkeyPatch, name: str, when: Literal["before", "after"], call_number: int = 1) -> CrashPoint:
    """Makes the call_number-th call of a function crash before it does anything, or after all it does.

    name: dotted, of a module's function or a class's method; modules that imported the function by name crash too.
    Check ``has_crashed`` where nothing else shows that the point was reached. Raises AttributeError for an unknown
    name.
    """
    point = CrashPoint(name)
    replace_everywhere(monkeypatch, [name], lambda original: _crashing(original, point, when, call_number))
    return point


def replace_everywhere(
    monkeypatch: MonkeyPatch, names: Iterable[str], replacement: Callable[[Callable], Callable]
) -> None:
    """Put ``replacement(function)`` in the place of each function, also in modules that imported it by its name."""
    for name in names:
        owner, attribute = _resolve(name)
        original = getattr(owner, attribute)
        put = replacement(original)
        for holder, alias in _holders(owner, attribute, original):
            monkeypatch.setattr(holder, alias, put)


def _crashing(original: Callable, point: CrashPoint, when: str, call_number: int) -> Callable:
    @wraps(original)
    def crashing(*args: Any, **kwargs: Any) -> Any:
        is_due = point.count() == call_number
        if is_due and when == "before":
            point.crash()
        result = original(*args, **kwargs)
        if is_due:
            point.crash()
        return result

    return crashing


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
    replace_everywhere(monkeypatch, names, lambda original: _crashing_at_random(original, random, share))


def _crashing_at_random(original: Callable, random: Random, share: float) -> Callable:
    @wraps(original)
    def crashing(*args: Any, **kwargs: Any) -> Any:
        dice = random.random()
        if dice < share / 2:
            raise SimulatedCrash(original.__name__)
        result = original(*args, **kwargs)
        if dice < share:
            raise SimulatedCrash(original.__name__)
        return result

    return crashing
