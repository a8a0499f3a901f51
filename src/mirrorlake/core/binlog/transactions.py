"""Find the transaction of every event, and the events after which a resume position is allowed.

An *event group* is what the server writes as one unit: a transaction, or a single statement such as a DDL.

What an event does depends on its role and on the state before it. The table gives the state after it; *idle* means that
the group has ended, and a resume position is allowed after the event.

    role        idle           opened     inside     events
    OUTSIDE     idle           torn       torn       FORMAT_DESCRIPTION, ROTATE, STOP, GTID lists, BINLOG_CHECKPOINT
    IGNORED     idle           opened     inside     HEARTBEAT and the like; unknown types with the ignorable flag
    GTID        opened         torn       torn       a GTID; of MariaDB with the flag for a standalone statement
    GTID_BEGIN  inside         torn       torn       MariaDB GTID without that flag: it replaces BEGIN
    BEGIN       inside         inside     inside     QUERY "BEGIN", "XA START"
    COMMIT      idle           idle       idle       QUERY "COMMIT", "ROLLBACK"
    STATEMENT   idle           idle       inside     QUERY, other; idle or opened: a DDL
    LEAD        opened         opened     inside     INTVAR, RAND, USER_VAR: a statement follows
    PART        starts inside  inside     inside     TABLE_MAP, rows, annotations, LOAD DATA
    END         starts inside  idle       idle       XID, XA_PREPARE
    WHOLE       idle           idle       torn       TRANSACTION_PAYLOAD
    REFUSED     undecoded      undecoded  undecoded  INCIDENT, formats before MySQL 5.1, encryption, unknown types
    MALFORMED   malformed      malformed  malformed  shorter than its fields

*torn*, *starts inside*, *undecoded* and *malformed* are refusals. ``LogReader`` sees to a crash of MariaDB before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mirrorlake.core.binlog.events import parse_tagged_gtid
from mirrorlake.core.binlog.framing import HEADER_BYTES, SERVER_ID_AT, EventBlock
from mirrorlake.core.binlog.tagged_gtid import MAX_TAG_BYTES, PARTS_ITEMS, TAG, TAG_BYTES, read_tagged_gtid
from mirrorlake.core.constants import IS_GTID, MOST_GTID_PARTS, EventFlag, EventType, MariadbGtidFlag
from mirrorlake.core.gtid import GtidSet
from mirrorlake.core.kernels.compiling import address_of, call_at
from mirrorlake.core.kernels.memory import (
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
from mirrorlake.core.mysql_gtid import NO_MYSQL_NUMBER, MysqlGtidSet
from mirrorlake.core.position import BinlogPosition, pack_lsn
from mirrorlake.errors import RefusedError

IDLE, OPENED, INSIDE, TORN, STARTS_INSIDE, UNDECODED, MALFORMED = range(7)
"""Values of TRANSITIONS: three states, then four refusals."""
N_STATES = 3
_NO_ERROR = 0

(
    ROLE_OUTSIDE, ROLE_IGNORED, ROLE_GTID, ROLE_GTID_BEGIN, ROLE_BEGIN, ROLE_COMMIT, ROLE_STATEMENT, ROLE_LEAD,
    ROLE_PART, ROLE_END, ROLE_WHOLE, ROLE_REFUSED, ROLE_MALFORMED,
) = range(13)  # fmt: skip
_BY_IGNORABLE_FLAG, _BY_STANDALONE_FLAG, _BY_TEXT = range(13, 16)
"""In EVENT_ROLES only: the bytes of the event decide its role."""

TRANSITIONS = np.array(
    [
        (IDLE, TORN, TORN),  # OUTSIDE
        (IDLE, OPENED, INSIDE),  # IGNORED
        (OPENED, TORN, TORN),  # GTID
        (INSIDE, TORN, TORN),  # GTID_BEGIN
        (INSIDE, INSIDE, INSIDE),  # BEGIN
        (IDLE, IDLE, IDLE),  # COMMIT
        (IDLE, IDLE, INSIDE),  # STATEMENT
        (OPENED, OPENED, INSIDE),  # LEAD
        (STARTS_INSIDE, INSIDE, INSIDE),  # PART
        (STARTS_INSIDE, IDLE, IDLE),  # END
        (IDLE, IDLE, TORN),  # WHOLE
        (UNDECODED, UNDECODED, UNDECODED),  # REFUSED
        (MALFORMED, MALFORMED, MALFORMED),  # MALFORMED
    ],
    np.uint8,
)
"""uint8[role, state before]: the state after, or a refusal."""

_MYSQL_GTID_BYTES, _MARIADB_GTID_BYTES = 25, 13
"""Minimum length of a body: up to the transaction number, or the flags."""
_MARIADB_GTID_FLAGS_AT = HEADER_BYTES + 12
_HYPHEN, _COLON = ord("-"), ord(":")
_MAX_GTID_BYTES = 36 + 1 + MAX_TAG_BYTES + 1 + 20

_GTID, _GTID_TAGGED, _MARIADB_GTID = map(int, (EventType.GTID, EventType.GTID_TAGGED, EventType.MARIADB_GTID))
_IGNORABLE, _STANDALONE = int(EventFlag.IGNORABLE), int(MariadbGtidFlag.STANDALONE)

_BEFORE_5_0 = (
    EventType.START_V3, EventType.LOAD, EventType.SLAVE, EventType.CREATE_FILE, EventType.EXEC_LOAD, EventType.NEW_LOAD,
)  # fmt: skip
_FIRST_ROWS = (EventType.PRE_GA_WRITE_ROWS, EventType.PRE_GA_UPDATE_ROWS, EventType.PRE_GA_DELETE_ROWS)
_REFUSED_NAMES: dict[int, str] = {
    EventType.INCIDENT: "INCIDENT",
    EventType.START_ENCRYPTION: "an encrypted log",
    **dict.fromkeys(_FIRST_ROWS, "row events of MySQL 5.1's first form"),
    **dict.fromkeys(_BEFORE_5_0, "an event of MySQL before 5.0"),
}

_ROLES_OF_TYPES: dict[int, tuple[int, ...]] = {
    ROLE_OUTSIDE: (
        EventType.FORMAT_DESCRIPTION, EventType.ROTATE, EventType.STOP, EventType.PREVIOUS_GTIDS,
        EventType.BINLOG_CHECKPOINT, EventType.MARIADB_GTID_LIST,
    ),
    ROLE_IGNORED: (
        EventType.HEARTBEAT, EventType.HEARTBEAT_V2, EventType.IGNORABLE, EventType.TRANSACTION_CONTEXT,
        EventType.VIEW_CHANGE,
    ),
    ROLE_GTID: (EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED),
    _BY_STANDALONE_FLAG: (EventType.MARIADB_GTID,),
    _BY_TEXT: (EventType.QUERY, EventType.QUERY_COMPRESSED),  # BEGIN, COMMIT and ROLLBACK are too short to compress
    ROLE_LEAD: (EventType.INTVAR, EventType.RAND, EventType.USER_VAR),
    ROLE_PART: (
        EventType.TABLE_MAP, EventType.WRITE_ROWS_V1, EventType.UPDATE_ROWS_V1, EventType.DELETE_ROWS_V1,
        EventType.WRITE_ROWS, EventType.UPDATE_ROWS, EventType.DELETE_ROWS, EventType.PARTIAL_UPDATE_ROWS,
        EventType.WRITE_ROWS_COMPRESSED_V1, EventType.UPDATE_ROWS_COMPRESSED_V1, EventType.DELETE_ROWS_COMPRESSED_V1,
        EventType.WRITE_ROWS_COMPRESSED, EventType.UPDATE_ROWS_COMPRESSED, EventType.DELETE_ROWS_COMPRESSED,
        EventType.PARTIAL_ROW_DATA, EventType.ROWS_QUERY, EventType.ANNOTATE_ROWS,
        # LOAD DATA in statement format: the file's blocks, then the statement
        EventType.APPEND_BLOCK, EventType.DELETE_FILE, EventType.BEGIN_LOAD_QUERY, EventType.EXECUTE_LOAD_QUERY,
    ),
    ROLE_END: (EventType.XID, EventType.XA_PREPARE),
    ROLE_WHOLE: (EventType.TRANSACTION_PAYLOAD,),
    ROLE_REFUSED: tuple(_REFUSED_NAMES),
}  # fmt: skip


def _event_roles() -> np.ndarray:
    roles = np.full(256, _BY_IGNORABLE_FLAG, np.uint8)
    for role, event_types in _ROLES_OF_TYPES.items():
        roles[list(event_types)] = role
    return roles


EVENT_ROLES = _event_roles()
"""uint8[256]: the role of each event type."""


QUERY_OTHER, QUERY_BEGIN, QUERY_END, QUERY_XA_START = range(4)
"""Kinds of QUERY event text."""


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
    body = start + HEADER_BYTES
    if body + 13 > end:
        return np.int64(-1)
    database_bytes = np.int64(peek_u8(body + 8))
    status_bytes = np.int64(peek_u16(body + 11))
    text = body + 13 + status_bytes + database_bytes + 1
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
    """The kind of a statement: QUERY_BEGIN, QUERY_END (COMMIT or ROLLBACK), QUERY_XA_START or QUERY_OTHER. The servers
    write the first three themselves, always in upper case."""
    if end - text == 5 and _starts_with(text, end, 5, _BEGIN):
        return QUERY_BEGIN
    if end - text == 6 and _starts_with(text, end, 6, _COMMIT):
        return QUERY_END
    if end - text == 8 and _starts_with(text, end, 8, _ROLLBACK):
        return QUERY_END
    return QUERY_XA_START if _starts_with(text, end, 8, _XA_START) else QUERY_OTHER


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
            poke_u8(o, _HYPHEN)
            o += 1
        byte = peek_u8(uuid + k)
        poke_u8(o, _hex_digit(byte >> 4))
        poke_u8(o + 1, _hex_digit(byte & 15))
        o += 2
    poke_u8(o, _COLON)
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
        poke_u8(o + tag_bytes, _COLON)
        o += tag_bytes + 1
    return _put_decimal(o, np.uint64(number))


@kernel
def _put_mariadb_gtid(o, event):
    """sequence u64, domain u32, and the server id of the header -> ``domain-server-sequence``"""
    body = event + HEADER_BYTES
    o = _put_decimal(o, np.uint64(peek_u32(body + 8)))
    poke_u8(o, _HYPHEN)
    o = _put_decimal(o + 1, np.uint64(peek_u32(event + SERVER_ID_AT)))
    poke_u8(o, _HYPHEN)
    return _put_decimal(o + 1, peek_u64(body))


@kernel
def _put_gtid(o, event_type, start, end, tagged_reader, tagged_parts):
    """Write the GTID's text and return its end; ``o`` without a GTID, -1 if the event is malformed."""
    body = start + HEADER_BYTES
    if event_type == _MARIADB_GTID:
        return _put_mariadb_gtid(o, start) if end >= body + _MARIADB_GTID_BYTES else np.int64(-1)
    if end < body + _MYSQL_GTID_BYTES:
        return np.int64(-1)
    if event_type == _GTID:
        return _put_mysql_gtid(o, body)
    return _put_tagged_gtid(o, body, end, tagged_reader, tagged_parts) if event_type == _GTID_TAGGED else o


@kernel
def begins_transaction(start, end):
    """Whether a GTID event of MariaDB is a BEGIN, too; one that is too short for its flags is none."""
    flags = start + _MARIADB_GTID_FLAGS_AT
    return flags < end and peek_u8(flags) & np.uint8(_STANDALONE) == 0


@kernel
def _role(roles, event_type, flags, start, end):
    """The role of an event. flags: the address of its flags."""
    role = np.int64(peek_u8(roles + event_type))
    if end < start + HEADER_BYTES:
        return ROLE_MALFORMED
    if role <= ROLE_MALFORMED:
        return role
    if role == _BY_TEXT:
        text = query_text_start(start, end)
        if text < 0:
            return ROLE_MALFORMED
        kind = query_kind(text, end)
        if kind == QUERY_OTHER:
            return ROLE_STATEMENT
        return ROLE_COMMIT if kind == QUERY_END else ROLE_BEGIN
    if role == _BY_STANDALONE_FLAG:  # a torn transaction is found before an event that is too short
        return ROLE_GTID_BEGIN if begins_transaction(start, end) else ROLE_GTID
    return ROLE_IGNORED if peek_u16(flags) & _IGNORABLE else ROLE_REFUSED


@kernel
def _assign(
    n_events, buf, events, trailer, roles, transitions, state, tx_lsn, gtid, first_gtid, groups, tagged_reader,
    tagged_parts,
):  # fmt: skip
    """events, groups: addresses of ``_EventArrays`` and ``_GroupArrays``. roles, transitions: addresses. tagged_*: see
    ``_put_tagged_gtid``.

    Returns (error, event, state, tx_lsn, gtid, number of gtids); tx_lsn and gtid are those of the open group.
    """
    n_gtids = first_gtid
    for i in range(n_events):
        start = buf + item_i64(events.offset, i)
        end = start + item_i64(events.length, i) - trailer
        event_type = np.int64(peek_u8(events.event_type + i))
        role = _role(roles, event_type, events.flags + 2 * i, start, end)
        after = np.int64(peek_u8(transitions + N_STATES * role + state))
        if after > INSIDE:
            return after, i, state, tx_lsn, gtid, n_gtids
        if state == IDLE:
            tx_lsn = item_i64(events.lsn, i)
            gtid = -1
        if role == ROLE_GTID or role == ROLE_GTID_BEGIN:
            written = groups.gtid_text + np.int64(item_u32(groups.gtid_offsets, n_gtids))
            o = _put_gtid(written, event_type, start, end, tagged_reader, tagged_parts)
            if o < 0:
                return MALFORMED, i, state, tx_lsn, gtid, n_gtids
            if o > written:
                gtid = n_gtids
                poke_u64(groups.gtid_event + 8 * n_gtids, i)
                n_gtids += 1
                poke_u32(groups.gtid_offsets + 4 * n_gtids, o - groups.gtid_text)
        state = after
        poke_u64(groups.tx_lsn + 8 * i, tx_lsn)
        poke_u32(groups.gtid_index + 4 * i, gtid)
        poke_u8(groups.is_boundary + i, state == IDLE)
    return _NO_ERROR, 0, state, tx_lsn, gtid, n_gtids


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
        block.trailer_bytes, EVENT_ROLES.ctypes.data, TRANSITIONS.ctypes.data, carried.state, carried.tx_lsn,
        n_carried - 1, n_carried,
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
    """Add the GTIDs that the block's events carry to a set. Raises RefusedError ``log-event``, also for a set that
    has become too large."""
    _add_gtids(gtids, block, groups)
    if gtids.n_parts > MOST_GTID_PARTS:
        what = f"the log has GTIDs with more than {MOST_GTID_PARTS:,} gaps, source UUIDs, or domains and servers"
        raise RefusedError("log-event", what, position=str(BinlogPosition(block.log_file, block.start_pos)))


def _add_gtids(gtids: GtidSet, block: EventBlock, groups: Groups) -> None:
    holders = groups.gtid_event[groups.gtid_event >= 0]
    if isinstance(gtids, MysqlGtidSet):
        is_tagged = block.events.event_type[holders] == EventType.GTID_TAGGED
        for i in holders[is_tagged].tolist():
            gtid = parse_tagged_gtid(block.body(i))
            _check_numbers(np.array([gtid.number]), block, [i])
            gtids.add(gtid.source, gtid.number)
        holders = holders[~is_tagged]
    if not len(holders):
        return
    at = block.events.offset[holders] + HEADER_BYTES
    if isinstance(gtids, MysqlGtidSet):
        numbers = _gather(block.buf, at + 17, 8).view("<i8").ravel()
        _check_numbers(numbers, block, holders)
        gtids.update_groups(_gather(block.buf, at + 1, 16), numbers)
    else:
        sequence_domain = _gather(block.buf, at, 12)
        servers = _gather(block.buf, at - HEADER_BYTES + SERVER_ID_AT, 4).view("<u4").ravel()
        domains = sequence_domain[:, 8:].copy().view("<u4").ravel()
        gtids.update_groups(domains, servers, sequence_domain[:, :8].copy().view("<u8").ravel())


def _check_numbers(numbers: np.ndarray, block: EventBlock, events: Sequence[int] | np.ndarray) -> None:
    wrong = np.flatnonzero((numbers < 1) | (numbers >= NO_MYSQL_NUMBER))
    if len(wrong):
        position = str(block.position(int(events[wrong[0]])))
        raise RefusedError("log-event", "a GTID has a number that no transaction gets", position=position)


def _gather(buf: np.ndarray, start: np.ndarray, n_bytes: int) -> np.ndarray:
    """uint8[len(start), n_bytes]"""
    out = np.empty((len(start), n_bytes), np.uint8)
    gather_bytes(buf, start, np.full(len(start), n_bytes), out.ravel())
    return out


def _refusal(error: int, block: EventBlock, i: int) -> RefusedError:
    position, event_type = str(block.position(i)), int(block.events.event_type[i])
    if error == TORN:
        return RefusedError("torn-transaction", "the log's file ends inside a transaction", position=position)
    if error == STARTS_INSIDE:
        return RefusedError(
            "log-starts-inside-transaction", "a row event comes before any transaction begins", position=position
        )
    if error == MALFORMED:
        return RefusedError("log-event", f"an event of type {event_type} is shorter than its fields", position=position)
    if event_type == EventType.INCIDENT:
        return RefusedError(
            "log-incident", "the server logged an INCIDENT: events were lost before this position", position=position
        )
    name = _REFUSED_NAMES.get(event_type, f"event type {event_type}")
    return RefusedError("log-event", f"the log holds {name}, which is not decoded", position=position)
