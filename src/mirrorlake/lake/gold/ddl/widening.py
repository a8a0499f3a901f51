"""Which changes of a column's type Delta makes in place: files stay unchanged, old values are widened when read.

Measured with Delta 4.4: see ``delta.enableTypeWidening``; this is the table of its protocol.
"""

from __future__ import annotations

import re

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_MIN_DIGITS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}  # of a decimal that takes them
_DECIMAL = re.compile(r"decimal\(([0-9]+),([0-9]+)\)")


def widens_in_place(old: str, new: str) -> bool:
    """Can Delta widen the type in place? old, new: Spark types in DDL spelling."""
    if old in _INTEGERS and new in _INTEGERS:
        return _INTEGERS.index(old) < _INTEGERS.index(new)
    if (old, new) == ("float", "double"):
        return True
    before, after = _digits(old), _digits(new)
    if after is None:
        return False
    whole_after = after[0] - after[1]
    if before is not None:
        return after != before and after[1] >= before[1] and whole_after >= before[0] - before[1]
    return old in _INTEGERS and whole_after >= _MIN_DIGITS[old]


def _digits(kind: str) -> tuple[int, int] | None:
    found = _DECIMAL.fullmatch(kind)
    return (int(found[1]), int(found[2])) if found else None
