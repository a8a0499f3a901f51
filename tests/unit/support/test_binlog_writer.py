"""The frame of written logs; their content is checked against the servers in tests/server."""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise

import pytest

from mirrorlake.core.binlog.rows.mapped_table import describe
from mirrorlake.core.binlog.rows.table_map import parse_table_map
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from tests.support.binlog_events import frame
from tests.support.binlog_spec import Ddl, Insert, Log, Restart, Rotate, Statement, Transaction
from tests.support.binlog_writer import encode_logs, write_logs
from tests.support.damage import cut, flip_byte
from tests.support.histories import random_history
from tests.support.random_tables import table_of_every_type
from tests.support.table_map_encoding import table_map_body

TABLE = TableSchema("shop", "t", (Column("id", ColumnType("int"), False), Column("v", ColumnType("text"))), ("id",))
FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])


def headers(data: bytes) -> list[tuple[int, int, int, int]]:
    """(offset, event type, length, log_pos) of every event."""
    found, offset = [], 4
    while offset < len(data):
        event_type, length, log_pos = struct.unpack_from("<4xB4xII", data, offset)
        found.append((offset, event_type, length, log_pos))
        offset += length
    return found


@FLAVORS
@pytest.mark.parametrize("checksum", [True, False])
def test_positions_and_checksums_are_right_in_every_file(flavor, checksum):
    files = encode_logs(random_history(1).log(flavor, checksum=checksum), max_file_bytes=8_000)
    assert len(files) > 3
    for encoded in files:
        assert encoded.data[:4] == b"\xfebin"
        for number, (offset, _, length, log_pos) in enumerate(headers(encoded.data)):
            assert log_pos == offset + length
            if checksum or number == 0:
                event = encoded.data[offset : offset + length]
                assert zlib.crc32(event[:-4]) == int.from_bytes(event[-4:], "little")


@FLAVORS
def test_every_file_but_the_last_ends_with_rotate_to_the_next(flavor):
    files = encode_logs(Log(flavor, [Ddl("CREATE DATABASE a", "a"), Rotate(), Rotate()]))
    for one, following in pairwise(files):
        offset, event_type, length, _ = headers(one.data)[-1]
        assert event_type == 4 and one.data[offset + 27 : offset + length - 4] == following.name.encode()
    assert headers(files[-1].data)[-1][1] == 3


def test_a_restart_ends_the_file_with_stop_and_begins_a_new_run():
    one, following = encode_logs(Log("mysql", [Restart()]))
    assert headers(one.data)[-1][1] == 3
    created = [struct.unpack_from("<I", encoded.data, 4 + 19 + 52)[0] for encoded in (one, following)]
    assert created[0] and created[1] > created[0]


def test_a_crash_leaves_the_file_in_use_and_the_transaction_torn():
    torn = Transaction([Insert(TABLE, [{"id": 1, "v": "x"}])], end="")
    one, _ = encode_logs(Log("mariadb", [torn, Restart(after_crash=True)]))
    assert headers(one.data)[-1][1] == 23
    assert one.data[4 + 17] == 1


def test_log_pos_wraps_at_4_gib():
    event = frame(3, b"", timestamp=0, server_id=1, start=2**32 - 10, flags=0, checksum=False)
    assert struct.unpack_from("<I", event, 13)[0] == 9


@FLAVORS
def test_rows_are_cut_into_events_and_only_the_last_ends_the_statement(flavor):
    rows = [{"id": number, "v": "x"} for number in range(5)]
    log = Log(flavor, [Transaction([Statement([Insert(TABLE, rows)], rows_per_event=2)])])
    data = encode_logs(log)[0].data
    flags = [data[offset + 19 + 6] & 1 for offset, event_type, _, _ in headers(data) if event_type in (23, 30)]
    assert flags == [0, 0, 1]


def test_an_event_of_rows_stays_near_8_kib():
    rows = [{"id": number, "v": "x" * 3000} for number in range(5)]
    data = encode_logs(Log("mysql", [Transaction([Insert(TABLE, rows)])]))[0].data
    assert [length // 3000 for _, event_type, length, _ in headers(data) if event_type == 30] == [2, 2, 1]


@FLAVORS
def test_item_offsets_are_where_the_items_begin(flavor):
    log = random_history(2).log(flavor)
    files = encode_logs(log, max_file_bytes=8_000)
    found = [(number, offset) for encoded in files for number, offset in encoded.item_offsets]
    assert [number for number, _ in found] == list(range(len(log.items)))
    for encoded in files:
        assert {offset for _, offset in encoded.item_offsets} <= {offset for offset, *_ in headers(encoded.data)}


def test_mysql_gtid_states_the_length_of_the_whole_transaction():
    for encoded in encode_logs(random_history(3).log("mysql")):
        events = headers(encoded.data)
        edges = [offset for offset, event_type, *_ in events if event_type == 33] + [events[-1][0]]
        for start, end in pairwise(edges):
            assert read_lenenc(encoded.data, start + 19 + 49) == end - start


def read_lenenc(data: bytes, at: int) -> int:
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}.get(data[at])
    return data[at] if width is None else int.from_bytes(data[at + 1 : at + 1 + width], "little")


@FLAVORS
def test_table_maps_describe_their_tables(flavor):
    for table in (table_of_every_type("shop", "t"), *random_history(4).schemas.values()):
        mapped = describe(parse_table_map(table_map_body(table, 9, flavor, "FULL"), flavor), None, flavor)
        assert (mapped.schema, mapped.refusal) == (table, None)


def test_rows_that_log_different_columns_are_refused():
    with pytest.raises(ValueError, match="do not log the same columns"):
        encode_logs(Log("mysql", [Transaction([Insert(TABLE, [{"id": 1, "v": "a"}, {"id": 2}])])]))


def test_damage_changes_what_it_says(tmp_path):
    (path,) = write_logs(tmp_path, Log("mysql", []))
    whole = path.read_bytes()
    flip_byte(path, -1)
    assert path.read_bytes() == whole[:-1] + bytes((whole[-1] ^ 0xFF,))
    cut(path, -5)
    assert path.read_bytes() == whole[:-5]
