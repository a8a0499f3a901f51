"""Is the source's log still the one that bronze holds? File numbers and offsets alone do not show it.

After a RESET, a restored backup or a change of folders the same name means another file. Continuing in it at the old
offset would silently leave out transactions.
"""

from __future__ import annotations

from mirrorlake.core.binlog.event_mark import EventMark
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.core.position import FIRST_EVENT_OFFSET, BinlogPosition
from mirrorlake.errors import RefusedError

_NOT_THERE = ("server-log-purged", "log-missing")
_OTHER_BYTES = ("log-event", "log-checksum", "log-gap", "log-truncated", "log-range")


def check_same_log(source: BinlogSource, last: EventMark | None, resume: BinlogPosition) -> None:
    """Read the last event of bronze once more, and compare; a live stream is then at ``resume``.

    last: None in a lake of an earlier version. Raises RefusedError ``log-replaced``, and what the source raises.
    """
    check_not_behind(source.current(), resume)
    if last is None:
        return
    try:
        blocks = list(source.read(last.start, BinlogPosition(last.start.log_file, last.end)))
    except RefusedError as error:
        if error.code in _NOT_THERE and last.start.log_file != resume.log_file:
            return  # a file that was read to its end may be purged
        if error.code in _OTHER_BYTES:
            raise _replaced(last.start) from error
        raise
    if len(blocks) != 1 or EventMark.of_block(blocks[0]) != last:
        raise _replaced(last.start)


def check_not_behind(end: BinlogPosition, resume: BinlogPosition) -> None:
    """A log only grows. Its end is before ``resume`` only when the next file does not exist yet."""
    awaits_file = resume.offset == FIRST_EVENT_OFFSET and resume.file_number == end.file_number + 1
    if end < resume and not awaits_file:
        raise RefusedError("log-replaced", f"the source's log ends at {end}", position=str(resume))


def _replaced(start: BinlogPosition) -> RefusedError:
    return RefusedError("log-replaced", "the source has another event than the lake", position=str(start))
