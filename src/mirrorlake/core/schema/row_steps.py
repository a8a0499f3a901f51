"""The effect of a DDL on existing rows, as values: the steps of a DefinitionChange. The server logs none of it.

Keep          a column continues, possibly with another name, position or type
Add           a new column, and its value in existing rows
From          the name that a renamed table had
Remove        the rows of some partitions are deleted
Exchange      the rows of a partition and those of another table are exchanged
TakeRows      the rows of a partition or of a whole other table come here
FromSnapshot  the rows of a snapshot come here; no statement does that
ServerMode    what a conversion of values depends on besides the types
"""

from __future__ import annotations

from dataclasses import dataclass

from mirrorlake.core.schema.partitions import Partitioning
from mirrorlake.core.schema.plain import from_plain, to_plain
from mirrorlake.core.schema.tables import Column, Default
from mirrorlake.core.schema.types import ColumnType

NOW, ZERO = "now", "zero"
"""Kinds of an Add's value besides those of a Default: the statement's moment (ISO, UTC), and the zero of the type."""


@dataclass(frozen=True, slots=True)
class Keep:
    """name: after the statement. old: the column before it."""

    name: str
    old: Column


@dataclass(frozen=True, slots=True)
class Add:
    """value None: existing rows get NULL. needs_empty: their value cannot be derived; no problem if there are none."""

    name: str
    value: Default | None = None
    needs_empty: str | None = None


@dataclass(frozen=True, slots=True)
class From:
    database: str
    table: str


@dataclass(frozen=True, slots=True)
class Remove:
    """names: of partitions of the partitioning before the statement."""

    partitioning: Partitioning
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exchange:
    """partitioning: of the partitioned table, in the change of both tables. other: the other table.

    is_partitioned: this change is the partitioned table's.
    """

    partitioning: Partitioning
    name: str
    other_database: str
    other_table: str
    is_partitioned: bool


@dataclass(frozen=True, slots=True)
class TakeRows:
    """partitioning, name: of the other table before the statement; None: all of its rows."""

    other_database: str
    other_table: str
    partitioning: Partitioning | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class FromSnapshot:
    copy_id: str


@dataclass(frozen=True, slots=True)
class ServerMode:
    """is_strict: a value that does not fit made the statement fail, so there was none. time_zone: of the session.
    pads_char: a CHAR is read with blanks up to its length.
    changes_dates: a copy of the rows makes the zero date of one that no calendar has, also in an unchanged column.
    copies_rows: the server copied them into a new table (``algorithm``); None: not known, or it does not matter.
    """

    flavor: str
    is_strict: bool
    time_zone: str | None = None
    truncates_fractions: bool = False
    pads_char: bool = False
    copies_rows: bool | None = None
    changes_dates: bool = False

    def setting_of(self, kind: ColumnType) -> str | None:
        """The session's setting on which the value of an expression depends if it reads a column of this type."""
        if kind.name == "timestamp":
            return "this session's time zone"
        if kind.name == "char" and self.pads_char:
            return "sql_mode PAD_CHAR_TO_FULL_LENGTH"
        truncates = self.flavor == "mysql" and self.truncates_fractions
        return "sql_mode TIME_TRUNCATE_FRACTIONAL" if truncates and kind.fraction_digits else None


Step = Keep | Add | From | Remove | Exchange | TakeRows | FromSnapshot | ServerMode
_KINDS: dict[str, type] = {
    "keep": Keep, "add": Add, "from": From, "remove": Remove, "exchange": Exchange, "take": TakeRows,
    "copied": FromSnapshot, "mode": ServerMode,
}  # fmt: skip
_NAMES = {kind: name for name, kind in _KINDS.items()}


def step_to_plain(step: Step | tuple) -> list:
    return list(step) if isinstance(step, tuple) else [_NAMES[type(step)], to_plain(step)]


def step_from_plain(plain: list) -> Step | tuple:
    kind = _KINDS.get(plain[0])
    return from_plain(kind, plain[1]) if kind else tuple(plain)
