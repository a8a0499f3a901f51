"""Row events that come in fragments: silver is the same, and an incomplete event is refused at its position."""

from __future__ import annotations

import tracemalloc
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from mirrorlake.core.binlog.fragments import Fragment, FragmentedEvent
from mirrorlake.core.binlog.framing import SLACK_BYTES, EventBlock, index_events
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from tests.support.binlog_events import frame
from tests.support.binlog_spec import Insert, Log, RawEvent, Transaction, Update
from tests.support.binlog_writer import write_logs
from tests.support.damaged_logs import Event, seed_logs
from tests.support.fragmented_events import (
    FRAGMENTED_TYPES,
    PARTIAL_ROW_DATA,
    fragment,
    in_fragments,
    rows_event,
    server_cuts,
)
from tests.support.histories import random_history
from tests.support.pure_hops import assembled, bronze, bronze_of, cut_anywhere, timeline
from tests.support.table_map_encoding import table_map_body

HISTORIES = 6
PLACES = ["lsn", "tx_lsn"]
MANY = TableSchema("d", "many", tuple(Column(f"c{k}", ColumnType("int")) for k in range(8)), ())
TEXT = TableSchema("d", "t", (Column("v", ColumnType("varchar", length=99, charset="latin1")),), ())


def shown(changes: pa.Table) -> pa.Table:
    """All except the positions in the log."""
    return changes.drop_columns(PLACES)


def read_groups(groups: list[list[Event]], checksum: bool) -> list[pa.RecordBatch]:
    data = b""
    for event in (event for group in groups for event in group):
        data += frame(event.kind, event.body, timestamp=event.timestamp, server_id=event.server_id,
                      start=4 + len(data), flags=event.flags, checksum=checksum)  # fmt: skip
    buf = np.frombuffer(data + bytes(SLACK_BYTES), np.uint8)
    block = EventBlock("binlog.000001", 4, buf, index_events(buf, 0, len(data))[0], checksum)
    chunks = LogReader(block.position(0), parse_gtid_set("mariadb", "")).read([block])
    return [chunk.batch.select(list(BRONZE_COLUMNS)) for chunk in chunks]


def rewritten(group: list[Event], random: Random, **form) -> list[Event]:
    """The group with its rows events in fragments, cut anywhere."""
    found = []
    for event in group:
        bodies = [(event.kind, event.body, event.flags)]
        if event.kind in FRAGMENTED_TYPES:
            whole = rows_event(bodies[0], event.timestamp, event.server_id, **form)
            n_cuts = random.choice((1, 1, 2, 3, min(40, len(whole) - 1)))
            bodies = in_fragments(whole, sorted(random.sample(range(1, len(whole)), n_cuts)))
        found += [Event(event.timestamp, kind, event.server_id, flags, body) for kind, body, flags in bodies]
    return found


def holds_rows(group: list[Event]) -> bool:
    return any(event.kind in FRAGMENTED_TYPES for event in group)


@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("compression", [False, True])
def test_the_rows_events_of_a_real_log_cut_anywhere_give_the_same_silver(seed, is_long, checksum, compression):
    log, random = seed_logs()[0], Random(f"{seed} {checksum} {compression}")
    assert log.flavor == "mariadb"
    groups = [group.events for group in log.groups if is_long or not holds_rows(group.events) or random.random() < 0.25]
    whole = read_groups(groups, True)
    form = {"checksum": random.random() < 0.5, "compression": compression}
    cut = read_groups([rewritten(group, random, **form) for group in groups], checksum)
    expected, found = (
        assembled("mariadb", events, timeline=timeline("mariadb", events))
        for events in (whole, cut_anywhere(cut, random))
    )
    assert shown(found) == shown(expected)
    assert {"INSERT", "UPDATE", "DELETE"} <= set(expected["op"].to_pylist())


def test_a_server_that_cuts_long_events_gives_the_same_silver(tmp_path, seed, history_number):
    random = Random(f"{seed} {history_number}")
    history = random_history(seed + history_number)
    whole = assembled("mariadb", bronze(tmp_path / "whole", history.log("mariadb")))
    for k in range(3):
        form = {"checksum": random.random() < 0.5, "compression": random.random() < 0.5}
        log = history.log("mariadb", fragment_bytes=random.choice((60, 100, 300, 1024)), **form)
        events = bronze(tmp_path / str(k), log, block_bytes=random.choice((300, 8 << 20)))
        assert shown(assembled("mariadb", cut_anywhere(events, random))) == shown(whole)


def test_the_changes_of_a_cut_event_stand_at_its_first_fragment(tmp_path):
    rows = [{"v": letter * 60} for letter in "ab"]
    log = Log("mariadb", [Transaction([Insert(TEXT, rows)])], fragment_bytes=60)
    events = pa.Table.from_batches(bronze(tmp_path, log)).to_pylist()
    fragments = [event for event in events if event["event_type"] == PARTIAL_ROW_DATA]
    inserts = assembled("mariadb", bronze_of(tmp_path)).to_pylist()[1:-1]
    assert len(fragments) == 6
    assert [(row["op"], row["lsn"]) for row in inserts] == [("INSERT", fragments[0]["lsn"])] * 2


def test_rows_of_a_compressed_type_that_begin_like_compressed_ones_stand_as_they_are(tmp_path):
    """The first byte of a row says which columns are NULL; 0x81 to 0x84 also begins compressed rows."""
    rows = [{f"c{k}": None if first >> k & 1 else 2_026_000 + k for k in range(8)} for first in range(256)]
    items = [Transaction([Insert(MANY, [row]), Update(MANY, [(row, row | {"c1": 5})])]) for row in rows]
    whole, cut = (
        assembled("mariadb", bronze(tmp_path / str(size), Log("mariadb", items, fragment_bytes=size, compression=True)))
        for size in (0, 60)
    )
    assert shown(cut) == shown(whole)
    assert cut["op"].to_pylist() == ["BEGIN", "INSERT", "UPDATE", "COMMIT"] * 256


WHOLE = rows_event((23, bytes(8) + b"\1\xff" + b"\xfe\1x" * 9, 0), 0, 1)
N = len(WHOLE)
PARTS = [body for _, body, _ in in_fragments(WHOLE, [20, 30])]
ROWS, MAP = (23, bytes(30)), (19, bytes(30))
TEXT_MAP = 19, table_map_body(TEXT, 0, "mariadb", "FULL")
AT_ONCE, BEHIND = "behind 0 of 0 fragments", "behind {} of 3 fragments"


def some(*numbers: int) -> list[tuple[int, bytes]]:
    return [(PARTIAL_ROW_DATA, PARTS[number - 1]) for number in numbers]


def one(body: bytes) -> list[tuple[int, bytes]]:
    return [(PARTIAL_ROW_DATA, body)]


def stating(n_bytes: int) -> list[tuple[int, bytes]]:
    return one(fragment(3, 1, WHOLE[:20], n_bytes))


def of_type(kind: int) -> bytes:
    return WHOLE[:4] + bytes((kind,)) + WHOLE[5:]


def holding(event: bytes) -> list[tuple[int, bytes]]:
    return [(kind, body) for kind, body, _ in in_fragments(event, [1])]


def test_a_fragment_has_the_bytes_that_the_source_of_the_server_tells():
    length = N.to_bytes(8, "little").hex()
    assert [part.hex() for part in PARTS] == [
        "030000000100000001" + length + WHOLE[:20].hex(),
        "030000000200000000" + WHOLE[20:30].hex(),
        "030000000300000000" + WHOLE[30:].hex(),
    ]
    assert (WHOLE[4], int.from_bytes(WHOLE[9:13], "little"), WHOLE[13:17]) == (23, N + 4, bytes(4))


# (events after the GTID, which of them is named, why)
BROKEN = {
    "the first is missing": (some(2, 3), 0, f"fragment 2 of 3 comes {AT_ONCE}"),
    "one in the middle is missing": (some(1, 3), 1, "fragment 3 of 3 comes " + BEHIND.format(1)),
    "the last is missing": (some(1, 2), 2, "an event of type 16 comes " + BEHIND.format(2)),
    "one comes twice": (some(1, 2, 2, 3), 2, "fragment 2 of 3 comes " + BEHIND.format(2)),
    "two change places": (some(1, 3, 2), 1, "fragment 3 of 3 comes " + BEHIND.format(1)),
    "another begins": (some(1, 1, 2, 3), 1, "fragment 1 of 3 comes " + BEHIND.format(1)),
    "one is too many": ([TEXT_MAP, *some(1, 2, 3, 3)], 4, f"fragment 3 of 3 comes {AT_ONCE}"),
    "rows between them": ([*some(1), ROWS, *some(2, 3)], 1, "an event of type 23 comes " + BEHIND.format(1)),
    "a table map between them": ([*some(1, 2), MAP, *some(3)], 2, "an event of type 19 comes " + BEHIND.format(2)),
    "another number of them": ([*some(1), (172, fragment(4, 2, b"x", 0))], 1,
                               "fragment 2 of 4 comes " + BEHIND.format(1)),
    "there are none": (one(fragment(0, 0, b"x", 0)), 0, "fragment 0 of 0"),
    "it is the only one": (one(fragment(1, 1, WHOLE, N)), 0, "fragment 1 of 1"),
    "number 0": (one(fragment(3, 0, b"x", 0)), 0, "fragment 0 of 3"),
    "a number beyond the last": (one(fragment(3, 4, b"x", 0)), 0, "fragment 4 of 3"),
    "an unknown flag": ([*some(1), (172, PARTS[1][:8] + b"\2" + PARTS[1][9:])], 1, "fragment 2 with flags 2"),
    "the first states no length": (one(PARTS[0][:8] + b"\0" + PARTS[0][9:]), 0, "fragment 1 with flags 0"),
    "the second states one": ([*some(1), (172, PARTS[1][:8] + b"\1" + PARTS[1][9:])], 1, "fragment 2 with flags 1"),
    "an empty first": (one(fragment(3, 1, b"", N)), 0, "it carries nothing"),
    "an empty second": ([*some(1), (172, fragment(3, 2, b"", 0))], 1, "it carries nothing"),
    "no bytes at all are stated": (stating(0), 0, "20 bytes up to fragment 1 of 3, of 0"),
    "fewer bytes are stated than come at first": (stating(19), 0, "20 bytes up to fragment 1 of 3, of 19"),
    "fewer bytes are stated than come": ([*stating(N - 1), *some(2, 3)], 2,
                                         f"{N} bytes up to fragment 3 of 3, of {N - 1}"),
    "more bytes are stated than come": ([*stating(N + 1), *some(2, 3)], 2,
                                        f"{N} bytes up to fragment 3 of 3, of {N + 1}"),
    "more than 1 GiB": ([*stating((1 << 30) + 1), *some(2, 3)], 0, "it is longer than 1 GiB: 1073741825 bytes"),
    "as much as a number can state": (stating((1 << 64) - 1), 0, f"it is longer than 1 GiB: {(1 << 64) - 1} bytes"),
    "half a header": (holding(WHOLE[:18]), 1, "it ends inside its header"),
    "a header that states more": (holding(WHOLE + b"x"), 1, f"its header states {N + 4} bytes, its fragments {N + 1}"),
    "a header that states less": (holding(WHOLE[:-1]), 1, f"its header states {N + 4} bytes, its fragments {N - 1}"),
    **{
        f"type {kind}": (holding(of_type(kind)), 1, f"its fragments hold an event of type {kind}")
        for kind in (0, 2, 16, 19, 30, 39, 40, 165, 169, 172, 255)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_whole_event_is_refused_at_its_place(tmp_path, name):
    inner, named, why = BROKEN[name]
    source = bronze_log(tmp_path, inner)
    places = [f"{row['log_file']}:{row['log_pos']}" for row in pa.Table.from_batches(source).to_pylist()[4:]]
    for batches in (source, [batch.slice(i, 1) for batch in source for i in range(len(batch))]):
        with pytest.raises(RefusedError) as refused:
            assembled("mariadb", batches)
        error = refused.value
        assert (error.code, error.position) == ("log-event", places[named])
        assert error.message.endswith(f": {why}")


def bronze_log(folder, inner: list[tuple[int, bytes]]) -> list[pa.RecordBatch]:
    """FORMAT_DESCRIPTION, two lists, a GTID, these events, XID."""
    log = Log("mariadb", [Transaction([], end=""), *(RawEvent(*event) for event in inner), RawEvent(16, bytes(8))])
    write_logs(folder, log)
    return bronze_of(folder)


def test_the_end_of_what_is_read_does_not_come_between_fragments(tmp_path):
    events = pa.Table.from_batches(bronze_log(tmp_path, some(1, 2, 3))).combine_chunks()
    place = events.slice(4, 1).to_pylist()[0]
    with pytest.raises(RefusedError, match="the end comes behind 2 of 3 fragments") as refused:
        assembled("mariadb", events.slice(0, 6).to_batches())
    assert refused.value.position == f"{place['log_file']}:{place['log_pos']}"


@pytest.mark.parametrize("n_bytes", [*range(17), *range(18, len(PARTS[0]))])
def test_a_fragment_cut_at_any_length_is_refused(tmp_path, n_bytes):
    events = bronze_log(tmp_path, [(PARTIAL_ROW_DATA, PARTS[0][:n_bytes]), *some(2, 3)])
    with pytest.raises(RefusedError) as refused:
        assembled("mariadb", events)
    assert refused.value.code == "log-event"


def test_a_file_that_ends_between_fragments_is_a_torn_transaction(tmp_path):
    rows = [{"v": "a" * 60}, {"v": "b" * 60}]
    log = Log("mariadb", [Transaction([Insert(TEXT, rows)], end="")], fragment_bytes=60)
    with pytest.raises(RefusedError) as refused:
        bronze(tmp_path, log)
    assert refused.value.code == "torn-transaction"


@pytest.mark.parametrize("threshold", [60, 61, 1024])
def test_no_fragment_is_longer_than_the_threshold(threshold):
    for n_bytes in range(threshold + 1, 3 * threshold, 7):
        event = rows_event((23, bytes(n_bytes - 19), 0), 0, 1)
        sizes = [19 + len(body) + 4 for _, body, _ in in_fragments(event, server_cuts(len(event), threshold))]
        assert set(sizes[:-1]) == {threshold} and 0 < sizes[-1] <= threshold


def test_a_length_that_is_only_stated_takes_no_memory():
    first = Fragment.parse(memoryview(fragment(9, 1, WHOLE[:20], 1 << 30)))
    tracemalloc.start()
    try:
        event = FragmentedEvent()
        event.add(first)
        assert event.is_open and tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()
