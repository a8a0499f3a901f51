"""Deflate against zlib, and the compressed columns of MariaDB that use it."""

from __future__ import annotations

import zlib
from random import Random

import numpy as np
import pytest

from mirrorlake.core.values.inflate import TABLE_BYTES, inflate
from mirrorlake.core.values.kinds import COMPRESSED_BINARY, COMPRESSED_TEXT
from mirrorlake.core.values.text import ASCII_TABLE
from tests.support.one_value import MALFORMED, NO_ROOM, decoded

VALUES = {
    "nothing": b"", "a byte": b"x", "zeros": bytes(100_000), "text": b"the quick brown fox " * 300,
    "noise": Random(1).randbytes(70_000), "far": Random(2).randbytes(30_000) * 3, "all bytes": bytes(range(256)) * 9,
}  # fmt: skip


def deflated(data: bytes, *, level: int = 6, strategy: int = zlib.Z_DEFAULT_STRATEGY, has_frame: bool = False) -> bytes:
    stream = zlib.compressobj(level, zlib.DEFLATED, 15 if has_frame else -15, 9, strategy)
    return stream.compress(data) + stream.flush()


def inflated(stream: bytes, n_out: int, has_frame: bool = False) -> bytes | None:
    """None: not such a stream. Checks that nothing around the output is touched."""
    data, out = np.frombuffer(stream, np.uint8), np.full(n_out + 32, 0xA5, np.uint8)
    tables = np.zeros(TABLE_BYTES + 16, np.uint8)
    p, o = data.ctypes.data, out.ctypes.data + 16
    is_good = inflate(p, p + len(stream), o, n_out, has_frame, tables.ctypes.data)
    assert (out[:16] == 0xA5).all() and (out[n_out + 16 :] == 0xA5).all() and not tables[TABLE_BYTES:].any()
    return out[16 : n_out + 16].tobytes() if is_good else None


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("has_frame", [False, True])
@pytest.mark.parametrize(("level", "strategy"), [(0, 0), (1, 0), (9, 0), (6, zlib.Z_FIXED), (6, zlib.Z_HUFFMAN_ONLY)])
def test_what_zlib_deflates_is_inflated(name, has_frame, level, strategy):
    value = VALUES[name]
    stream = deflated(value, level=level, strategy=strategy, has_frame=has_frame)
    assert inflated(stream, len(value), has_frame) == value
    assert inflated(stream, len(value) + 1, has_frame) is None
    assert inflated(stream + b"\0", len(value), has_frame) is None
    assert value == b"" or inflated(stream, len(value) - 1, has_frame) is None


@pytest.mark.parametrize("has_frame", [False, True])
def test_a_stream_that_is_cut_or_damaged_is_refused_or_as_zlib_reads_it(seed, has_frame):
    random, value = Random(seed), b"abcabcabd" * 40 + bytes(range(200))
    stream = deflated(value, has_frame=has_frame)
    assert [inflated(stream[:n], len(value), has_frame) for n in range(1, len(stream))] == [None] * (len(stream) - 1)
    for _ in range(3000):
        damaged = bytearray(stream)
        for _ in range(random.randint(1, 3)):
            damaged[random.randrange(len(damaged))] = random.randrange(256)
        found = inflated(bytes(damaged), len(value), has_frame)
        assert found is None or found == zlib.decompress(bytes(damaged), 15 if has_frame else -15)


def column(value: bytes, *, kind=COMPRESSED_BINARY, form=0, room=1 << 17):
    return decoded((kind, 4, form, 0, 0), len(value).to_bytes(4, "little") + value, room)


def test_a_compressed_column():
    text = "fünf €" * 100
    data = text.encode("cp1252")
    assert column(b"") == b"" and column(b"\0") == b"" and column(b"\0abc") == b"abc"
    stored = b"\x8a" + len(data).to_bytes(2, "big") + deflated(data)
    assert column(stored, kind=COMPRESSED_TEXT, form=ASCII_TABLE) == text
    assert column(b"\x83" + len(data).to_bytes(3, "big") + deflated(data, has_frame=True)) == data


@pytest.mark.parametrize("value", [b"\x01a", b"\x80abc", b"\x89", b"\x8d12345", b"\x89\x05abc", b"\x9a\0\x01ab"])
def test_what_no_server_writes_is_malformed(value):
    assert column(value) == MALFORMED


def test_a_length_beyond_what_deflate_can_give_is_malformed_and_one_beyond_the_room_is_said():
    stream = deflated(bytes(50_000))
    assert column(b"\x8c" + (50_000).to_bytes(4, "big") + stream) == bytes(50_000)
    assert column(b"\x8c" + (200_000_000).to_bytes(4, "big") + stream) == MALFORMED
    assert column(b"\x8c" + (50_000).to_bytes(4, "big") + stream, room=90_000) == NO_ROOM
