"""The interface of a source of binlog events; the same for a live server and for files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from mirrorlake.core.binlog.framing import EventBlock
from mirrorlake.core.gtid import GtidSet
from mirrorlake.core.position import BinlogPosition


class BinlogSource(Protocol):
    """Complete, contiguous events of one server's log.

    Every method raises RetryableError when the outside world fails, and RefusedError when the log is not valid.
    """

    @property
    def identity(self) -> str:
        """Names the server that wrote the log; the same for every connection to it."""
        ...

    @property
    def flavor(self) -> str:
        """``mysql`` or ``mariadb``"""
        ...

    def heads(self) -> list[BinlogPosition]:
        """Positions of the first event of every existing file, oldest first."""
        ...

    def earliest(self) -> BinlogPosition:
        """The position of the first existing event."""
        ...

    def current(self) -> BinlogPosition:
        """The position after the last event that can be read now."""
        ...

    def locate(self, gtids: GtidSet) -> BinlogPosition:
        """The position of the first transaction that is not in ``gtids``; ``current()`` if there is none."""
        ...

    def check_range(self, start: BinlogPosition, end: BinlogPosition) -> None:
        """Raise RefusedError if it is already known that not all events between the two can be read."""
        ...

    def read(self, start: BinlogPosition | GtidSet, end: BinlogPosition) -> Iterator[EventBlock]:
        """Yield the events from ``start`` on that end at or before ``end``. A block never crosses from one file to the
        next.

        Returns when ``end`` is reached; waits for events that a live server has not written yet. A block's buffer is
        never written again.
        """
        ...

    def close(self) -> None: ...
