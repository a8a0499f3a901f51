"""MySQL's GTID sets as values that grow with the log: ``uuid:1-5:7,uuid2:3``.

Per source uuid the numbers seen. From 8.3 on a source may also have a tag with its own numbers: ``uuid:1-5:tag:1-3``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from uuid import UUID

import numpy as np

from mirrorlake.core.intervals import Intervals, covers, cut, insert, merge, remove, runs
from mirrorlake.errors import RefusedError, UsageError

_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_WRITTEN_TAG = re.compile(rb"[a-z_][a-z0-9_]{0,31}")
_INTERVAL = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")
NO_MYSQL_NUMBER = (1 << 63) - 1
"""The first number that no transaction has (MySQL ``sql/rpl_gtid.h``, GNO_END)."""


class MysqlGtidSet:
    """Transactions by source and number; grows in place, see ``copy``.

    A source is a uuid (lower case, with dashes), or ``uuid:tag`` (lower case).
    """

    __slots__ = ("_sources",)
    __hash__ = None

    def __init__(self, sources: dict[str, Intervals] | None = None):
        self._sources = {source: merged for source, spans in (sources or {}).items() if (merged := merge(spans))}

    @classmethod
    def parse(cls, text: str) -> MysqlGtidSet:
        """Raises UsageError for malformed text."""
        sources: dict[str, Intervals] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            uuid_text, *pieces = (piece.strip() for piece in part.split(":"))
            source = uuid = _uuid(uuid_text, text)
            if not pieces or _TAG.fullmatch(pieces[-1]):
                raise _not_mysql(text)
            for piece in pieces:
                if _TAG.fullmatch(piece):
                    source = f"{uuid}:{piece.lower()}"
                else:
                    sources.setdefault(source, []).append(_interval(piece, text))
        return cls(sources)

    @classmethod
    def decode(cls, raw: bytes) -> MysqlGtidSet:
        """The inverse of ``encode``, also the body of a PREVIOUS_GTIDS event.

        Raises RefusedError ``log-event`` when the bytes do not add up.
        """
        try:
            return cls(dict(_decode_sources(raw)))
        except (struct.error, IndexError, UnicodeDecodeError):
            raise RefusedError("log-event", "a GTID set's bytes do not add up") from None

    def encode(self) -> bytes:
        """The form of COM_BINLOG_DUMP_GTID and PREVIOUS_GTIDS (MySQL ``sql/rpl_gtid_set.cc``, ``Gtid_set::encode``).

        u64 number of sources; for each: 16 bytes uuid, [the tag], u64 number of intervals; for each: u64 first, u64
        after the last. If any source has a tag, the first and the last byte of the number of sources are 1, the
        number is between them, and every source has a tag, possibly an empty one: u8 twice its length, text.
        """
        has_tags = any(":" in source for source in self._sources)
        n_sources = len(self._sources)
        parts = [struct.pack("<Q", 1 << 56 | n_sources << 8 | 1 if has_tags else n_sources)]
        for source, spans in sorted(self._sources.items()):
            uuid, _, tag = source.partition(":")
            parts += [UUID(uuid).bytes, bytes((2 * len(tag),)) + tag.encode() if has_tags else b""]
            parts += [struct.pack("<Q", len(spans)), *(struct.pack("<QQ", *span) for span in spans)]
        return b"".join(parts)

    def add(self, source: str, first: int, last: int | None = None) -> None:
        """Add the transactions first..last (both included) of one source."""
        insert(self._sources.setdefault(source, []), [(first, (first if last is None else last) + 1)])

    def add_one(self, gtid: str) -> None:
        """Add a transaction by its GTID: ``uuid:number`` or ``uuid:tag:number``, in lower case."""
        source, _, number = gtid.rpartition(":")
        self.add(source, int(number))

    def update_groups(self, sids: np.ndarray, numbers: np.ndarray) -> None:
        """Add n transactions. sids: uint8[n, 16], source uuids; numbers: int64[n]."""
        if not len(numbers):
            return
        distinct, source_of = np.unique(np.ascontiguousarray(sids).view("V16").ravel(), return_inverse=True)
        by_source = numbers[np.argsort(source_of, kind="stable")]
        ends = np.cumsum(np.bincount(source_of))[:-1]
        for raw, theirs in zip(distinct, np.split(by_source, ends), strict=True):
            uuid = str(UUID(bytes=raw.tobytes()))
            insert(self._sources.setdefault(uuid, []), runs(theirs))

    def holds(self, gtid: str) -> bool:
        """Is the transaction in the set?"""
        source, _, number = gtid.rpartition(":")
        return covers(self._sources.get(source, []), int(number), int(number) + 1)

    def strike(self, gtid: str) -> None:
        """Remove a transaction from a set of those that are still ahead."""
        source, _, number = gtid.rpartition(":")
        spans = self._sources.get(source, [])
        remove(spans, int(number))
        if not spans:
            self._sources.pop(source, None)

    def reach(self, gtid: str) -> None:
        """For a set of those that are wanted: note that the log has reached a transaction."""
        self.strike(gtid)

    def minus(self, other: object) -> MysqlGtidSet:
        """The transactions in this set and not in ``other``."""
        assert isinstance(other, MysqlGtidSet), "sets of two flavors are not compared"
        left = {source: cut(spans, other._sources.get(source, [])) for source, spans in self._sources.items()}
        return MysqlGtidSet(left)

    def contains(self, other: object) -> bool:
        assert isinstance(other, MysqlGtidSet), "sets of two flavors are not compared"
        return all(
            covers(self._sources.get(source, []), *span) for source, spans in other._sources.items() for span in spans
        )

    def copy(self) -> MysqlGtidSet:
        new = MysqlGtidSet()
        new._sources = {source: list(spans) for source, spans in self._sources.items()}
        return new

    @property
    def n_parts(self) -> int:
        """Number of intervals."""
        return sum(map(len, self._sources.values()))

    @property
    def state(self) -> str:
        """The whole state as text, for ``parse_gtid_state``."""
        return str(self)

    def __bool__(self) -> bool:
        return bool(self._sources)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MysqlGtidSet) and self._sources == other._sources

    def __str__(self) -> str:
        parts: dict[str, list[str]] = {}
        for source, spans in sorted(self._sources.items()):
            uuid, _, tag = source.partition(":")
            numbers = (f"{a}-{b - 1}" if b - a > 1 else str(a) for a, b in spans)
            parts.setdefault(uuid, [uuid]).extend([tag, *numbers] if tag else numbers)
        return ",".join(":".join(part) for part in parts.values())

    def __repr__(self) -> str:
        return f"MysqlGtidSet({str(self)!r})"


def _decode_sources(raw: bytes) -> Iterator[tuple[str, Intervals]]:
    (n_sources,) = struct.unpack_from("<Q", raw)
    has_tags = n_sources >> 56 == 1
    if has_tags:
        n_sources = n_sources >> 8 & 0xFFFFFFFFFFFF
    offset = 8
    for _ in range(n_sources):
        source = str(UUID(bytes=struct.unpack_from("<16s", raw, offset)[0]))
        offset += 16
        if has_tags:
            tag = raw[offset + 1 : offset + 1 + raw[offset] // 2]
            if tag and not _WRITTEN_TAG.fullmatch(tag):
                raise struct.error
            source, offset = f"{source}:{tag.decode('ascii')}" if tag else source, offset + 1 + len(tag)
        (n_spans,) = struct.unpack_from("<Q", raw, offset)
        offset += 8
        if n_spans > (len(raw) - offset) // 16:
            raise struct.error
        spans = [struct.unpack_from("<QQ", raw, offset + 16 * k) for k in range(n_spans)]
        if not all(1 <= first < stop <= NO_MYSQL_NUMBER for first, stop in spans):
            raise struct.error
        yield source, spans
        offset += 16 * n_spans
    if offset != len(raw):
        raise struct.error


def _uuid(text: str, whole: str) -> str:
    """With lower-case letters. ``UUID`` takes the digits of every script, the server those of ASCII."""
    if not text.isascii():
        raise _not_mysql(whole)
    try:
        return str(UUID(text))
    except ValueError:
        raise _not_mysql(whole) from None


def _interval(text: str, whole: str) -> tuple[int, int]:
    match = _INTERVAL.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last < NO_MYSQL_NUMBER:
        raise _not_mysql(whole)
    return first, last + 1


def _not_mysql(text: str) -> UsageError:
    return UsageError("usage", f"not a MySQL GTID set (uuid:first-last,...): {text!r}")
