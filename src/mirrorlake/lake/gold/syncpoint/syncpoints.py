"""``control_syncpoints``: moments of the source at which all mirrors can be read together.

A syncpoint records the end of an epoch: what the source had committed there, and for each mirror the Delta
version with exactly that. The mirrors' own histories have this version, also later, while gold continues.
So one commit after its epoch publishes a syncpoint. It is there or not, and taking it again reads no rows.

phase: requested (by a GTID set or a position that is still ahead), published, missed (gold passed it before it saw the
request), expired (its versions may be deleted). A row for each, by name.
"""

from __future__ import annotations

import datetime as dt
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from mirrorlake.core.gtid import GtidSet
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.position import BinlogPosition, parse_moment
from mirrorlake.core.sql_text import Sql, literal
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.lake.delta.damaged_rows import own_rows, reading
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import Progress, append_from, read_progress, renew
from mirrorlake.lake.gold.control.epochs import TABLE_STRUCT, EpochTable
from mirrorlake.lake.gold.control.register import STREAMING, TableRegister
from mirrorlake.lake.gold.control.table import SYNCPOINTS_COLUMNS
from mirrorlake.lake.gold.control.versions import version_at
from mirrorlake.lake.gold.syncpoint.positions import gtids_at

HOP = "apply/syncpoints"
REQUESTED, PUBLISHED, MISSED, EXPIRED = "requested", "published", "missed", "expired"
NEWEST = "newest"
THREADS = 4
LOOK_BACK_BYTES = 1 << 28
"""Bytes of log before a syncpoint in which the time of its last transaction is looked for first."""
_OF_AN_LSN = re.compile("lsn-[0-9]+")
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,99}")
_ROW_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("phase", pa.string()),
        ("lsn", pa.int64()),
        ("gtids", pa.string()),
        ("commit_ts", pa.timestamp("us", "UTC")),
        ("tables", pa.list_(TABLE_STRUCT)),
        ("at", pa.timestamp("us", "UTC")),
    ]
)


@dataclass(frozen=True, slots=True)
class Syncpoint:
    """lsn: every mirror has everything up to here and nothing after it. gtids: what the source had committed there;
    for a request: what it waits for, a position as FILE:POS. commit_ts: when the source committed the last of it. at:
    when the row was written.
    """

    name: str
    phase: str
    gtids: str
    lsn: int | None = None
    commit_ts: dt.datetime | None = None
    tables: tuple[EpochTable, ...] = ()
    at: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.timezone.utc))


def take(lake: Lake, lsn: int, name: str | None = None, *, is_new: bool = False) -> Syncpoint:
    """Publish the syncpoint at the end of an epoch that is done, or find it published; the name identifies it.

    name: else at most one for each lsn. is_new: the name must not be known yet, else UsageError ``syncpoint``.
    """
    there = _in_phase(lake, PUBLISHED, (EXPIRED,), where=f"lsn = {lsn}") if name is None else []
    if there:
        return there[0]
    tables = _versions(lake, lsn)
    point = Syncpoint(name or f"lsn-{lsn}", PUBLISHED, str(gtids_at(lake, lsn)), lsn, _commit_ts(lake, lsn), tables)
    return _record(lake, point, is_new)


def request(lake: Lake, name: str, position: GtidSet | BinlogPosition) -> Syncpoint:
    """Request a syncpoint at a GTID set or a position: the apply hop ends an epoch there.

    Raises UsageError ``syncpoint`` for a name that is taken or is none.
    """
    return _record(lake, Syncpoint(name, REQUESTED, str(position)), is_new=True)


def miss(lake: Lake, asked: Syncpoint) -> Syncpoint:
    """Mark a request as missed: no epoch of gold ended there."""
    return _record(lake, Syncpoint(asked.name, MISSED, asked.gtids))


def expire(lake: Lake, *, days: int) -> list[str]:
    """Expire those published more than ``days`` ago, but not the newest, and return their names."""
    last = dt.datetime.now(dt.timezone.utc) - dt.timedelta(days=days)
    while True:
        expected = _progress(lake)
        old = [point for point in published(lake)[:-1] if point.at < last]
        rows = [Syncpoint(point.name, EXPIRED, point.gtids, point.lsn) for point in old]
        if not rows or _append(lake, rows, expected):
            return [point.name for point in rows]


def pinned_days(lake: Lake) -> dict[str, int]:
    """Return mirror id -> days for which its old versions are needed."""
    now, days = dt.datetime.now(dt.timezone.utc), dict[str, int]()
    for point in published(lake):
        for table in point.tables:
            days[table.mirror_id] = max(days.get(table.mirror_id, 0), (now - point.at).days + 2)
    return days


def published(lake: Lake) -> list[Syncpoint]:
    """The syncpoints that can be read, in log order."""
    return sorted(_in_phase(lake, PUBLISHED, (EXPIRED,)), key=lambda point: point.lsn or 0)


def waiting(lake: Lake) -> list[Syncpoint]:
    """Requests that are neither published nor missed."""
    return _in_phase(lake, REQUESTED, (PUBLISHED, MISSED))


def missed(lake: Lake) -> list[Syncpoint]:
    return _in_phase(lake, MISSED, ())


def find(lake: Lake, text: str) -> Syncpoint:
    """Find a syncpoint by name, by lsn, or the last one whose transactions were committed at or before a time of the
    source. ``newest``, if none has this name: the last one in the log.

    Raises UsageError ``syncpoint``.
    """
    kept = published(lake)
    moment = parse_moment(text)
    if moment:
        found = [point for point in kept if point.commit_ts and point.commit_ts <= moment]
    else:
        found = [point for point in kept if text in (point.name, str(point.lsn))] or (kept if text == NEWEST else [])
    if not found:
        raise UsageError("syncpoint", f"there is no syncpoint {'at or before ' if moment else ''}{text}")
    return found[-1]


def _versions(lake: Lake, lsn: int) -> tuple[EpochTable, ...]:
    """Each mirror's version at ``lsn``; none for a mirror that others have changed."""
    entries = [entry for entry in TableRegister.read(lake, up_to=lsn) if entry.state == STREAMING]
    with ThreadPoolExecutor(THREADS) as pool:
        versions = pool.map(lambda entry: version_at(lake.spark, lake.names.mirror(entry.mirror_id), lsn), entries)
        found = [EpochTable(*e.name, e.mirror_id, version) for e, version in zip(entries, versions, strict=True)]
    return tuple(table for table in found if table.version is not None)


def _commit_ts(lake: Lake, lsn: int) -> dt.datetime | None:
    silver = lake.names.silver_changes
    for first in (lsn - LOOK_BACK_BYTES, -1):
        ends = f"SELECT max_by(commit_ts, lsn) AS at FROM {silver} WHERE {LsnRange(first, lsn).condition}"
        (found,) = lake.spark.sql(f"{ends} AND op IN ('COMMIT', 'DDL')").toArrow()["at"].to_pylist()
        if found is not None:
            return found
    return None


def _record(lake: Lake, point: Syncpoint, is_new: bool = False) -> Syncpoint:
    """Append the row of a phase, once for each name, and return the recorded row, of whichever process."""
    if not _NAME.fullmatch(point.name):
        raise UsageError("syncpoint", "a name begins with a letter and has letters, digits and . _ - only")
    if is_new and _OF_AN_LSN.fullmatch(point.name):
        raise UsageError("syncpoint", f"{point.name} is what a syncpoint without a name is called; choose another name")
    while True:
        expected = _progress(lake)
        known = _points(_rows(lake).where(f"name = {literal(point.name)}"))
        if known and is_new:
            raise UsageError("syncpoint", f"there is a syncpoint {point.name} already")
        there = [found for found in known if found.phase == point.phase]
        if there or _append(lake, [point], expected):
            return there[0] if there else point


def _progress(lake: Lake) -> Progress | None:
    table = lake.names.control_syncpoints
    return renew(lake.spark, table, read_progress(lake.spark, table))


def _append(lake: Lake, points: list[Syncpoint], expected: Progress | None) -> bool:
    """Append in one commit; false if another process has recorded something meanwhile."""
    rows = pa.Table.from_pylist([asdict(point) for point in points], schema=_ROW_SCHEMA)
    lsn = max([expected.lsn if expected else 0, *(point.lsn or 0 for point in points)])
    try:
        append_from(
            lake.spark, lake.names.control_syncpoints, lake.spark.createDataFrame(rows, SYNCPOINTS_COLUMNS),
            expected=expected, new_lsn=lsn, payload=lake.payload(HOP, phase=points[0].phase),
        )  # fmt: skip
    except RefusedError as error:
        if error.code != "lake-writer":
            raise
        return False
    return True


def _in_phase(lake: Lake, phase: str, unless: tuple[str, ...], where: Sql = "true") -> list[Syncpoint]:
    """Syncpoints whose name has had this phase and none of ``unless``."""
    rows = _rows(lake)
    found = rows.where(rows.phase == phase).where(where)
    return _points(found.join(rows.where(rows.phase.isin(*unless)).select("name"), "name", "left_anti"))


def _rows(lake: Lake) -> DataFrame:
    return own_rows(lake, "control_syncpoints", SYNCPOINTS_COLUMNS)


def _points(rows: DataFrame) -> list[Syncpoint]:
    cells = rows.select(_ROW_SCHEMA.names).toArrow()
    with reading("control_syncpoints"):
        return [_point(row) for row in cells.to_pylist()]


def _point(row: dict[str, Any]) -> Syncpoint:
    """Raises ValueError for a row that lacks a value, or has a version that no table can have."""
    point = Syncpoint(**row | {"tables": tuple(EpochTable(**table) for table in row["tables"] or ())})
    needed = [point.name, point.gtids, point.at, *(value for table in point.tables for value in astuple(table))]
    if None in needed or (point.phase == PUBLISHED and point.lsn is None):
        raise ValueError("a value is missing")
    if any(table.version < 0 for table in point.tables):
        raise ValueError("no version is below zero")
    return point
