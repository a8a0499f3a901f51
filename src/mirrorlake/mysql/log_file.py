"""One binlog file in a folder: its name, its first event, and how it ends."""

from __future__ import annotations

import io
import os
import re
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mirrorlake.core.binlog.description_event import read_format_description
from mirrorlake.core.binlog.events import FormatDescription
from mirrorlake.core.binlog.framing import HEADER_BYTES
from mirrorlake.core.constants import BINLOG_MAGIC, ENCRYPTED_BINLOG_MAGIC, ChecksumAlgorithm, EventFlag, EventType
from mirrorlake.core.digits import is_number
from mirrorlake.core.position import FIRST_EVENT_OFFSET, BinlogPosition, is_log_name
from mirrorlake.errors import RefusedError

_NAME = re.compile(r"(.+)\.([0-9]{6,})", re.DOTALL)
_HEADER = struct.Struct("<IBIIIH")
_HEAD_BYTES = 1024
_IN_USE_AT = FIRST_EVENT_OFFSET + 17
"""The one byte of a file that a server changes later: the low flags of the first event."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """size: bytes when it was opened. is_in_use: the server has not closed it, or crashed before."""

    path: Path
    size: int
    description: FormatDescription
    server_id: int
    is_in_use: bool
    head: bytes

    @classmethod
    def open(cls, path: Path) -> LogFile:
        """Raises RefusedError ``log-missing``, ``log-event`` (no file, no binlog, encrypted), ``log-checksum``,
        ``log-truncated``."""
        with open_file(path) as handle, reading(path):
            head, size = _head(handle), os.fstat(handle.fileno()).st_size
        _check_magic(head, path.name)
        first, where = FIRST_EVENT_OFFSET, f"{path.name}:{FIRST_EVENT_OFFSET}"
        if len(head) < first + HEADER_BYTES:
            raise RefusedError("log-truncated", "the file ends inside its first event", position=where)
        _, event_type, server_id, length, _, flags = _HEADER.unpack_from(head, first)
        if event_type != EventType.FORMAT_DESCRIPTION or length > _HEAD_BYTES - 2 * HEADER_BYTES:
            raise RefusedError("log-event", "the file does not begin with FORMAT_DESCRIPTION", position=where)
        if len(head) < first + length:
            raise RefusedError("log-truncated", "the file ends inside its first event", position=where)
        if head[first + length + 4 : first + length + 5] == bytes([EventType.START_ENCRYPTION]):
            raise RefusedError("log-event", f"{path.name} is encrypted; read it through the server")
        description = read_format_description(head[first : first + length], path.name)
        return cls(path, size, description, server_id, bool(flags & EventFlag.IN_USE), head)

    @property
    def has_checksum(self) -> bool:
        return self.description.checksum_algorithm == ChecksumAlgorithm.CRC32

    @property
    def end(self) -> BinlogPosition:
        return BinlogPosition(self.path.name, self.size)

    @property
    def number(self) -> int:
        return self.end.file_number

    @contextmanager
    def reopened(self) -> Iterator[io.FileIO]:
        """Open the file to read it. Raises RefusedError ``log-gap`` if its name is now another file's."""
        with open_file(self.path) as handle:
            with reading(self.path):
                known = list(zip(self.head, _head(handle), strict=False))
            if any(was != now for at, (was, now) in enumerate(known) if at != _IN_USE_AT):
                raise RefusedError("log-gap", f"another file was named {self.path.name} while it was read")
            yield handle

    def check_name(self) -> None:
        """Raises RefusedError ``log-gap`` if a ROTATE at the end names another file than the one after this."""
        base, _, digits = self.path.name.rpartition(".")
        next_number = self._rotates_to(f"{base}.{self.number + 1:0{len(digits)}}")
        if next_number not in (None, self.number + 1):
            what = f"it ends with ROTATE to file number {next_number}, so this is not the file of its name"
            raise RefusedError("log-gap", what, position=str(self.end))

    def check_successor(self, following: LogFile) -> None:
        """Raises RefusedError ``log-truncated`` if the next file continues this one but this one does not end with a
        ROTATE; ``log-event`` if they are of MySQL and MariaDB.

        A server that starts writes its start time into its first file: then the file before may end without
        ROTATE, because of a crash. Every other file is preceded by a ROTATE that names it.
        """
        if following.description.flavor != self.description.flavor:
            what = f"it is a log of {following.description.flavor}, and the file before of {self.description.flavor}"
            raise RefusedError("log-event", what, position=f"{following.path.name}:{FIRST_EVENT_OFFSET}")
        if following.description.created_s == 0 and self._rotates_to(following.path.name) is None:
            raise RefusedError("log-truncated", "it does not end with ROTATE to the next file", position=str(self.end))

    @property
    def ends_with_stop(self) -> bool:
        """Did the server that wrote it stop in an orderly way after it?"""
        return self._last_body(EventType.STOP, 0) is not None

    def _rotates_to(self, next_name: str) -> int | None:
        """The number of the file that a ROTATE at the end names; None without one to a name as long as ``next_name``.

        The base of the name is not compared: an archive may have renamed all files.
        """
        body = self._last_body(EventType.ROTATE, 8 + len(next_name.encode()))
        digits = body.rpartition(b".")[2] if body else b""
        return int(digits) if is_number(digits.decode("latin-1")) else None

    def _last_body(self, wanted: EventType, body_bytes: int) -> bytes | None:
        """The body of the last event if it is of the type and length."""
        length = HEADER_BYTES + body_bytes + (4 if self.has_checksum else 0)
        if self.size < FIRST_EVENT_OFFSET + length:
            return None
        with self.reopened() as handle, reading(self.path):
            event = os.pread(handle.fileno(), length, self.size - length)
        if len(event) < length:
            return None
        _, event_type, _, event_bytes, log_pos, _ = _HEADER.unpack_from(event)
        is_wanted = (event_type, event_bytes, log_pos) == (wanted, length, self.size & 0xFFFFFFFF)
        return event[HEADER_BYTES : HEADER_BYTES + body_bytes] if is_wanted else None


def open_file(path: Path) -> io.FileIO:
    """Open a regular file for reading. A FIFO would wait for its writer, and opening a device might have effects.

    Raises RefusedError ``log-missing``; ``log-event`` for anything but a regular file.
    """
    with reading(path):
        is_file = stat.S_ISREG(path.stat().st_mode)
        if is_file:
            handle = io.FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
            if stat.S_ISREG(os.fstat(handle.fileno()).st_mode):  # else another file has taken its name
                return handle
            handle.close()
    raise RefusedError("log-event", f"{path.name} is named like a binlog file, but it is no file")


def _head(handle: io.FileIO) -> bytes:
    return os.pread(handle.fileno(), _HEAD_BYTES, 0)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raise RefusedError ``log-missing`` for an error of the system."""
    try:
        yield
    except OSError as error:
        raise RefusedError("log-missing", f"cannot read {path.name}: {error.strerror}") from None


def find_log_files(folder: Path) -> dict[int, Path]:
    """Return file number -> file, for the one log in a folder; other files, also ``*.index``, are ignored.

    Raises RefusedError ``log-missing`` (no folder, no log), ``log-event`` (no binlogs despite their names, two logs,
    two files with the same number).
    """
    try:
        named = sorted((path.name, match) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name)))
    except OSError as error:
        raise RefusedError("log-missing", f"cannot list the folder {folder}: {error.strerror}") from None
    bases = {match[1] for name, match in named if _is_log(folder / name)}
    if not all(is_log_name(name) for name, match in named if not bases or match[1] in bases):
        what = "a name with control characters, of more than 19 digits or not in UTF-8"
        raise RefusedError("log-event", f"a binlog file in {folder} has {what}")
    if len(bases) > 1:
        raise RefusedError("log-event", f"the folder holds several logs: {', '.join(sorted(bases))}")
    if not bases and named:
        raise RefusedError("log-event", f"{named[0][0]} is named like a binlog file, but it is none")
    if not bases:
        raise RefusedError("log-missing", f"no binlog file (<name>.NNNNNN) in the folder {folder}")
    return _by_number(folder, [match for _, match in named if match[1] in bases])


def _by_number(folder: Path, names: list[re.Match[str]]) -> dict[int, Path]:
    found: dict[int, Path] = {}
    for match in names:
        number, path = int(match[2]), folder / match[0]
        if number in found:
            raise RefusedError("log-event", f"{found[number].name} and {path.name} have the same number")
        found[number] = path
    return found


def _is_log(path: Path) -> bool:
    """Does it begin like a binlog file? False if it is no regular file, or cannot be read."""
    try:
        with open_file(path) as handle, reading(path):
            return os.pread(handle.fileno(), len(BINLOG_MAGIC), 0) in (BINLOG_MAGIC, ENCRYPTED_BINLOG_MAGIC)
    except RefusedError:
        return False


def _check_magic(head: bytes, name: str) -> None:
    if head[:4] == ENCRYPTED_BINLOG_MAGIC:
        raise RefusedError("log-event", f"{name} is encrypted; read it through the server")
    if len(head) < 4:
        raise RefusedError("log-truncated", "the file is shorter than its magic bytes", position=f"{name}:0")
    if head[:4] != BINLOG_MAGIC:
        raise RefusedError("log-event", f"{name} does not begin with a binlog's magic bytes")
