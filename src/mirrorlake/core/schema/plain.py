"""Dataclasses <-> plain values for JSON; values equal to their default are left out."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

_PLAIN = (int, str, bool)


def to_plain(value: Any, only: frozenset[str] | None = None) -> Any:
    """The plain value. only: the fields to keep of the outermost dataclass."""
    if is_dataclass(value) and not isinstance(value, type):
        kept = (f for f in fields(value) if only is None or f.name in only)
        found = ((f.name, getattr(value, f.name), f.default) for f in kept)
        return {name: to_plain(item) for name, item, default in found if default is MISSING or item != default}
    return [to_plain(item) for item in value] if isinstance(value, tuple) else value


def from_plain(kind: Any, plain: dict) -> Any:
    """Make the dataclass ``kind`` again. Its fields are plain values, dataclasses, tuples, or one of these or None.

    Raises: TypeError or another error for a text of another form: what is no number must not become one in SQL.
    """
    hints = _hints(kind)
    return kind(**{name: _read(hints[name], item) for name, item in plain.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(hint: Any, plain: Any) -> Any:
    if plain is None:
        return None
    if get_origin(hint) is UnionType:
        hint = next(part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is tuple:
        return tuple(_read(get_args(hint)[0], item) for item in plain)
    if is_dataclass(hint) and isinstance(hint, type):
        return from_plain(hint, plain)
    if hint in _PLAIN and type(plain) is not hint:
        raise TypeError(f"{hint.__name__} was expected")
    return plain
