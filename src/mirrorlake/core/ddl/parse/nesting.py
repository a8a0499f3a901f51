"""Nested calls on an explicit stack, so that a statement may nest to any depth."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")
Nested = Generator["Nested[Any]", Any, T]
"""A call that yields the calls that it makes and gets what each returns."""


def unnest(call: Nested[T]) -> T:
    """Return the result of the call. Raises what it, or a call inside it, raises."""
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
