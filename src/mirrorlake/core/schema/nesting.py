"""Calls inside calls on a stack of our own, so that what a statement nests is as deep as it likes."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")
Nested = Generator["Nested[Any]", Any, T]
"""A call that yields the calls that it makes and gets what each returns."""


def unnest(call: Nested[T]) -> T:
    """What the call returns. Raises what it, or a call inside it, raises."""
    calls: list[Nested[Any]] = [call]
    returned: Any = None
    while calls:
        try:
            inner = calls[-1].send(returned)
        except StopIteration as end:
            calls.pop()
            returned = end.value
        else:
            calls.append(inner)
            returned = None
    return returned
