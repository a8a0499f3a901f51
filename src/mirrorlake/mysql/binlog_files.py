"""The binlog files in a folder as a source: ``<base>.NNNNNN``, read in blocks.

How a file may end:

    file            last event incomplete           complete, but without ROTATE to the next file
    not the last    refused, unless MariaDB began   refused, unless the next file begins a new run of the server, and
                    a new run with the next file    lists the transactions up to here: see ``_check_end``
    last, closed    refused, log-truncated          accepted
    last, in use    reading stops before it         accepted
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mirrorlake.core.binlog.framing import HEADER_BYTES, SLACK_BYTES, EventBlock, index_events, stated_length
from mirrorlake.core.binlog.gtid_search import first_missing, gtids_before_file, last_gtid, lists
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.gtid import GtidSet, have_same_state, parse_gtid_set, parse_gtid_state
from mirrorlake.core.kernels.memory import reusable_bytes
from mirrorlake.core.position import FIRST_EVENT_OFFSET, BinlogPosition
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.log_file import LogFile, find_log_files, reading

BLOCK_BYTES = 8 << 20
"""Bytes read at once; a longer event makes its block longer."""


class FileSource:
    """A ``BinlogSource`` over a folder. ``heads``, ``earliest`` and ``current`` read the folder again."""

    def __init__(self, folder: str | Path, block_bytes: int = BLOCK_BYTES):
        self._folder, self._block_bytes = Path(folder), block_bytes
        self._files = find_log_files(self._folder)
        first = LogFile.open(self._files[min(self._files)])
        self.flavor = first.description.flavor
        self.identity = f"files:{self.flavor}:{first.server_id}:{first.path.name.rpartition('.')[0]}"

    def heads(self) -> list[BinlogPosition]:
        self._files = find_log_files(self._folder)
        return [BinlogPosition(self._files[number].name, FIRST_EVENT_OFFSET) for number in sorted(self._files)]

    def earliest(self) -> BinlogPosition:
        return self.heads()[0]

    def current(self) -> BinlogPosition:
        self._files = find_log_files(self._folder)
        last = self._open(max(self._files))
        end = FIRST_EVENT_OFFSET
        for block in self._blocks(last, end, last.size):
            end = block.end_pos
        if end < last.size and not last.is_in_use:
            raise _cut_short(last, end)
        return BinlogPosition(last.path.name, end)

    def locate(self, gtids: GtidSet) -> BinlogPosition:
        """Raises RefusedError ``log-missing`` when transactions before the first file are not in ``gtids``."""
        end = self.current()
        for number in sorted(self._files, reverse=True):
            if gtids.contains(self._gtids_before(number)):
                return self._first_missing(gtids, number, end)
        raise RefusedError("log-missing", "the first file begins after the first transaction that the GTID set lacks")

    def check_range(self, start: BinlogPosition, end: BinlogPosition) -> None:
        """Raises RefusedError ``log-missing``, ``log-gap`` or ``log-truncated``; reads both ends of each file."""
        self._checked(start, end)

    def _checked(self, start: BinlogPosition, end: BinlogPosition) -> list[LogFile]:
        if start.file_number not in self._files:
            raise RefusedError("log-missing", f"{start.log_file} is not in the folder", position=str(start))
        checked = [self._open(start.file_number)]
        checked[0].check_name()
        for number in range(start.file_number + 1, end.file_number + 1):
            if number not in self._files:
                what = f"binlog file number {number} is not in the folder"
                raise RefusedError("log-gap", what, position=str(checked[-1].end))
            following = self._open(number)
            checked[-1].check_successor(following)
            following.check_name()
            checked.append(following)
        return checked

    def read(self, start: BinlogPosition | GtidSet, end: BinlogPosition) -> Iterator[EventBlock]:
        """See ``BinlogSource.read``. Raises what ``check_range`` raises before the first block."""
        position = start if isinstance(start, BinlogPosition) else self.locate(start)
        if not {position.file_number, end.file_number} <= self._files.keys():
            self._files = find_log_files(self._folder)
        checked = self._checked(position, end)
        for log_file, following in zip(checked, [*checked[1:], None], strict=True):
            is_last, last = following is None, None
            offset = position.offset if log_file is checked[0] else FIRST_EVENT_OFFSET
            limit = end.offset if is_last else log_file.size
            if max(offset, limit) > log_file.size:
                raise _cut_short(log_file, log_file.size)
            for block in self._blocks(log_file, offset, limit):
                yield block
                offset, last = block.end_pos, last_gtid(block) or last
            if following is not None:
                self._check_end(log_file, offset, following, last)

    def close(self) -> None:
        """Nothing stays open between reads."""

    def _check_end(self, log_file: LogFile, end: int, following: LogFile, last: GtidSet | None) -> None:
        """Check that a file which was read up to ``end`` was written no further, and that the next one is of its log.

        A crash cuts a file short, and so does copying it while it is written. The list of GTIDs in the next file shows
        which of the two it was, and whether both files are of one server. last: the last GTID that was read.
        """
        if end < log_file.size and not (self.flavor == "mariadb" and following.description.created_s):
            raise _cut_short(log_file, end)
        listed = self._listed(following)
        if listed is None:
            return
        if following.description.created_s == 0:
            if last is not None and not lists(listed, last):
                what = "the next file is not the one after it: it does not list its last transaction"
                raise RefusedError("log-gap", what, position=f"{log_file.path.name}:{end}")
            return
        written = self._gtids_up_to(log_file)
        has_purged = self.flavor == "mysql" and listed.contains(written)  # SET GLOBAL gtid_purged adds to a list
        if have_same_state(written, listed) or (log_file.ends_with_stop and has_purged):
            return
        code, what = "log-truncated", "the file ends before transactions that the next file lists"
        if log_file.ends_with_stop:
            code, what = "log-gap", "the next file is of another server: it lists other transactions"
        raise RefusedError(code, what, position=f"{log_file.path.name}:{end}")

    def _listed(self, log_file: LogFile) -> GtidSet | None:
        return gtids_before_file(next(self._blocks(log_file, FIRST_EVENT_OFFSET, log_file.size)))

    def _gtids_up_to(self, log_file: LogFile) -> GtidSet:
        """The whole transactions of a file and of all before it."""
        reader = LogReader(None, parse_gtid_set(self.flavor, ""))
        last = None
        for chunk in reader.read(self._blocks(log_file, FIRST_EVENT_OFFSET, log_file.size)):
            last = chunk.resume or last
        return parse_gtid_state(self.flavor, last.gtids if last else "")

    def _open(self, number: int) -> LogFile:
        return LogFile.open(self._files[number])

    def _gtids_before(self, number: int) -> GtidSet:
        log_file = self._open(number)
        gtids = self._listed(log_file)
        if gtids is None:
            raise RefusedError("log-event", "the file has no list of the GTIDs before it; start by file and position",
                               position=f"{log_file.path.name}:{FIRST_EVENT_OFFSET}")  # fmt: skip
        return gtids

    def _first_missing(self, gtids: GtidSet, number: int, end: BinlogPosition) -> BinlogPosition:
        for block in self.read(BinlogPosition(self._files[number].name, FIRST_EVENT_OFFSET), end):
            i = first_missing(block, gtids)
            if i is not None:
                return block.position(i)
        return end

    def _blocks(self, log_file: LogFile, start: int, limit: int) -> Iterator[EventBlock]:
        """The complete events of one file from ``start`` that end at or before ``limit``."""
        wanted = self._block_bytes
        with log_file.reopened() as handle:
            while start < limit:
                with reading(log_file.path):
                    buf, n_bytes = _read_at(handle.fileno(), start, min(wanted, log_file.size - start))
                events, stop = index_events(buf, 0, n_bytes, BinlogPosition(log_file.path.name, start))
                if not len(events) and n_bytes == wanted:
                    wanted = stated_length(buf.data) if n_bytes >= HEADER_BYTES else HEADER_BYTES
                    continue
                if start + stop > limit:
                    events = events[np.cumsum(events.length) <= limit - start]
                if not len(events):
                    return
                block = EventBlock(log_file.path.name, start, buf, events, log_file.has_checksum)
                yield block
                start, wanted = block.end_pos, self._block_bytes


def _read_at(fd: int, offset: int, n_bytes: int) -> tuple[np.ndarray, int]:
    """Return a new buffer with up to n_bytes from ``offset``, and their number."""
    buf, filled = reusable_bytes(n_bytes + SLACK_BYTES), 0
    view = buf.data
    while filled < n_bytes and (n := os.preadv(fd, [view[filled:n_bytes]], offset + filled)):
        filled += n
    return buf, filled


def _cut_short(log_file: LogFile, offset: int) -> RefusedError:
    return RefusedError("log-truncated", "the file ends inside an event", position=f"{log_file.path.name}:{offset}")
