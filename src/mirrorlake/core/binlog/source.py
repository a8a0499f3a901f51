"""What a source of binlog events offers; the same for a live server and for files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from mirrorlake.core.binlog.framing import EventBlock
from mirrorlake.core.gtid import GtidSet
from mirrorlake.core.position import BinlogPosition


class BinlogSource(Protocol):
    """Complete, contiguous events of one server's log.

    Every method raises RetryableError when the outside world fails and RefusedError when the log is not as it must be.
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
        """The first event of every file there is, oldest first."""
        ...

    def earliest(self) -> BinlogPosition:
        """The first event there is."""
        ...

    def current(self) -> BinlogPosition:
        """Behind the last event that can be read now."""
        ...

    def locate(self, gtids: GtidSet) -> BinlogPosition:
        """The first transaction that is not in ``gtids``; ``current()`` when there is none."""
        ...

    def check_range(self, start: BinlogPosition, end: BinlogPosition) -> None:
        """Raises RefusedError when it is known already that not all events between the two can be read."""
        ...

    def read(self, start: BinlogPosition | GtidSet, end: BinlogPosition) -> Iterator[EventBlock]:
        """The events from ``start`` on that end at or before ``end``. A block never crosses from one file to the next.

        Returns when ``end`` is reached; waits for events that a live server has not written yet. A block's buffer is
        never written again.
        """
        ...

    def close(self) -> None: ...
