"""Amend silver by an answer of the operator.

An amendment has a table's definitions from its refused statement on, and its row changes since then, which no commit
has. It is computed from bronze alone, from the statement up to the end of silver, so every process computes the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame

from mirrorlake.core.changes.undone import Undone
from mirrorlake.core.changes.xa import XaPlan, plan_xa
from mirrorlake.core.ddl.effect.interpret import why_not_understood
from mirrorlake.core.ddl.effect.override import Answer, definition_changes
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.history import DefinitionChange, Definitions
from mirrorlake.core.schema.timeline import Timeline
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import named
from mirrorlake.lake.silver.definitions import ChangeAtLsn, DefinitionLog, record, recorded
from mirrorlake.lake.silver.events import NO_XA, definition_events, events_at_commits, undone

HOP = "assemble/answers"


@dataclass(frozen=True, slots=True)
class Amendment:
    """From the events of a range that ends where silver does. changes: of the table's definition. brings_rows: silver
    has none of its row changes; timeline, plan, undone: needed to decode them. objection: why the answer cannot be
    accepted, or None."""

    answer: Answer
    lsns: LsnRange
    changes: list[ChangeAtLsn]
    brings_rows: bool
    timeline: Timeline
    plan: XaPlan
    undone: Undone
    objection: str | None

    def record(self, lake: Lake) -> None:
        """Record the definitions, once per end of silver: another assembler may have reached a different end."""
        number = self.answer.number
        record(lake, self.changes, hop=f"{HOP}/{self.lsns.to}", number=number, answer=number)


def amend(lake: Lake, answers: Sequence[Answer], end: int) -> Amendment:
    """Compute the amendment of an override. answers: all up to the one to apply, which is the last. end: silver's
    progress."""
    *earlier, answer = answers
    event = lake.spark.table(lake.names.bronze_events).where(f"lsn = {answer.lsn}").select("tx_lsn").first()
    if event is None:
        return without_log(lake, answer, end)
    lsns, known = LsnRange(event.tx_lsn - 1, end), f"answer < {answer.number} AND lsn"
    ahead = [other for other in earlier if other.lsn >= answer.lsn]
    definitions = DefinitionLog(lake, [*ahead, answer], f"{known} < {answer.lsn}")
    # what is prepared before a DDL is not of its table
    with definition_events(lake, lsns, partial(plan_xa, prepared={}, ignore_unknown=True)) as (events, plan):
        as_logged = DefinitionLog(lake, ahead, f"{known} < {answer.lsn}").read(events, end)
        as_answered = definitions.read(events, end)
        left_out = undone(events_at_commits(lake, lsns, plan), events)
    was = [change for _, change in recorded(lake, f"{known} BETWEEN {answer.lsn} AND {end}")]
    was = [change for change in was if change.name == answer.name and change.concerns_table]
    objection = (
        _objection(lake, answer, as_logged, as_answered)
        or _why_over(was)
        or ": ".join(definitions.refused_map(answer.name) or ())
    )
    return Amendment(
        answer, lsns, [(lsn, change) for lsn, change in as_answered if change.name == answer.name],
        was[0].action == "refuse", definitions.timeline(lsns).only(answer.name), plan, left_out, objection or None,
    )  # fmt: skip


def amend_database(lake: Lake, answer: Answer, end: int) -> Amendment:
    """Amend by the character set of a database. Statements between the answer's lsn and the end are in silver."""
    found = definition_changes(answer, lake.flavor, Definitions(), lake.name_case)
    changes = [(answer.lsn, change) for change in found]
    nothing = LsnRange(end, end)
    timeline = DefinitionLog(lake).timeline(nothing)
    return Amendment(answer, nothing, changes, False, timeline, NO_XA, Undone(), None)


def without_log(
    lake: Lake, answer: Answer, end: int, reason: str = "bronze no longer has the log from that position"
) -> Amendment:
    """The empty amendment, because the log after the answer's lsn is missing."""
    nothing = LsnRange(end, end)
    timeline = DefinitionLog(lake).timeline(nothing)
    return Amendment(answer, nothing, [], False, timeline, NO_XA, Undone(), reason)


def _objection(lake: Lake, answer: Answer, as_logged: list[ChangeAtLsn], as_answered: list[ChangeAtLsn]) -> str | None:
    mine = [change for lsn, change in as_answered if (lsn, change.name) == (answer.lsn, answer.name)]
    if answer.text is not None and not mine:
        why = why_not_understood(answer.text, answer.database, lake.flavor, lake.name_case)
        if why:
            return f"a statement was not understood: {why}"
        return "the statement leaves the table as it was, or is about another one"
    if not mine or mine[0].action == "refuse":
        return mine[0].reason if answer.text else "nothing is known of the table before the statement"
    was, now = (
        {(lsn, *change.name): change.to_row() for lsn, change in changes if change.name != answer.name}
        for changes in (as_logged, as_answered)
    )
    other = min((key for key in was.keys() | now.keys() if was.get(key) != now.get(key)), default=None)
    if other is None:
        return None
    return f"{'the' if other[0] == answer.lsn else 'a later'} statement is about {other[1]}.{other[2]}, too"


def _why_over(was: list[DefinitionChange]) -> str | None:
    """Why the refusal has already ended. was: silver's changes of the table from the refused statement on."""
    ended = next((change.action for change in was if was[0].action == "refuse" != change.action), None)
    return f"the table is not refused any more, there is a later {ended}" if ended else None


def brought(rows: DataFrame, answer: Answer) -> DataFrame:
    """The decoded rows that silver lacks: it has the markers, and rows changed by statements were refused."""
    return rows.where(named(answer.name)).where("refusal IS NULL OR refusal NOT LIKE 'statement-dml:%'")
