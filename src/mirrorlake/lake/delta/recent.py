"""A hop's newest commit, kept in memory for the next hop of the same process. The lake is the truth, memory a cache."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from mirrorlake.core.lsn_range import LsnRange


@dataclass(frozen=True, slots=True)
class RecentCommit:
    """The rows of a range. batches: all of its rows, or None if they are too many.

    has_ddl: there may be a DDL in this range. answers: number of the operator's answers that the table follows.
    """

    lsns: LsnRange
    batches: list[pa.RecordBatch] | None
    has_ddl: bool = True
    answers: int = 0


class Recent:
    """The hop that writes the table puts each of its commits; the hop that reads it takes the one that it lacks."""

    def __init__(self, lsn: int, answers: int = 0, *, keep_bytes: int = 0):
        """lsn, answers: progress of the table before the first commit; -1: it is empty. keep_bytes: a commit with more
        bytes of rows is not kept."""
        self._commit = RecentCommit(LsnRange(lsn, lsn), None, answers=answers)
        self.keep_bytes = keep_bytes

    @property
    def lsn(self) -> int:
        """The table has everything up to here."""
        return self._commit.lsns.to

    @property
    def answers(self) -> int:
        return self._commit.answers

    def put(self, commit: RecentCommit) -> None:
        self._commit = commit

    def take(self, lsn: int, answers: int = 0) -> RecentCommit | None:
        """Give the rows after ``lsn`` to a reader that follows this number of answers, once; None if it must read them
        from the table."""
        found = self._commit
        if found.batches is None or (found.lsns.after, found.answers) != (lsn, answers):
            return None
        self._commit = replace(found, batches=None)
        return found
