"""``control_epochs``: the plan of each step of gold and its end.

    1. plan row     append_from: of two planners one continues; fixes the lsn range and the tables
    2. the work     each table's own commit carries lsn_to, so a table that has it is skipped when the epoch is repeated
    3. done row     with every table's Delta version; the next plan row may share its commit

After a crash the newest row says what to do: a plan without its done row is executed again.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass, replace

import pyarrow as pa

from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.lake.delta.damaged_rows import own_rows, reading
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import Progress, append_from, claim_source, read_progress, renew
from mirrorlake.lake.gold.control.table import EPOCHS_COLUMNS

HOP = "apply"
ROWS, DDL, ANSWER = "rows", "ddl", "answer"
PLAN, DONE = "plan", "done"

TABLE_STRUCT = pa.struct(
    [("database", pa.string()), ("table", pa.string()), ("mirror_id", pa.string()), ("version", pa.int64())]
)
_ROW_SCHEMA = pa.schema(
    [
        ("epoch", pa.int64()),
        ("phase", pa.string()),
        ("kind", pa.string()),
        ("lsn_from", pa.int64()),
        ("lsn_to", pa.int64()),
        ("tables", pa.list_(TABLE_STRUCT)),
        ("at", pa.timestamp("us", "UTC")),
    ]
)


@dataclass(frozen=True, slots=True)
class EpochTable:
    """version: the Delta version of the mirror, before the work in a plan row, after it in a done row; None: no
    mirror."""

    database: str
    table: str
    mirror_id: str
    version: int | None = None

    @property
    def name(self) -> TableName:
        return TableName(self.database, self.table)


@dataclass(frozen=True, slots=True)
class Epoch:
    """Changes (kind rows) or barriers (kind ddl) of a range, or both for one table (kind answer), up to the lsn of all
    mirrors."""

    number: int
    kind: str
    lsns: LsnRange
    tables: tuple[EpochTable, ...] = ()


class EpochLog:
    """The chain of plan and done rows; continues from its newest row.

    answers: number of the operator's answers that count; recorded with the next row.
    """

    def __init__(self, lake: Lake):
        self._lake = lake
        self._recorded: Progress | None = read_progress(lake.spark, lake.names.control_epochs)
        claim_source(self._recorded, lake.source)
        self.answers = self._recorded.payload.get("answers", 0) if self._recorded else 0
        self.open = self._read_open()
        self._done: Epoch | None = None

    @property
    def applied_lsn(self) -> int:
        """Every mirror has everything up to here; -1: nothing."""
        if self._done:
            return self._done.lsns.to
        return self._recorded.payload["applied_lsn"] if self._recorded else -1

    @property
    def next_number(self) -> int:
        last = self._done.number if self._done else self._recorded.payload["epoch"] if self._recorded else 0
        return last + 1

    def renew(self) -> None:
        """See ``progress.renew``."""
        self._recorded = renew(self._lake.spark, self._lake.names.control_epochs, self._recorded)

    def plan(self, epoch: Epoch) -> None:
        """Record the plan, and the end of the epoch before it. Raises RefusedError ``lake-writer``."""
        rows = ([(DONE, self._done)] if self._done else []) + [(PLAN, epoch)]
        self._append(rows, epoch.number, applied_lsn=self.applied_lsn)
        self.open, self._done = epoch, None

    def finish(self, tables: tuple[EpochTable, ...]) -> None:
        """The open epoch's work is committed; ``flush`` or the next ``plan`` records it."""
        self._done, self.open = replace(self.open, tables=tables), None

    def flush(self) -> None:
        """Record the end of the last epoch."""
        if self._done:
            done, self._done = self._done, None
            self._append([(DONE, done)], done.number, applied_lsn=done.lsns.to)

    def _append(self, rows: list[tuple[str, Epoch]], number: int, applied_lsn: int) -> None:
        now = dt.datetime.now(dt.timezone.utc)
        cells = [
            {
                "epoch": e.number, "phase": phase, "kind": e.kind, **e.lsns.to_json(),
                "tables": [asdict(table) for table in e.tables], "at": now,
            }
            for phase, e in rows
        ]  # fmt: skip
        lake, is_open = self._lake, rows[-1][0] == PLAN
        frame = lake.spark.createDataFrame(pa.Table.from_pylist(cells, schema=_ROW_SCHEMA), EPOCHS_COLUMNS)
        self._recorded = append_from(
            lake.spark, lake.names.control_epochs, frame, expected=self._recorded, new_lsn=rows[-1][1].lsns.to,
            payload=lake.payload(
                HOP, epoch=number, applied_lsn=applied_lsn, is_open=is_open, answers=self.answers
            ),
        )  # fmt: skip

    def _read_open(self) -> Epoch | None:
        if self._recorded is None or not self._recorded.payload["is_open"]:
            return None
        number = int(self._recorded.payload["epoch"])
        row = (
            own_rows(self._lake, "control_epochs", EPOCHS_COLUMNS)
            .where(f"epoch = {number} AND phase = '{PLAN}'")
            .first()
        )
        with reading("control_epochs"):
            tables = tuple(EpochTable(t.database, t.table, t.mirror_id, t.version) for t in row.tables)
            return Epoch(row.epoch, row.kind, LsnRange(int(row.lsn_from), int(row.lsn_to)), tables)
