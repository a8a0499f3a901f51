"""A FORMAT_DESCRIPTION event and its own CRC32, which it has in a log without checksums, too.

It says whether the other events have one, so it is believed only if it is whole. Servers before MySQL 5.6 and MariaDB
5.3 know no checksums: their event ends before the algorithm.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from mirrorlake.core.binlog.events import FormatDescription, parse_format_description
from mirrorlake.core.binlog.framing import (
    CHECKSUM_BYTES,
    FLAGS_AT,
    HEADER_BYTES,
    NEXT_POSITION_AT,
    without_in_use_flag,
)
from mirrorlake.core.constants import ChecksumAlgorithm
from mirrorlake.core.position import FIRST_EVENT_OFFSET, BinlogPosition
from mirrorlake.errors import RefusedError

_CREATED_AT, _CREATED_BYTES = HEADER_BYTES + 52, 4


def read_format_description(event: bytes, log_file: str) -> FormatDescription:
    """Parse a whole event, artificial or from the file. Raises RefusedError ``log-event``, ``log-checksum``."""
    description = parse_format_description(event[HEADER_BYTES:])
    if description.checksum_algorithm is not None and not any(map(_is_whole, _as_written(event, description))):
        what = "the CRC32 of FORMAT_DESCRIPTION does not match its bytes"
        where = str(BinlogPosition(log_file, FIRST_EVENT_OFFSET)) if log_file else None
        raise RefusedError("log-checksum", what, position=where)
    return description


def _as_written(event: bytes, description: FormatDescription) -> Iterator[bytes]:
    """The event, and as it may have been when its CRC32 was computed.

    For a start within a file, servers clear its position and when it was created. Measured with MySQL 5.6 and 9.7 and
    MariaDB 10.11 and 11.8: in a log without checksums they keep the CRC32 of the event in the file.
    """
    yield event
    event = without_in_use_flag(event)
    yield event
    is_artificial = not any(event[NEXT_POSITION_AT:FLAGS_AT])
    if is_artificial and description.checksum_algorithm == ChecksumAlgorithm.OFF:
        position = struct.pack("<I", FIRST_EVENT_OFFSET + len(event))
        for created in (bytes(_CREATED_BYTES), event[:4]):  # in a server's first file that is the event's time
            head, rest = event[FLAGS_AT:_CREATED_AT], event[_CREATED_AT + _CREATED_BYTES :]
            yield event[:NEXT_POSITION_AT] + position + head + created + rest


def _is_whole(event: bytes) -> bool:
    return zlib.crc32(event[:-CHECKSUM_BYTES]) == int.from_bytes(event[-CHECKSUM_BYTES:], "little")
