"""Amend silver by a snapshot of a table.

An amendment has the table's definitions from the snapshot's position on, and those later row changes that silver lacks,
because it could not decode them or left them out. It is computed from bronze alone, from that position up to the end
of silver, so every process computes the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame

from mirrorlake.core.binlog.rows.mapped_table import UNDEFINED
from mirrorlake.core.changes.xa import XaPlan, plan_xa
from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.position import pack_lsn, unpack_lsn
from mirrorlake.core.schema.history import DefinitionChange
from mirrorlake.core.sql_text import literal
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import named
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.silver.amendment import Amendment, brought, without_log
from mirrorlake.lake.silver.definitions import ChangeAtLsn, DefinitionLog, recorded
from mirrorlake.lake.silver.events import NO_XA, collect_definitions, definition_events, events_at_commits, undone


def amend_from_copy(lake: Lake, answers: Sequence[Answer], end: int) -> Amendment:
    """Compute the amendment. answers: all up to the one to apply, which is a snapshot and the last. end: silver's
    progress, at or after the snapshot's position."""
    *_, answer = answers
    lsns, known = LsnRange(answer.lsn, end), f"answer < {answer.number}"
    if _is_let_go(lake, answer.lsn):
        return without_log(lake, answer, end)
    if _is_left_behind(lake, answer.lsn):
        reason = "another server took over before the lake had reached the snapshot's position"
        return without_log(lake, answer, end, reason)
    definitions = DefinitionLog(lake, [a for a in answers if a.lsn >= answer.lsn], f"{known} AND lsn <= {answer.lsn}")
    with definition_events(lake, lsns, partial(_plan, lake, answer.lsn)) as (events, plan):
        found = [(lsn, change) for lsn, change in definitions.read(events, end) if _is_of(answer, change)]
        left_out = undone(events_at_commits(lake, lsns, plan), events)
    former = recorded(lake, f"{known} AND {lsns.condition}")
    timeline = definitions.timeline(lsns).only(answer.name)
    changes = [*_without_former(found, {lsn for lsn, change in former if _is_of(answer, change)})]
    return Amendment(answer, lsns, changes, True, timeline, plan, left_out, None)


def lacking(lake: Lake, rows: DataFrame, answer: Answer, lsns: LsnRange) -> DataFrame:
    """The decoded rows of the table that silver lacks in the range."""
    undefined = literal(f"{UNDEFINED}:%")
    there = lake.spark.table(lake.names.silver_changes).where(named(answer.name))
    there = there.where(lsns.condition).where(f"refusal IS NULL OR refusal NOT LIKE {undefined}")
    return brought(rows, answer).join(there.select("lsn").distinct(), "lsn", "left_anti").select(*rows.columns)


def _is_let_go(lake: Lake, lsn: int) -> bool:
    """Has maintenance deleted log after this position?"""
    begins = lake.spark.table(lake.names.bronze_events).agg({"lsn": "min"}).first()[0]
    if begins is None or begins <= lsn:
        return False
    before = lake.spark.table(lake.names.silver_changes).where(f"lsn > {lsn} AND lsn < {int(begins)}")
    return not before.isEmpty()


def _is_left_behind(lake: Lake, lsn: int) -> bool:
    """Did bronze continue with another server before it had all of the former one's log up to this position?"""
    incarnation, file_number, offset = unpack_lsn(lsn)
    bronze = read_progress(lake.spark, lake.names.bronze_events)
    if bronze is None or unpack_lsn(bronze.lsn)[0] == incarnation:
        return False
    events = lake.spark.table(lake.names.bronze_events).where(f"lsn < {pack_lsn(incarnation + 1, 0, 0)}")
    last = events.selectExpr("max(struct(lsn, end_log_pos)) AS last").first().last
    ends_there = last and unpack_lsn(last.lsn)[1] == file_number and last.end_log_pos == offset + 1
    return last is None or last.lsn < lsn and not ends_there


def _plan(lake: Lake, lsn: int, events: Iterable[pa.RecordBatch]) -> XaPlan:
    """Plan XA transactions after a snapshot. One prepared before the snapshot and committed after it is not in it."""
    try:
        return plan_xa(events, {})
    except RefusedError as error:
        if error.code != "xa-not-prepared":
            raise
    before = plan_xa(collect_definitions(lake, LsnRange(-1, lsn), NO_XA), {}, ignore_unknown=True)
    return plan_xa(events, before.prepared)


def _is_of(answer: Answer, change: DefinitionChange) -> bool:
    return change.name == answer.name and change.concerns_table


def _without_former(found: list[ChangeAtLsn], former: set[int]) -> Iterator[ChangeAtLsn]:
    """found: the table's changes, the first one is the snapshot. A statement that changed the table before, but does
    not change it as the snapshot defines it, leaves it unchanged."""
    by_lsn = dict(found)
    now = found[0][1]
    for lsn in sorted({*by_lsn, *former}):
        if lsn in by_lsn:
            now = by_lsn[lsn]
            yield lsn, now
        elif now.action in ("drop", "moved", "refuse"):
            yield lsn, now
        else:
            yield lsn, DefinitionChange("alter", now.database, now.table, now.schema)
