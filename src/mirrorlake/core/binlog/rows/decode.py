"""Events -> row changes: one kernel walks the events of a batch in order and writes changes and markers as columns.

A rows event (types 23-25 v1, 30-32 v2; MySQL ``rows_event.h``): table id u48, flags u16, [v2: u16 length of extra
data, itself included, and the data], column count (length-encoded), bitmap of logged columns (UPDATE: two), then row
images until the end: a bitmap of NULLs over the logged columns, then the values that are not NULL. PARTIAL_UPDATE_ROWS
(39) is like UPDATE_ROWS v2, with a different form of after images (``partial_json``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mirrorlake.core.binlog.framing import HEADER_BYTES, has_rows
from mirrorlake.core.binlog.rows.partial_json import NO_OLD_VALUE, plain_image_at
from mirrorlake.core.binlog.rows.row_image import (
    COMPLETE,
    NO_KEY,
    all_set,
    completeness,
    put_partial_image,
    put_whole_image,
)
from mirrorlake.core.binlog.transactions import (
    QUERY_BEGIN,
    QUERY_END,
    QUERY_OTHER,
    QUERY_XA_START,
    begins_transaction,
    query_kind,
    query_text_start,
)
from mirrorlake.core.constants import EventType
from mirrorlake.core.kernels.compiling import call_at
from mirrorlake.core.kernels.memory import (
    item_i64,
    item_u32,
    kernel,
    peek_u8,
    peek_u16,
    peek_u32,
    poke_u8,
    poke_u32,
    poke_u64,
    reusable_bytes,
)  # fmt: skip
from mirrorlake.core.kernels.xxh64 import xxh64
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM

# Kinds of output rows. STATEMENT: a QUERY event that is neither BEGIN nor COMMIT, for the caller to interpret; a
# ROLLBACK is one, and COMMIT comes after it.
BEGIN, INSERT, UPDATE, DELETE, COMMIT, STATEMENT, REFUSED = range(7)

# Why a row event is refused, in column ``amount`` of a REFUSED row. REFUSED_ROW_IMAGE has that of ``completeness``
# in the second byte, and the column above it.
(
    REFUSED_TABLE, REFUSED_ROW_IMAGE, REFUSED_MALFORMED, REFUSED_NO_OLD_VALUE, REFUSED_MAYBE_BY_TRIGGER,
    REFUSED_UNCLEAR, REFUSED_TOO_LARGE,
) = range(7)  # fmt: skip

UNCLEAR = 255
"""The event type that the caller gives to a row event that may have been rolled back."""

DONE, FULL, MALFORMED_EVENT = range(3)
"""Why the kernel returned: all events done; outputs full before the event at ``state[NEXT]``; that event is
malformed."""

# state: what the kernel carries from call to call. MAX_ROWS, IMAGE_ROOM: how far the output may be filled. NOTE: the
# event with the text of the statement whose first row comes next, or NO_NOTE; EARLIER_NOTE: of an earlier batch.
# PLAIN_AFTER_IMAGE, READ_TAGGED_GTID: the addresses of these kernels, if there are events that need them. IS_LARGEST:
# there will be no more room for images than now. CUT_AT: where the event's next row begins if it did not fit whole.
(
    NEXT, N_ROWS, N_BEFORE, N_AFTER, IN_TRANSACTION, ORDINAL, CHECKSUM, COMMIT_US, MAX_ROWS, IMAGE_ROOM, NOTE,
    PLAIN_AFTER_IMAGE, READ_TAGGED_GTID, IS_LARGEST, CUT_AT, STATE_SIZE,
) = range(16)  # fmt: skip
NO_NOTE, EARLIER_NOTE = -1, -2

# Kernels compare plain numbers.
_QUERY, _XID, _XA_PREPARE, _ROWS_QUERY, _ANNOTATE_ROWS = map(
    int, (EventType.QUERY, EventType.XID, EventType.XA_PREPARE, EventType.ROWS_QUERY, EventType.ANNOTATE_ROWS)
)
_GTID, _ANONYMOUS_GTID, _GTID_TAGGED, _MARIADB_GTID = map(
    int, (EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED, EventType.MARIADB_GTID)
)
_WRITE_V1, _UPDATE_V1, _DELETE_V1 = map(
    int, (EventType.WRITE_ROWS_V1, EventType.UPDATE_ROWS_V1, EventType.DELETE_ROWS_V1)
)
_WRITE, _UPDATE, _DELETE, _PARTIAL_UPDATE = map(
    int, (EventType.WRITE_ROWS, EventType.UPDATE_ROWS, EventType.DELETE_ROWS, EventType.PARTIAL_UPDATE_ROWS)
)
_GTID_FIXED_BYTES = 42
"""Of MySQL's GTID event, before its commit times."""
_COMMIT_TIME_BYTES = 7
_ROWS_FIXED_BYTES = 8
"""Table id and flags."""
_LENGTH_OF_2_BYTES = 252
"""First byte of a length-encoded integer: two bytes follow."""
_R_OF_ROLLBACK = ord("R")


class EventArrays(NamedTuple):
    """Events of a batch in ``buf``; the others have one entry per event. trailer: bytes of the checksum; slot: table of
    a rows event, -1 none."""

    buf: np.ndarray
    offset: np.ndarray
    length: np.ndarray
    event_type: np.ndarray
    timestamp: np.ndarray
    trailer: np.ndarray
    slot: np.ndarray


class ChangeArrays(NamedTuple):
    """One entry per output row r, in order: row_event (its event), notes (the event with its statement's text), ops,
    slots (table, -1 none), ordinals, commit_us, amounts and checksums (COMMIT: number and checksum of the transaction's
    encoded images), partial (bits, see ``row_image.completeness``), invalid (number of invalid values of the after
    image), images ``before[before_ends[r]:before_ends[r+1]]`` and ``after`` likewise."""

    before: np.ndarray
    after: np.ndarray
    row_event: np.ndarray
    notes: np.ndarray
    ops: np.ndarray
    slots: np.ndarray
    ordinals: np.ndarray
    commit_us: np.ndarray
    amounts: np.ndarray
    checksums: np.ndarray
    partial: np.ndarray
    invalid: np.ndarray
    before_ends: np.ndarray
    after_ends: np.ndarray

    @classmethod
    def empty(cls, n_rows: int, image_bytes: int) -> ChangeArrays:
        return cls(
            before=reusable_bytes(image_bytes),
            after=reusable_bytes(image_bytes),
            row_event=np.empty(n_rows, np.int64),
            notes=np.empty(n_rows, np.int64),
            ops=np.empty(n_rows, np.uint8),
            slots=np.empty(n_rows, np.int32),
            ordinals=np.empty(n_rows, np.int32),
            commit_us=np.empty(n_rows, np.int64),
            amounts=np.empty(n_rows, np.int64),
            checksums=np.empty(n_rows, np.int64),
            partial=np.empty(n_rows, np.uint8),
            invalid=np.empty(n_rows, np.int32),
            before_ends=np.zeros(n_rows + 1, np.int32),
            after_ends=np.zeros(n_rows + 1, np.int32),
        )

    def rows(self, first: int, stop: int) -> ChangeArrays:
        """The rows from first to stop; their images stay where they are."""
        of_rows = {name: getattr(self, name)[first:stop] for name in self._fields[2:-2]}
        ends = {name: getattr(self, name)[first : stop + 1] for name in self._fields[-2:]}
        return self._replace(**of_rows, **ends)


@kernel
def _commit_time_us(start, end, event_type, timestamp, state):
    """The commit time. MySQL 8 logs microseconds after the 42 fixed bytes of a GTID event (low 55 bits); else the
    header's second."""
    if event_type == _GTID_TAGGED:
        return call_at(state[READ_TAGGED_GTID], start + HEADER_BYTES, end, 0, 0, 0, 0)[1]
    at = start + HEADER_BYTES + _GTID_FIXED_BYTES
    if (event_type == _GTID or event_type == _ANONYMOUS_GTID) and end >= at + _COMMIT_TIME_BYTES:
        middle, high = np.uint64(peek_u16(at + 4)), np.uint64(peek_u8(at + 6) & np.uint8(0x7F))
        return np.int64(high << np.uint64(48) | middle << np.uint64(32) | np.uint64(peek_u32(at)))
    return np.int64(timestamp) * 1000000


@kernel
def _bitmaps(start, end, event_type, n_columns):
    """The start of a row event's bitmaps of logged columns, or MALFORMED: it does not have n_columns columns."""
    p = start + HEADER_BYTES + _ROWS_FIXED_BYTES
    if event_type >= _WRITE:  # v2
        if p + 2 > end:
            return MALFORMED
        p += np.int64(peek_u16(p))
    if p + 1 > end:
        return MALFORMED
    width = np.int64(peek_u8(p))
    p += 1
    if width == _LENGTH_OF_2_BYTES and p + 2 <= end:
        width = np.int64(peek_u16(p))
        p += 2
    n_bitmaps = 2 if event_type == _UPDATE_V1 or event_type == _UPDATE or event_type == _PARTIAL_UPDATE else 1
    if width != n_columns or p + n_bitmaps * ((n_columns + 7) >> 3) > end:
        return MALFORMED
    return p


@kernel
def _emit(state, rows, i, op, slot, amount, checksum, partial, n_invalid):
    r = state[N_ROWS]
    poke_u64(rows.row_event + 8 * r, i)
    poke_u64(rows.notes + 8 * r, state[NOTE] if INSERT <= op <= DELETE else NO_NOTE)
    if INSERT <= op <= DELETE:
        state[NOTE] = NO_NOTE
    poke_u8(rows.ops + r, op)
    poke_u32(rows.slots + 4 * r, slot)
    poke_u32(rows.ordinals + 4 * r, state[ORDINAL])
    poke_u64(rows.commit_us + 8 * r, state[COMMIT_US])
    poke_u64(rows.amounts + 8 * r, amount)
    poke_u64(rows.checksums + 8 * r, checksum)
    poke_u8(rows.partial + r, partial)
    poke_u32(rows.invalid + 4 * r, n_invalid)
    poke_u32(rows.before_ends + 4 * (r + 1), state[N_BEFORE])
    poke_u32(rows.after_ends + 4 * (r + 1), state[N_AFTER])
    state[N_ROWS] = r + 1


@kernel
def _emit_begin(state, rows, i):
    state[IN_TRANSACTION] = 1
    state[ORDINAL] = 0
    state[CHECKSUM] = 0
    _emit(state, rows, i, BEGIN, -1, 0, 0, COMPLETE, 0)


@kernel
def _emit_commit(state, rows, i):
    changes = state[ORDINAL]
    state[ORDINAL] += 1
    _emit(state, rows, i, COMMIT, -1, changes, state[CHECKSUM], COMPLETE, 0)
    state[IN_TRANSACTION] = 0
    state[COMMIT_US] = 0


@kernel
def _put_row(p, end, op, event_type, slot, before, after, is_whole, slots, columns, partial, state, rows):
    """Encode the images of one row change, before then after.

    Returns (the address read, or an error below 0 and nothing is written; number of invalid values of the after image).
    before, after: the event's bitmaps of logged columns, 0 if it has no such image.
    """
    before_image, n_invalid = p, np.int64(0)
    n_before, n_after, checksum = state[N_BEFORE], state[N_AFTER], state[CHECKSUM]
    for side in range(2):
        logged = before if side == 0 else after
        if logged == 0:
            continue
        images = rows.before if side == 0 else rows.after
        o, room = images + (n_before if side == 0 else n_after), images + state[IMAGE_ROOM]
        behind = np.int64(0)
        if side == 1 and event_type == _PARTIAL_UPDATE:
            p, end, room, behind = plain_image_at(
                p, end, before_image, slot, before, after, slots, columns, state[PLAIN_AFTER_IMAGE], o, room
            )
            if p < 0:
                return p, n_invalid
        if is_whole:
            p, end_of_image, n_invalid = put_whole_image(p, end, slot, slots, columns, o, room)
        else:
            p, end_of_image, n_invalid = put_partial_image(
                p, end, slot, slots, columns, partial, o, room, logged, side * before, op == INSERT
            )
        if p < 0:
            return p, n_invalid
        if behind:
            p = behind if p == end else np.int64(MALFORMED)
        checksum = np.int64(xxh64(np.uint64(checksum), o, end_of_image))
        if side == 0:
            n_before = end_of_image - images
        else:
            n_after = end_of_image - images
    state[N_BEFORE], state[N_AFTER], state[CHECKSUM] = n_before, n_after, checksum
    return p, n_invalid if after else np.int64(0)


@kernel
def _put_rows_event(start, end, event_type, i, slot, slots, columns, partial, state, rows):
    """Write all row changes of a row event, or one REFUSED row, or nothing for a table that is left out. False: no
    room, and nothing is written, or only the rows before ``state[CUT_AT]``. slot: negative without a table map."""
    if slot >= 0 and item_i64(slots.is_left_out, slot):
        return True
    if slot < 0 or item_i64(slots.is_refused, slot):
        _emit(state, rows, i, REFUSED, slot, REFUSED_TABLE, 0, COMPLETE, 0)
        return True
    op = UPDATE
    if event_type == _WRITE_V1 or event_type == _WRITE:
        op = INSERT
    elif event_type == _DELETE_V1 or event_type == _DELETE:
        op = DELETE
    n_columns = item_i64(slots.n_columns, slot)
    before = _bitmaps(start, end, event_type, n_columns)
    if before < 0:
        _emit(state, rows, i, REFUSED, slot, REFUSED_MALFORMED, 0, COMPLETE, 0)
        return True
    bitmap_bytes = (n_columns + 7) >> 3
    p = before + (2 * bitmap_bytes if op == UPDATE else bitmap_bytes)
    after = p - bitmap_bytes if op != DELETE else np.int64(0)
    before = before if op != INSERT else np.int64(0)
    is_logged_whole = (before == 0 or all_set(before, n_columns)) and (after == 0 or all_set(after, n_columns))
    is_whole = is_logged_whole and item_i64(slots.has_hidden, slot) == 0
    found = np.int64(COMPLETE)
    if not is_logged_whole:
        found, column = completeness(slot, slots, partial, before, after)
        if found >= NO_KEY:
            _emit(state, rows, i, REFUSED, slot, REFUSED_ROW_IMAGE | found << 8 | column << 16, 0, COMPLETE, 0)
            return True
    n_rows, n_before, n_after, checksum, ordinal, note = (
        state[N_ROWS], state[N_BEFORE], state[N_AFTER], state[CHECKSUM], state[ORDINAL], state[NOTE],
    )  # fmt: skip
    row = p = start + state[CUT_AT] if state[CUT_AT] else p
    state[CUT_AT] = 0
    while 0 <= p < end:
        row = p
        if state[N_ROWS] >= state[MAX_ROWS]:
            p = np.int64(NO_ROOM)
        else:
            p, n_invalid = _put_row(
                p, end, op, event_type, slot, before, after, is_whole, slots, columns, partial, state, rows
            )
        if p >= 0:
            state[ORDINAL] += 1
            _emit(state, rows, i, op, slot, 0, 0, found, n_invalid)
    if p >= 0:
        return True
    is_too_large = p == NO_ROOM and n_rows == 0 and state[IS_LARGEST] != 0
    if is_too_large and state[N_ROWS] > 0:
        state[CUT_AT] = row - start
        return False
    state[N_ROWS], state[N_BEFORE], state[N_AFTER], state[CHECKSUM], state[ORDINAL], state[NOTE] = (
        n_rows, n_before, n_after, checksum, ordinal, note,
    )  # fmt: skip
    if is_too_large:
        _emit(state, rows, i, REFUSED, slot, REFUSED_TOO_LARGE, 0, COMPLETE, 0)
        return True
    if p == NO_ROOM:
        return False
    other = REFUSED_NO_OLD_VALUE if p == NO_OLD_VALUE else REFUSED_MAYBE_BY_TRIGGER
    _emit(state, rows, i, REFUSED, slot, REFUSED_MALFORMED if p == MALFORMED else other, 0, COMPLETE, 0)
    return True


@kernel
def decode_events(n_events, events, slots, columns, partial, state, rows):
    """Decode events ``state[NEXT]..`` (``EventArrays``) into ``rows`` (``ChangeArrays``), each whole or not at all
    unless it is larger than all the room there may be.

    All but n_events and state are addresses. Returns DONE, FULL or MALFORMED_EVENT.
    """
    for i in range(state[NEXT], n_events):
        state[NEXT] = i
        if state[N_ROWS] >= state[MAX_ROWS]:
            return FULL
        start = events.buf + item_i64(events.offset, i)
        end = start + item_i64(events.length, i) - item_i64(events.trailer, i)
        kind = peek_u8(events.event_type + i)
        if end < start + HEADER_BYTES:
            return MALFORMED_EVENT
        if kind == _GTID or kind == _ANONYMOUS_GTID or kind == _GTID_TAGGED or kind == _MARIADB_GTID:
            state[COMMIT_US] = _commit_time_us(start, end, kind, item_u32(events.timestamp, i), state)
            state[IN_TRANSACTION] = 0
            state[ORDINAL] = 0
            state[NOTE] = NO_NOTE
            if kind == _MARIADB_GTID and begins_transaction(start, end):
                _emit_begin(state, rows, i)
        elif kind == _QUERY:
            status = _put_query(start, end, i, np.int64(item_u32(events.timestamp, i)), state, rows)
            if status != DONE:
                return status
        elif kind == _ROWS_QUERY or kind == _ANNOTATE_ROWS:
            state[NOTE] = i
        elif kind == _XID or kind == _XA_PREPARE:
            _emit_commit(state, rows, i)
        elif has_rows(kind):
            slot = np.int64(np.int32(item_u32(events.slot, i)))
            if not _put_rows_event(start, end, kind, i, slot, slots, columns, partial, state, rows):
                return FULL
        elif kind == UNCLEAR:
            slot = np.int64(np.int32(item_u32(events.slot, i)))
            if slot >= 0 and not item_i64(slots.is_left_out, slot):
                _emit(state, rows, i, REFUSED, slot, REFUSED_UNCLEAR, 0, False, 0)
    state[NEXT] = n_events
    return DONE


@kernel
def _put_query(start, end, i, timestamp, state, rows):
    """Write a QUERY event; DONE or MALFORMED_EVENT."""
    text = query_text_start(start, end)
    if text < 0:
        return MALFORMED_EVENT
    what = query_kind(text, end)
    if state[COMMIT_US] == 0:
        state[COMMIT_US] = timestamp * 1000000
    if what == QUERY_BEGIN or what == QUERY_XA_START:
        _emit_begin(state, rows, i)
    elif what == QUERY_END and state[IN_TRANSACTION]:
        if peek_u8(text) == np.uint8(_R_OF_ROLLBACK):
            _emit(state, rows, i, STATEMENT, -1, 1, 0, False, 0)
        _emit_commit(state, rows, i)
    elif what == QUERY_OTHER:
        _emit(state, rows, i, STATEMENT, -1, state[IN_TRANSACTION], 0, COMPLETE, 0)
        if state[IN_TRANSACTION] == 0:
            state[COMMIT_US] = 0
    return DONE
