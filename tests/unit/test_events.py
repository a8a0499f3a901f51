from __future__ import annotations

import struct
from uuid import UUID

import pytest

from mirrorlake.core.binlog.events import (
    FormatDescription,
    MariadbGtid,
    MysqlGtid,
    Rotate,
    parse_format_description,
    parse_gtid_list,
    parse_mariadb_gtid,
    parse_mysql_gtid,
    parse_previous_gtids,
    parse_query,
    parse_rotate,
    parse_tagged_gtid,
)
from mirrorlake.core.constants import MOST_GTID_SET_BYTES
from mirrorlake.core.mariadb_gtid import MariadbGtidSet
from mirrorlake.core.mysql_gtid import MysqlGtidSet
from mirrorlake.core.schema.charsets import decode_statement
from mirrorlake.errors import RefusedError
from tests.support import binlog_events as bodies
from tests.support.binlog_spec import Query
from tests.support.log_names import LOG_NAMES, NO_LOG_NAMES

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
VERSIONS = [("mysql", "9.7.4"), ("mysql", "8.0.36"), ("mariadb", "10.11.19-MariaDB-log")]


def query(statement: bytes, status: bytes = b"", database: bytes = b"shop") -> bytes:
    head = struct.pack("<IIBHH", 7, 1, len(database), 1062, len(status))
    return head + status + database + b"\0" + statement


@pytest.mark.parametrize(("flavor", "version"), VERSIONS)
@pytest.mark.parametrize("crc", [b"", b"\x01\x02\x03\x04"])
def test_format_description_tells_flavor_and_algorithm_with_and_without_its_crc(flavor, version, crc):
    for checksum in (False, True):
        body = bodies.format_description(flavor, version, 1700000000, checksum)
        assert parse_format_description(body + crc) == FormatDescription(version, flavor, 1700000000, int(checksum))


def test_format_description_of_a_server_without_checksums():
    body = struct.pack("<H50sIB", 4, b"5.5.62-log", 0, 19) + bytes(14) + bytes([57 + 27]) + bytes(12)
    assert parse_format_description(body) == FormatDescription("5.5.62-log", "mysql", 0, None)


def test_format_description_of_another_binlog_version_is_refused():
    with pytest.raises(RefusedError, match="version 3"):
        parse_format_description(struct.pack("<H50sIB", 3, b"4.1", 0, 19) + bytes(15))


def test_rotate_names_the_next_file():
    for name in LOG_NAMES:
        assert parse_rotate(bodies.rotate(name, 2**33)) == Rotate(name, 2**33)


def test_rotate_to_an_offset_beyond_any_file_is_refused():
    with pytest.raises(RefusedError, match="its offset is beyond any file"):
        parse_rotate(bodies.rotate("binlog.000004", 2**63))


@pytest.mark.parametrize(
    "name", ["", "binlog", "binlog.1", "binlog.00000x", "binlog.٠٠٠٠٠١", "../binlog.000001", *NO_LOG_NAMES]
)
def test_rotate_to_what_is_no_binlog_file_is_refused(name):
    with pytest.raises(RefusedError, match="^log-event: malformed ROTATE event: it names no binlog file$"):
        parse_rotate(bodies.rotate(name, 4))


def test_query_with_every_status_variable_of_both_servers():
    status = b"\x00\x00\x00\x00\x01" + b"\x01" + struct.pack("<Q", 0x45A00020) + b"\x06\x03std" + b"\x02\x03old\x00"
    status += b"\x03" + bytes(4) + b"\x04" + struct.pack("<3H", 8, 45, 255) + b"\x05\x06+02:00" + b"\x07\x01\x00"
    status += b"\x08\x2d\x00" + b"\x09" + bytes(8) + b"\x0a" + bytes(4) + b"\x0b\x01u\x01h" + b"\x0c\x02ab\0c\0"
    status += b"\x0d\x01\x02\x03" + b"\x10\x01" + b"\x11" + bytes(8) + b"\x12\xff\x00" + b"\x13\x00" + b"\x14\x00"
    status += b"\x80\x01\x02\x03" + b"\x81" + bytes(8) + b"\x7f what comes after an unknown code is not read"
    found = parse_query(query("DROP TABLE `caf\u00e9`".encode("latin-1"), status))
    assert (found.thread_id, found.error_code, found.database) == (7, 1062, "shop")
    assert (found.sql_mode, found.charset, found.default_charset_id, found.time_zone) == (
        0x45A00020, (8, 45, 255), 45, "+02:00",
    )  # fmt: skip
    assert found.has_ddl_xid and found.has_made_table("mysql", None)
    assert found.unread_status == b"\x7f what comes after an unknown code is not read"
    assert found.statement == "DROP TABLE `caf\u00e9`"


def test_query_of_a_statement_with_a_character_set_as_mariadb_11_8_writes_it():
    """START of ``alter table t convert to character set utf8mb4, add x timestamp(2) default now(2)`` in two phases."""
    status = bytes.fromhex(
        "00000000010100002054000000000603737464"
        "8305210000082300000a2d000009360000" "0b3c00000c" "04080008000009" "8023e00e" "8202"
    )  # fmt: skip
    found = parse_query(query("alter table gr\u00f6\u00dfe".encode("latin-1"), status))
    assert (found.charset, found.microseconds, found.is_in_force) == ((8, 8, 2304), 974883, False)
    assert (found.statement, found.unread_status) == ("alter table gr\u00f6\u00dfe", b"")


def test_query_without_status_variables_knows_nothing_of_its_session():
    found = parse_query(query(b"BEGIN", database=b""))
    assert (found.sql_mode, found.charset, found.default_charset_id, found.time_zone) == (None, None, None, None)
    servers = [("mysql", 90704), ("mariadb", None), ("mariadb", 100633), ("mariadb", 101119)]
    assert [found.has_made_table(*server) for server in servers] == [False, False, False, True]
    assert (found.database, found.statement) == ("", "BEGIN")


def test_too_many_databases_are_marked_by_254():
    assert parse_query(query(b"x", b"\x0c\xfe\x08\x2d\x00")).default_charset_id == 45


@pytest.mark.parametrize(
    ("variables", "flavor", "explicit"),
    [
        (b"\x00\0\0\0\x01", "mariadb", True), (b"\x00\0\0\0\0", "mariadb", False), (b"", "mariadb", None),
        (b"\x10\x01", "mysql", True), (b"\x10\0", "mysql", False), (b"\x00\0\0\0\x01", "mysql", None),
    ],
)  # fmt: skip
def test_timestamp_rule_of_the_session(variables, flavor, explicit):
    assert parse_query(query(b"x", variables)).explicit_timestamps(flavor) is explicit


@pytest.mark.parametrize(
    ("variables", "phase", "in_force"),
    [(b"", 0, True), (b"\x82\x02", 2, False), (b"\x82\x04" + bytes(8), 4, True), (b"\x82\x08" + bytes(8), 8, False)],
)
def test_phases_of_an_alter(variables, phase, in_force):
    found = parse_query(query(b"x", variables + b"\x08\x2d\x00"))
    assert (found.alter_phase, found.is_in_force, found.default_charset_id) == (phase, in_force, 45)


@pytest.mark.parametrize(
    ("text", "number"), [("10.11.19-MariaDB-log", 101119), ("9.7.4", 90704), ("5.6.51-log", 50651), ("x", None)]
)
def test_version_as_a_number(text, number):
    assert FormatDescription(text, "mysql", 0, 1).version_number == number


@pytest.mark.parametrize(("flavor", "version"), VERSIONS)
def test_query_as_the_servers_write_it(flavor, version):
    spec = Query("CREATE TABLE t (id INT)", "shop", sql_mode=4, time_zone="SYSTEM", charset_database=8)
    found = parse_query(bodies.query(spec, flavor, ddl_xid=5))
    assert (found.database, found.sql_mode, found.time_zone, found.default_charset_id) == ("shop", 4, "SYSTEM", 8)
    assert found.statement == spec.text


@pytest.mark.parametrize(
    ("collation_id", "statement", "text"),
    [
        (45, b"\xc3\xa9", "\u00e9"),
        (255, b"\xf0\x9f\x90\xac", "\U0001f42c"),
        (2304, b"\xc3\xa9", "\u00e9"),
        (8, b"\x80\x81", "\u20ac\x81"),
        (28, b"\xd6\xd0", "\u4e2d"),
        (51, b"\xc4\xe0", "\u0414\u0430"),
        (45, b"\xff", "\ufffd"),
        (13, b"'\x95\x5c' \x85\xf6 \x88\x5c", "'表' \ufffd \ufffd"),  # no backslash where a code ends with 0x5C
        (1, b"\xa5\x5c \xa3\xc4\xff", "功 \ufffd\ufffd"),
        (28, b"\xd5\x5c`\xfe\x60`", "誠`\ufffd`"),
        (248, b"\x81\x30\x81\x30 \x90\x30\x81\x30", "\x80 \U00010000"),
        (10, b"\x5b\x5d", "ÄÅ"),
        (9999, b"\xc3\xa9\xff", "\u00e9\ufffd"),
        (None, b"\xc3\xa9", "\u00e9"),
    ],
)
def test_statement_is_decoded_in_the_clients_charset(collation_id, statement, text):
    assert decode_statement(statement, collation_id) == text


@pytest.mark.parametrize(
    ("statement", "is_of_server"),
    [
        ("SAVEPOINT `É`", True), ('ROLLBACK TO "é"', True), ("DROP TABLE IF EXISTS `é`,`b`", True),
        ("DROP TABLE IF EXISTS `é` /* generated by server */", False), ("DROP TABLE `é`", False), ("é", False),
    ],
)  # fmt: skip
def test_a_statement_that_the_server_wrote_is_in_utf8_in_any_session(statement, is_of_server):
    latin1 = b"\x04" + struct.pack("<HHH", 8, 8, 8)
    found = parse_query(query(statement.encode("utf-8" if is_of_server else "latin-1"), latin1))
    assert (found.statement, found.charset) == (statement, None if is_of_server else (8, 8, 8))


def test_mysql_gtid_of_every_server_generation():
    v56 = b"\x01" + UUID(A).bytes + struct.pack("<Q", 23)
    v57 = v56 + b"\x02" + struct.pack("<QQ", 1, 2)
    v80 = v57 + (1_700_000_000_123_456).to_bytes(7, "little") + b"\x10" + struct.pack("<I", 80036)
    delayed = v57 + (1_700_000_000_123_456 | 1 << 55).to_bytes(7, "little") + bytes(7) + b"\x10" + bytes(8)
    for body, commit_us in ((v56, None), (v57, None), (v80, 1_700_000_000_123_456), (delayed, 1_700_000_000_123_456)):
        assert parse_mysql_gtid(body) == MysqlGtid(A, 23, commit_us)
    assert str(parse_mysql_gtid(v56)) == f"{A}:23"


def test_tagged_gtid_as_mysql_logs_it():
    source = "d422b336-e5a0-11f1-9aae-02fc00000001:my_tag"
    assert parse_tagged_gtid(bodies.TAGGED_GTID) == MysqlGtid(source, 1, 1_795_261_442_664_639)
    assert str(parse_tagged_gtid(bodies.TAGGED_GTID)) == f"{source}:1"


def test_mariadb_gtid_takes_its_server_from_the_header():
    found = parse_mariadb_gtid(bodies.mariadb_gtid(2**40, 3, 1 | 32), 10)
    assert found == MariadbGtid(3, 10, 2**40, 33) and str(found) == f"3-10-{2**40}"


def test_gtid_list_keeps_the_last_entry_of_a_domain():
    entries = [(0, 11, 9), (1, 10, 2), (0, 10, 12)]
    body = struct.pack("<I", 3 | 1 << 28) + b"".join(struct.pack("<IIQ", *entry) for entry in entries)
    assert parse_gtid_list(body) == MariadbGtidSet({0: (10, 12), 1: (10, 2)})
    assert not parse_gtid_list(bodies.gtid_list({}))


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_a_set_that_would_take_gigabytes_is_refused(flavor):
    def body(n: int) -> bytes:
        if flavor == "mariadb":
            return struct.pack("<I", n) + b"".join(struct.pack("<IIQ", i, 1, 1) for i in range(n))
        spans = b"".join(struct.pack("<QQ", i, i + 1) for i in range(1, 2 * n, 2))
        return struct.pack("<Q16sQ", 1, UUID(A).bytes, n) + spans

    parse = parse_gtid_list if flavor == "mariadb" else parse_previous_gtids
    with pytest.raises(RefusedError, match="^log-event: a GTID set of 8,388,6.. bytes") as raised:
        parse(body(MOST_GTID_SET_BYTES // 16))
    assert raised.value.code == "log-event"
    assert parse(body(100))


def test_previous_gtids():
    assert parse_previous_gtids(bodies.previous_gtids({UUID(A): {1, 2, 3, 9}})) == MysqlGtidSet.parse(f"{A}:1-3:9")


def test_a_log_with_another_layout_of_row_events_is_refused():
    body = bytearray(bodies.format_description("mysql", "5.1.5", 0, True))
    body[57 + 18] = 6  # TABLE_MAP: a table id of 4 bytes
    with pytest.raises(RefusedError, match="events of type 19 begin with 6 bytes"):
        parse_format_description(bytes(body))


@pytest.mark.parametrize(
    ("parse", "body", "shortest"),
    [
        (parse_format_description, bodies.format_description("mysql", "9.7.4", 0, True), 99),
        (parse_rotate, bodies.rotate("b.000001"), 8),
        (parse_query, query(b"SELECT 1", b"\x05\x06+02:00\x04" + bytes(6)), 33),
        (parse_mariadb_gtid, struct.pack("<QIB", 1, 0, 0), 13),
        (parse_tagged_gtid, bodies.TAGGED_GTID, len(bodies.TAGGED_GTID)),
        (parse_gtid_list, bodies.gtid_list({(0, 10): 5, (1, 10): 6}), 36),
        (parse_previous_gtids, bodies.previous_gtids({UUID(A): {1, 5}}), 64),
    ],
)
def test_a_cut_body_is_refused_at_every_length(parse, body, shortest):
    arguments = (10,) if parse is parse_mariadb_gtid else ()
    for n_bytes in range(shortest):
        with pytest.raises(RefusedError) as refusal:
            parse(body[:n_bytes], *arguments)
        assert refusal.value.code == "log-event"
    parse(body, *arguments)


def test_a_cut_mysql_gtid_is_refused_unless_an_older_server_ends_there():
    body = b"\x01" + UUID(A).bytes + struct.pack("<Q", 23) + b"\x02" + struct.pack("<QQ", 1, 2) + bytes(7)
    for n_bytes in set(range(len(body))) - {25, 42}:
        with pytest.raises(RefusedError):
            parse_mysql_gtid(body[:n_bytes])


@pytest.mark.parametrize("tag", [b"My_tag", b"1_tag_", b"a:1-99", b"a,tag_", b"\xff_tag_", b"a tag_", b"a\0tag_"])
def test_a_tag_that_mysql_does_not_write_is_malformed(tag):
    with pytest.raises(RefusedError, match="malformed GTID_TAGGED event"):
        parse_tagged_gtid(bodies.TAGGED_GTID.replace(b"my_tag", tag))
    listed = MysqlGtidSet.parse("d422b336-e5a0-11f1-9aae-02fc00000001:my_tag:1-5").encode()
    with pytest.raises(RefusedError, match="do not add up"):
        parse_previous_gtids(listed.replace(b"my_tag", tag))


def test_a_list_with_a_longer_tag_than_mysql_has_is_malformed():
    listed = MysqlGtidSet({"d422b336-e5a0-11f1-9aae-02fc00000001:" + "t" * 33: [(1, 6)]}).encode()
    with pytest.raises(RefusedError, match="do not add up"):
        parse_previous_gtids(listed)
