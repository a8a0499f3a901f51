"""Finding a GTID's place in the log: what a file says of those before it, and the first transaction not seen yet."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mirrorlake.core.binlog.events import (
    parse_gtid_list,
    parse_mariadb_gtid,
    parse_mysql_gtid,
    parse_previous_gtids,
    parse_tagged_gtid,
)
from mirrorlake.core.binlog.framing import EventBlock
from mirrorlake.core.constants import EventType
from mirrorlake.core.gtid import GtidSet, MariadbGtidSet, MysqlGtidSet

_GTID_TYPES = (EventType.GTID, EventType.GTID_TAGGED, EventType.MARIADB_GTID)
PARSE_LIST: dict[int, Callable[[bytes], GtidSet]] = {
    EventType.PREVIOUS_GTIDS: parse_previous_gtids,
    EventType.MARIADB_GTID_LIST: parse_gtid_list,
}
"""Of the events that list the transactions of all earlier files."""


def gtids_before_file(first_block: EventBlock) -> GtidSet | None:
    """The transactions of all earlier files, as the first events of a file list them; None: this file has no list."""
    for i, event_type in enumerate(first_block.events.event_type.tolist()):
        if event_type in PARSE_LIST:
            return PARSE_LIST[event_type](first_block.body(i))
    return None


def first_missing(block: EventBlock, gtids: GtidSet) -> int | None:
    """Index of the first GTID event whose transaction is not in ``gtids``."""
    found = np.flatnonzero(np.isin(block.events.event_type, _GTID_TYPES))
    return next((i for i in found.tolist() if not gtids.contains(_single(block, i))), None)


def _single(block: EventBlock, i: int) -> GtidSet:
    if block.events.event_type[i] == EventType.MARIADB_GTID:
        last = parse_mariadb_gtid(block.body(i), int(block.events.server_id[i]))
        return MariadbGtidSet({last.domain: (last.server, last.sequence)})
    parse = parse_tagged_gtid if block.events.event_type[i] == EventType.GTID_TAGGED else parse_mysql_gtid
    gtid = parse(block.body(i))
    return MysqlGtidSet({gtid.source: [(gtid.number, gtid.number + 1)]})
