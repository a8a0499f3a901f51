"""Rows events -> the fragments in which MariaDB 12.3 and later write long ones.

Format: ``mirrorlake.core.binlog.fragments``. It was made from the server's source: no log of a server that writes
fragments was available to check it against.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import pairwise

from tests.support import binlog_events as events

PARTIAL_ROW_DATA = 172
FRAGMENTED_TYPES = {23: 166, 24: 167, 25: 168}
"""-> the type that log_bin_compress gives."""
_FRAME_BYTES = events.HEADER_BYTES + 9 + events.CHECKSUM_BYTES

Body = tuple[int, bytes, int]


def rows_event(
    body: Body, timestamp: int, server_id: int, *, checksum: bool = True, compression: bool = False
) -> bytes:
    """What is cut: the event with its header, whose length counts a checksum that is not there; its rows are plain."""
    kind, data, flags = body
    kind = FRAGMENTED_TYPES[kind] if compression else kind
    event = events.frame(kind, data, timestamp=timestamp, server_id=server_id, start=None, flags=flags,
                         checksum=checksum)  # fmt: skip
    return event[: events.HEADER_BYTES + len(data)]


def server_cuts(n_bytes: int, threshold: int) -> list[int]:
    """Where the server cuts so many bytes: no fragment is longer than the threshold, the first states the length."""
    size = threshold - _FRAME_BYTES
    return list(range(size - 8, n_bytes, size))


def in_fragments(event: bytes, cuts: Sequence[int]) -> list[Body]:
    """cuts: offsets in the event, ascending."""
    parts = [event[start:stop] for start, stop in pairwise([0, *cuts, len(event)])]
    return [
        (PARTIAL_ROW_DATA, fragment(len(parts), number, part, len(event)), 0) for number, part in enumerate(parts, 1)
    ]


def fragment(total: int, number: int, data: bytes, event_bytes: int) -> bytes:
    is_first = number == 1
    return struct.pack("<IIB", total, number, is_first) + is_first * struct.pack("<Q", event_bytes) + data
