"""Find the transaction of every event, and the events after which a resume position is allowed.

An *event group* is what the server writes as one unit: a transaction, or a single statement such as a DDL.

    state     event                                        next      boundary after it
    idle      MySQL GTID (33, 34, 42), MariaDB GTID (162)  opened
    idle      QUERY "BEGIN", "XA START"                    inside
    idle      QUERY, other; TRANSACTION_PAYLOAD            idle      yes
    idle      INTVAR, RAND, USER_VAR                       opened
    idle      FORMAT_DESCRIPTION, ROTATE, STOP, GTID lists,
              BINLOG_CHECKPOINT, HEARTBEAT                 idle      yes
    opened    QUERY "BEGIN", "XA START"                    inside
    opened    QUERY, other (a DDL); TRANSACTION_PAYLOAD    idle      yes
    opened    TABLE_MAP, rows, annotations, LOAD DATA      inside
    inside    XID, QUERY "COMMIT", "ROLLBACK", XA_PREPARE  idle      yes
    inside    QUERY, other; TABLE_MAP; rows; annotations   inside
    opened,   FORMAT_DESCRIPTION, ROTATE, STOP             refused: torn transaction
    inside
    inside    TRANSACTION_PAYLOAD, a GTID                  refused: torn transaction
    idle      TABLE_MAP, rows, XID                         refused: starts inside a transaction
    any       INCIDENT, unknown without the ignorable flag refused

A MariaDB GTID without the standalone flag replaces BEGIN: it goes straight to *inside*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mirrorlake.core.binlog.events import parse_tagged_gtid
from mirrorlake.core.binlog.framing import HEADER_BYTES, EventBlock
from mirrorlake.core.binlog.tagged_gtid import MAX_TAG_BYTES, PARTS_ITEMS, TAG, TAG_BYTES, read_tagged_gtid
from mirrorlake.core.compiling import address_of, call_at
from mirrorlake.core.constants import IS_GTID, EventType
from mirrorlake.core.gtid import GtidSet, MysqlGtidSet
from mirrorlake.core.memory import (
    addresses,
    copy_at,
    gather_bytes,
    item_i64,
    item_u32,
    kernel,
    peek_u8,
    peek_u16,
    peek_u32,
    peek_u64,
    poke_u8,
    poke_u32,
    poke_u64,
)  # fmt: skip
from mirrorlake.core.position import pack_lsn
from mirrorlake.errors import RefusedError

IDLE, OPENED, INSIDE = 0, 1, 2
_MAX_GTID_BYTES = 36 + 1 + MAX_TAG_BYTES + 1 + 20

# Effect of an event on the state; one entry per event type in EVENT_ROLES.
(
    ROLE_UNKNOWN,
    ROLE_OUTSIDE,
    ROLE_MYSQL_GTID,
    ROLE_MARIADB_GTID,
    ROLE_QUERY,
    ROLE_PART,
    ROLE_END,
    ROLE_REFUSED,
    ROLE_IGNORED,
    ROLE_WHOLE,
) = range(10)


def _event_roles() -> np.ndarray:
    roles = np.full(256, ROLE_UNKNOWN, np.uint8)
    # FORMAT_DESCRIPTION, ROTATE, STOP, PREVIOUS_GTIDS, BINLOG_CHECKPOINT, MariaDB GTID_LIST
    roles[[15, 4, 3, 35, 161, 163]] = ROLE_OUTSIDE
    roles[[33, 34, 42]] = ROLE_MYSQL_GTID
    roles[162] = ROLE_MARIADB_GTID
    roles[[2, 165]] = ROLE_QUERY  # also compressed, which BEGIN, COMMIT and ROLLBACK are too short for
    # TABLE_MAP, rows v1 and v2, PARTIAL_UPDATE_ROWS, ROWS_QUERY, ANNOTATE_ROWS, INTVAR, RAND, USER_VAR
    roles[[19, 23, 24, 25, 30, 31, 32, 39, 29, 160, 5, 13, 14]] = ROLE_PART
    roles[166:173] = ROLE_PART  # compressed rows v1 and v2, PARTIAL_ROW_DATA
    roles[[9, 11, 17, 18]] = ROLE_PART  # LOAD DATA in statement format: the file's blocks, then the statement
    roles[[16, 38]] = ROLE_END  # XID, XA_PREPARE
    roles[40] = ROLE_WHOLE  # TRANSACTION_PAYLOAD
    # HEARTBEAT, HEARTBEAT_V2, IGNORABLE, TRANSACTION_CONTEXT, VIEW_CHANGE: no part of a transaction's changes
    roles[[27, 41, 28, 36, 37]] = ROLE_IGNORED
    # Known, and not decoded here: v0 and 5.0 formats, INCIDENT, encryption
    roles[[1, 6, 7, 8, 10, 12, 20, 21, 22, 26, 164]] = ROLE_REFUSED
    return roles


EVENT_ROLES = _event_roles()
_REFUSED_NAMES = {20: "row events of MySQL 5.1's first form", 26: "INCIDENT", 164: "an encrypted log"}
_REFUSED_NAMES |= {21: _REFUSED_NAMES[20], 22: _REFUSED_NAMES[20]}
_REFUSED_NAMES |= dict.fromkeys((1, 6, 7, 8, 10, 12), "an event of MySQL before 5.0")

# Kinds of QUERY event text.
QUERY_OTHER, QUERY_BEGIN, QUERY_END, QUERY_XA_START = range(4)

_OK, _TORN, _STARTS_INSIDE, _UNDECODED, _MALFORMED = range(5)


@dataclass(slots=True)
class GroupState:
    """The state of a reader between two blocks. tx_lsn and gtid are those of the open group."""

    state: int = IDLE
    tx_lsn: int = 0
    gtid: str | None = None


@dataclass(frozen=True, slots=True)
class Groups:
    """The event groups of one block.

    lsn, tx_lsn: int64 per event. is_boundary: bool per event. gtid_index: int32 per event, -1 = none, into the texts
    ``gtid_text[gtid_offsets[k]:gtid_offsets[k + 1]]``: each GTID seen, the one carried in from the block before first.
    gtid_event: int64, the event with GTID k (-1: carried in).
    """

    lsn: np.ndarray
    tx_lsn: np.ndarray
    is_boundary: np.ndarray
    gtid_index: np.ndarray
    gtid_text: np.ndarray
    gtid_offsets: np.ndarray
    gtid_event: np.ndarray

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Return (first, stop) of each group, in order; the last one may be open."""
        edges = [0, *(np.flatnonzero(self.is_boundary) + 1).tolist()]
        edges += [] if edges[-1] == len(self.lsn) else [len(self.lsn)]
        return list(zip(edges, edges[1:], strict=False))

    def gtid(self, i: int) -> str | None:
        """The GTID of the group that event i belongs to."""
        k = self.gtid_index[i]
        return self.gtid_text[self.gtid_offsets[k] : self.gtid_offsets[k + 1]].tobytes().decode() if k >= 0 else None

    def part(self, first: int, stop: int) -> Groups:
        """The groups of events first..stop-1; matches ``EventBlock.part``."""
        if (first, stop) == (0, len(self.lsn)):
            return self
        event = self.gtid_event - first
        return Groups(
            self.lsn[first:stop], self.tx_lsn[first:stop], self.is_boundary[first:stop], self.gtid_index[first:stop],
            self.gtid_text, self.gtid_offsets, np.where((event >= 0) & (event < stop - first), event, -1),
        )  # fmt: skip


@kernel
def query_text_start(start, end):
    """Address of the SQL text of a QUERY event at addresses start..end; -1 when its lengths do not fit. Layout:
    ``events.parse_query``."""
    if start + 32 > end:
        return np.int64(-1)
    database_bytes = np.int64(peek_u8(start + 19 + 8))
    status_bytes = np.int64(peek_u16(start + 19 + 11))
    text = start + 19 + 13 + status_bytes + database_bytes + 1
    return text if text <= end else np.int64(-1)


@kernel
def _starts_with(text, end, n_bytes, word):
    """word: at most 8 bytes as a little-endian number."""
    if end - text < n_bytes:
        return False
    value = np.uint64(0)
    for i in range(n_bytes):
        value |= np.uint64(peek_u8(text + i)) << np.uint64(8 * i)
    return value == word


def _word(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(text, "little"))


_BEGIN, _COMMIT, _ROLLBACK, _XA_START = map(_word, (b"BEGIN", b"COMMIT", b"ROLLBACK", b"XA START"))


@kernel
def query_kind(text, end):
    """The kind of a statement that the servers write themselves, always in upper case: 1 BEGIN, 2 COMMIT or ROLLBACK, 3
    XA START, 0 any other."""
    if end - text == 5 and _starts_with(text, end, 5, _BEGIN):
        return 1
    if end - text == 6 and _starts_with(text, end, 6, _COMMIT):
        return 2
    if end - text == 8 and _starts_with(text, end, 8, _ROLLBACK):
        return 2
    return 3 if _starts_with(text, end, 8, _XA_START) else 0


class _EventArrays(NamedTuple):
    """Arrays of ``EventIndex``."""

    offset: np.ndarray
    event_type: np.ndarray
    length: np.ndarray
    flags: np.ndarray
    lsn: np.ndarray


class _GroupArrays(NamedTuple):
    """Arrays of ``Groups``."""

    tx_lsn: np.ndarray
    is_boundary: np.ndarray
    gtid_index: np.ndarray
    gtid_text: np.ndarray
    gtid_offsets: np.ndarray
    gtid_event: np.ndarray


@kernel
def _hex_digit(value):
    return 48 + value if value < 10 else 87 + value


@kernel
def _put_decimal(o, value):
    digits = 1
    rest = value
    while rest >= np.uint64(10):
        rest //= np.uint64(10)
        digits += 1
    for k in range(digits):
        poke_u8(o + digits - 1 - k, np.uint64(48) + value % np.uint64(10))
        value //= np.uint64(10)
    return o + digits


@kernel
def _put_uuid(o, uuid):
    """uuid: address of 16 bytes."""
    for k in range(16):
        if k == 4 or k == 6 or k == 8 or k == 10:
            poke_u8(o, 45)
            o += 1
        byte = peek_u8(uuid + k)
        poke_u8(o, _hex_digit(byte >> 4))
        poke_u8(o + 1, _hex_digit(byte & 15))
        o += 2
    poke_u8(o, 58)
    return o + 1


@kernel
def _put_mysql_gtid(o, body):
    """flags u8, source uuid 16 bytes, transaction number i64 -> ``uuid:number``"""
    return _put_decimal(_put_uuid(o, body + 1), peek_u64(body + 17))


@kernel
def _put_tagged_gtid(o, body, end, reader, parts):
    """Write ``uuid:tag:number``; -1 if the bytes are malformed. parts: address of the array that ``reader`` fills."""
    number = call_at(reader, body, end, parts, 0, 0, 0)[0]
    if number < 1:
        return np.int64(-1)
    o = _put_uuid(o, parts)
    tag_bytes = item_i64(parts, TAG_BYTES)
    if tag_bytes:
        copy_at(o, item_i64(parts, TAG), tag_bytes)
        poke_u8(o + tag_bytes, 58)
        o += tag_bytes + 1
    return _put_decimal(o, np.uint64(number))


@kernel
def _put_mariadb_gtid(o, event):
    """sequence u64, domain u32, and the server id of the header -> ``domain-server-sequence``"""
    o = _put_decimal(o, np.uint64(peek_u32(event + 19 + 8)))
    poke_u8(o, 45)
    o = _put_decimal(o + 1, np.uint64(peek_u32(event + 5)))
    poke_u8(o, 45)
    return _put_decimal(o + 1, peek_u64(event + 19))


@kernel
def _assign(
    n_events, buf, events, trailer, roles, state, tx_lsn, gtid, first_gtid, groups, tagged_reader, tagged_parts
):  # fmt: skip
    """events, groups: addresses of ``_EventArrays`` and ``_GroupArrays``. tagged_*: see ``_put_tagged_gtid``.

    Returns (error, event, state, tx_lsn, gtid, number of gtids).
    """
    n_gtids = first_gtid
    for i in range(n_events):
        start = buf + item_i64(events.offset, i)
        end = start + item_i64(events.length, i) - trailer
        kind, lsn = np.int64(peek_u8(events.event_type + i)), item_i64(events.lsn, i)
        role = peek_u8(roles + kind)
        ends_group = False
        if end < start + 19:
            return 4, i, state, tx_lsn, gtid, n_gtids
        if role == 0 and not peek_u16(events.flags + 2 * i) & 0x80:
            return 3, i, state, tx_lsn, gtid, n_gtids
        if role == 7:
            return 3, i, state, tx_lsn, gtid, n_gtids
        if role == 1:
            if state != 0:
                return 1, i, state, tx_lsn, gtid, n_gtids
            ends_group = True
        elif role == 2 or role == 3:
            if state != 0:
                return 1, i, state, tx_lsn, gtid, n_gtids
            tx_lsn = lsn
            written = o = groups.gtid_text + np.int64(item_u32(groups.gtid_offsets, n_gtids))
            if role == 2:
                if end < start + 19 + 25:
                    return 4, i, state, tx_lsn, gtid, n_gtids
                gtid = -1
                if kind == 33:
                    o = _put_mysql_gtid(o, start + 19)
                elif kind == 42:
                    o = _put_tagged_gtid(o, start + 19, end, tagged_reader, tagged_parts)
                    if o < 0:
                        return 4, i, state, tx_lsn, gtid, n_gtids
                state = 1
            else:
                if end < start + 19 + 13:
                    return 4, i, state, tx_lsn, gtid, n_gtids
                o = _put_mariadb_gtid(o, start)
                state = 1 if peek_u8(start + 19 + 12) & np.uint8(1) else 2
            if o > written:
                gtid = n_gtids
                poke_u64(groups.gtid_event + 8 * n_gtids, i)
                n_gtids += 1
                poke_u32(groups.gtid_offsets + 4 * n_gtids, o - groups.gtid_text)
        elif role == 4:
            text = query_text_start(start, end)
            if text < 0:
                return 4, i, state, tx_lsn, gtid, n_gtids
            statement = query_kind(text, end)
            if state == 0:
                tx_lsn = lsn
                gtid = -1
            if statement == 1 or statement == 3:
                state = 2
            elif statement == 2 or state != 2:
                ends_group = True
        elif role == 5:
            # INTVAR, RAND and USER_VAR lead a standalone statement; the others are inside a transaction
            leads = kind == 5 or kind == 13 or kind == 14
            if state == 0 and not leads:
                return 2, i, state, tx_lsn, gtid, n_gtids
            if state == 0:
                tx_lsn = lsn
                gtid = -1
                state = 1
            if not leads:
                state = 2
        elif role == 6:
            if state == 0:
                return 2, i, state, tx_lsn, gtid, n_gtids
            ends_group = True
        elif role == 9:
            if state == 2:
                return 1, i, state, tx_lsn, gtid, n_gtids
            if state == 0:
                tx_lsn = lsn
                gtid = -1
            ends_group = True
        if state == 0 and role != 4 and role != 9:
            poke_u64(groups.tx_lsn + 8 * i, lsn)
            poke_u32(groups.gtid_index + 4 * i, -1)
            poke_u8(groups.is_boundary + i, True)
        else:
            poke_u64(groups.tx_lsn + 8 * i, tx_lsn)
            poke_u32(groups.gtid_index + 4 * i, gtid)
            poke_u8(groups.is_boundary + i, ends_group)
        if ends_group:
            state = 0
            gtid = -1
    return 0, 0, state, tx_lsn, gtid, n_gtids


def assign_groups(block: EventBlock, carried: GroupState, incarnation: int) -> Groups:
    """Find the groups of a block's events and move ``carried`` to the state after it.

    Raises RefusedError ``log-event``, ``log-incident``, ``torn-transaction``, ``log-starts-inside-transaction``.
    """
    events, n = block.events, len(block.events)
    start = pack_lsn(incarnation, block.position(0).file_number, block.start_pos) if n else 0
    if n:
        pack_lsn(incarnation, block.position(0).file_number, block.end_pos)  # refuses an offset beyond the lsn's range
    lsn = start + (block.start_positions - block.start_pos)
    n_carried = 1 if carried.gtid else 0
    gtid_bytes = (carried.gtid or "").encode()
    max_gtids = n_carried + int(IS_GTID[events.event_type].sum())
    text = np.zeros(len(gtid_bytes) + _MAX_GTID_BYTES * (max_gtids + 1), np.uint8)
    text[: len(gtid_bytes)] = np.frombuffer(gtid_bytes, np.uint8)
    offsets = np.zeros(max_gtids + 2, np.int32)
    offsets[n_carried] = len(gtid_bytes)
    found = _GroupArrays(
        np.empty(n, np.int64), np.empty(n, np.bool_), np.empty(n, np.int32), text, offsets,
        np.full(max_gtids + 1, -1, np.int64),
    )  # fmt: skip
    has_tagged = (events.event_type == EventType.GTID_TAGGED).any()
    tagged_parts = np.empty(PARTS_ITEMS, np.int64)
    error, i, state, open_tx_lsn, open_gtid, n_gtids = _assign(
        n, block.buf.ctypes.data,
        addresses(_EventArrays(events.offset, events.event_type, events.length, events.flags, lsn)),
        block.trailer_bytes, EVENT_ROLES.ctypes.data, carried.state, carried.tx_lsn, n_carried - 1, n_carried,
        addresses(found), address_of(read_tagged_gtid) if has_tagged else 0, tagged_parts.ctypes.data,
    )  # fmt: skip
    if error:
        raise _refusal(error, block, int(i))
    carried.state, carried.tx_lsn = int(state), int(open_tx_lsn)
    carried.gtid = (
        text[offsets[open_gtid] : offsets[open_gtid + 1]].tobytes().decode()
        if state != IDLE and open_gtid >= 0
        else None
    )
    return Groups(
        lsn, found.tx_lsn, found.is_boundary, found.gtid_index, text, offsets[: n_gtids + 1], found.gtid_event[:n_gtids]
    )


def add_gtids(gtids: GtidSet, block: EventBlock, groups: Groups) -> None:
    """Add the GTIDs that the block's events carry to a set."""
    holders = groups.gtid_event[groups.gtid_event >= 0]
    if isinstance(gtids, MysqlGtidSet):
        is_tagged = block.events.event_type[holders] == EventType.GTID_TAGGED
        for i in holders[is_tagged].tolist():
            gtid = parse_tagged_gtid(block.body(i))
            gtids.add(gtid.source, gtid.number)
        holders = holders[~is_tagged]
    if not len(holders):
        return
    at = block.events.offset[holders] + HEADER_BYTES
    if isinstance(gtids, MysqlGtidSet):
        numbers = _gather(block.buf, at + 17, 8).view("<i8").ravel()
        gtids.update_groups(_gather(block.buf, at + 1, 16), numbers)
    else:
        sequence_domain = _gather(block.buf, at, 12)
        servers = _gather(block.buf, at - HEADER_BYTES + 5, 4).view("<u4").ravel()
        domains = sequence_domain[:, 8:].copy().view("<u4").ravel()
        gtids.update_groups(domains, servers, sequence_domain[:, :8].copy().view("<i8").ravel())


def _gather(buf: np.ndarray, start: np.ndarray, n_bytes: int) -> np.ndarray:
    """uint8[len(start), n_bytes]"""
    out = np.empty((len(start), n_bytes), np.uint8)
    gather_bytes(buf, start, np.full(len(start), n_bytes), out.ravel())
    return out


def _refusal(error: int, block: EventBlock, i: int) -> RefusedError:
    position, event_type = str(block.position(i)), int(block.events.event_type[i])
    if error == _TORN:
        return RefusedError("torn-transaction", "the log's file ends inside a transaction", position=position)
    if error == _STARTS_INSIDE:
        return RefusedError(
            "log-starts-inside-transaction", "a row event comes before any transaction begins", position=position
        )
    if error == _MALFORMED:
        return RefusedError("log-event", f"an event of type {event_type} is shorter than its fields", position=position)
    if event_type == 26:
        return RefusedError(
            "log-incident", "the server logged an INCIDENT: events were lost before this position", position=position
        )
    name = _REFUSED_NAMES.get(event_type, f"event type {event_type}")
    return RefusedError("log-event", f"the log holds {name}, which is not decoded", position=position)
