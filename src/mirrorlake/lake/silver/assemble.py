"""The assemble hop: whole transactions of ``bronze_events`` -> ``silver_changes``, one Delta commit per batch.

Order of steps for one batch, a range of lsn that begins and ends between event groups:

    0. find its XA transactions: the newest note says which ones are prepared and pending; so will the next
    1. read the range's DDL and table maps, append new rows to silver_table_schemas; find the logged changes that
       transactions of the range roll back
                                              crash here: these rows are found again and not repeated
    2. decode the range                       crash here: nothing happened
    3. append it if no other writer has committed from the same progress

An answer of the operator to a statement that silver has passed is a separate batch: the definitions and the row
changes of one table from there on, in the same steps. It moves no lsn, but the number of applied answers. A snapshot of
a table is such an answer, too; a range ends where the next one begins, so that everything after it is decoded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from mirrorlake.core.changes.assembler import CHANGE_SCHEMA, Assembler
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.changes.undone import Undone
from mirrorlake.core.changes.xa import XaPlan, plan_xa
from mirrorlake.core.ddl.effect.hidden_columns import made_otherwise
from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.timeline import Timeline
from mirrorlake.errors import RefusedError
from mirrorlake.lake.bronze.table import end_lsn
from mirrorlake.lake.delta.lake import COLUMN_CHECK, Lake
from mirrorlake.lake.delta.notes import TableNews
from mirrorlake.lake.delta.progress import append_from, claim_source, read_progress, refuse_restored, renew
from mirrorlake.lake.delta.recent import Recent, RecentCommit
from mirrorlake.lake.delta.stage import Stage
from mirrorlake.lake.silver.amendment import Amendment, amend, amend_database, brought
from mirrorlake.lake.silver.definitions import DefinitionLog
from mirrorlake.lake.silver.events import NO_XA, ORDER, collect, definition_events, events_at_commits, undone
from mirrorlake.lake.silver.overrides import read_answers
from mirrorlake.lake.silver.snapshot_amendment import amend_from_copy, lacking
from mirrorlake.lake.silver.table import ANSWERS, CHANGE_COLUMNS

HOP = "assemble"
PREPARED = "prepared"
"""Key of a note: xid -> tx_lsn of each XA transaction that is prepared and neither committed nor rolled back."""
HIDDEN, HASHED = "columns", "hashed_columns"
"""Keys of a note: the patterns of hidden and of hashed columns by which the commit was made."""
CHUNK_BITS = 24
"""An lsn counts bytes within a file: the log is handled in chunks of 16 MiB."""
PART_BYTES = 128 << 20
"""About how many bytes of log one task decodes: its rows are sorted in memory."""
LONG_BYTES = 2 << 30
"""Size from which a group is decoded in this process, a slice at a time: one task would sort all of it on disk, and
need memory for each sorted file."""
OPENED_BYTES = 256 << 20
"""Size up to which a small range's opened events are kept in memory: compressed, they may be a thousandth of it."""
STRETCH_CHUNKS = 4
"""Chunks of log in memory at once in that case."""


@dataclass(frozen=True, slots=True)
class EventRange:
    """The events of a range, n_bytes of log. cuts: lsns inside it at which a group begins, about a chunk apart, or
    further if a group is longer; longest: maximum bytes from one to the next."""

    lsns: LsnRange
    n_bytes: int = 0
    cuts: tuple[int, ...] = ()
    longest: int = 0


@dataclass(frozen=True, slots=True)
class AssembledBatch:
    """One commit. n_rows: None if Spark's workers made them."""

    lsns: LsnRange
    n_rows: int | None


class AssembleHop:
    """Continues from silver's own progress; keeps the table definitions between batches."""

    def __init__(self, lake: Lake, *, batch_bytes: int, bronze: Recent | None = None):
        """batch_bytes: log bytes of one commit. bronze: what this process commits to it, if it is the only writer."""
        self._lake, self._batch_chunks, self._bronze = lake, max(1, batch_bytes >> CHUNK_BITS), bronze
        recorded = read_progress(lake.spark, lake.names.silver_changes)
        claim_source(recorded, lake.source)
        refuse_restored(lake.spark, lake.names.silver_table_schemas)
        self._recorded = renew(lake.spark, lake.names.silver_changes, recorded)
        self._prepared: dict[str, int] = self._recorded.payload.get(PREPARED, {}) if self._recorded else {}
        self._news, self._answers = TableNews(lake.spark, lake.names.control_answers), list[Answer]()
        self._look()
        self._n_answers = self._recorded.payload.get(ANSWERS, 0) if self._recorded else len(self._answers)
        self._definitions = self._read_definitions()
        self._check_hidden()
        self.recent = Recent(self.lsn, self._n_answers, keep_bytes=bronze.keep_bytes if bronze else 0)

    @property
    def _check_value(self) -> dict[str, str]:
        """What notices another secret; it stays in the notes when no pattern hashes any more."""
        key, noted = self._lake.hidden.key, self._recorded.payload if self._recorded else {}
        check = key.check if key else noted.get(COLUMN_CHECK)
        return {COLUMN_CHECK: check} if check else {}

    def _check_hidden(self) -> None:
        """Raise RefusedError ``lake-columns`` for tables that were made by other patterns of columns, unless a
        snapshot that waits makes them again."""
        if not self._recorded:
            return
        present, noted = self._lake.hidden, self._recorded.payload
        former = replace(present, patterns=tuple(noted.get(HIDDEN, ())), hashed=tuple(noted.get(HASHED, ())))
        if former == present:
            return
        awaited = {answer.name for answer in self._answers[self._n_answers :] if answer.copy_id}
        tables = sorted(made_otherwise(self._definitions.definitions, former, present) - awaited)
        if tables:
            names = ",".join(map(str, tables))
            raise RefusedError("lake-columns", f"the patterns of columns hide or hash others than before of {names}")

    @property
    def lsn(self) -> int:
        """Everything up to here is in silver; -1: nothing."""
        return self._recorded.lsn if self._recorded else -1

    def advance(self) -> Iterator[AssembledBatch]:
        """Commit all that bronze has and silver lacks, and the changes of the operator's new answers, one by one."""
        while self._sees_answers() and self._comes_to(answer := self._answers[self._n_answers]):
            yield from map(self.assemble, self.pending(answer.lsn))
            yield self._take(self._answers[: self._n_answers + 1])
        yield from self._assemble_rest()
        copies = (answer for answer in self._answers[: self._n_answers] if answer.copy_id)
        for answer in sorted(copies, key=attrgetter("lsn")):  # one may be after the last existing event
            if answer.lsn > self.lsn and self._comes_to(answer):
                yield self.assemble(EventRange(LsnRange(self.lsn, answer.lsn)))

    def _assemble_rest(self) -> Iterator[AssembledBatch]:
        if self._bronze and self._bronze.lsn <= self.lsn:
            return
        if commit := self._bronze and self._bronze.take(self.lsn):
            yield self._assemble_here(EventRange(commit.lsns), commit.batches or [])
        else:
            yield from map(self.assemble, self.pending())

    def _sees_answers(self) -> bool:
        """Are there answers that are not in silver yet?"""
        self._look()
        return self._n_answers < len(self._answers)

    def _comes_to(self, answer: Answer) -> bool:
        """Has bronze all transactions before this answer's lsn?"""
        bronze = read_progress(self._lake.spark, self._lake.names.bronze_events)
        return bronze is not None and answer.lsn < end_lsn(bronze)

    def _look(self) -> None:
        if self._news.has_come():
            self._answers = read_answers(self._lake)

    def _take(self, answers: list[Answer]) -> AssembledBatch:
        """Apply the last of the answers."""
        lake, answer = self._lake, answers[-1]
        lsn = max(self.lsn, answer.lsn)
        found = _amended(lake, answers, lsn)
        part, rows = EventRange(found.lsns), lake.spark.createDataFrame([], CHANGE_COLUMNS)
        if found.objection is None:
            found.record(lake)
        if found.objection is None and found.brings_rows:
            cuts = tuple(start for start, _ in self._chunks(part.lsns)[1:])
            part = EventRange(part.lsns, cuts=cuts)
            rows = self._decoded(part, found.plan, found.timeline, found.undone)
            rows = lacking(lake, rows, answer, part.lsns) if answer.copy_id else brought(rows, answer)
        self._n_answers = len(answers)
        self._commit(part, rows, None, self._prepared)
        self._definitions = self._read_definitions()
        return AssembledBatch(part.lsns, None)

    def pending(self, up_to: int | None = None) -> Iterator[EventRange]:
        """Yield what bronze has and silver lacks, in ranges of at most batch_bytes. up_to: an lsn between two
        groups at which to stop."""
        bronze = read_progress(self._lake.spark, self._lake.names.bronze_events)
        end = -1 if bronze is None else bronze.lsn
        rest = LsnRange(self.lsn, end if up_to is None else min(end, up_to))
        if rest.is_empty:
            return
        chunks = self._chunks(rest)
        if not chunks:  # up to the start of a lake, or of a snapshot
            yield EventRange(rest)
        for k in range(0, len(chunks), self._batch_chunks):
            starts, sizes = zip(*chunks[k : k + self._batch_chunks], strict=True)
            after = chunks[k + self._batch_chunks : k + self._batch_chunks + 1]
            lsns = rest.until(after[0][0] - 1) if after else rest
            yield EventRange(lsns, sum(sizes), starts[1:], max(sizes))
            rest = rest.since(lsns.to)

    def assemble(self, part: EventRange) -> AssembledBatch:
        """Commit one range; it must begin where silver ends.

        Raises RefusedError ``lake-writer`` when another process committed from the same progress; and a RefusedError
        for log that cannot be decoded at all.
        """
        if part.n_bytes <= 2 << CHUNK_BITS:
            return self._assemble_here(part, collect(self._events(part.lsns, NO_XA)))
        return self._assemble_by_spark(part)

    def _assemble_by_spark(self, part: EventRange) -> AssembledBatch:
        """Assemble in Spark's workers, or in slices, whatever the size of the range."""
        with definition_events(self._lake, part.lsns, partial(plan_xa, prepared=self._prepared)) as (events, plan):
            self._definitions.extend(events, part.lsns.to)
            left_out = undone(self._events(part.lsns, plan), events)
        if part.longest > LONG_BYTES and plan.is_empty:
            return self._assemble_events(part, self._in_stretches(part), plan, left_out)
        self._commit(part, self._decoded(part, plan, self._timeline(part), left_out), None, plan.prepared)
        return AssembledBatch(part.lsns, None)

    def _assemble_here(self, part: EventRange, found: list[pa.RecordBatch]) -> AssembledBatch:
        """Assemble in this process, with all events of the range in memory, unless they are too large when opened."""
        plan, events = NO_XA, _opened(found)
        if events is not None:
            plan = plan_xa(events, self._prepared)
            events = events if plan.is_empty else _opened(collect(self._events(part.lsns, plan)))
        if events is None:
            return self._assemble_by_spark(part)
        self._definitions.extend(events, part.lsns.to)
        return self._assemble_events(part, events, plan, Undone.of(events))

    def _assemble_events(
        self, part: EventRange, events: Iterable[pa.RecordBatch], plan: XaPlan, left_out: Undone
    ) -> AssembledBatch:
        """Assemble in this process, and leave the rows in files for Spark."""
        lake = self._lake
        stage = Stage(lake.names.staging(HOP), CHANGE_SCHEMA, keep_bytes=self.recent.keep_bytes)
        try:
            assembler = Assembler(
                lake.flavor, self._timeline(part), left_out, name_case=lake.name_case, hidden=lake.hidden
            )
            for batch in assembler.assemble(events):
                stage.add(batch)
            pa.default_memory_pool().release_unused()  # the JVM writes now
            rows = lake.staged(stage, CHANGE_COLUMNS)
            self._commit(part, rows, stage.rows, plan.prepared, stage.batches)
        finally:
            stage.discard()
        return AssembledBatch(part.lsns, stage.rows)

    def _commit(
        self, part: EventRange, rows: DataFrame, n_rows: int | None, prepared: dict[str, int],
        batches: list[pa.RecordBatch] | None = None,
    ) -> None:  # fmt: skip
        """batches: the rows, if they are few."""
        lake = self._lake
        hidden = lake.hidden
        notes = {PREPARED: prepared, ANSWERS: self._n_answers, HIDDEN: hidden.patterns, HASHED: hidden.hashed}
        notes |= self._check_value
        notes = {name: value for name, value in notes.items() if value}
        payload = lake.payload(HOP, **part.lsns.to_json(), rows=n_rows, **notes)
        self._recorded = append_from(
            lake.spark, lake.names.silver_changes, rows, expected=self._recorded, new_lsn=part.lsns.to, payload=payload
        )
        self._prepared = prepared
        has_ddl = self._definitions.ddl_lsn > part.lsns.after  # also one whose rows a killed run had written
        self.recent.put(RecentCommit(part.lsns, batches, has_ddl, self._n_answers))

    def _read_definitions(self) -> DefinitionLog:
        """Read the definitions up to silver's progress."""
        n = self._n_answers
        ahead = [answer for answer in self._answers[:n] if answer.lsn > self.lsn]
        return DefinitionLog(self._lake, ahead, f"answer <= {int(n)}")

    def _timeline(self, part: EventRange) -> Timeline:
        return self._definitions.timeline(part.lsns)

    def _in_stretches(self, part: EventRange) -> Iterator[pa.RecordBatch]:
        """Yield the events of the range, in order, in slices that fit in memory."""
        chunk = F.shiftright("lsn", CHUNK_BITS).alias("chunk")
        chunks = sorted(row.chunk for row in self._events(part.lsns, NO_XA).select(chunk).distinct().collect())
        for lsns in part.lsns.split((c << CHUNK_BITS) - 1 for c in chunks[STRETCH_CHUNKS::STRETCH_CHUNKS]):
            yield from collect(self._events(lsns, NO_XA))

    def _events(self, lsns: LsnRange, plan: XaPlan) -> DataFrame:
        return events_at_commits(self._lake, lsns, plan)

    def _chunks(self, lsns: LsnRange) -> list[tuple[int, int]]:
        """The first group start of every chunk of a range that has one, and the bytes of log up to the next."""
        events = self._lake.spark.table(self._lake.names.bronze_events).where(lsns.condition)
        chunks = events.groupBy(F.shiftright("lsn", CHUNK_BITS).alias("chunk")).agg(
            F.expr("min(lsn) FILTER (WHERE lsn = tx_lsn) AS start"), F.expr("sum(end_log_pos - log_pos) AS n_bytes")
        )
        found: list[tuple[int, int]] = []
        for row in sorted(chunks.collect(), key=attrgetter("chunk")):
            if row.start is not None:
                found.append((row.start, row.n_bytes))
            elif found:
                found[-1] = found[-1][0], found[-1][1] + row.n_bytes
        return found

    def _decoded(self, part: EventRange, plan: XaPlan, timeline: Timeline, left_out: Undone) -> DataFrame:
        """Decode in parallel: each Spark partition takes a contiguous run of whole groups, in order."""
        n = max(self._lake.parallelism, part.n_bytes // PART_BYTES)
        flavor, name_case, hidden = self._lake.flavor, self._lake.name_case, self._lake.hidden

        def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            assembler = Assembler(flavor, timeline, left_out, name_case=name_case, hidden=hidden)
            return assembler.assemble(batches)

        parts = None
        for lsns in part.lsns.split(cut - 1 for cut in _evenly(part.cuts, n - 1)):
            events = self._events(lsns, plan).coalesce(1).sortWithinPartitions(*ORDER)
            decoded = events.select(*BRONZE_COLUMNS).mapInArrow(decode, CHANGE_COLUMNS)
            parts = decoded if parts is None else parts.unionAll(decoded)
        return parts.sortWithinPartitions("database", "table", "tx_lsn", "ordinal")


def _opened(found: list[pa.RecordBatch]) -> list[pa.RecordBatch] | None:
    """The events of compressed ones, and the others; None if they are more than ``OPENED_BYTES``."""
    events, n_bytes = [], 0
    for batch in open_events(found):
        events.append(batch)
        n_bytes += batch.nbytes
        if n_bytes > OPENED_BYTES:
            return None
    return events


def _amended(lake: Lake, answers: list[Answer], lsn: int) -> Amendment:
    if answers[-1].is_of_database:
        return amend_database(lake, answers[-1], lsn)
    return (amend_from_copy if answers[-1].copy_id else amend)(lake, answers, lsn)


def _evenly(cuts: tuple[int, ...], n: int) -> list[int]:
    """At most n of the cuts, about evenly spaced."""
    n = min(n, len(cuts))
    return [cuts[(k + 1) * len(cuts) // (n + 1)] for k in range(n)]
