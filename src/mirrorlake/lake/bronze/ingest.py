"""The ingest hop: checked log chunks -> ``bronze_events``, one Delta commit per batch.

A commit carries the events and the resume position after them, always a boundary. Order of steps for one batch:

    1. read, check and stage the events as Parquet         crash here: the staged files are left over, nothing else
    2. append them if no other writer has committed        crash here: committed or not, never both or half
    3. remove the staged files
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from mirrorlake.core.binlog.event_batch import EVENT_SCHEMA
from mirrorlake.core.binlog.event_mark import EventMark
from mirrorlake.core.binlog.log_reader import LogChunk, ResumePoint
from mirrorlake.core.gtid import GtidSet, parse_gtid_set, parse_gtid_state
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.position import BinlogPosition, pack_lsn, unpack_lsn
from mirrorlake.core.schema.lower_case_names import NAME_CASE, NameCase
from mirrorlake.errors import RefusedError
from mirrorlake.lake.bronze import table
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import Progress, append_from, claim_source, parsing, read_progress, renew
from mirrorlake.lake.delta.recent import Recent, RecentCommit
from mirrorlake.lake.delta.stage import MOST_SMALL, Stage

HOP = "ingest"
SERVER, SKIP, KNOWS_BEFORE = "server", "skip", "knows_before"
"""Keys of a note, see ``IngestProgress``: for a server that has taken over, and for a lake that begins inside a
file."""
OPEN_BYTES = 64 << 20
"""An open transaction larger than this is staged before its end is seen."""


@dataclass(frozen=True, slots=True)
class IngestProgress:
    """recorded: the progress of bronze's newest commit, None if it is empty. position: where to continue; None: not
    begun.

    server: the one with that log, see ``BinlogSource.identity``; incarnation: number of servers before it. last: the
    last event in bronze. knows_before: the lake begins inside a file, and ``gtids`` has the transactions before. skip:
    known transactions that are still ahead in the server's log.
    """

    recorded: Progress | None
    server: str
    position: BinlogPosition | None
    gtids: GtidSet
    skip: GtidSet
    incarnation: int = 0
    last: EventMark | None = None
    knows_before: bool = False

    @classmethod
    def read(cls, lake: Lake) -> IngestProgress:
        """Read bronze's progress. Raises RefusedError ``lake-source`` when bronze has another source's log."""
        recorded = read_progress(lake.spark, lake.names.bronze_events)
        claim_source(recorded, lake.source)
        recorded = renew(lake.spark, lake.names.bronze_events, recorded)
        if recorded is None:
            nothing = parse_gtid_set(lake.flavor, "")
            return cls(None, lake.source, None, nothing, nothing)
        payload = recorded.payload
        with parsing(lake.names.bronze_events):
            gtids, skip = (parse_gtid_state(lake.flavor, payload.get(name, "")) for name in ("gtids", SKIP))
            last = EventMark.parse(payload["last"]) if "last" in payload else None
            position = BinlogPosition.parse(payload["resume"])
        incarnation, knows_before = unpack_lsn(recorded.lsn)[0], payload.get(KNOWS_BEFORE, False)
        return cls(recorded, server_of(recorded), position, gtids, skip, incarnation, last, knows_before)

    @property
    def lsn(self) -> int:
        """Everything up to here is in bronze; -1: nothing."""
        return self.recorded.lsn if self.recorded else -1

    def lsn_before(self, server: str, position: BinlogPosition) -> int:
        """The lsn between the last event before a position of a server's log and the first event after it.

        Raises RefusedError ``lake-source`` when the lake follows another server.
        """
        if self.server != server:
            raise RefusedError("lake-source", f"the lake does not follow this server, which is {server}")
        return pack_lsn(self.incarnation, position.file_number, position.offset) - 1


def server_of(recorded: Progress) -> str:
    """Identity of the server whose log bronze's resume position is in."""
    payload = recorded.payload
    return payload[SERVER] if SERVER in payload else payload["source"]


def check_server(lake: Lake, identity: str) -> None:
    """Raise RefusedError ``lake-source`` for another server than the lake follows now."""
    recorded = read_progress(lake.spark, lake.names.bronze_events)
    if recorded is None or server_of(recorded) != identity:
        raise RefusedError("lake-source", f"the lake does not follow this server, which is {identity}")


def begin(lake: Lake, position: BinlogPosition, gtids: GtidSet) -> None:
    """Make an empty lake begin at a position; ``gtids``: the transactions before it."""
    lsns = LsnRange(-1, pack_lsn(0, position.file_number, position.offset) - 1)
    payload = lake.payload(
        HOP, **lsns.to_json(), resume=str(position), gtids=str(gtids), events=0, **{KNOWS_BEFORE: True}
    )
    nothing = lake.spark.createDataFrame([], table.COLUMNS)
    append_from(lake.spark, lake.names.bronze_events, nothing, expected=None, new_lsn=lsns.to, payload=payload)


def keep_name_case(lake: Lake, name_case: NameCase) -> None:
    """Record how the source compares names, in a lake whose silver has not begun."""
    recorded = read_progress(lake.spark, lake.names.bronze_events)
    assert recorded, "bronze has begun"
    append_from(
        lake.spark, lake.names.bronze_events, lake.spark.createDataFrame([], table.COLUMNS), expected=recorded,
        new_lsn=recorded.lsn, payload=recorded.payload | {NAME_CASE: name_case.setting},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class IngestedBatch:
    """One commit: its range, number of events, bytes of log."""

    lsns: LsnRange
    n_events: int
    n_bytes: int
    progress: IngestProgress


def ingest(
    lake: Lake, chunks: Iterable[LogChunk], progress: IngestProgress, *, batch_bytes: int, recent: Recent
) -> Iterator[IngestedBatch]:
    """Append the chunks' events; yield after each commit. An unfinished transaction at the end is left for later.

    batch_bytes: log bytes after which a batch is committed at the next boundary. recent: gets each commit.
    Raises RefusedError ``lake-writer`` when another process committed from the same progress; then nothing is written.
    """
    writer = _BatchWriter(lake, progress, recent)
    try:
        for chunk in chunks:
            if chunk.torn_at:
                writer.drop_open()
            elif chunk.resume is None:
                if writer.hold(chunk.batch) > OPEN_BYTES:
                    yield from writer.commit()
                    writer.stage_held()
            else:
                writer.close(chunk.batch, chunk.resume)
                if writer.n_bytes >= batch_bytes:
                    yield from writer.commit()
        yield from writer.commit()
    finally:
        writer.discard()


class _BatchWriter:
    def __init__(self, lake: Lake, progress: IngestProgress, recent: Recent):
        self._lake, self._progress, self._recent = lake, progress, recent
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._stage = self._new_stage()
        self._resume: ResumePoint | None = None
        self._last = progress.last

    @property
    def n_bytes(self) -> int:
        return self._stage.bytes

    def hold(self, batch: pa.RecordBatch) -> int:
        """Keep rows of an open transaction, and return the bytes kept."""
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if len(self._held) == MOST_SMALL:
            self._held = [pa.concat_batches(self._held)]
        return self._held_bytes

    def stage_held(self) -> None:
        for batch in self._held:
            self._stage.add(batch)
        self._forget_held()

    def _forget_held(self) -> None:
        self._held, self._held_bytes = [], 0

    def drop_open(self) -> None:
        """Forget the rows of the open transaction. Those that are staged have a stage of their own."""
        self._forget_held()
        if self._resume is None:
            self._stage.discard()
            self._stage = self._new_stage()

    def close(self, batch: pa.RecordBatch, resume: ResumePoint) -> None:
        self.stage_held()
        self._resume = resume
        if batch.num_rows:
            self._stage.add(batch)
            self._last = EventMark.of_last(batch)

    def commit(self) -> Iterator[IngestedBatch]:
        """Commit the complete groups, if there are any."""
        if self._resume is None:
            return
        stage, resume, lake, before = self._stage, self._resume, self._lake, self._progress
        lsns = LsnRange(before.lsn, resume.lsn)
        gtids, skip = (parse_gtid_state(lake.flavor, text) for text in (resume.gtids, resume.skip))
        notes: dict[str, Any] = {SERVER: before.server, SKIP: resume.skip} if before.incarnation else {}
        notes |= {KNOWS_BEFORE: True} if before.knows_before else {}
        payload = lake.payload(
            HOP, **lsns.to_json(), resume=str(resume.position), gtids=resume.gtids,
            last=str(self._last), events=stage.rows, **notes,
        )  # fmt: skip
        rows = lake.staged(stage, table.COLUMNS)
        recorded = append_from(
            lake.spark, lake.names.bronze_events, rows, expected=before.recorded, new_lsn=lsns.to, payload=payload
        )
        stage.discard()
        self._resume, self._stage = None, self._new_stage()
        self._progress = replace(
            before, recorded=recorded, position=resume.position, gtids=gtids, skip=skip, last=self._last
        )
        self._recent.put(RecentCommit(lsns, stage.batches))
        yield IngestedBatch(lsns, stage.rows, stage.bytes, self._progress)

    def discard(self) -> None:
        self._stage.discard()

    def _new_stage(self) -> Stage:
        return Stage(self._lake.names.staging(HOP), EVENT_SCHEMA, keep_bytes=self._recent.keep_bytes)
