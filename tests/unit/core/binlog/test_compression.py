"""MariaDB's compressed events are opened a little at a time, whatever their sizes."""

from __future__ import annotations

import zlib
from random import Random

import pytest

from mirrorlake.core.binlog.compression import plain_event
from mirrorlake.core.constants import EventType
from mirrorlake.errors import RefusedError

HEADER = bytes(4) + bytes((EventType.QUERY_COMPRESSED,)) + bytes(14)
FIXED = bytes(13) + b"\0"
"""A QUERY without status variables and database, up to its text."""
SIZES = (1, 8_000, (64 << 10) - 11, 64 << 10, (64 << 10) + 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20)


def event(text: bytes, *, stated: int | None = None, more: bytes = b"") -> bytes:
    length = len(text) if stated is None else stated
    return HEADER + FIXED + b"\x84" + length.to_bytes(4, "big") + zlib.compress(text, 1) + more


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("is_random", [False, True])
def test_an_event_of_any_size_is_opened_whole(size, is_random, seed):
    text = Random(seed).randbytes(size) if is_random else b"SELECT 1 " * (size // 9 + 1)
    opened = plain_event(event(text), 0)
    assert opened[19:] == FIXED + text
    assert (opened[4], int.from_bytes(opened[9:13], "little")) == (EventType.QUERY, len(opened))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("wrong", [{"stated": -1}, {"stated": 1}, {"more": b"x"}, {"more": bytes(1 << 17)}])
def test_what_has_another_length_than_stated_is_refused(size, wrong, seed):
    text = Random(seed).randbytes(size)
    told = wrong if "more" in wrong else {"stated": size + wrong["stated"]}
    with pytest.raises(RefusedError, match="another length than stated|more bytes after its end"):
        plain_event(event(text, **told), 0)
