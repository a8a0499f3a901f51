"""Which events of XA transactions stand where, and which transactions wait."""

from __future__ import annotations

import struct
from datetime import datetime, timezone

import pyarrow as pa
import pytest

from mirrorlake.core.changes import xa
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.changes.xa import Move, XaPlan, plan_xa
from mirrorlake.errors import RefusedError
from tests.support.binlog_events import frame, query
from tests.support.binlog_spec import Query

AT = datetime(2026, 1, 2, tzinfo=timezone.utc)
A, B = "X'61',X'6271',7", "X'62',X'',1"


def prepare(global_part: bytes, branch: bytes, format_id: int, one_phase: int = 0) -> tuple[int, bytes]:
    sizes = struct.pack("<BIII", one_phase, format_id, len(global_part), len(branch))
    return 38, sizes + global_part + branch


def say(text: str) -> tuple[int, bytes]:
    return 2, query(Query(text), "mysql")


def planned(*groups, prepared=None, **given) -> XaPlan:
    """Each group is (tx_lsn, events); its events have the lsns after it."""
    rows = []
    for tx_lsn, events in groups:
        for k, (kind, body) in enumerate(events):
            raw = frame(kind, body, timestamp=0, server_id=1, start=4, flags=0, checksum=True)
            rows.append((tx_lsn + k, tx_lsn, kind, AT, f"gtid {tx_lsn}", True, "binlog.000001", 4, raw))
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, list(BRONZE_COLUMNS))
    return plan_xa([batch.slice(0, 2), batch.slice(0, 0), batch.slice(2)], prepared or {}, **given)


PREPARE_A = [say("XA START " + A), say("XA END " + A), prepare(b"a", b"bq", 7)]
PREPARE_B = [say("XA START " + B), prepare(b"b", b"", 1)]


def test_a_group_moves_to_its_commit_and_another_waits():
    plan = planned(
        (10, PREPARE_A), (20, PREPARE_B), (30, [say("BEGIN"), (16, bytes(8))]), (40, [say("XA COMMIT " + A)])
    )
    assert plan == XaPlan((10, 20, 40), (Move(10, 40, 40, "gtid 40", AT),), {B: 20})


def test_what_waits_from_before_is_committed_or_rolled_back():
    plan = planned((50, [say("XA COMMIT " + A)]), (60, [say("XA ROLLBACK " + B)]), prepared={A: 10, B: 20})
    assert plan == XaPlan((50, 60), (Move(10, 50, 50, "gtid 50", AT),), {})
    assert planned((60, [say("XA ROLLBACK " + B)]), (70, PREPARE_A)) == XaPlan((60, 70), (), {A: 70})


def test_what_was_prepared_before_the_range_may_be_ignored():
    commits = [say("XA COMMIT " + A)], [say("XA COMMIT " + B)]
    plan = planned((10, PREPARE_B), (20, commits[0]), (30, commits[1]), ignore_unknown=True)
    assert plan == XaPlan((10, 20, 30), (Move(10, 30, 30, "gtid 30", AT),), {})


def test_more_than_so_many_never_wait(monkeypatch):
    monkeypatch.setattr(xa, "MOST_PREPARED", 1)
    assert planned((10, PREPARE_A), (20, [say("XA COMMIT " + A)]), (30, PREPARE_B)).prepared == {B: 30}
    with pytest.raises(RefusedError, match="more than 1 prepared") as raised:
        planned((10, PREPARE_A), (20, PREPARE_B))
    assert (raised.value.code, raised.value.position) == ("log-event", "binlog.000001:4")


def test_an_xid_is_used_again():
    commit = [say("XA COMMIT " + A)]
    plan = planned((10, PREPARE_A), (20, commit), (30, PREPARE_A), (40, PREPARE_A), (50, commit))
    assert [move[:2] for move in plan.moves] == [(10, 20), (40, 50)] and plan.prepared == {}


def test_one_phase_and_other_statements_are_no_business_of_it():
    others = [say("XA START " + A), say("DELETE FROM t WHERE v = 'XA COMMIT'"), prepare(b"a", b"", 1, one_phase=1)]
    assert planned((10, others), (20, [say("XA RECOVER")]), prepared={B: 5}) == XaPlan((), (), {B: 5})


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([say("XA COMMIT " + A)], "xa-not-prepared"),
        ([say("XA COMMIT 'a'")], "log-event"),
        ([(38, prepare(b"a", b"", 1)[1][:-1])], "log-event"),
        ([(38, prepare(b"a", b"", 1)[1] + b"x")], "log-event"),
        ([prepare(b"a", bytes(65), 1)], "log-event"),
    ],
)
def test_what_cannot_be_placed_is_refused_with_its_place(events, code):
    with pytest.raises(RefusedError) as refused:
        planned((10, [say("BEGIN"), *events]))
    assert (refused.value.code, refused.value.position) == (code, "binlog.000001:4")
