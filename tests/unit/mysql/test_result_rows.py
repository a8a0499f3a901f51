"""Packets of a text result set: any cut gives the same rows, and damage is reported or stays within bounds."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from mirrorlake.core.binlog.framing import SLACK_BYTES
from mirrorlake.mysql.result_rows import (
    LARGE_PACKET,
    LAST_PACKET,
    MALFORMED,
    MANY_ROWS,
    MAX_CELLS,
    MORE_DATA,
    ResultRows,
)

TYPES = pa.schema([("a", pa.string()), ("b", pa.binary())])
END = b"\x05\x00\x00\x09\xfe\x00\x00\x22\x00"


def cell(value: bytes | None) -> bytes:
    if value is None:
        return b"\xfb"
    n = len(value)
    for limit, prefix, size in ((251, b"", 1), (1 << 16, b"\xfc", 2), (1 << 24, b"\xfd", 3)):
        if n < limit:
            return prefix + n.to_bytes(size, "little") + value
    return b"\xfe" + n.to_bytes(8, "little") + value


def packet(*values: bytes | None) -> bytes:
    payload = b"".join(map(cell, values))
    return len(payload).to_bytes(3, "little") + b"\x07" + payload


def buffer(data: bytes) -> np.ndarray:
    return np.frombuffer(data + bytes(SLACK_BYTES), np.uint8)


def random_rows(random: Random, count: int) -> list[tuple[bytes | None, bytes | None]]:
    sizes = (0, 1, 5, 250, 251, 300, 70_000)

    def value() -> bytes | None:
        return None if random.random() < 0.2 else random.choice(b"xyz").to_bytes(1, "big") * random.choice(sizes)

    return [(value(), value()) for _ in range(count)]


def read(rows: ResultRows, data: bytes, piece: int) -> list[tuple]:
    """As it comes off a socket, so many bytes at a time."""
    found, low, high, status = [], 0, 0, MORE_DATA
    while status != LAST_PACKET:
        high = min(len(data), high + piece) if status == MORE_DATA else high
        batch, low, status = rows.read(buffer(data[:high]), low, high)
        found += [tuple(row.values()) for row in batch.to_pylist()]
    return found


@pytest.mark.parametrize("piece", [1000, 100_000, 1 << 30])
@pytest.mark.parametrize("max_rows", [1, 7, 65_536])
def test_any_cut_gives_the_same_rows(seed, piece, max_rows):
    rows = random_rows(Random(seed), 60)
    found = read(ResultRows(TYPES, max_rows), b"".join(packet(*row) for row in rows) + END, piece)
    assert found == [(a if a is None else a.decode(), b) for a, b in rows]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (packet(b"a", b"b")[:-1], MORE_DATA),
        (packet(b"a", b"b"), MORE_DATA),
        (packet(b"a"), MALFORMED),
        (packet(b"a", b"b", b"c"), MALFORMED),
        (b"\x03\x00\x00\x01\x01a\x02", MALFORMED),
        (b"\x0a\x00\x00\x01\x01a\xfe\xff\xff\xff\xff\xff\xff\xff", MALFORMED),  # 2^63 - 1 bytes
        (b"\x0b\x00\x00\x01\x01a\xfe\xff\xff\xff\xff\xff\xff\xff\xff", MALFORMED),
        (b"\xff\xff\xff\x00", LARGE_PACKET),
        (END, LAST_PACKET),
        (b"\x09\x00\x00\x01\xff\x15\x04#28000no", LAST_PACKET),
    ],
)
def test_what_is_no_whole_row_says_why(data, status):
    batch, low, found = ResultRows(TYPES).read(buffer(data), 0, len(data))
    assert (found, batch.num_rows, low) == (
        status,
        int(data == packet(b"a", b"b")),
        len(data) * (data == packet(b"a", b"b")),
    )


def test_as_many_rows_as_there_is_room_for():
    data = packet(b"a", None) * 3
    batch, low, status = ResultRows(TYPES, max_rows=2).read(buffer(data), 0, len(data))
    assert (batch.num_rows, low, status) == (2, 2 * len(packet(b"a", None)), MANY_ROWS)


def test_damage_gives_rows_within_bounds_or_is_told(seed):
    random = Random(seed)
    whole = b"".join(packet(*row) for row in random_rows(random, 12)) + END
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(random.randrange(1, 4)):
            damaged[random.randrange(len(damaged))] = random.choice((0, 1, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF))
        batch, low, _ = ResultRows(TYPES).read(buffer(bytes(damaged)), 0, len(damaged))
        assert 0 <= low <= len(damaged) and batch.nbytes <= 2 * len(damaged)


def test_a_row_of_several_packets_is_one_payload():
    payload = cell(b"x" * 300) + cell(None)
    row = ResultRows(TYPES).read_payload(buffer(payload), len(payload))
    assert row is not None and row.to_pylist() == [{"a": "x" * 300, "b": None}]
    assert ResultRows(TYPES).read_payload(buffer(payload), len(payload) - 1) is None


def test_a_wide_table_takes_no_more_room_than_a_narrow_one():
    rows = ResultRows(pa.schema([(f"c{n}", pa.string()) for n in range(4096)]))
    assert rows._starts.nbytes + rows._lengths.nbytes <= 16 * MAX_CELLS
    data = packet(*[b"x"] * 4096) * 2 + END
    batch, low, status = rows.read(buffer(data), 0, len(data))
    assert (batch.num_rows, low, status) == (2, len(data) - len(END), LAST_PACKET)
