"""Differences between JSON values: as MySQL logs them in PARTIAL_UPDATE_ROWS, and applied in plain Python.

Values are those of ``json_encoding``. A path is its legs: the name of a member, the number of a cell; below 0: counted
from the array's end. Format: ``sql-common/json_diff.cc``, ``json_path.cc``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.binlog_spec import Differences
from tests.support.json_encoding import Opaque, encode_json, json_text
from tests.support.table_map_encoding import lenenc

REPLACE, INSERT, REMOVE = range(3)
NAMES = (
    "", "a", "b", "aa", "a b", "1a", "$x", "x.y[0]", "last", "k" * 130, 'q"\\', "\t\x01\x1f", "größe", "ключ", "😀",
)  # fmt: skip
Leg = str | int


@dataclass(frozen=True)
class Difference:
    """legs: of the path, at least one. value: the new one, None of REMOVE too."""

    operation: int
    legs: tuple[Leg, ...]
    value: Any = None


def encode_differences(differences: Iterable[Difference], is_large: bool = False) -> Differences:
    return Differences(b"".join(_encoded(each, is_large) for each in differences))


def _encoded(difference: Difference, is_large: bool) -> bytes:
    parts = [path_text(difference.legs).encode()]
    if difference.operation != REMOVE:
        parts.append(encode_json(difference.value, is_large))
    return bytes((difference.operation,)) + b"".join(lenenc(len(part)) + part for part in parts)


def path_text(legs: Iterable[Leg], quote_all: bool = False) -> str:
    """quote_all: otherwise only names that look as if they had to be."""
    return "$" + "".join(_member(leg, quote_all) if isinstance(leg, str) else f"[{_cell(leg)}]" for leg in legs)


def _member(name: str, quote: bool) -> str:
    return "." + (json_text(name) if quote or not re.fullmatch(r"[^\W\d]\w*|\$\w*", name) else name)


def _cell(number: int) -> str:
    return str(number) if number >= 0 else "last" + (str(number + 1) if number < -1 else "")


def applied(value: Any, differences: Iterable[Difference]) -> Any:
    """The value after the differences. Raises LookupError for a place that is not there, or is taken."""
    value = deepcopy(value)
    for difference in differences:
        parent, last, new = value, difference.legs[-1], deepcopy(difference.value)
        for leg in difference.legs[:-1]:
            parent = parent[_checked(parent, leg)]
        if difference.operation != INSERT:
            place = _checked(parent, last)
            if difference.operation == REMOVE:
                del parent[place]
            else:
                parent[place] = new
        elif isinstance(parent, dict) and isinstance(last, str) and last not in parent:
            parent[last] = new
        elif isinstance(parent, list) and isinstance(last, int):
            parent.insert(max(last + len(parent), 0) if last < 0 else last, new)
        else:
            raise LookupError(last)
    return sorted_value(value)


def _checked(parent: Any, leg: Leg) -> Leg:
    """Raises LookupError when the container has no such member."""
    if not isinstance(parent, dict if isinstance(leg, str) else list):
        raise LookupError(leg)
    parent[leg]
    return leg


def sorted_value(value: Any) -> Any:
    """With the members of all objects in the server's order."""
    if isinstance(value, list):
        return [sorted_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
    return {key: sorted_value(value[key]) for key in keys}


def random_value(random: Random, depth: int = 0) -> Any:
    """A container at depth 0."""
    if depth == 0 or (depth < 5 and random.random() < 0.5):
        count = random.choice((0, 1, 2, 3, 6, 40 if depth < 2 else 1))
        if random.random() < 0.5:
            return [random_value(random, depth + 1) for _ in range(count)]
        keys = random.sample(NAMES, min(count, len(NAMES)))
        return sorted_value({key: random_value(random, depth + 1) for key in keys})
    return random.choice((
        lambda: random.choice((None, True, False)),
        lambda: random.choice((1, -1)) * random.getrandbits(random.choice((7, 15, 16, 31, 32, 50, 63))),
        lambda: random.uniform(-1e9, 1e9),
        lambda: "".join(random.choices('ab"\\\x01é😀', k=random.choice((0, 3, 130)))),
        lambda: Opaque(15, b"\xff\x00", '"base64:type15:/wA="'),
    ))()  # fmt: skip


def random_differences(random: Random, value: Any, count: int) -> list[Difference]:
    """Some that can be applied to this container, one after another."""
    found = []
    for _ in range(count):
        difference = _random_difference(random, value)
        if difference:
            found.append(difference)
            value = applied(value, [difference])
    return found


def _random_difference(random: Random, value: Any) -> Difference | None:
    parent, legs = value, []
    while True:
        places = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        inner = [place for place in places if isinstance(parent[place], list | dict)]
        if not inner or random.random() < 0.4:
            break
        legs.append(random.choice(inner))
        parent = parent[legs[-1]]
    operation = random.choice((REPLACE, INSERT, REMOVE)) if places else INSERT
    if operation != INSERT:
        legs.append(random.choice(places))
    elif isinstance(parent, dict):
        free = [name for name in NAMES if name not in parent]
        if not free:
            return None
        legs.append(random.choice(free))
    else:
        legs.append(random.choice((len(parent), len(parent), 0, random.randint(0, len(parent) + 3))))
    if isinstance(parent, list) and operation != INSERT and random.random() < 0.3:
        legs[-1] -= len(parent)
    new = None if operation == REMOVE else random_value(random, random.choice((0, 1, 4, 9)))
    return Difference(operation, tuple(legs), new)
