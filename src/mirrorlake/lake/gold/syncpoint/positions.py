"""Find what the source had committed at an lsn, and where in the log a GTID set or a position is reached.

Every commit of bronze notes the set at its end, so only the events of one commit are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from pyspark.sql import functions as F

from mirrorlake.core.binlog.events import parse_gtid_list, parse_previous_gtids
from mirrorlake.core.constants import EventType
from mirrorlake.core.gtid import GtidSet, parse_gtid_set, parse_gtid_state
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.position import BinlogPosition, pack_lsn, parse_start, unpack_lsn
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.notes import read_notes
from mirrorlake.lake.delta.progress import read_progress

_HEADER, _CHECKSUM = 19, 4  # bytes around an event's body


@dataclass(frozen=True, slots=True)
class _Mark:
    """The end of one bronze commit. lsn -1: where the lake's log begins."""

    lsn: int
    gtids: GtidSet


def gtids_at(lake: Lake, lsn: int) -> GtidSet:
    """The transactions whose last event is at or before ``lsn``, and those before the lake's log began."""
    until = None
    for mark in _marks(lake):
        if mark.lsn <= lsn:
            break
        until = mark.lsn
    gtids = mark.gtids.copy()
    for gtid, end in _groups(lake, mark.lsn, until) if mark.lsn < lsn else ():
        if end <= lsn:
            gtids.add_one(gtid)
    return gtids


def noted_lsn(lake: Lake, lsn: int) -> int:
    """The end of the newest bronze commit at or before ``lsn``, after which ``gtids_at(lake, lsn)`` reads the log; -1:
    all of it."""
    return next(mark.lsn for mark in _marks(lake) if mark.lsn <= lsn)


def end_at(lake: Lake, position: str) -> int | None:
    """The lsn at which a GTID set or FILE:POS is reached, see ``end_of`` and ``end_before``."""
    parsed = parse_start(position, lake.flavor)
    if isinstance(parsed, BinlogPosition):
        return end_before(lake, parsed)
    return end_of(lake, parse_gtid_set(lake.flavor, position))


def end_of(lake: Lake, wanted: GtidSet) -> int | None:
    """lsn of the event that completes ``wanted``; None when bronze has no such event (yet)."""
    until = None
    for mark in _marks(lake):
        if mark.gtids.contains(wanted):
            until = mark.lsn
            continue
        left = wanted.minus(mark.gtids)
        for gtid, end in _groups(lake, mark.lsn, until) if until is not None else ():
            left.reach(gtid)
            if not left:
                return end
        return None
    return None


def end_before(lake: Lake, position: BinlogPosition) -> int | None:
    """lsn of the last event whose transaction ends before a position of the server that bronze follows, or one before
    the first event that it has; None if bronze has not reached that position (yet)."""
    recorded = read_progress(lake.spark, lake.names.bronze_events)
    if recorded is None or BinlogPosition.parse(recorded.payload["resume"]) < position:
        return None
    behind = pack_lsn(unpack_lsn(recorded.lsn)[0], position.file_number, position.offset)
    events = lake.spark.table(lake.names.bronze_events)
    within = events.where(f"lsn >= {behind} AND tx_lsn < {behind}").agg(F.min("tx_lsn")).first()[0]
    last = events.where(f"lsn < {int(within or behind)}").agg(F.max("lsn")).first()[0]
    return behind - 1 if last is None else last


def is_same_position(lake: Lake, lsn: int, later: int) -> bool:
    """Is there no event between the two?"""
    between = LsnRange(lsn, later)
    return between.is_empty or lake.spark.table(lake.names.bronze_events).where(between.condition).isEmpty()


def _marks(lake: Lake) -> Iterator[_Mark]:
    """Yield ends of commits, newest first; the last one is where the log begins."""
    for note, is_undone in read_notes(lake.spark, lake.names.bronze_events):
        if note["lsn"] is not None and not is_undone:
            yield _Mark(note["lsn"], parse_gtid_state(lake.flavor, note["payload"]["gtids"]))
    yield _Mark(-1, _gtids_before_the_log(lake))


def _gtids_before_the_log(lake: Lake) -> GtidSet:
    """The GTID set of the list at the log's head; empty if the log begins with a transaction."""
    is_list = F.col("event_type").isin(int(EventType.PREVIOUS_GTIDS), int(EventType.MARIADB_GTID_LIST))
    events = lake.spark.table(lake.names.bronze_events).where(is_list | F.col("gtid").isNotNull())
    first = events.orderBy("lsn").select("gtid", "raw", "crc_ok").first()
    if first is None or first.gtid is not None:
        return parse_gtid_set(lake.flavor, "")
    body = bytes(first.raw)[_HEADER : len(first.raw) - (0 if first.crc_ok is None else _CHECKSUM)]
    return parse_gtid_list(body) if lake.flavor == "mariadb" else parse_previous_gtids(body)


def _groups(lake: Lake, after: int, until: int | None) -> list[tuple[str, int]]:
    """Return (GTID, lsn of the last event) of each transaction after one lsn and up to another, in log order."""
    events = lake.spark.table(lake.names.bronze_events).where(f"lsn > {after} AND gtid IS NOT NULL")
    events = events if until is None else events.where(f"lsn <= {until}")
    ends = events.groupBy("tx_lsn").agg(F.first("gtid").alias("gtid"), F.max("lsn").alias("lsn"))
    return [(row.gtid, row.lsn) for row in sorted(ends.collect(), key=attrgetter("lsn"))]
