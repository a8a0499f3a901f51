"""Event groups: every role of an event in every state, and the role of every event type."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mirrorlake.core.binlog import transactions
from mirrorlake.core.binlog.framing import HEADER_BYTES, SLACK_BYTES, EventBlock, EventIndex
from mirrorlake.core.binlog.transactions import (
    EVENT_ROLES,
    IDLE,
    INSIDE,
    MALFORMED,
    N_STATES,
    OPENED,
    STARTS_INSIDE,
    TORN,
    TRANSITIONS,
    UNDECODED,
    GroupState,
    assign_groups,
)
from mirrorlake.core.constants import EventFlag, EventType
from mirrorlake.errors import RefusedError
from tests.support.binlog_events import TAGGED_GTID

OUTCOMES = {
    "idle": IDLE, "opened": OPENED, "inside": INSIDE, "torn": TORN, "starts inside": STARTS_INSIDE,
    "undecoded": UNDECODED, "malformed": MALFORMED,
}  # fmt: skip
CODES = {
    TORN: "torn-transaction", STARTS_INSIDE: "log-starts-inside-transaction", UNDECODED: "log-event",
    MALFORMED: "log-event",
}  # fmt: skip
STANDALONE, NOT_NAMED = 1, 99


def query(text: bytes) -> bytes:
    return bytes(13) + b"\0" + text


def mariadb_gtid(flags: int) -> bytes:
    return bytes(12) + bytes([flags]) + bytes(6)


# role -> (event type, body, the header's flags)
EVENTS: dict[str, list[tuple[int, bytes, int]]] = {
    "OUTSIDE": [(number, b"", 0) for number in (15, 4, 3, 35, 161, 163)],
    "IGNORED": [*((number, b"", 0) for number in (27, 41, 28, 36, 37)), (NOT_NAMED, b"", EventFlag.IGNORABLE)],
    "GTID": [(33, bytes(25), 0), (34, bytes(25), 0), (42, TAGGED_GTID, 0), (162, mariadb_gtid(STANDALONE), 0)],
    "GTID_BEGIN": [(162, mariadb_gtid(0), 0), (162, mariadb_gtid(8), 0)],
    "BEGIN": [(2, query(b"BEGIN"), 0), (2, query(b"XA START X'61',X'',1"), 0)],
    "COMMIT": [(2, query(b"COMMIT"), 0), (2, query(b"ROLLBACK"), 0)],
    "STATEMENT": [(2, query(text), 0) for text in (b"BEGIN WORK", b"commit", b"XA END X'61'", b"")] + [
        (165, query(b"packed"), 0)
    ],
    "LEAD": [(number, b"", 0) for number in (5, 13, 14)],
    "PART": [
        (number, b"", 0)
        for number in (9, 11, 17, 18, 19, 23, 24, 25, 29, 30, 31, 32, 39, 160, 166, 167, 168, 169, 170, 171, 172)
    ],
    "END": [(16, b"", 0), (38, b"", 0)],
    "WHOLE": [(40, b"", 0)],
    "REFUSED": [*((number, b"", 0) for number in (1, 6, 7, 8, 10, 12, 20, 21, 22, 26, 164)), (NOT_NAMED, b"", 0)],
    "MALFORMED": [(2, bytes(12), 0)],
}  # fmt: skip


def documented() -> dict[str, list[str]]:
    """Role -> what the docstring's table has for each state."""
    lines = (re.split("  +", line.strip()) for line in transactions.__doc__.splitlines() if line.startswith("    "))
    (_, *states, _), *rows = lines
    assert states == ["idle", "opened", "inside"]
    return {row[0]: row[1:4] for row in rows}


def block_of(event_type: int, body: bytes, flags: int) -> EventBlock:
    """One event, without a checksum; of the header only the type is written."""
    raw = bytes(4) + bytes([event_type]) + bytes(HEADER_BYTES - 5) + body
    events = EventIndex.allocate(1)
    events.offset[:], events.length[:], events.event_type[:], events.flags[:] = 0, len(raw), event_type, flags
    return EventBlock("binlog.000001", 4, np.frombuffer(raw + bytes(SLACK_BYTES), np.uint8).copy(), events, False)


def test_the_table_in_the_docstring_is_the_one_that_is_used():
    expected = [[OUTCOMES[outcome] for outcome in row] for row in documented().values()]
    assert TRANSITIONS.tolist() == expected
    roles = [name.removeprefix("ROLE_") for name in vars(transactions) if name.startswith("ROLE_")]
    assert list(documented()) == sorted(roles, key=lambda name: getattr(transactions, f"ROLE_{name}"))


@pytest.mark.parametrize("state", range(N_STATES), ids=["idle", "opened", "inside"])
@pytest.mark.parametrize("role", EVENTS)
def test_each_role_in_each_state(role, state):
    outcome = OUTCOMES[documented()[role][state]]
    for event_type, body, flags in EVENTS[role]:
        carried = GroupState(state, tx_lsn=0 if state == IDLE else 77, gtid=None if state == IDLE else "0-1-1")
        block = block_of(event_type, body, flags)
        if outcome in CODES:
            with pytest.raises(RefusedError) as refused:
                assign_groups(block, carried, 0)
            assert refused.value.code == ("log-incident" if event_type == EventType.INCIDENT else CODES[outcome])
            continue
        groups = assign_groups(block, carried, 0)
        assert (carried.state, groups.is_boundary.tolist()) == (outcome, [outcome == IDLE])
        assert groups.tx_lsn.tolist() == (groups.lsn.tolist() if state == IDLE else [77])
        is_named = event_type in (EventType.GTID, EventType.GTID_TAGGED, EventType.MARIADB_GTID)
        assert (groups.gtid(0) is not None) == (state != IDLE or is_named)
        assert carried.gtid == (None if outcome == IDLE else groups.gtid(0))


@pytest.mark.parametrize("event_type", [EventType.GTID, EventType.GTID_TAGGED, EventType.MARIADB_GTID])
def test_a_gtid_that_is_too_short_is_malformed_and_inside_a_transaction_torn(event_type):
    for state, why in ((IDLE, "shorter than its fields"), (OPENED, "torn-transaction"), (INSIDE, "torn-transaction")):
        with pytest.raises(RefusedError, match=why):
            assign_groups(block_of(event_type, bytes(12), 0), GroupState(state), 0)


def test_an_event_type_without_a_name_depends_on_its_flag():
    named = {int(event_type) for event_type in EventType}
    assert {number for number in range(256) if EVENT_ROLES[number] != EVENT_ROLES[NOT_NAMED]} == named
