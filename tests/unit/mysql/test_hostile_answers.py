"""What a server sends wrongly is an error with a name, within bounds of memory and time, and never a defect of ours."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from mirrorlake.core.position import BinlogPosition
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.lake.delta.failures import as_ours
from mirrorlake.mysql import binlog_dump, consistent_read, session
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.consistent_read import ConsistentRead, CurrentRead
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.preflight import GENERATED_COLUMNS, check_generated_columns, require_source, run_preflight
from mirrorlake.mysql.result_set import query_batches
from mirrorlake.mysql.same_server import ServerFacts
from mirrorlake.mysql.server_errors import ServerSaid, server_error
from mirrorlake.mysql.session import Session
from mirrorlake.mysql.snapshot_checks import check_select
from mirrorlake.mysql.source_tables import create_statement, list_tables
from tests.support.log_names import NO_LOG_NAMES
from tests.support.rogue_server import COLUMN_END, LARGEST, OK, Keys, RogueServer, Wire

ROOT = Path(__file__).parents[3]
PEAK_MB = 600
FULL_PACKET = struct.pack("<I", LARGEST)


def code_of(call) -> str:
    with pytest.raises(Exception) as raised:
        call()
    return as_ours(raised.value).code


def login(rogue: RogueServer, **settings) -> ServerLogin:
    return ServerLogin("127.0.0.1", rogue.port, "u", "p", **settings)


# --- before the login


def greeting(payload: bytes):
    return lambda wire: wire.send(payload)


def after_greeting(*answers: bytes):
    def act(wire):
        wire.greet()
        wire.login()
        for answer in answers:
            wire.send(answer)
            wire.receive()

    return act


@pytest.mark.parametrize(
    "act",
    [
        greeting(bytes(range(7, 27))), greeting(b""), greeting(b"\x0a"), greeting(b"\x0a8.4.0\0"),
        greeting(b"\x0a8.4.0\0" + bytes(14)), greeting(b"\x0a" + b"x" * 50), greeting(b"\xff"), greeting(b"\xff\x01"),
        greeting(b"\x0a" + b"9" * 5000 + b"\0" + bytes(60)), lambda wire: wire.greet(version="odd"),
        lambda wire: wire.greet(protocol=9), lambda wire: wire.greet(protocol=0),
        lambda wire: wire.greet("\u00e9\u00ff"),
        lambda wire: wire.send_raw(b"HTTP/1.1 400 Bad Request\r\n\r\n"), lambda wire: None,
        lambda wire: wire.send_raw(b"\x05\0\0\x07hello"), lambda wire: wire.send(bytes(70_000)),
        after_greeting(b""), after_greeting(b"\xfe"), after_greeting(b"\xfe\xff\xfe\0x"), after_greeting(b"\x01"),
        after_greeting(b"\x01\x05"), after_greeting(b"\x01\x04", b"\x01junk"), after_greeting(b"\x01\x04", b"\0"),
        after_greeting(b"\xfesha256_password\0", b"\x01"),
        after_greeting(b"\xfecaching_sha2_password\0\0", b"\x01\x04"),
        after_greeting(b"\xfeparsec\0short", b"\x01P\0salt"), after_greeting(b"\xfeparsec\0" + bytes(32), b""),
        after_greeting(b"\xfeparsec\0" + bytes(32), b"\x01P\x1fsalt"),
        after_greeting(b"\xfeparsec\0" + bytes(32), b"\x01P\0"),
        after_greeting(b"\xfeclient_ed25519\0", b"\xfe"), after_greeting(b"\xfedialog\0", b"\x03more?"),
        after_greeting(b"\xfemysql_native_password\0" + bytes(20), b"\xfemysql_clear_password\0"),
        after_greeting(b"\xff"),
        after_greeting(b"\xff\x39\x30#HY000?"), after_greeting(b"\0"),
    ],
)  # fmt: skip
def test_no_greeting_and_no_authentication_is_a_defect_of_ours(act):
    with RogueServer(act) as rogue:
        assert code_of(lambda: Session(login(rogue))) in ("server-protocol", "server-lost", "server-password")


def drips(wire):
    for byte in b"\x4a\0\0\0\x0a8.4.0":
        wire.send_raw(bytes((byte,)))
        time.sleep(0.3)
    wire.drip()


def drips_tls(wire):
    wire.greet()
    wire.receive()
    wire.send_raw(b"\x16\x03\x03\x3f\xff\x02")
    wire.drip()


def asks_without_end(wire):
    wire.greet()
    wire.login()
    while True:
        wire.send(b"\x01\x04")
        wire.receive()


@pytest.mark.parametrize(("act", "has_tls"), [(drips, False), (drips_tls, True), (asks_without_end, False)])
def test_the_handshake_has_one_deadline(act, has_tls, monkeypatch, tmp_path):
    monkeypatch.setattr(session, "HANDSHAKE_LIMIT_S", 1)
    with RogueServer(act, Keys(tmp_path) if has_tls else None) as rogue:
        began = time.monotonic()
        code = code_of(lambda: Session(login(rogue, tls="required" if has_tls else "off")))
    assert code in ("server-lost", "server-unreachable", "server-protocol") and time.monotonic() - began < 20


def closes_before_tls(wire):
    wire.greet()
    wire.receive()
    time.sleep(0.1)
    wire.hang_up()


def closes_after_login(wire):
    wire.let_in()
    wire.receive()
    wire.send(OK)
    wire.hang_up()


def damages_a_record(wire):
    """A record that the client cannot decrypt, once it has asked something."""
    wire.let_in()
    wire.receive()
    wire.send_below_tls(b"\x17\x03\x03\0\x20" + bytes(32))


@pytest.mark.parametrize("act", [closes_before_tls, closes_after_login, damages_a_record])
def test_a_connection_that_breaks_is_lost_with_tls_too(act, tmp_path):
    """A run that follows repeats what was lost, and ends at what is refused."""

    def ask(rogue: RogueServer) -> None:
        session = Session(login(rogue, tls="required"))
        session.rows("SELECT 1") if act is damages_a_record else session.command(14, b"")
        time.sleep(0.2)  # until the end of the connection has come
        session.rows(f"SELECT '{'x' * 5_000_000}'")

    with RogueServer(act, Keys(tmp_path)) as rogue:
        assert code_of(lambda: ask(rogue)) in ("server-lost", "server-unreachable")


# --- answers to questions


def answers(*packets: bytes):
    """Every question is answered with these packets."""

    def act(wire):
        wire.let_in()
        while True:
            wire.receive()
            for packet in packets:
                wire.send(packet)
            wire.patience_s = 0.1

    return act


COLUMN = Wire.column()
TABLE_OF_ONE = (b"\x01", COLUMN, COLUMN_END)


@pytest.mark.parametrize(
    "act",
    [
        answers(b""), answers(b"\xfb/etc/passwd"), answers(b"\xfb"), answers(b"\0"), answers(OK), answers(b"\xff"),
        answers(b"\xff\x10"), answers(b"\xff\x28\x04#42000you have an error"), answers(b"\xfe"), answers(b"\xfc\x01"),
        answers(b"\x01", b""), answers(b"\x01", b"\x03def"), answers(b"\x01", COLUMN, OK),
        answers(b"\x01", b"\xfa" + COLUMN),
        answers(*TABLE_OF_ONE, b""), answers(*TABLE_OF_ONE, b"\xfa1"), answers(*TABLE_OF_ONE, b"\xfd\xff\xff\xff1"),
        answers(*TABLE_OF_ONE, b"\x02\xc3\x28", COLUMN_END), answers(*TABLE_OF_ONE, COLUMN_END),
        answers(*TABLE_OF_ONE, b"\x011", b"\x012", COLUMN_END), answers(*TABLE_OF_ONE, b"\x011", COLUMN_END),
        answers(b"\x02", COLUMN, COLUMN, COLUMN_END, b"\x011", COLUMN_END), answers(b"\xfe" + b"\xff" * 8, COLUMN),
        answers(b"\x01", Wire.column(kind=3), COLUMN_END, b"\x01x", COLUMN_END),
        answers(b"\x01", Wire.column(kind=3), COLUMN_END, b"\xfc\x10\x27" + b"9" * 10_000, COLUMN_END),
        answers(b"\x01", Wire.column(kind=12), COLUMN_END, b"\x05abcde", COLUMN_END),
        answers(b"\x02", COLUMN, Wire.column(kind=5), COLUMN_END, b"\x0dbinlog.000001\x03inf", COLUMN_END),
        answers(b"\x02", COLUMN, Wire.column(kind=246), COLUMN_END, b"\x0dbinlog.000001\x0b1e999999999", COLUMN_END),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ask", ["preflight", "source", "status", "tables", "statement", "texts", "read", "batches"])
def test_no_answer_is_a_defect_of_ours(act, ask):
    with RogueServer(act) as rogue:
        where, connection = login(rogue), ServerConnection(login(rogue))

        def batches():
            try:
                list(query_batches(Session(where), "SELECT 1", pa.schema([("x", pa.string()), ("y", pa.string())])))
            except ServerSaid as error:
                raise server_error(*error.args, where) from None

        calls = {
            "preflight": lambda: run_preflight(connection), "source": lambda: LiveSource(where).current(),
            "status": connection.log_sizes, "tables": lambda: list_tables(connection.query),
            "statement": lambda: create_statement(connection.query, ("d", "t"), "mysql"),
            "texts": lambda: create_statement(connection.query, ("d", "t"), "mariadb"),
            "read": lambda: ConsistentRead(where), "batches": batches,
        }  # fmt: skip
        try:
            calls[ask]()
        except Exception as error:
            assert as_ours(error).code not in ("internal", "usage"), as_ours(error)
        finally:
            connection.close()


def sleeps(wire):
    time.sleep(60)


def drips_an_answer(wire):
    wire.send_raw(struct.pack("<HBB", 1000, 0, 1))
    wire.drip()


def answers_late(wire):
    time.sleep(1.5)
    wire.send_rows([("1",)], 1)
    wire.patience_s = 0.1
    wire.receive()


def until(word: bytes, then):
    """Every query is answered with OK up to the first one with this word."""

    def act(wire):
        wire.let_in()
        while word not in wire.receive():
            wire.send(OK)
        then(wire)

    return act


def short_limits(monkeypatch) -> None:
    monkeypatch.setattr(session, "READ_TIMEOUT_S", 0.5)
    monkeypatch.setattr(session, "ANSWER_LIMIT_S", 1)
    monkeypatch.setattr(consistent_read, "QUERY_LIMIT_S", 20)


@pytest.mark.parametrize("then", [sleeps, drips_an_answer])
@pytest.mark.parametrize(
    ("word", "ask"),
    [
        (b"LIMIT 0", lambda where: check_select(ServerConnection(where), [TableName("d", "t")])),
        (b"SET SESSION", CurrentRead),
        (b"information_schema", lambda where: list_tables(CurrentRead(where).rows)),
    ],
)
def test_only_a_query_over_a_whole_table_may_take_hours(word, ask, then, monkeypatch):
    short_limits(monkeypatch)
    with RogueServer(until(word, then)) as rogue:
        began = time.monotonic()
        assert code_of(lambda: ask(login(rogue))) == "server-lost"
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(("word", "read"), [(b"SET SESSION", CurrentRead), (b"READ LOCK", ConsistentRead)])
def test_an_error_about_a_table_where_none_was_asked_for(word, read):
    with RogueServer(until(word, lambda wire: wire.send(b"\xff\x7a\x04#42S02there is no such table"))) as rogue:
        assert code_of(lambda: read(login(rogue))) == "server-protocol"


def test_a_server_may_compute_for_longer_over_a_whole_table(monkeypatch):
    short_limits(monkeypatch)
    with RogueServer(until(b"SUM", answers_late)) as rogue:
        assert CurrentRead(login(rogue)).rows_of_scan("SELECT SUM(x) FROM d.t") == [("1",)]


@pytest.mark.parametrize(
    "row",
    [
        ("binlog.000001", "99999999999999999999"), ("binlog.000001", "-1"), ("binlog", "4"), ("binlog.000001", "x"),
        *((name, "4") for name in NO_LOG_NAMES),
    ],
)  # fmt: skip
def test_a_place_in_the_log_that_is_none(row):
    def act(wire):
        wire.let_in()
        wire.answer_as_mysql({"SHOW BINARY LOG STATUS": [row], "SHOW BINARY LOGS": [row]})

    with RogueServer(act) as rogue:
        source = LiveSource(login(rogue))
        assert code_of(source.current) == code_of(source.earliest) == "server-protocol"
        source.close()


def test_a_set_of_gtids_that_would_take_gigabytes():
    with RogueServer(Wire.let_in) as rogue:
        connection = ServerConnection(login(rogue))
        many = ",".join(f"3e11fa47-71ca-11e1-9e33-c80aa9429562:{i}" for i in range(1, 250_000, 2))
        connection._facts = ServerFacts("8.4.0", "mysql", "")
        assert connection.gtids(many)
        assert code_of(lambda: connection.gtids(f"{many},{many}")) == "server-protocol"


def test_a_run_waits_for_no_check_that_is_information_only():
    """Such as the list of all generated columns, which may be longer than any answer."""

    def act(wire):
        wire.let_in()
        wire.answer_as_mysql({}, version="11.8.2-MariaDB")

    with RogueServer(act) as rogue:
        assert code_of(lambda: require_source(ServerConnection(login(rogue)))) == "binlog-off"
        assert b"binlog_checksum" in rogue.heard and b"information_schema" not in rogue.heard


def test_names_of_generated_columns_that_are_none():
    def act(wire):
        wire.let_in()
        wire.answer_as_mysql({GENERATED_COLUMNS: [("d", None, "c")]}, version="11.8.2-MariaDB")

    with RogueServer(act) as rogue:
        assert code_of(lambda: check_generated_columns(ServerConnection(login(rogue)))) == "server-protocol"


@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ((1040, 1203, 1226, 3032, 3168), "server-unreachable"),
        ((1317, 1969, 3024), "server-lost"),
        ((1045, 3118, 3955, 4150, 4151), "server-password"),
    ],
)
def test_what_real_servers_say_of_limits_and_accounts(numbers, code):
    login = ServerLogin("127.0.0.1", 3306, "u")
    assert {server_error(number, "", login, logged_in=False).code for number in numbers} == {code}


# --- memory: in a process of its own, whose peak the system tells

CONTROL = 'ServerConnection(login).query("SELECT 1")'
ROWS_OF_A_TABLE = 'list(query_batches(Session(login), "SELECT 1", pa.schema([("x", pa.string())])))'
CHILD = """
import sys
import pyarrow as pa
from mirrorlake.lake.delta.failures import as_ours
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.result_set import query_batches
from mirrorlake.mysql.session import Session
from tests.support.peak_memory import peak_bytes

login = ServerLogin("127.0.0.1", int(sys.argv[1]), "u", "p")
try:
    {}
    print("none")
except Exception as error:
    print(as_ours(error).code)
print(peak_bytes() >> 20)
"""


def flooded(act, what: str) -> tuple[str, int]:
    """What a process of its own that asks for ``what`` is told, and the most memory that it had, in MB."""
    with RogueServer(act) as rogue:
        found = subprocess.run(
            [sys.executable, "-c", CHILD.format(what), str(rogue.port)],
            cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
    code, peak_mb = found.stdout.split()
    return code, int(peak_mb)


def endless_greeting(wire):
    wire.endless(FULL_PACKET + bytes(LARGEST))


def endless_small_greetings(wire):
    wire.greet()
    wire.login()
    wire.endless(b"\xff\xff\0\0\x01" + bytes(65534))


def endless_packet(wire):
    wire.let_in()
    wire.receive()
    wire.endless(FULL_PACKET + bytes(LARGEST))


def begin_table_of_one(wire):
    """Log the client in, and answer its query up to the first row."""
    wire.let_in()
    wire.receive()
    for packet in TABLE_OF_ONE:
        wire.send(packet)


def endless_row(wire):
    begin_table_of_one(wire)
    wire.endless(FULL_PACKET + bytes(LARGEST))


def endless_rows(row: bytes, n_columns: int):
    def act(wire):
        wire.let_in()
        wire.receive()
        for packet in (bytes((n_columns,)), *[COLUMN] * n_columns, COLUMN_END):
            wire.send(packet)
        wire.endless(struct.pack("<I", len(row)) + row)

    return act


def endless_columns(wire):
    wire.let_in()
    wire.receive()
    wire.send(b"\xfe" + b"\xff" * 7 + b"\x7f")
    wire.endless(struct.pack("<I", len(COLUMN)) + COLUMN)


@pytest.mark.parametrize(
    "act",
    [
        endless_greeting, endless_small_greetings, endless_packet, endless_row, endless_columns,
        endless_rows(b"\x0212" * 64, 64), endless_rows(b"\xfb" * 200, 200),
        endless_rows(b"\xfc\xff\xff" + "\u00e9".encode() * 32767 + b"x", 1),
    ],
)  # fmt: skip
def test_a_flood_ends_before_it_fills_the_memory(act):
    code, peak_mb = flooded(act, CONTROL)
    assert code == "server-protocol" and peak_mb < PEAK_MB


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xfb", id="null"),
        pytest.param(b"\x02ab", id="short"),
        pytest.param(b"\xfd\0\0\x20", id="2 MiB"),
        pytest.param(b"\xfe" + struct.pack("<Q", 1 << 40), id="1 TiB"),
        pytest.param(b"\xfe" + b"\xff" * 8, id="all bits"),
    ],
)
def test_a_row_without_end_is_refused_as_soon_as_its_cells_have_ended(cell):
    """Or stated more than a row can have."""

    def act(wire):
        begin_table_of_one(wire)
        wire.send_raw(FULL_PACKET + cell + bytes(LARGEST - len(cell)))
        wire.endless(FULL_PACKET + bytes(LARGEST))

    code, peak_mb = flooded(act, ROWS_OF_A_TABLE)
    assert code == "server-protocol" and peak_mb < PEAK_MB


def test_a_row_of_a_copy_is_believed_as_far_as_its_bytes_came():
    def act(wire):
        begin_table_of_one(wire)
        wire.send_raw(FULL_PACKET + b"\xfe" + struct.pack("<Q", 1 << 40))

    with RogueServer(act) as rogue:
        batches = query_batches(Session(login(rogue)), "SELECT 1", pa.schema([("x", pa.string())]))
        assert code_of(lambda: next(batches)) == "server-lost"


# --- the log


def event(kind: int, body: bytes = b"", position: int = 500) -> bytes:
    """A packet's payload: 0x00 and an event of the binary log without a checksum."""
    return b"\0" + struct.pack("<IBIIIH", 0, kind, 1, 19 + len(body), position, 0) + body


def streams(*payloads: bytes, then):
    def act(wire):
        wire.let_in()
        if wire.answer_as_mysql({}):
            for payload in payloads:
                wire.send(payload)
            then(wire)

    return act


def beats(wire):
    while True:
        wire.send(event(27, b"binlog.000001"))
        time.sleep(0.05)


def beats_fast(wire):
    while True:
        wire.send(event(27, b"binlog.000001"))


def beats_slowly(wire):
    for byte in (struct.pack("<I", 5000) + event(27, b"binlog.000001")) * 100:
        wire.send_raw(bytes((byte,)))
        time.sleep(0.1)


def turns(wire):
    while True:
        wire.send(event(4, struct.pack("<Q", 4) + b"binlog.000001", 0))


@pytest.mark.parametrize("then", [beats, beats_fast, beats_slowly, turns])
def test_heartbeats_alone_do_not_hold_a_run(then, monkeypatch):
    monkeypatch.setattr(binlog_dump, "QUIET_LIMIT_S", 1)
    with RogueServer(streams(then=then)) as rogue:
        source, began = LiveSource(login(rogue)), time.monotonic()
        start, end = BinlogPosition("binlog.000001", 4), BinlogPosition("binlog.000001", 1000)
        assert code_of(lambda: list(source.read(start, end))) == "server-lost"
        source.close()
    assert time.monotonic() - began < 20  # 1 on a machine that is free


@pytest.mark.parametrize(
    "payload",
    [
        b"", b"\xff", b"\xff\x10", b"\xff\xd4", b"\xff\xd4\x04#HY000", b"\xff\x0c\x30#HY000what?", b"\xfe", b"\x07junk",
        b"\0", b"\0short", event(4, b""), event(4, b"\x04\0\0\0\0\0\0\0", 0), event(4, b"\xff" * 8 + b"../../x", 0),
        event(4, b"\x04\0\0\0\0\0\0\0\xff\xfe", 0), event(15, b""), event(15, b"\x04\0", 0), event(27, b""),
        event(255, b"x" * 30),
    ],
)  # fmt: skip
def test_nothing_in_the_stream_is_a_defect_of_ours(payload, monkeypatch):
    monkeypatch.setattr(binlog_dump, "QUIET_LIMIT_S", 1)
    with RogueServer(streams(payload, then=lambda wire: None)) as rogue:
        source = LiveSource(login(rogue))
        start, end = BinlogPosition("binlog.000001", 4), BinlogPosition("binlog.000001", 1000)
        assert code_of(lambda: list(source.read(start, end))) not in ("internal", "usage")
        source.close()
