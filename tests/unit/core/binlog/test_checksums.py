"""The CRC32 of events."""

from __future__ import annotations

import random
import zlib

import numpy as np
import pytest

from mirrorlake.core.binlog.checksums import verify_checksums
from mirrorlake.core.binlog.framing import HEADER_BYTES, SLACK_BYTES, EventBlock, EventIndex
from mirrorlake.errors import RefusedError

QUERY = 2


def block_of(rng: random.Random, sizes: list[int]) -> EventBlock:
    """Events of random bytes; sizes: of each, without its checksum."""
    pieces = [rng.randbytes(size) for size in sizes]
    data = bytearray().join(piece + zlib.crc32(piece).to_bytes(4, "little") for piece in pieces)
    events = EventIndex.allocate(len(sizes))
    events.length[:] = np.array(sizes) + 4
    events.offset[:] = np.cumsum(events.length) - events.length
    events.event_type[:], events.flags[:] = QUERY, 0
    return EventBlock("binlog.000001", 4, np.frombuffer(data + bytes(SLACK_BYTES), np.uint8).copy(), events, True)


@pytest.mark.parametrize("sizes", [[], [19], [20, 8000], *([size] * 7 for size in range(19, 36)), [4000, 19, 8191, 27]])
def test_the_first_event_that_does_not_match_is_found_wherever_it_is(sizes):
    rng = random.Random(len(sizes))
    block = block_of(rng, sizes)
    verify_checksums(block)
    for i, size in enumerate(sizes):
        for at in {0, size // 2, size - 1, size, size + 3}:
            place = int(block.events.offset[i]) + at
            bit = 1 << rng.randrange(8)
            block.buf[place] ^= bit
            with pytest.raises(RefusedError) as refused:
                verify_checksums(block)
            assert (refused.value.code, refused.value.position) == ("log-checksum", str(block.position(i)))
            block.buf[place] ^= bit
    verify_checksums(block)


def test_an_event_without_room_for_a_header_is_wrong_whatever_its_bytes_are():
    for size in range(HEADER_BYTES):
        block = block_of(random.Random(size), [30, 30, size, 30])
        with pytest.raises(RefusedError, match="log-checksum"):
            verify_checksums(block)


def test_random_sizes_side_by_side():
    for seed in range(200):
        rng = random.Random(seed)
        verify_checksums(block_of(rng, [rng.choice((19, 31, rng.randint(19, 200), 9000)) for _ in range(30)]))


def test_an_event_of_every_length():
    verify_checksums(block_of(random.Random(5), [*range(19, 700), 8191, 8192, 70_001]))
