"""``control_answers``: overrides of refused statements, and the positions of snapshots.

The character sets of databases that a snapshot noted are here, too.

The table is append only; its progress is the number of answers.
"""

from __future__ import annotations

import datetime as dt
import getpass
from dataclasses import dataclass
from typing import Any

from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.damaged_rows import own_rows, reading
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import append_from, read_progress, renew
from mirrorlake.lake.silver.table import ANSWER_COLUMNS

HOP = "answers"
_OF_ANSWER = ("number", "lsn", "database", "table", "text", "copy_id")
_NEEDED = ("number", "lsn", "database", "table", "given_by", "at")


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """given_by: the user of the operating system."""

    answer: Answer
    given_by: str
    at: dt.datetime


def read_given(lake: Lake) -> list[GivenAnswer]:
    """Read all answers, in order."""
    rows = own_rows(lake, "control_answers", ANSWER_COLUMNS).toArrow()
    with reading("control_answers"):
        return [_given(row) for row in rows.sort_by("number").to_pylist()]


def _given(row: dict[str, Any]) -> GivenAnswer:
    """Raises ValueError for a row that lacks a value."""
    if None in [row[name] for name in _NEEDED]:
        raise ValueError("a value is missing")
    return GivenAnswer(Answer(*map(row.get, _OF_ANSWER)), row["given_by"], row["at"])


def read_answers(lake: Lake) -> list[Answer]:
    return [given.answer for given in read_given(lake)]


def give(lake: Lake, *answers: Answer) -> None:
    """Append answers in one commit; the first one's number is one above the last. Raises RefusedError ``lake-writer``:
    another was given."""
    table, now = lake.names.control_answers, dt.datetime.now(dt.timezone.utc)
    expected = renew(lake.spark, table, read_progress(lake.spark, table))
    if answers[0].number != (expected.lsn if expected else 0) + 1:
        raise RefusedError("lake-writer", "another answer was given meanwhile")
    rows = [(a.number, a.lsn, *a.name, a.text, a.copy_id, getpass.getuser(), now) for a in answers]
    append_from(
        lake.spark, table, lake.spark.createDataFrame(rows, ANSWER_COLUMNS), expected=expected,
        new_lsn=answers[-1].number, payload=lake.payload(HOP),
    )  # fmt: skip
