"""Find a GTID's position in the log: a file's list of earlier GTIDs, and the first transaction not seen yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from mirrorlake.core.binlog.events import (
    parse_gtid_list,
    parse_mariadb_gtid,
    parse_mysql_gtid,
    parse_previous_gtids,
    parse_tagged_gtid,
)
from mirrorlake.core.binlog.framing import EventBlock
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.core.binlog.transactions import (
    EVENT_ROLES,
    ROLE_IGNORED,
    ROLE_OUTSIDE,
    GroupState,
    add_gtids,
    assign_groups,
)
from mirrorlake.core.constants import IS_GTID, EventType, one_of
from mirrorlake.core.gtid import GtidSet, parse_gtid_set
from mirrorlake.core.mariadb_gtid import MariadbGtidSet
from mirrorlake.core.mysql_gtid import MysqlGtidSet
from mirrorlake.core.position import FIRST_EVENT_OFFSET, BinlogPosition

PARSE_LIST: dict[int, Callable[[bytes], GtidSet]] = {
    EventType.PREVIOUS_GTIDS: parse_previous_gtids,
    EventType.MARIADB_GTID_LIST: parse_gtid_list,
}
"""Parsers of the events that list the transactions of all earlier files."""
LISTS_GTIDS = one_of(*PARSE_LIST)


def gtids_before_file(first_block: EventBlock) -> GtidSet | None:
    """The transactions of all earlier files, as the first events of a file list them; None: this file has no list."""
    for i, event_type in enumerate(first_block.events.event_type.tolist()):
        if event_type in PARSE_LIST:
            return PARSE_LIST[event_type](first_block.body(i))
    return None


def gtids_at(source: BinlogSource, position: BinlogPosition) -> GtidSet:
    """Every transaction before ``position``, as far as its file lists them. Raises what the source raises."""
    head, end = BinlogPosition(position.log_file, FIRST_EVENT_OFFSET), source.current()
    gtids = list_at(source, head, end) or parse_gtid_set(source.flavor, "")
    state = GroupState()
    for block in source.read(head, min(position, end)):
        add_gtids(gtids, block, assign_groups(block, state, 0))
    return gtids


def transactions_between(
    source: BinlogSource, start: BinlogPosition, end: BinlogPosition
) -> Iterator[tuple[str | None, BinlogPosition]]:
    """GTID and position of every transaction that begins between two positions; the first one is between
    transactions."""
    state = GroupState()
    for block in source.read(start, end):
        groups, starts = assign_groups(block, state, 0), block.start_positions
        for first, _ in groups.ranges:
            is_outside = EVENT_ROLES[block.events.event_type[first]] in (ROLE_OUTSIDE, ROLE_IGNORED)
            if groups.lsn[first] == groups.tx_lsn[first] and not is_outside:
                yield groups.gtid(first), BinlogPosition(block.log_file, int(starts[first]))


def list_at(source: BinlogSource, head: BinlogPosition, end: BinlogPosition) -> GtidSet | None:
    """``gtids_before_file`` of the file that begins at ``head``. end: of the log."""
    for block in source.read(head, end):
        listed = gtids_before_file(block)
        if listed is not None or (EVENT_ROLES[block.events.event_type] != ROLE_OUTSIDE).any():
            return listed
    return None


def first_missing(block: EventBlock, gtids: GtidSet) -> int | None:
    """Index of the first GTID event whose transaction is not in ``gtids``."""
    found = np.flatnonzero(IS_GTID[block.events.event_type])
    return next((i for i in found.tolist() if not gtids.contains(_single(block, i))), None)


def last_gtid(block: EventBlock) -> GtidSet | None:
    """The transaction that begins last in a block."""
    found = np.flatnonzero(IS_GTID[block.events.event_type])
    return _single(block, int(found[-1])) if len(found) else None


def lists(listed: GtidSet, last: GtidSet) -> bool:
    """Is the last transaction of a file in the list of the next one? Numbers of MariaDB need not grow."""
    if isinstance(listed, MariadbGtidSet):
        return last.state in listed.state.split(",")
    return listed.contains(last)


def _single(block: EventBlock, i: int) -> GtidSet:
    if block.events.event_type[i] == EventType.MARIADB_GTID:
        last = parse_mariadb_gtid(block.body(i), int(block.events.server_id[i]))
        return MariadbGtidSet({last.domain: (last.server, last.sequence)})
    parse = parse_tagged_gtid if block.events.event_type[i] == EventType.GTID_TAGGED else parse_mysql_gtid
    gtid = parse(block.body(i))
    return MysqlGtidSet({gtid.source: [(gtid.number, gtid.number + 1)]})
