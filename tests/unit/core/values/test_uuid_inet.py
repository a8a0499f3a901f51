"""MariaDB's UUID, INET6 and INET4: stored bytes -> the text that the server shows."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from random import Random
from uuid import UUID

import pytest

from mirrorlake.core.values import uuid_inet
from mirrorlake.core.values.kinds import UUID_INET
from tests.support.one_value import MALFORMED, NO_ROOM, decoded


def shown(which: int, data: bytes, room: int = 1 << 16):
    return decoded((UUID_INET, 1, which, 0, 0), bytes((len(data),)) + data, room)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((0,) * 8, "::"), ((0,) * 7 + (1,), "::1"), ((1, *(0,) * 7), "1::"), (range(1, 9), "1:2:3:4:5:6:7:8"),
        ((1, 2, 3, 4, 5, 6, 7, 0), "1:2:3:4:5:6:7::"), ((0, 2, 3, 4, 5, 6, 7, 8), "::2:3:4:5:6:7:8"),
        ((1, 0, 0, 4, 0, 0, 7, 8), "1::4:0:0:7:8"), ((1, 0, 3, 0, 0, 6, 0x7F, 0xF00), "1:0:3::6:7f:f00"),
        ((0, 0, 0, 0, 0, 0, 0x102, 0x304), "::1.2.3.4"), ((0, 0, 0, 0, 0, 0xFFFF, 0x102, 0xFF00), "::ffff:1.2.255.0"),
        ((0, 0, 0, 0, 0, 0xFFFE, 0x102, 0x304), "::fffe:102:304"), ((0, 0, 0, 0, 0xFFFF, 0, 1, 2), "::ffff:0:1:2"),
        ((0, 0, 0, 0, 0, 0xFFFF, 0, 0), "::ffff:0.0.0.0"), ((0xABCD,) * 8, ":".join(["abcd"] * 8)),
    ],
)  # fmt: skip
def test_inet6(words, text):
    data = b"".join(word.to_bytes(2, "big") for word in words)
    assert shown(uuid_inet.INET6, data) == shown(uuid_inet.INET6, data.rstrip(b"\0")) == text


def test_random_values(seed):
    random = Random(seed)
    for _ in range(300):
        data = bytes(random.choice((0, 0, 1, 32, 255, random.randrange(256))) for _ in range(16))
        assert shown(uuid_inet.UUID, data.rstrip(b"\0")) == str(UUID(bytes=data))
        assert shown(uuid_inet.INET4, data[:4].rstrip(b"\0")) == str(IPv4Address(data[:4]))
        assert IPv6Address(shown(uuid_inet.INET6, data.rstrip(b"\0"))).packed == data


@pytest.mark.parametrize(("which", "n_bytes"), [(uuid_inet.UUID, 16), (uuid_inet.INET6, 16), (uuid_inet.INET4, 4)])
def test_what_is_too_long_is_malformed_and_what_does_not_fit_is_not_written(which, n_bytes):
    assert shown(which, bytes(n_bytes + 1)) == MALFORMED
    assert decoded((UUID_INET, 1, which, 0, 0), bytes((n_bytes,)) + bytes(n_bytes - 1)) == MALFORMED
    assert shown(which, bytes(n_bytes), room=40) == NO_ROOM
