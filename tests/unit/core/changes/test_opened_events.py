"""What a compressed transaction may hold: nothing in it is passed over."""

from __future__ import annotations

import tracemalloc
from datetime import datetime, timezone
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from mirrorlake.core.binlog.compression import PACKED_TYPES
from mirrorlake.core.binlog.framing import SLACK_BYTES, EventBlock, index_events
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.assembler import IMAGE_BYTES, Assembler
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from tests.support.binlog_events import frame, query
from tests.support.binlog_spec import Query
from tests.support.binlog_writer import encode_logs
from tests.support.compressed_events import (
    QUERY_COMPRESSED,
    TRANSACTION_PAYLOAD,
    as_mariadb_compressed,
    as_payload,
    deflated,
    payload_body,
)
from tests.support.histories import random_history
from tests.support.table_map_encoding import table_map_body

T = TableSchema("d", "t", (Column("id", ColumnType("int"), False), Column("j", ColumnType("json"))), ("id",))
AT = datetime(2026, 1, 2, tzinfo=timezone.utc)
LOAD = query(Query("LOAD DATA INFILE 'x' INTO TABLE t", database="d"), "mysql")
TABLE_ID = (7).to_bytes(6, "little")


def assembled(*inner: tuple[int, bytes]) -> list[tuple]:
    """(op, table, refusal) of what a transaction of these events gives."""
    bodies = [(2, query(Query("BEGIN"), "mysql"), 0), *((kind, body, 0) for kind, body in inner), (16, bytes(8), 0)]
    kind, body, _ = as_payload(bodies, 0, 1)
    return opened(kind, body)


def opened(kind: int, body: bytes) -> list[tuple]:
    """The same for an event."""
    raw = frame(kind, body, timestamp=0, server_id=1, start=4, flags=0, checksum=True)
    row = (9, 9, kind, AT, "a:1", True, "binlog.000001", 4, raw)
    batch = pa.RecordBatch.from_arrays([pa.array([cell]) for cell in row], list(BRONZE_COLUMNS))
    silver = pa.Table.from_batches(Assembler("mysql").assemble([batch])).to_pylist()
    return [(row["op"], row["table"], row["refusal"]) for row in silver]


@pytest.mark.parametrize(
    ("inner", "refusal"),
    [
        ([(18, LOAD[:13] + bytes(13) + LOAD[13:])], "statement-dml: LOAD was logged as a statement"),
        ([(19, table_map_body(T, 7, "mysql", "FULL")), (39, TABLE_ID + bytes(20))],
         "row-event: a row event does not match its table map"),
    ],
)  # fmt: skip
def test_what_is_not_decoded_refuses_its_table(inner, refusal):
    assert assembled(*inner) == [("BEGIN", None, None), ("REFUSED", "t", refusal), ("COMMIT", None, None)]


def test_what_no_transaction_holds_is_refused():
    with pytest.raises(RefusedError, match="holds an event of type 33"):
        assembled((33, bytes(42)))


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_how_much_is_opened_at_once_does_not_matter(seed, flavor):
    for encoded in encode_logs(random_history(seed, items=60).log(flavor, compression=True)):
        buf = np.frombuffer(encoded.data + bytes(SLACK_BYTES), np.uint8)
        events, _ = index_events(buf, 4, len(encoded.data))
        block = EventBlock("binlog.000001", 4, buf, events, True)
        chunks = [chunk.batch for chunk in LogReader(block.position(0), parse_gtid_set(flavor, "")).read([block])]
        whole = pa.Table.from_batches(open_events(chunks)).select(list(BRONZE_COLUMNS)).combine_chunks()
        for piece_bytes in (1, 60, 1000):
            found = pa.Table.from_batches(open_events(chunks, piece_bytes)).select(list(BRONZE_COLUMNS))
            assert found.combine_chunks() == whole
        assert not np.isin(whole["event_type"].to_numpy(), PACKED_TYPES).any()


def test_many_events_of_a_large_transaction_take_the_memory_of_its_pieces():
    """Not that of the compressed event, 1 MB, for each of them."""
    random, pool = Random(1), pa.proxy_memory_pool(pa.default_memory_pool())
    statements = [(29, bytes([255]) + random.randbytes(1000), 0) for _ in range(1000)]
    kind, body, _ = as_payload([(2, query(Query("BEGIN"), "mysql"), 0), *statements, (16, bytes(8), 0)], 0, 1)
    before, allocator = pa.total_allocated_bytes(), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        assert [op for op, *_ in opened(kind, body)] == ["BEGIN", "COMMIT"]
    finally:
        pa.set_memory_pool(allocator)
    assert pool.max_memory() - before < 2 * IMAGE_BYTES + 20 * 1000 * 1000


def test_a_long_event_in_a_payload_is_copied_at_most_once_more():
    statement = (29, b"\xff" + b"x" * (40 << 20), 0)
    kind, body, _ = as_payload([(2, query(Query("BEGIN"), "mysql"), 0), statement, (16, bytes(8), 0)], 0, 1)
    tracemalloc.start()
    assert [op for op, *_ in opened(kind, body)] == ["BEGIN", "COMMIT"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * (40 << 20)


@pytest.mark.parametrize("flavor", ["mysql", "mariadb"])
def test_long_events_are_opened_one_after_another(flavor):
    text = query(Query("x" * (40 << 20), database="d"), flavor)
    kind, body, _ = as_mariadb_compressed((2, text, 0))
    if flavor == "mysql":
        kind, body, _ = as_payload([(2, text, 0)] * 4, 0, 1)
    raw = frame(kind, body, timestamp=0, server_id=1, start=4, flags=0, checksum=True)
    rows = [(i, i, kind, AT, "a:1", True, "binlog.000001", 4, raw) for i in range(1 if flavor == "mysql" else 4)]
    batch = pa.RecordBatch.from_arrays(list(map(pa.array, zip(*rows, strict=True))), list(BRONZE_COLUMNS))
    del text, body, raw, rows
    allocator = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(allocator)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        assert sum(map(len, open_events([batch]))) == 4
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(allocator)
    assert peak + pool.max_memory() < 3 * (40 << 20)


def test_many_short_transactions_take_the_memory_of_their_bytes():
    """Not that of a piece for each of them."""
    pool, n = pa.proxy_memory_pool(pa.default_memory_pool()), 200
    kind, body, _ = as_payload([(2, query(Query("BEGIN"), "mysql"), 0), (16, bytes(8), 0)], 0, 1)
    raw = frame(kind, body, timestamp=0, server_id=1, start=4, flags=0, checksum=True)
    rows = [(i, i, kind, AT, "a:1", True, "binlog.000001", 4, raw) for i in range(n)]
    batch = pa.RecordBatch.from_arrays(list(map(pa.array, zip(*rows, strict=True))), list(BRONZE_COLUMNS))
    allocator = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        assert sum(found.num_rows for found in open_events([batch])) == 2 * n
    finally:
        pa.set_memory_pool(allocator)
    assert pool.max_memory() < 8 << 20


XID = frame(16, bytes(8), timestamp=0, server_id=1, start=None, flags=0, checksum=False)
LONG = XID[:9] + (2 << 30).to_bytes(4, "little") + XID[13:]
BODY = payload_body(XID)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (payload_body(XID, 255) + b"\0", "its lengths do not add up"),
        (BODY[:-1], "its lengths do not add up"),
        (BODY.replace(b"\x02\x01\x00", b"\x02\x01\x07"), "compression algorithm 7 is not known"),
        (BODY[:-9] + bytes(9), "its payload cannot be inflated"),
        (BODY.replace(b"\x03\x01\x1b", b"\x03\x01\x1a"), "its payload has another length than stated"),
        (BODY.replace(b"\x03\x01\x1b", b"\x03\x01\x1c"), "its payload has another length than stated"),
        (payload_body(XID[:-1]), "a compressed transaction is not whole"),
        (payload_body(LONG), "an event is longer than 1 GiB, which no server writes \\(2147483648 bytes\\)"),
        (
            payload_body(XID[:9] + bytes(4) + XID[13:]),
            "by its length field an event is shorter than its header \\(0 bytes\\)",
        ),
    ],
)
def test_a_damaged_payload_is_refused_at_its_place(body, why):
    with pytest.raises(RefusedError, match=why) as error:
        opened(TRANSACTION_PAYLOAD, body)
    assert (error.value.code, error.value.position) == ("log-event", "binlog.000001:4")


TEXT = query(Query("CREATE TABLE t (a INT, b INT, c INT, d INT)", database="d"), "mysql")
_, PACKED, _ = as_mariadb_compressed((2, TEXT, 0))
AT_TEXT = len(PACKED) - len(deflated(b"CREATE TABLE t (a INT, b INT, c INT, d INT)"))


@pytest.mark.parametrize(
    ("packed", "why"),
    [
        (b"\x01" + PACKED[AT_TEXT + 1 :], "its compression header has no meaning"),
        (b"\x84\xff\xff\xff\xff" + PACKED[AT_TEXT + 2 :], "4294967295 bytes when inflated"),
        (PACKED[AT_TEXT : AT_TEXT + 2] + bytes(9), "it cannot be inflated"),
        (PACKED[AT_TEXT:] + b"\0", "it has another length than stated"),
        (PACKED[AT_TEXT:-1], "it has another length than stated"),
        (b"\x81\x05" + PACKED[AT_TEXT + 2 :], "it has another length than stated"),
        (b"", "compressed event"),
    ],
)
def test_a_damaged_compressed_event_is_refused_at_its_place(packed, why):
    with pytest.raises(RefusedError, match=why) as error:
        opened(QUERY_COMPRESSED, PACKED[:AT_TEXT] + packed)
    assert (error.value.code, error.value.position) == ("log-event", "binlog.000001:4")
