"""Ranges of the log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from mirrorlake.core.sql_text import Sql


@dataclass(frozen=True, slots=True)
class LsnRange:
    """Every lsn after one, and up to another. after: -1 from the start of the log."""

    after: int
    to: int

    def __contains__(self, lsn: int) -> bool:
        return self.after < lsn <= self.to

    @property
    def is_empty(self) -> bool:
        return self.to <= self.after

    @property
    def condition(self) -> Sql:
        """Selects the rows with an ``lsn`` of the range."""
        return f"lsn > {self.after} AND lsn <= {self.to}"

    def since(self, lsn: int) -> LsnRange:
        """The part after an lsn."""
        return LsnRange(max(self.after, lsn), self.to)

    def until(self, lsn: int) -> LsnRange:
        """The part up to an lsn."""
        return LsnRange(self.after, min(self.to, lsn))

    def split(self, ends: Iterable[int]) -> list[LsnRange]:
        """The parts up to each of these lsns of the range, in order, and the rest."""
        return [LsnRange(after, to) for after, to in pairwise([self.after, *ends, self.to])]

    def to_json(self) -> dict[str, int]:
        """The form of notes, control tables and outputs."""
        return {"lsn_from": self.after, "lsn_to": self.to}
