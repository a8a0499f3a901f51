"""What a run's options say of a table, as gold asks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

TRUNCATE, DROP_PARTITION, DROP_TABLE = "truncate", "drop-partition", "drop-table"
"""Kinds of DDL that can be ignored: they take rows from a mirror, or a mirror away."""


@dataclass(frozen=True, slots=True)
class TableRules:
    """is_wanted(database, table): the table filter. refuses_invalid(database, table): a value without meaning refuses
    the table; else it is NULL in the mirror. ignores(database, table, kind): a DDL of this kind leaves the mirror as it
    is."""

    is_wanted: Callable[[str, str], bool] = lambda *_: True
    refuses_invalid: Callable[[str, str], bool] = lambda *_: False
    ignores: Callable[[str, str, str], bool] = lambda *_: False
