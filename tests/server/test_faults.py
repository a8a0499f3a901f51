"""A source that fails, restarts, forgets or is exchanged: what is durable stays whole, or a name says what is wrong."""

from __future__ import annotations

import random
import threading
import time

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from mirrorlake.core.binlog.event_mark import EventMark
from mirrorlake.core.binlog.log_reader import LogReader, ResumePoint
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.position import BinlogPosition
from mirrorlake.errors import RefusedError, RetryableError
from mirrorlake.jobs.run.same_log import check_same_log
from mirrorlake.mysql import dump_stream
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.login import ServerLogin
from tests.support.every_form import gtid_numbers, write_every_form
from tests.support.proxy import Proxy, packet_ends

CUTS, CUTS_LONG = 25, 400
JUMPS = (1_700_000_000, 1_900_000_000, 1_000, 1_700_000_001)
"""Seconds since 1970 that a server's clock shows one after another."""


@pytest.fixture
def proxy(server):
    server.reset()
    with Proxy(server.host, server.port) as proxy:
        yield proxy


def login(proxy, server) -> ServerLogin:
    return ServerLogin(proxy.host, proxy.port, server.user, server.password)


class Follower:
    """Reads as ingest does: only what lies before a resume point is kept, and reading continues from the last one."""

    def __init__(self, proxy, server):
        self._login, self._flavor = login(proxy, server), server.flavor
        self.batches: list[pa.RecordBatch] = []
        self.resume: ResumePoint | None = None

    def attempt(self, end: BinlogPosition | None = None) -> None:
        """Raises what a new process would meet."""
        source = LiveSource(self._login)
        try:
            start, gtids = source.earliest(), parse_gtid_set(self._flavor, "")
            if self.resume:
                start, gtids = self.resume.position, parse_gtid_set(self._flavor, self.resume.gtids)
                check_same_log(source, EventMark.of_last(self.batches[-1]), start)
            held = []
            for chunk in LogReader(start, gtids).read(source.read(start, end or source.current())):
                held.append(chunk.batch)
                if chunk.resume:
                    self.batches, self.resume, held = self.batches + held, chunk.resume, []
        finally:
            source.close()

    def retry(self, tries: int = 3) -> list[str]:
        """The codes of the failures before it reached the end."""
        codes = []
        while True:
            try:
                self.attempt()
                return codes
            except RetryableError as error:
                codes.append(error.code)
                assert len(codes) < tries, codes

    def files(self) -> dict[str, bytes]:
        rows = pa.Table.from_batches(self.batches)
        found: dict[str, bytes] = {}
        for name, raw in zip(rows["log_file"].to_pylist(), rows["raw"].to_pylist(), strict=True):
            found[name] = found.get(name, b"") + raw
        return found

    def silver(self) -> pa.Table:
        return pa.Table.from_batches(Assembler(self._flavor).assemble(self.batches))


def on_disk(server) -> dict[str, bytes]:
    """File name -> its events, with the mark of the file in use taken off."""
    found = {path.name: path.read_bytes()[4:] for path in server.log_files()}
    return {name: data[:17] + bytes([data[17] & 0xFE]) + data[18:] for name, data in found.items()}


def refusal_code(call) -> str:
    with pytest.raises(RefusedError) as refused:
        call()
    return refused.value.code


# --- connections


def test_a_connection_cut_behind_any_event_or_inside_it_loses_and_doubles_nothing(server, proxy, seed, is_long):
    write_every_form(server)
    whole = Follower(proxy, server)
    whole.attempt()
    assert whole.files() == on_disk(server)
    ends, rng = packet_ends(bytes(proxy.streams[-1])), random.Random(seed)
    inside = [rng.randrange(ends[-1]) for _ in range(CUTS_LONG if is_long else CUTS)]
    lost = 0
    for cut in [0, *ends, *inside]:
        proxy.cut_stream_after = cut
        follower = Follower(proxy, server)
        lost += follower.retry() == ["server-lost"]
        assert follower.files() == whole.files()
        assert follower.resume == whole.resume
    assert follower.silver() == whole.silver()
    assert lost >= len(ends) - 2  # after the last event nothing is missed


def test_a_connection_that_breaks_again_and_again_still_comes_to_the_end(server, proxy, seed):
    write_every_form(server)
    follower, rng = Follower(proxy, server), random.Random(seed)
    for _ in range(60):
        proxy.cut_stream_after = rng.choice((40, 400, 4_000, 20_000))
        try:
            follower.attempt()
        except RetryableError as error:
            assert error.code == "server-lost"
    proxy.cut_stream_after = None
    follower.attempt()
    assert follower.files() == on_disk(server)


def test_a_silent_connection_is_lost_and_one_with_heartbeats_is_not(server, proxy, monkeypatch):
    monkeypatch.setattr(dump_stream, "HEARTBEAT_S", 1)
    monkeypatch.setattr(dump_stream, "SILENCE_LIMIT_S", 2)
    write_every_form(server)
    follower = Follower(proxy, server)
    proxy.stall_stream_after = 3_000
    started = time.monotonic()
    assert follower.retry() == ["server-lost"]
    assert time.monotonic() - started >= 2 and follower.files() == on_disk(server)
    source = LiveSource(login(proxy, server))
    end = source.current()
    stream = iter(source.read(end, BinlogPosition(end.log_file, end.offset + 1_000_000)))
    threading.Timer(4, server.execute, ["INSERT INTO shop.item (id) VALUES (2000)"]).start()
    assert next(stream).start_pos == end.offset
    source.close()


def test_another_replica_with_our_server_id_costs_a_retry(server, proxy, monkeypatch):
    monkeypatch.setattr(dump_stream.random, "randrange", lambda *_: 1 << 31)
    monkeypatch.setattr(dump_stream, "uuid4", lambda: "11111111-2222-3333-4444-555555555555")
    write_every_form(server)
    first, second = LiveSource(login(proxy, server)), LiveSource(login(proxy, server))
    start = first.current()
    later = BinlogPosition(start.log_file, start.offset + 100_000)
    reading = first.read(start, later)
    server.execute("INSERT INTO shop.item (id) VALUES (2000)")
    next(reading)
    list(second.read(second.earliest(), start))
    with pytest.raises(RetryableError) as lost:
        list(reading)
    assert lost.value.code == "server-lost"
    first.close()
    second.close()
    follower = Follower(proxy, server)
    follower.attempt()
    assert follower.files() == on_disk(server)


def packet(payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + b"\1" + payload


def read_failed(text: str) -> bytes:
    return packet(b"\xff" + (1236).to_bytes(2, "little") + b"#HY000" + text.encode())


def event_head(n_bytes: int) -> bytes:
    """The 0 before an event and its header, which says that it has so many bytes."""
    return b"\0" + bytes(4) + b"\2" + bytes(4) + n_bytes.to_bytes(4, "little") + bytes(6)


FIRST_OF_TWO = b"\xff\xff\xff\1"
NO_PACKETS = {
    "no event": (packet(b"\7"), "log-event", "a packet that is neither an event nor an error"),
    "end": (packet(b"\xfe" + bytes(4)), "server-lost", "the server ended the stream"),
    "short": (packet(event_head(19)[:-1]), "log-event", "a packet that is neither an event nor an error"),
    "other length": (packet(event_head(21)), "log-event", "an event's length field is not the length of its packet"),
    "large, shorter": (FIRST_OF_TWO + event_head(19), "log-event", "is not the length of its packets"),
    "large, longer": (FIRST_OF_TWO + event_head((1 << 24) + 9) + bytes(0xFFFFFF - 20) + packet(b"x"), "log-event",
                      "is not the length of its packets"),
    "closed": (read_failed("Binary log is not open"), "binlog-off", "Binary log is not open"),
    "too large": (read_failed("log event entry exceeded max_allowed_packet"), "log-event", "max_allowed_packet"),
    "purged": (read_failed("Could not find first log file name"), "server-log-purged", "Could not find first log file"),
}  # fmt: skip


@pytest.mark.parametrize(("instead", "code", "message"), NO_PACKETS.values(), ids=NO_PACKETS)
def test_a_packet_that_is_no_event_is_named_and_what_came_before_it_is_kept(server, proxy, instead, code, message):
    write_every_form(server)
    follower = Follower(proxy, server)
    follower.attempt()
    ends = packet_ends(bytes(proxy.streams[-1]))
    follower, proxy.cut_stream_after, proxy.sent_at_cut = Follower(proxy, server), ends[len(ends) // 2], instead
    with pytest.raises((RefusedError, RetryableError), match=message) as error:
        follower.attempt()
    assert error.value.code == code
    assert follower.resume is not None
    follower.attempt()
    assert follower.files() == on_disk(server)


# --- the server's log


@pytest.mark.parametrize("is_clean", [True, False], ids=["restart", "crash"])
def test_reading_goes_on_when_the_server_comes_back(server, proxy, is_clean):
    write_every_form(server)
    follower = Follower(proxy, server)
    proxy.cut_stream_after = 9_000
    with pytest.raises(RetryableError):
        follower.attempt()
    server.restart() if is_clean else server.crash()
    server.execute("INSERT INTO shop.item (id) VALUES (2000)")
    follower.retry()
    assert follower.files() == on_disk(server)


@pytest.mark.row_metadata("full")
def test_a_clock_that_jumps_does_not_change_the_order(server, proxy):
    server.execute("CREATE DATABASE clock")
    server.execute("CREATE TABLE clock.t (n INT)")
    with server.connect(database="clock") as connection, connection.cursor() as cursor:
        for n, second in enumerate(JUMPS):
            cursor.execute(f"SET TIMESTAMP = {second}")
            cursor.execute(f"INSERT INTO t VALUES {', '.join(['(1)'] * (n + 1))}")
    follower = Follower(proxy, server)
    follower.attempt()
    commits = follower.silver().filter(pc.field("op") == "COMMIT").sort_by("lsn")
    assert commits["changes"].to_pylist() == [1, 2, 3, 4]
    if server.flavor == "mariadb":  # MySQL's GTID events tell the time of day
        assert [at.timestamp() for at in commits["commit_ts"].to_pylist()] == list(JUMPS)


def test_a_rotation_without_events_and_then_a_purge_loses_nothing(server, proxy):
    write_every_form(server)
    follower = Follower(proxy, server)
    for _ in range(3):
        server.execute("FLUSH BINARY LOGS")
    follower.attempt()
    newest = server.log_files()[-1].name
    assert follower.resume.position.log_file == newest
    server.execute(f"PURGE BINARY LOGS TO '{newest}'")
    server.execute("INSERT INTO shop.item (id) VALUES (2000)")
    follower.attempt()
    assert follower.files()[newest] == on_disk(server)[newest]


def test_a_position_at_the_head_of_a_file_outlives_the_purge_of_the_file_before(server, proxy):
    write_every_form(server)
    follower = Follower(proxy, server)
    server.execute("FLUSH BINARY LOGS")
    last = server.log_files()[-2]
    follower.attempt(BinlogPosition(last.name, last.stat().st_size))
    assert follower.resume.position == BinlogPosition(server.log_files()[-1].name, 4)
    server.execute(f"PURGE BINARY LOGS TO '{server.log_files()[-1].name}'")
    follower.attempt()
    assert follower.files() | on_disk(server) == follower.files()


def test_a_purge_of_what_comes_next_is_refused_by_name(server, proxy):
    write_every_form(server)
    follower = Follower(proxy, server)
    first = server.log_files()[0]
    follower.attempt(BinlogPosition(first.name, first.stat().st_size // 2))
    server.execute(f"PURGE BINARY LOGS TO '{server.log_files()[-1].name}'")
    before = follower.resume
    assert [refusal_code(follower.attempt) for _ in range(2)] == ["server-log-purged"] * 2
    assert follower.resume == before


@pytest.mark.parametrize("grows", [False, True], ids=["shorter", "longer"])
def test_a_reset_log_is_refused_by_name_even_when_it_has_grown_again(server, proxy, grows):
    write_every_form(server)
    follower = Follower(proxy, server)
    follower.attempt()
    server.reset()
    time.sleep(1)  # the very same events in the very same second are the same log
    if grows:
        for _ in range(2):
            write_every_form(server)
            server.execute("DROP DATABASE shop")
    assert refusal_code(follower.attempt) == "log-replaced"


def test_a_start_by_gtids_with_a_gap_brings_the_missing_transaction_once(server, proxy):
    """The gap's transaction was written later than its successors."""
    if server.flavor == "mariadb":
        pytest.skip("a MariaDB GTID set has no gaps")
    write_every_form(server)
    source = LiveSource(login(proxy, server))
    known = parse_gtid_set("mysql", server.query("SELECT @@global.gtid_executed")[0][0].replace("\n", ""))
    uuid, last = server.query("SELECT @@server_uuid")[0][0], gtid_numbers(server)
    server.execute(f"SET gtid_next = '{uuid}:{last + 2}'")
    server.execute("INSERT INTO shop.item (id) VALUES (2002)")
    known.add(uuid, last + 2)
    server.execute("SET gtid_next = 'AUTOMATIC'")
    server.execute("INSERT INTO shop.item (id) VALUES (2001)")  # takes the free number
    start = source.locate(known)
    chunks = list(LogReader(start, known).read(source.read(start, source.current())))
    source.close()
    gtids = {gtid for chunk in chunks for gtid in chunk.batch["gtid"].to_pylist()}
    assert gtids == {f"{uuid}:{last + 1}"}
