"""Positions in the log: the lsn, a file and an offset, and what the user may give as start and end.

lsn, 63 bits, orders every event of a source:

    bits   field
    62-56  incarnation: 0 for the lake's first server, one more with each that takes over
    55-35  number of the binlog file
    34-0   offset in the file of the event's first byte
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from functools import total_ordering

from mirrorlake.core.digits import is_number
from mirrorlake.core.gtid import GtidSet, parse_gtid_set
from mirrorlake.core.mariadb_gtid import MariadbGtidSet
from mirrorlake.core.mysql_gtid import MysqlGtidSet
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.shown import STEERING

__all__ = [
    "FILE_POSITION", "FIRST_EVENT_OFFSET", "UNTIL_CURRENT", "BinlogPosition", "GtidSet", "LogEdge", "MariadbGtidSet",
    "MysqlGtidSet", "Start", "Until", "is_log_name", "pack_lsn", "parse_gtid_set", "parse_moment", "parse_start",
    "parse_until", "show_lsn", "unpack_lsn",
]  # fmt: skip

INCARNATION_BITS, FILE_NUMBER_BITS, OFFSET_BITS = 7, 21, 35
FIRST_EVENT_OFFSET = 4
"""A file's first event comes after its magic bytes."""

_BASE = f"[^/{STEERING}]{{1,255}}"  # file systems have no longer names, and each event in bronze has its file's
_LOG_NAME = re.compile(rf"{_BASE}\.[0-9]{{6,19}}")
FILE_POSITION = rf"{_BASE}\.[0-9]{{1,19}}:[0-9]{{1,19}}"
"""Pattern of ``str`` of a position. Names of files may have spaces."""
_FILE_POSITION = re.compile(FILE_POSITION)
_DATE_ALONE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}.*")


def is_log_name(name: str) -> bool:
    """Is it the name of a binlog file, as every server numbers them: BASE.NNNNNN?

    It may have spaces, but no ``/`` and no character that controls a terminal; mirrorlake keeps and shows it.
    """
    return _LOG_NAME.fullmatch(name) is not None


def pack_lsn(incarnation: int, file_number: int, offset: int) -> int:
    """Make an lsn. Raises RefusedError ``log-range`` if a field does not fit its bits."""
    for name, value, bits in (
        ("incarnation", incarnation, INCARNATION_BITS),
        ("binlog file number", file_number, FILE_NUMBER_BITS),
        ("offset in a binlog file", offset, OFFSET_BITS),
    ):
        if not 0 <= value < 1 << bits:
            raise RefusedError("log-range", f"{name} {value} does not fit the {bits} bits of the order key")
    return incarnation << (FILE_NUMBER_BITS + OFFSET_BITS) | file_number << OFFSET_BITS | offset


def unpack_lsn(lsn: int) -> tuple[int, int, int]:
    """Return (incarnation, file number, offset)."""
    file_number = lsn >> OFFSET_BITS & (1 << FILE_NUMBER_BITS) - 1
    return lsn >> FILE_NUMBER_BITS + OFFSET_BITS, file_number, lsn & (1 << OFFSET_BITS) - 1


def show_lsn(lsn: int) -> str:
    """File number and offset: ``000003:154``; in the log of a later server than the lake's first ``1/000003:154``."""
    incarnation, file_number, offset = unpack_lsn(lsn)
    return f"{incarnation}/{file_number:06d}:{offset}" if incarnation else f"{file_number:06d}:{offset}"


@total_ordering
@dataclass(frozen=True, slots=True)
class BinlogPosition:
    """An offset (bytes, 64 bit) in a binlog file, with the server's file name; ordered by file number and offset."""

    log_file: str
    offset: int

    @classmethod
    def parse(cls, text: str) -> BinlogPosition:
        """The inverse of ``str``: ``binlog.000003:154``. Raises UsageError."""
        if not _FILE_POSITION.fullmatch(text):
            raise UsageError("usage", f"not a log position (FILE:POS, as in binlog.000003:154): {text!r}")
        log_file, offset = text.rsplit(":", 1)
        return cls(log_file, int(offset))

    @property
    def file_number(self) -> int:
        """Raises UsageError when the name does not end with a number."""
        number = self.log_file.rpartition(".")[2]
        if not is_number(number):
            raise UsageError("usage", f"a binlog file's name ends with its number: {self.log_file!r}")
        return int(number)

    def __str__(self) -> str:
        return f"{self.log_file}:{self.offset}"

    def __lt__(self, other: BinlogPosition) -> bool:
        return (self.file_number, self.offset) < (other.file_number, other.offset)


class LogEdge(Enum):
    """The two positions every log has."""

    EARLIEST = "earliest"
    CURRENT = "current"


UNTIL_CURRENT = LogEdge.CURRENT

Start = LogEdge | BinlogPosition | GtidSet
Until = LogEdge | BinlogPosition | GtidSet | datetime


def parse_start(text: str, flavor: str) -> Start:
    """``earliest``, ``current``, FILE:POS or a GTID set. Raises UsageError."""
    if text in ("earliest", "current"):
        return LogEdge(text)
    if _FILE_POSITION.fullmatch(text):
        return _file_position(text)
    return _some_gtids(text, flavor)


def parse_until(text: str, flavor: str) -> Until:
    """``current``, FILE:POS, a timestamp with a time of day (ISO 8601; UTC unless it names a zone), or a GTID set.

    Raises UsageError; also for a date alone, which reads like a MariaDB GTID.
    """
    if text == "current":
        return UNTIL_CURRENT
    if _FILE_POSITION.fullmatch(text):
        return _file_position(text)
    if _DATE_ALONE.fullmatch(text):
        raise UsageError("usage", f"give the time too, as in {text}T00:00:00")
    return _timestamp(text) if _TIMESTAMP.fullmatch(text) else _some_gtids(text, flavor)


def parse_moment(text: str) -> datetime | None:
    """A timestamp as ``parse_until`` takes it; None for a text of another kind. Raises UsageError."""
    return _timestamp(text) if _TIMESTAMP.fullmatch(text) else None


def _file_position(text: str) -> BinlogPosition:
    position = BinlogPosition.parse(text)
    if position.file_number >= 1 << FILE_NUMBER_BITS or position.offset >= 1 << OFFSET_BITS:
        raise UsageError("usage", f"no log can have this position: {text!r}")
    return position


def _timestamp(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    except ValueError:
        raise UsageError("usage", f"not a timestamp (as in 2026-11-21T08:30:00Z): {text!r}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def _some_gtids(text: str, flavor: str) -> GtidSet:
    gtids = parse_gtid_set(flavor, text)
    if not gtids:
        raise UsageError("usage", "an empty GTID set is no position; use 'earliest'")
    return gtids
