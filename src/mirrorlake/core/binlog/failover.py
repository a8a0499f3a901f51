"""Find where the log of another server continues after the known transactions.

GTIDs, not files and offsets, identify transactions. From the head of a file on, the other log has *known*
transactions, which are left out, and new ones:

    MySQL     known: the GTID is in the set. A replica may reorder independent transactions, so new ones of the same
              server may be between known ones; those of another server would be too late, and are refused
    MariaDB   known: in its domain, it is at or before the last known one, which is found by its whole GTID. Sequence
              numbers may decrease, and domains may interleave differently, but within a domain every replica has the
              order of its source. There, no server of the domain may have another last transaction than the known one

GTIDs are reused after a RESET, and on MariaDB also by unrelated servers. So the newest known transaction must have the
same time, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from mirrorlake.core.binlog.events import original_commit_us
from mirrorlake.core.binlog.gtid_search import list_at, transactions_between
from mirrorlake.core.binlog.overlap import lacking, overlap_of
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.core.constants import EventType
from mirrorlake.core.gtid import GtidSet
from mirrorlake.core.position import BinlogPosition
from mirrorlake.errors import RefusedError


@dataclass(frozen=True, slots=True)
class KnownTransaction:
    """moment: see ``moment_of``."""

    gtid: str
    moment: int | None


@dataclass(frozen=True, slots=True)
class Continuation:
    """start: the head of a file. skip: the known transactions from there on, as ``LogReader`` takes them."""

    start: BinlogPosition
    skip: GtidSet


def find_continuation(source: BinlogSource, known: GtidSet, newest: KnownTransaction) -> Continuation:
    """Find it. known: all transactions so far, from the former server's log; newest: the last of them.

    Raises RefusedError ``failover-gap`` if new transactions are purged from the log, ``failover-diverged`` if a known
    one is not in it or others are between, ``failover-unproven`` if the GTIDs do not decide; what the source raises.
    """
    overlap, heads = overlap_of(known, newest.gtid), source.heads()
    end = behind = source.current()
    for head in reversed(heads):
        overlap.look_back(_listed_at(source, head, end), transactions_between(source, head, behind))
        if overlap.is_whole:
            break
        behind = head
    skip, newest_at = overlap.begin(), None
    for gtid, position in transactions_between(source, head, end) if overlap.left else ():
        if gtid is None:
            raise RefusedError("failover-unproven", "a transaction has no GTID", position=str(position))
        overlap.meet(gtid)
        newest_at = position if gtid == newest.gtid else newest_at
        if not overlap.left:
            break
    if overlap.left:
        raise lacking(overlap.left)
    if newest_at is not None:
        _check_moment(source, newest, newest_at, end)
    return Continuation(head, skip)


def moment_of(flavor: str, event_type: int, body: bytes, next_timestamp: int) -> int | None:
    """A time that distinguishes transactions with equal GTIDs, and is the same on every replica; None: there is none.

    MySQL: when it was committed first, in microseconds, from 8.0 on. MariaDB: when its first statement ran, in seconds,
    which is the timestamp of the event after the GTID; on a replica the GTID's own is that of the last event.
    """
    if flavor == "mariadb":
        return next_timestamp
    return original_commit_us(body) if event_type == EventType.GTID else None


def _check_moment(source: BinlogSource, newest: KnownTransaction, at: BinlogPosition, end: BinlogPosition) -> None:
    events: list[tuple[int, bytes, int]] = []
    for block in source.read(at, end):
        for i in range(min(2 - len(events), len(block.events))):
            events.append((int(block.events.event_type[i]), block.body(i), int(block.events.timestamp[i])))
        if len(events) == 2:
            break
    (event_type, body, _), (_, _, next_timestamp) = events
    moment = moment_of(source.flavor, event_type, body, next_timestamp)
    if None not in (moment, newest.moment) and moment != newest.moment:
        raise RefusedError("failover-diverged", f"{newest.gtid} is another transaction here", position=str(at))


def _listed_at(source: BinlogSource, head: BinlogPosition, end: BinlogPosition) -> GtidSet:
    """The transactions of all files before the one that begins at ``head``."""
    listed = list_at(source, head, end)
    if listed is None:
        raise RefusedError("failover-unproven", "the file has no list of the GTIDs before it", position=str(head))
    return listed
