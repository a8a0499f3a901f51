"""XA transactions that are prepared first: their row changes happen where the log has XA COMMIT.

The server logs the rows in a group that XA_PREPARE ends, and later, perhaps in another file and after a restart, a
group with nothing but XA COMMIT or XA ROLLBACK (measured on MySQL 9.7 and MariaDB 10.11):

    MySQL     GTID, QUERY "XA START xid", rows, QUERY "XA END xid", XA_PREPARE .. GTID, QUERY "XA COMMIT xid"
    MariaDB   GTID, rows, QUERY "XA END xid", XA_PREPARE                       .. GTID, QUERY "XA COMMIT xid"

Until then no DDL on its tables is possible, so their definitions are the same at both positions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.binlog.byte_reader import ByteReader
from mirrorlake.core.binlog.events import parse_query
from mirrorlake.core.changes.bronze_events import BronzeEvents
from mirrorlake.core.constants import EventType
from mirrorlake.errors import RefusedError

STAYING = (EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED)
"""Events that a hidden group keeps: those of XA COMMIT have its time."""

MOST_PREPARED = 1 << 16
"""Transactions that wait at once: each commit of silver notes their xids, which have up to 128 bytes."""

_MAX_PART_BYTES = 64
_HEX = f"X'((?:[0-9A-Fa-f]{{2}}){{0,{_MAX_PART_BYTES}}})'"
_FINISH = re.compile(rf"XA (COMMIT|ROLLBACK) {_HEX},{_HEX},(-?[0-9]{{1,10}})")


class Move(NamedTuple):
    """The events of the group that begins at ``prepared`` replace the XA COMMIT at ``lsn``, and get its time."""

    prepared: int
    lsn: int
    tx_lsn: int
    gtid: str | None
    event_ts: datetime


@dataclass(frozen=True, slots=True)
class XaPlan:
    """hidden: tx_lsn of the groups that are not decoded at their position. prepared: xid -> tx_lsn of each transaction
    that waits for its XA COMMIT at the end."""

    hidden: tuple[int, ...]
    moves: tuple[Move, ...]
    prepared: dict[str, int]

    @property
    def is_empty(self) -> bool:
        return not self.hidden


def plan_xa(events: Iterable[pa.RecordBatch], prepared: Mapping[str, int], *, ignore_unknown: bool = False) -> XaPlan:
    """Plan a range. events: whole groups in order; at least its QUERY and XA_PREPARE events, opened.

    prepared: transactions that wait at its start. An xid that is prepared again was lost in between, in a crash of the
    server. ignore_unknown: transactions prepared before the range do not matter. Raises RefusedError
    ``xa-not-prepared`` for an XA COMMIT of an unknown one, ``log-event``.
    """
    open_, hidden, moves = dict(prepared), [], []
    for batch in events:
        if not batch.num_rows:
            continue
        found = BronzeEvents(batch)
        for i in _candidates(batch, found):
            try:
                verb, xid = _read(found, i)
            except RefusedError as error:
                raise RefusedError(error.code, error.message, position=found.position(i)) from None
            if verb is None:
                continue
            tx_lsn = int(found.tx_lsn[i])
            hidden.append(tx_lsn)
            if verb == "PREPARE":
                open_[xid] = tx_lsn
                if len(open_) > MOST_PREPARED:
                    what = f"more than {MOST_PREPARED:,} prepared XA transactions wait for their XA COMMIT"
                    raise RefusedError("log-event", what, position=found.position(i))
                continue
            group = open_.pop(xid, None)
            if verb == "COMMIT":
                if group is None and ignore_unknown:
                    continue
                if group is None:
                    raise RefusedError("xa-not-prepared", f"XA COMMIT {xid}", position=found.position(i))
                at = (int(found.lsn[i]), tx_lsn, found.gtid[i].as_py(), batch.column("event_ts")[i].as_py())
                moves.append(Move(group, *at))
    return XaPlan(tuple(hidden), tuple(moves), open_)


def _candidates(batch: pa.RecordBatch, events: BronzeEvents) -> list[int]:
    queries = np.flatnonzero(events.event_type == EventType.QUERY)
    is_xa = pc.match_substring(batch.column("raw").take(pa.array(queries)), b"XA ")
    queries = queries[is_xa.to_numpy(zero_copy_only=False)]
    prepares = np.flatnonzero(events.event_type == EventType.XA_PREPARE)
    return np.sort(np.concatenate([queries, prepares])).tolist()


def _read(events: BronzeEvents, i: int) -> tuple[str | None, str]:
    """Return (PREPARE, COMMIT or ROLLBACK, and the xid); None: another statement, or one phase."""
    body = events.body(i)
    if events.event_type[i] == EventType.XA_PREPARE:
        return _parse_prepare(body)
    query = parse_query(body)
    if not query.statement.startswith(("XA COMMIT", "XA ROLLBACK")):
        return None, ""
    match = _FINISH.fullmatch(query.statement)
    if match is None or not query.is_in_force:
        raise RefusedError("log-event", "an XA COMMIT or XA ROLLBACK cannot be read")
    return match[1], _xid(bytes.fromhex(match[2]), bytes.fromhex(match[3]), int(match[4]))


def _parse_prepare(body: bytes) -> tuple[str | None, str]:
    """u8 whether it also commits, u32 format id, u32 length of the global part of the xid, u32 of the branch, both."""
    reader = ByteReader(body, "XA_PREPARE event")
    is_one_phase, format_id, global_bytes, branch_bytes = (reader.uint(n) for n in (1, 4, 4, 4))
    if max(global_bytes, branch_bytes) > _MAX_PART_BYTES:
        raise reader.malformed("its xid is longer than any")
    xid = _xid(reader.take(global_bytes), reader.take(branch_bytes), format_id)
    if not reader.at_end:
        raise reader.malformed("it continues after its fields")
    return None if is_one_phase else "PREPARE", xid


def _xid(global_part: bytes, branch: bytes, format_id: int) -> str:
    return f"X'{global_part.hex()}',X'{branch.hex()}',{format_id & 0xFFFFFFFF}"
