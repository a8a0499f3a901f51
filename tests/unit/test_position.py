from __future__ import annotations

from datetime import datetime, timedelta, timezone
from random import Random
from uuid import UUID

import numpy as np
import pytest

from mirrorlake.core.position import (
    UNTIL_CURRENT,
    BinlogPosition,
    LogEdge,
    MariadbGtidSet,
    MysqlGtidSet,
    pack_lsn,
    parse_gtid_set,
    parse_start,
    parse_until,
    unpack_lsn,
)
from mirrorlake.errors import RefusedError, UsageError
from tests.support.linear_time import assert_linear
from tests.support.log_names import LOG_NAMES, NO_LOG_NAMES

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "8a94f357-aab4-11df-86ab-c80aa9429562"


def test_lsn_orders_by_incarnation_then_file_then_offset():
    places = [(0, 1, 4), (0, 1, 2**35 - 1), (0, 2, 4), (0, 2**21 - 1, 0), (1, 1, 4), (127, 2**21 - 1, 2**35 - 1)]
    lsns = [pack_lsn(*place) for place in places]
    assert lsns == sorted(lsns) and lsns[-1] == 2**63 - 1
    assert [unpack_lsn(lsn) for lsn in lsns] == places


@pytest.mark.parametrize("place", [(128, 1, 4), (0, 2**21, 4), (0, 1, 2**35), (-1, 1, 4), (0, 1, -1)])
def test_lsn_refuses_a_field_that_overflows(place):
    with pytest.raises(RefusedError) as refusal:
        pack_lsn(*place)
    assert refusal.value.code == "log-range"


def test_positions_order_by_number_not_by_spelling():
    low, high = BinlogPosition("binlog.999999", 5_000_000_000), BinlogPosition("binlog.1000000", 4)
    assert low < high and high > low and low <= low and max(low, high) is high
    assert BinlogPosition.parse(str(low)) == low


@pytest.mark.parametrize("name", LOG_NAMES)
def test_a_position_is_parsed_as_it_was_written(name):
    position = BinlogPosition(name, 2**35 - 1)
    assert BinlogPosition.parse(str(position)) == position
    assert parse_start(str(position), "mysql") == parse_until(str(position), "mariadb") == position


@pytest.mark.parametrize(
    "text",
    [
        "",
        "binlog.000001",
        "binlog:4",
        "binlog.000001:",
        "binlog.000001:-4",
        "binlog.x:4",
        "binlog.00000١:4",
        "binlog.000001:٤",
        "binlog.000001:" + "9" * 5000,
        *(f"{name}:4" for name in NO_LOG_NAMES),
    ],
)
def test_malformed_position_is_a_usage_error(text):
    with pytest.raises(UsageError):
        BinlogPosition.parse(text)


@pytest.mark.parametrize("parse", [parse_start, parse_until])
@pytest.mark.parametrize(
    "text", [f"binlog.000001:{1 << 35}", f"binlog.{1 << 21}:4", "binlog.000001:9223372036854775808"]
)
def test_a_position_that_no_log_can_have_is_a_usage_error(parse, text):
    with pytest.raises(UsageError, match="no log can have this position"):
        parse(text, "mysql")


def test_mysql_gtid_set_merges_and_prints_like_the_server():
    gtids = MysqlGtidSet.parse(f"{B}:3,\n{A.upper()}:7:1-4:5-5")
    assert str(gtids) == f"{A}:1-5:7,{B}:3"
    gtids.add(A, 6)
    gtids.add(B, 1, 2)
    assert str(gtids) == f"{A}:1-7,{B}:1-3"
    assert MysqlGtidSet.parse(str(gtids)) == gtids and not MysqlGtidSet.parse("")


def test_mysql_gtid_set_contains():
    gtids = MysqlGtidSet.parse(f"{A}:1-5:7-9")
    assert gtids.contains(MysqlGtidSet.parse(f"{A}:2-3:8")) and gtids.contains(MysqlGtidSet())
    assert not gtids.contains(MysqlGtidSet.parse(f"{A}:5-7")) and not gtids.contains(MysqlGtidSet.parse(f"{B}:1"))


def test_mysql_gtid_set_encodes_as_the_dump_command_wants_it():
    gtids = MysqlGtidSet.parse(f"{A}:1-5:7")
    expected = "0100000000000000" + A.replace("-", "") + "0200000000000000"
    expected += "01000000000000000600000000000000" + "07000000000000000800000000000000"
    assert gtids.encode().hex() == expected
    assert MysqlGtidSet.decode(gtids.encode()) == gtids


def test_tagged_gtids_are_sources_of_their_own():
    gtids = MysqlGtidSet.parse(f"{A}:1-5:Blue:7:9-10,{B}:red:1,{A}:blue:8")
    assert str(gtids) == f"{A}:1-5:blue:7-10,{B}:red:1"
    assert gtids.contains(MysqlGtidSet.parse(f"{A}:blue:8")) and not gtids.contains(MysqlGtidSet.parse(f"{A}:8"))
    gtids.add(f"{B}:red", 2)
    assert str(gtids) == f"{A}:1-5:blue:7-10,{B}:red:1-2"


def test_tagged_set_encodes_as_mysql_logs_it():
    raw = "01030000000000019c3d0d02e5a111f1b3e502fc0000000100010000000000000001000000000000000c00000000000000"
    raw += "9c3d0d02e5a111f1b3e502fc000000010c6d795f746167010000000000000001000000000000000200000000000000"
    raw += "9c3d0d02e5a111f1b3e502fc000000010a6f74686572010000000000000001000000000000000200000000000000"
    gtids = MysqlGtidSet.decode(bytes.fromhex(raw))
    assert str(gtids) == "9c3d0d02-e5a1-11f1-b3e5-02fc00000001:1-11:my_tag:1:other:1"
    assert gtids.encode().hex() == raw
    assert MysqlGtidSet.parse(str(gtids)) == gtids


@pytest.mark.parametrize("text", [f"{A}:1-5:7,{B}:9", f"{A}:1-5:blue:7"])
def test_cut_encoding_is_refused(text):
    raw = MysqlGtidSet.parse(text).encode()
    for n_bytes in range(len(raw)):
        with pytest.raises(RefusedError):
            MysqlGtidSet.decode(raw[:n_bytes])


@pytest.mark.parametrize("seed", range(5))
def test_update_groups_equals_adding_one_by_one(seed):
    random = np.random.default_rng(seed)
    sids = random.integers(0, 3, 200).astype(np.uint8)[:, None].repeat(16, axis=1)
    numbers = random.integers(1, 150, 200)
    expected, merged = MysqlGtidSet(), MysqlGtidSet.parse(f"{A}:1-5")
    expected.add(A, 1, 5)
    for sid, number in zip(sids, numbers, strict=True):
        digits = f"{sid[0]:02x}" * 16
        expected.add("-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]]), int(number))
    merged.update_groups(sids[:90], numbers[:90])
    merged.update_groups(sids[90:], numbers[90:])
    merged.update_groups(sids[:0], numbers[:0])
    assert merged == expected


def test_mysql_gtid_sets_are_sets(seed):
    random = Random(seed)
    for _ in range(200):
        ours, theirs, numbers, others = MysqlGtidSet(), MysqlGtidSet(), set(), set()
        for gtids, held in ((ours, numbers), (theirs, others)):
            for _ in range(random.randint(0, 12)):
                first = random.randint(1, 60)
                last = first + random.choice((0, 0, 1, 5, 30))
                gtids.add(A, first, last)
                held.update(range(first, last + 1))
        assert ours == MysqlGtidSet({A: [(n, n + 1) for n in numbers]})
        assert ours.minus(theirs) == MysqlGtidSet({A: [(n, n + 1) for n in numbers - others]})
        assert ours.contains(theirs) == (numbers >= others)
        assert [n for n in range(1, 100) if ours.holds(f"{A}:{n}")] == sorted(numbers)
        gone = random.randint(1, 60)
        ours.strike(f"{A}:{gone}")
        assert ours == MysqlGtidSet({A: [(n, n + 1) for n in numbers - {gone}]})


def test_sets_with_many_gaps_are_compared_in_linear_time():
    def compare(n: int) -> None:
        odd, even = (MysqlGtidSet({A: [(k, k + 1) for k in range(first, 2 * n, 2)]}) for first in (1, 2))
        assert odd.minus(even) == odd and odd.contains(odd) and not odd.contains(even)
        added = MysqlGtidSet()
        for k in range(1, 2 * n, 2):
            added.add(A, k)
        assert added == odd

    assert_linear(compare, int, 2_000)


def test_a_set_with_many_gaps_changes_by_one_transaction_in_no_time():
    def change(n: int) -> None:
        odd = MysqlGtidSet({A: [(k, k + 1) for k in range(1, 2 * n, 2)]})
        left, sid = odd.copy(), np.frombuffer(UUID(A).bytes, np.uint8)[None]
        for k in range(1, 2 * n, 2):
            odd.update_groups(sid, np.array([2 * n + k]))
            left.strike(f"{A}:{k}")
        assert not left and odd.holds(f"{A}:{2 * n + 1}")

    assert_linear(change, int, 500)


@pytest.mark.parametrize(
    ("flavor", "wanted", "reached", "left"),
    [
        ("mysql", f"{A}:1-3:5,{B}:red:1", f"{A}:2", f"{A}:1:3:5,{B}:red:1"),
        ("mysql", f"{A}:1-3:5,{B}:red:1", f"{B}:red:1", f"{A}:1-3:5"),
        ("mysql", f"{A}:1", f"{B}:1", f"{A}:1"),
        ("mariadb", "0-1-5,1-1-2", "0-2-5", "1-1-2"),
        ("mariadb", "0-1-5,1-1-2", "0-1-4", "0-1-5,1-1-2"),
        ("mariadb", "0-1-5", "1-1-9", "0-1-5"),
    ],
)
def test_what_is_wanted_is_reached_one_by_one(flavor, wanted, reached, left):
    one, found = parse_gtid_set(flavor, reached), parse_gtid_set(flavor, wanted)
    assert str(found.minus(one)) == left and found.minus(found) == parse_gtid_set(flavor, "")
    found.reach(reached)
    assert str(found) == left and one.contains(found) == (not left)


def test_a_copy_does_not_grow_with_its_original():
    mysql, mariadb = MysqlGtidSet.parse(f"{A}:1"), MariadbGtidSet.parse("0-1-1")
    copies = mysql.copy(), mariadb.copy()
    mysql.add(A, 2)
    mariadb.add(0, 1, 2)
    assert [str(each) for each in copies] == [f"{A}:1", "0-1-1"]


def test_mariadb_gtid_set_keeps_the_last_of_each_domain():
    gtids = MariadbGtidSet.parse("1-10-4, 0-10-3")
    gtids.update_groups(np.array([0, 2, 0]), np.array([10, 7, 11]), np.array([4, 1, 5]))
    assert str(gtids) == "0-11-5,1-10-4,2-7-1"
    assert gtids.contains(MariadbGtidSet.parse("0-10-5")) and not gtids.contains(MariadbGtidSet.parse("3-1-1"))


@pytest.mark.parametrize(
    ("flavor", "text"),
    [*(("mariadb", text) for text in ("0-1", "0-1-1,0-1-2", f"{A}:1"))]
    + [*(("mysql", text) for text in ("0-1-1", A, f"{A}:0", f"{A}:5-4", f"{A}:blue", f"{A}:1-3:-"))]
    + [("mysql", "\uff11" + A[1:] + ":1")],  # a digit of another script
)
def test_malformed_gtid_set_is_a_usage_error(flavor, text):
    with pytest.raises(UsageError):
        parse_gtid_set(flavor, text)


def test_start_and_until_are_told_apart_by_their_form():
    assert parse_start("earliest", "mysql") is LogEdge.EARLIEST
    assert parse_until("current", "mysql") is UNTIL_CURRENT
    assert parse_until("binlog.000003:154", "mysql") == BinlogPosition("binlog.000003", 154)
    assert parse_start(f"{A}:1-3", "mysql") == MysqlGtidSet.parse(f"{A}:1-3")
    assert parse_until("0-10-5", "mariadb") == MariadbGtidSet.parse("0-10-5")
    assert parse_until("2026-11-21 08:30", "mariadb") == datetime(2026, 11, 21, 8, 30, tzinfo=timezone.utc)
    assert parse_until("2026-11-21T08:30:00+02:00", "mysql").utcoffset() == timedelta(hours=2)
    assert parse_until("2026-11-21T08:30:00Z", "mysql").utcoffset() == timedelta(0)


@pytest.mark.parametrize("text", ["", "2026-11-21", "earliest", "2026-11-21T99:99"])
def test_until_that_is_nothing_is_a_usage_error(text):
    with pytest.raises(UsageError):
        parse_until(text, "mariadb")


@pytest.mark.parametrize(
    ("flavor", "text"),
    [
        ("mysql", f"{A}:{2**63 - 1}"),
        ("mysql", f"{A}:1-{2**64}"),
        ("mysql", f"{A}:" + "9" * 5000),
        ("mysql", f"{A}:١"),
        ("mariadb", f"{2**32}-1-1"),
        ("mariadb", f"0-{2**32}-1"),
        ("mariadb", f"0-1-{2**64}"),
        ("mariadb", "0-1-١"),
        ("mariadb", "0-1-" + "9" * 5000),
    ],
)
def test_a_gtid_that_no_server_has_is_a_usage_error(flavor, text):
    with pytest.raises(UsageError):
        parse_start(text, flavor)


def test_the_largest_gtids_are_read():
    assert str(parse_start(f"{A}:1-{2**63 - 2}", "mysql")) == f"{A}:1-{2**63 - 2}"
    assert str(parse_start(f"{2**32 - 1}-{2**32 - 1}-{2**64 - 1}", "mariadb")) == f"{2**32 - 1}-{2**32 - 1}-{2**64 - 1}"


@pytest.mark.parametrize("span", [(0, 5), (5, 5), (6, 5), (1, 2**63), (2**63, 2**64 - 1)])
def test_a_logged_gtid_set_with_numbers_that_no_transaction_has_is_refused(span):
    raw = bytearray(MysqlGtidSet.parse(f"{A}:1-5").encode())
    raw[-16:] = b"".join(number.to_bytes(8, "little") for number in span)
    with pytest.raises(RefusedError, match="^log-event: "):
        MysqlGtidSet.decode(bytes(raw))
