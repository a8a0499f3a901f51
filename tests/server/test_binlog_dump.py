"""The live source against real servers: what it reads is what the server has on disk, byte for byte."""

from __future__ import annotations

import time

import pytest

from mirrorlake.core.position import BinlogPosition, MariadbGtidSet, MysqlGtidSet, parse_gtid_set
from mirrorlake.errors import MirrorlakeError, RefusedError, RetryableError
from mirrorlake.mysql import connection as connection_module
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.binlog_files import FileSource
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.preflight import CHECKS, refuse_failed, run_preflight
from tests.support.log_bytes import read_files
from tests.support.servers import running_server


@pytest.fixture(autouse=True)
def shop(server):
    server.reset()
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, name LONGBLOB)")
    return server


@pytest.fixture
def source(server):
    source = LiveSource(login(server))
    yield source
    source.close()


def login(server, **changes) -> ServerLogin:
    fields = {"host": server.host, "port": server.port, "user": server.user, "password": server.password}
    return ServerLogin(**fields | changes)


def insert(server, *ids: int) -> None:
    for each in ids:
        server.execute("INSERT INTO shop.item VALUES (%s, REPEAT('x', 100))", each)


def flush(server) -> None:
    """Starts a new file; MariaDB writes its BINLOG_CHECKPOINT some time later, by itself."""
    server.execute("FLUSH BINARY LOGS")
    newest = server.log_files()[-1].name
    give_up = time.monotonic() + 10
    while server.flavor == "mariadb" and newest not in checkpoints(server, newest):
        assert time.monotonic() < give_up
        time.sleep(0.01)


def checkpoints(server, log_file: str) -> list[str]:
    return [row[5] for row in server.query(f"SHOW BINLOG EVENTS IN '{log_file}'") if row[2] == "Binlog_checkpoint"]


def on_disk(server) -> dict[str, bytes]:
    """File name -> its events; the file that is being written is marked as in use, the stream's is not."""
    found = {path.name: bytearray(path.read_bytes()[4:]) for path in server.log_files()}
    for data in found.values():
        data[17] &= 0xFE
    return {name: bytes(data) for name, data in found.items()}


def refusal_of(call, kind=RefusedError) -> MirrorlakeError:
    with pytest.raises(kind) as refusal:
        call()
    return refusal.value


def newest_dump_thread(server) -> int:
    """The server ends those of closed connections when it wants."""
    return max(row[0] for row in server.query("SHOW PROCESSLIST") if str(row[4]).startswith("Binlog Dump"))


# --- bytes


def test_every_file_comes_as_it_is_on_disk(server, source):
    for number in range(4):
        insert(server, number)
        flush(server)
    insert(server, 9)
    assert read_files(source, source.earliest(), source.current()) == on_disk(server)
    assert len(server.log_files()) == 5


def test_closed_files_are_equal_to_the_last_bit(server, source):
    insert(server, 1)
    flush(server)
    path = server.log_files()[0]
    found = read_files(source, source.earliest(), BinlogPosition(path.name, path.stat().st_size))
    assert b"\xfebin" + found[path.name] == path.read_bytes()


def test_the_servers_folder_reads_as_the_server_does(server, source):
    for number in range(3):
        insert(server, number)
        flush(server)
    server.restart()
    insert(server, 8)
    files = FileSource(server.datadir)
    fresh = LiveSource(login(server))
    assert files.flavor == fresh.flavor and files.current() == fresh.current()
    from_files = read_files(files, files.earliest(), files.current())
    assert {name: data[:17] + bytes([data[17] & 0xFE]) + data[18:] for name, data in from_files.items()} == read_files(
        fresh, fresh.earliest(), fresh.current()
    )
    fresh.close()


def test_the_folder_of_a_server_that_crashed_is_read_whole(shop):
    """The file it was writing has no ROTATE; the next one shows that the server was started."""
    with running_server(shop.flavor) as server:
        server.execute("CREATE DATABASE shop")
        server.execute("CREATE TABLE shop.item (id INT PRIMARY KEY, name LONGBLOB)")
        insert(server, 1, 2)
        server.kill()
        in_use_alone = FileSource(server.datadir)
        assert in_use_alone.current().file_number == 1
        server.start()
        insert(server, 3)
        files = FileSource(server.datadir)
        found = read_files(files, files.earliest(), files.current())
        assert {name: data[:17] + b"\0" + data[18:] for name, data in found.items()} == on_disk(server)
        assert len(found) == 2
        live = LiveSource(login(server))
        assert read_files(live, live.earliest(), live.current()) == on_disk(server)
        live.close()


def test_events_of_more_than_one_packet_come_whole(server, source):
    """One just around each limit of a packet, and one of three packets."""
    limit = (1 << 24) - 1
    server.execute("SET GLOBAL max_allowed_packet = 134217728")
    server._hang_up()  # the limit holds for new sessions
    sizes = [limit - 40 + step for step in range(-8, 30, 4)] + [40_000_000]
    for number, size in enumerate(sizes):
        server.execute(f"INSERT INTO shop.item VALUES ({number}, REPEAT('x', {size}))")
        server.execute(f"DELETE FROM shop.item WHERE id = {number}") if size == 40_000_000 else None
    assert read_files(source, source.earliest(), source.current()) == on_disk(server)


def test_read_stops_at_its_end_and_goes_on_with_the_same_connection(server, source):
    insert(server, 1)
    ends = [source.current()]
    flush(server)
    for number in (2, 3):
        ends.append(source.current())
        insert(server, number)
    ends += [source.current()] * 2
    found, start, threads = {}, source.earliest(), set()
    for end in ends:
        for name, data in read_files(source, start, end).items():
            found[name] = found.get(name, b"") + data
        start = end
        threads.add(newest_dump_thread(server))
    assert found == on_disk(server)
    assert len(threads) == 1


def test_reading_on_behind_a_rotate_keeps_the_connection(server, source):
    insert(server, 1)
    flush(server)
    insert(server, 2)
    first, second = server.log_files()
    read_files(source, source.earliest(), BinlogPosition(first.name, first.stat().st_size))
    thread = newest_dump_thread(server)
    found = read_files(source, BinlogPosition(second.name, 4), source.current())
    assert found == {second.name: on_disk(server)[second.name]} and newest_dump_thread(server) == thread


def test_follow_sees_what_is_written_later(server, source):
    read_files(source, source.earliest(), source.current())
    for number in range(5):
        start = source._position
        insert(server, number)
        end = source.current()
        assert sum(map(len, read_files(source, start, end).values())) == end.offset - start.offset


def test_every_event_is_a_start_and_an_end(server, source):
    insert(server, 1, 2)
    whole = on_disk(server)["binlog.000001"]
    starts = [int(p) for block in source.read(source.earliest(), source.current()) for p in block.start_positions]
    for start, end in zip(starts, [*starts[3:], 4 + len(whole)], strict=False):
        found = read_files(source, BinlogPosition("binlog.000001", start), BinlogPosition("binlog.000001", end))
        assert found["binlog.000001"] == whole[start - 4 : end - 4]


def test_a_log_without_checksums_is_read_too(server, source):
    server.execute("SET GLOBAL binlog_checksum = 'NONE'")
    try:
        insert(server, 1)
        flush(server)
        fresh = LiveSource(login(server))
        insert(server, 2)
        assert read_files(fresh, fresh.earliest(), fresh.current()) == on_disk(server)
        inside = fresh.current()
        insert(server, 3)
        end = fresh.current()
        fresh.close()
    finally:
        server.execute("SET GLOBAL binlog_checksum = 'CRC32'")
    assert read_files(source, inside, end) == {
        end.log_file: on_disk(server)[end.log_file][inside.offset - 4 : end.offset - 4]
    }


# --- GTIDs


def gtids_at_present(server) -> str:
    variable = "@@gtid_binlog_pos" if server.flavor == "mariadb" else "@@global.gtid_executed"
    return server.query(f"SELECT {variable}")[0][0].replace("\n", "")


def test_locate_gives_the_start_of_the_first_missing_transaction(server, source):
    known = []
    for number in range(6):
        known.append((gtids_at_present(server), source.current()))
        insert(server, number)
        if number == 3:
            flush(server)
    for number, (text, position) in enumerate(known):
        if number == 4:  # the first transaction of the second file
            position = BinlogPosition("binlog.000002", source.locate(parse_gtid_set(server.flavor, text)).offset)
        assert source.locate(parse_gtid_set(server.flavor, text)) == position
    assert source.locate(parse_gtid_set(server.flavor, gtids_at_present(server))) == source.current()


def test_reading_by_gtid_from_the_start_and_from_the_middle(server, source):
    insert(server, 1)
    middle, text = source.current(), gtids_at_present(server)
    insert(server, 2)
    empty = MariadbGtidSet() if server.flavor == "mariadb" else MysqlGtidSet()
    whole = on_disk(server)["binlog.000001"]
    assert whole.endswith(read_files(source, empty, source.current())["binlog.000001"])
    found = read_files(source, parse_gtid_set(server.flavor, text), source.current())
    assert found == {"binlog.000001": whole[middle.offset - 4 :]}


def test_files_and_server_locate_the_same_place(server, source):
    insert(server, 1)
    flush(server)
    text = gtids_at_present(server)
    insert(server, 2, 3)
    gtids = parse_gtid_set(server.flavor, text)
    assert FileSource(server.datadir).locate(gtids) == source.locate(gtids)


# --- what goes wrong


def test_killed_dump_is_retryable_and_the_next_read_goes_on(server, source):
    insert(server, 1)
    start = source.current()
    read_files(source, source.earliest(), start)
    server.execute(f"KILL {newest_dump_thread(server)}")
    insert(server, 2)
    end = source.current()
    assert refusal_of(lambda: read_files(source, start, end), RetryableError).code == "server-lost"
    assert sum(map(len, read_files(source, start, end).values())) == end.offset - start.offset


def test_killed_control_connection_is_retryable_and_the_next_question_is_answered(server, source):
    (thread,) = source.control.query("SELECT CONNECTION_ID()")[0]
    server.execute(f"KILL {thread}")
    assert refusal_of(source.current, RetryableError).code == "server-lost"
    assert source.current() == FileSource(server.datadir).current()


def test_idle_control_connection_is_opened_anew(server, source, monkeypatch):
    before = source.control.query("SELECT CONNECTION_ID()")
    monkeypatch.setattr(connection_module, "IDLE_LIMIT_S", -1)
    assert source.control.query("SELECT CONNECTION_ID()") != before


def test_stopped_server_is_lost_and_then_unreachable(server, source):
    insert(server, 1)
    start = source.current()
    read_files(source, source.earliest(), start)
    server.stop()
    try:
        behind = BinlogPosition(start.log_file, start.offset + 10_000)
        assert refusal_of(lambda: read_files(source, start, behind), RetryableError).code == "server-lost"
        assert refusal_of(lambda: LiveSource(login(server)), RetryableError).code == "server-unreachable"
    finally:
        server.start()
    fresh = LiveSource(login(server))
    assert fresh.identity == source.identity
    fresh.close()


def test_purged_position_is_refused(server, source):
    insert(server, 1)
    flush(server)
    insert(server, 2)
    start = source.earliest()
    server.execute("PURGE BINARY LOGS TO 'binlog.000002'")
    end = source.current()
    assert refusal_of(lambda: source.check_range(start, end)).code == "server-log-purged"
    assert refusal_of(lambda: read_files(source, start, end)).code == "server-log-purged"
    first = MariadbGtidSet.parse("0-10-1") if server.flavor == "mariadb" else MysqlGtidSet()
    assert refusal_of(lambda: source.locate(first)).code == "server-log-purged"


def test_position_that_was_never_written_is_refused(server, source):
    end = BinlogPosition("binlog.000009", 100)
    for start in (BinlogPosition("binlog.000007", 4), BinlogPosition("binlog.000001", 10_000_000)):
        assert refusal_of(lambda start=start: read_files(source, start, end)).code == "server-log-purged"


def test_wrong_password_is_refused_and_not_repeated(server):
    wrong = login(server, password="wr0ng-s3cret")
    refused = refusal_of(lambda: LiveSource(wrong))
    assert refused.code == "server-password"
    assert "wr0ng-s3cret" not in f"{refused!r} {refused} {refused.__context__!r} {wrong!r} {wrong}"


def test_user_without_privileges_is_refused(server):
    server.execute("CREATE USER IF NOT EXISTS plain IDENTIFIED BY 'p1ain'")
    try:
        plain = login(server, user="plain", password="p1ain")
        source = LiveSource(plain)
        assert refusal_of(source.current).code == "server-privilege"
        start = BinlogPosition("binlog.000001", 4)
        end = BinlogPosition("binlog.000001", 200)
        assert refusal_of(lambda: read_files(source, start, end)).code == "server-privilege"
        source.close()
        checks = run_preflight(ServerConnection(plain))
        missing = {check.name for check in checks if check.code == "server-privilege" and not check.ok}
        assert missing == {"privilege REPLICATION SLAVE", "privilege REPLICATION CLIENT"}
    finally:
        server.execute("DROP USER plain")


def test_user_with_just_the_documented_privileges_reads(server):
    server.execute("CREATE USER IF NOT EXISTS reader IDENTIFIED BY 'r3ader \u00e9'")
    try:
        server.execute("GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader")
        source = LiveSource(login(server, user="reader", password="r3ader \u00e9"))
        assert read_files(source, source.earliest(), source.current()) == on_disk(server)
        assert all(check.ok for check in run_preflight(source.control))
        source.close()
    finally:
        server.execute("DROP USER reader")


def test_unreachable_port_and_unknown_host(server):
    for changes in ({"port": 1}, {"host": "no-such-host.invalid"}):
        refused = refusal_of(lambda changes=changes: LiveSource(login(server, **changes)), RetryableError)
        assert refused.code == "server-unreachable"


def test_tls_is_used_or_refused(server):
    required = login(server, tls="required")
    if server.program == "mariadb":  # 10.11 has no certificate unless it is given one
        assert refusal_of(lambda: LiveSource(required)).code == "server-tls"
        return
    source = LiveSource(required)
    insert(server, 1)
    assert source.control.query("SHOW STATUS LIKE 'Ssl_cipher'")[0][1]
    assert read_files(source, source.earliest(), source.current()) == on_disk(server)
    source.close()
    assert refusal_of(lambda: LiveSource(login(server, tls="verify"))).code == "server-tls"


# --- preflight


def test_preflight_passes_on_a_right_server(server):
    checks = run_preflight(ServerConnection(login(server)))
    assert all(check.ok for check in checks) and len(checks) == len(CHECKS)
    refuse_failed(checks)


@pytest.mark.parametrize(
    ("variable", "wrong", "right", "code"),
    [
        ("binlog_format", "STATEMENT", "ROW", "binlog-format"),
        ("binlog_format", "MIXED", "ROW", "binlog-format"),
        ("binlog_checksum", "NONE", "CRC32", "binlog-checksum"),
    ],
)
def test_preflight_names_a_wrong_setting_and_its_fix(server, variable, wrong, right, code):
    server.execute(f"SET GLOBAL {variable} = '{wrong}'")
    try:
        checks = run_preflight(ServerConnection(login(server)))
    finally:
        server.execute(f"SET GLOBAL {variable} = '{right}'")
    assert [(check.name, check.found, check.code) for check in checks if not check.ok] == [(variable, wrong, code)]
    assert all(check.fix for check in checks if not check.ok)
    assert refusal_of(lambda: refuse_failed(checks)).code == code


def test_preflight_finds_partial_json_of_minimal_images(mysql):
    failed = {}
    mysql.execute("SET GLOBAL binlog_row_value_options = 'PARTIAL_JSON'")
    try:
        for image in ("MINIMAL", "NOBLOB", "FULL"):
            mysql.execute(f"SET GLOBAL binlog_row_image = {image}")
            failed[image] = [check.code for check in run_preflight(ServerConnection(login(mysql))) if not check.ok]
    finally:
        mysql.execute("SET GLOBAL binlog_row_value_options = '', GLOBAL binlog_row_image = FULL")
    assert failed == {"MINIMAL": ["binlog-row-value-options"], "NOBLOB": [], "FULL": []}
