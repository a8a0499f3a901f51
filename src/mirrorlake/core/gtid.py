"""GTID sets of both flavors as values that grow with the log.

MySQL: ``uuid:1-5:7,uuid2:3`` - per source uuid the numbers seen, kept as sorted half-open intervals. From 8.3 on a
source may also have a tag with its own numbers: ``uuid:1-5:tag:1-3``.
MariaDB: ``domain-server-sequence,...`` - per domain the last transaction seen, all before it included. The set keeps
more, the server's binlog state: in each domain the last transaction of every server, the domain's last one at the end.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import itemgetter
from uuid import UUID

import numpy as np

from mirrorlake.errors import RefusedError, UsageError

_MYSQL_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_WRITTEN_TAG = re.compile(rb"[a-z_][a-z0-9_]{0,31}")
_MYSQL_INTERVAL = re.compile(r"([0-9]{1,19})(?:-([0-9]{1,19}))?")
_MARIADB_GTID = re.compile(r"([0-9]{1,10})-([0-9]{1,10})-([0-9]{1,20})")
NO_MYSQL_NUMBER = (1 << 63) - 1
"""The first number that no transaction has (MySQL ``sql/rpl_gtid.h``, GNO_END)."""
_NO_MARIADB_ID, _NO_MARIADB_SEQUENCE = 1 << 32, 1 << 64

Intervals = list[tuple[int, int]]
_first_of, _end_of = itemgetter(0), itemgetter(1)


class MysqlGtidSet:
    """Transactions by source and number; grows in place, see ``copy``.

    A source is a uuid (lower case, with dashes), or ``uuid:tag`` (lower case).
    """

    __slots__ = ("_sources",)
    __hash__ = None

    def __init__(self, sources: dict[str, Intervals] | None = None):
        self._sources = {source: merged for source, spans in (sources or {}).items() if (merged := _merge(spans))}

    @classmethod
    def parse(cls, text: str) -> MysqlGtidSet:
        """Raises UsageError for malformed text."""
        sources: dict[str, Intervals] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            uuid_text, *pieces = (piece.strip() for piece in part.split(":"))
            source = uuid = _uuid(uuid_text, text)
            if not pieces or _MYSQL_TAG.fullmatch(pieces[-1]):
                raise _not_mysql(text)
            for piece in pieces:
                if _MYSQL_TAG.fullmatch(piece):
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
        _insert(self._sources.setdefault(source, []), [(first, (first if last is None else last) + 1)])

    def add_one(self, gtid: str) -> None:
        """Add a transaction by its GTID: ``uuid:number`` or ``uuid:tag:number``, in lower case."""
        source, _, number = gtid.rpartition(":")
        self.add(source, int(number))

    def update_groups(self, sids: np.ndarray, numbers: np.ndarray) -> None:
        """Add n transactions. sids: uint8[n, 16], source uuids; numbers: int64[n]."""
        if not len(numbers):
            return
        distinct, source_of = np.unique(np.ascontiguousarray(sids).view("V16").ravel(), return_inverse=True)
        for k, raw in enumerate(distinct):
            uuid = str(UUID(bytes=raw.tobytes()))
            _insert(self._sources.setdefault(uuid, []), _runs(numbers[source_of == k]))

    def holds(self, gtid: str) -> bool:
        """Is the transaction in the set?"""
        source, _, number = gtid.rpartition(":")
        return _covers(self._sources.get(source, []), int(number), int(number) + 1)

    def strike(self, gtid: str) -> None:
        """Remove a transaction from a set of those that are still ahead."""
        source, _, number = gtid.rpartition(":")
        spans = self._sources.get(source, [])
        _remove(spans, int(number))
        if not spans:
            self._sources.pop(source, None)

    def reach(self, gtid: str) -> None:
        """For a set of those that are wanted: note that the log has reached a transaction."""
        self.strike(gtid)

    def minus(self, other: GtidSet) -> MysqlGtidSet:
        """The transactions in this set and not in ``other``."""
        assert isinstance(other, MysqlGtidSet), "sets of two flavors are not compared"
        left = {source: _cut(spans, other._sources.get(source, [])) for source, spans in self._sources.items()}
        return MysqlGtidSet(left)

    def contains(self, other: GtidSet) -> bool:
        assert isinstance(other, MysqlGtidSet), "sets of two flavors are not compared"
        return all(
            _covers(self._sources.get(source, []), *span) for source, spans in other._sources.items() for span in spans
        )

    def copy(self) -> MysqlGtidSet:
        new = MysqlGtidSet()
        new._sources = {source: list(spans) for source, spans in self._sources.items()}
        return new

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


class MariadbGtidSet:
    """The last transaction of every domain; grows in place, see ``copy``."""

    __slots__ = ("_domains",)
    __hash__ = None

    def __init__(self, domains: dict[int, tuple[int, int]] | None = None):
        """domains: (server, sequence number) of the last transaction."""
        self._domains = {domain: {server: sequence} for domain, (server, sequence) in (domains or {}).items()}

    @classmethod
    def parse(cls, text: str) -> MariadbGtidSet:
        """Raises UsageError for malformed text or two GTIDs of one domain."""
        return cls._read(text, is_state=False)

    @classmethod
    def parse_state(cls, text: str) -> MariadbGtidSet:
        """The inverse of ``state``. Raises UsageError for malformed text."""
        return cls._read(text, is_state=True)

    @classmethod
    def _read(cls, text: str, is_state: bool) -> MariadbGtidSet:
        gtids = cls()
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            match = _MARIADB_GTID.fullmatch(part)
            domain, server, sequence = map(int, match.groups()) if match else (_NO_MARIADB_ID, 0, 0)
            is_known = domain in gtids._domains and not is_state
            if is_known or max(domain, server) >= _NO_MARIADB_ID or sequence >= _NO_MARIADB_SEQUENCE:
                raise UsageError("usage", f"not a MariaDB GTID set (domain-server-sequence,...): {text!r}")
            gtids.add(domain, server, sequence)
        return gtids

    def add(self, domain: int, server: int, sequence: int) -> None:
        """Add the next transaction of its domain."""
        servers = self._domains.setdefault(domain, {})
        servers.pop(server, None)
        servers[server] = sequence

    def add_one(self, gtid: str) -> None:
        """Add the next transaction of its domain by its GTID, ``domain-server-sequence``."""
        self.add(*map(int, gtid.split("-")))

    def update_groups(self, domains: np.ndarray, servers: np.ndarray, numbers: np.ndarray) -> None:
        """Add n transactions in log order; the last one of each server in each domain stays."""
        pairs = np.stack([np.asarray(domains, np.int64), np.asarray(servers, np.int64)], axis=1)
        _, from_the_end = np.unique(pairs[::-1], axis=0, return_index=True)
        for i in np.sort(len(pairs) - 1 - from_the_end).tolist():
            self.add(int(domains[i]), int(servers[i]), int(numbers[i]))

    def last(self, domain: int) -> str | None:
        """GTID of the domain's last transaction."""
        servers = self._domains.get(domain)
        return f"{domain}-{_last(servers)[0]}-{_last(servers)[1]}" if servers else None

    def servers(self, domain: int) -> dict[int, int]:
        """Sequence number of the last transaction of each server in a domain."""
        return self._domains.get(domain, {})

    @property
    def domains(self) -> list[int]:
        return sorted(self._domains)

    def holds(self, gtid: str) -> bool:
        """For a set of ends that are still ahead: is the transaction at or before the end of its domain?"""
        return int(gtid.partition("-")[0]) in self._domains

    def strike(self, gtid: str) -> None:
        """For a set of ends that are still ahead: note that the log has passed a transaction."""
        domain = int(gtid.partition("-")[0])
        if self.last(domain) == gtid:
            del self._domains[domain]

    def reach(self, gtid: str) -> None:
        """For a set of ends that are wanted: note that the log has reached a transaction."""
        domain, _, sequence = map(int, gtid.split("-"))
        if domain in self._domains and sequence >= _last(self._domains[domain])[1]:
            del self._domains[domain]

    def minus(self, other: GtidSet) -> MariadbGtidSet:
        """The ends in this set that ``other`` has not reached, see ``contains``."""
        assert isinstance(other, MariadbGtidSet), "sets of two flavors are not compared"
        return MariadbGtidSet(
            {domain: _last(servers) for domain, servers in self._domains.items() if not other._reaches(domain, servers)}
        )

    def contains(self, other: GtidSet) -> bool:
        """Does this set contain the other? Compares sequence numbers, which only grow within a domain."""
        assert isinstance(other, MariadbGtidSet), "sets of two flavors are not compared"
        return all(self._reaches(domain, servers) for domain, servers in other._domains.items())

    def _reaches(self, domain: int, servers: dict[int, int]) -> bool:
        return domain in self._domains and _last(self._domains[domain])[1] >= _last(servers)[1]

    def copy(self) -> MariadbGtidSet:
        new = MariadbGtidSet()
        new._domains = {domain: dict(servers) for domain, servers in self._domains.items()}
        return new

    @property
    def state(self) -> str:
        """The whole state as text, for ``parse_gtid_state``; like the server's ``gtid_binlog_state``."""
        return ",".join(
            f"{domain}-{server}-{sequence}"
            for domain, servers in sorted(self._domains.items())
            for server, sequence in servers.items()
        )

    def __bool__(self) -> bool:
        return bool(self._domains)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MariadbGtidSet) and str(self) == str(other)

    def __str__(self) -> str:
        return ",".join(filter(None, map(self.last, self.domains)))

    def __repr__(self) -> str:
        return f"MariadbGtidSet({str(self)!r})"


GtidSet = MysqlGtidSet | MariadbGtidSet


def parse_gtid_set(flavor: str, text: str) -> GtidSet:
    """Parse ``text`` as a server of that flavor prints it; empty text is the empty set."""
    return (MariadbGtidSet if flavor == "mariadb" else MysqlGtidSet).parse(text)


def parse_gtid_state(flavor: str, text: str) -> GtidSet:
    """The inverse of a set's ``state``, for either flavor."""
    return MariadbGtidSet.parse_state(text) if flavor == "mariadb" else MysqlGtidSet.parse(text)


def have_same_state(one: GtidSet, other: GtidSet) -> bool:
    """Are two sets equal, of MariaDB also for each server of a domain?"""
    return sorted(one.state.split(",")) == sorted(other.state.split(","))


def _last(servers: dict[int, int]) -> tuple[int, int]:
    return next(reversed(servers.items()))


def _cut(spans: Intervals, gone: Intervals) -> Intervals:
    """The parts of the spans outside of those that are gone; both are sorted, and no two of one overlap."""
    left, passed = Intervals(), 0
    for first, behind in spans:
        while passed < len(gone) and gone[passed][1] <= first:
            passed += 1
        at = passed
        while at < len(gone) and gone[at][0] < behind:
            if first < gone[at][0]:
                left.append((first, gone[at][0]))
            first, at = max(first, gone[at][1]), at + 1
        if first < behind:
            left.append((first, behind))
    return left


def _covers(spans: Intervals, start: int, end: int) -> bool:
    """Is start..end-1 within one of the sorted spans?"""
    i = bisect_right(spans, start, key=_first_of) - 1
    return i >= 0 and end <= spans[i][1]


def _insert(spans: Intervals, added: Intervals) -> None:
    """Add to sorted spans others that are sorted, and put those together that touch."""
    low = bisect_left(spans, added[0][0], key=_end_of)
    high = bisect_right(spans, added[-1][1], key=_first_of)
    spans[low:high] = _merge([*spans[low:high], *added])


def _remove(spans: Intervals, number: int) -> None:
    """Remove a number from sorted spans."""
    i = bisect_right(spans, number, key=_first_of) - 1
    if i >= 0 and number < spans[i][1]:
        parts = (spans[i][0], number), (number + 1, spans[i][1])
        spans[i : i + 1] = [(first, behind) for first, behind in parts if first < behind]


def _merge(spans: Intervals) -> Intervals:
    merged: Intervals = []
    for first, behind in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(behind, merged[-1][1])
        else:
            merged.append((first, behind))
    return merged


def _runs(numbers: np.ndarray) -> Intervals:
    ordered = np.unique(numbers)
    breaks = np.flatnonzero(np.diff(ordered) != 1)
    firsts, lasts = ordered[np.r_[0, breaks + 1]], ordered[np.r_[breaks, len(ordered) - 1]]
    return list(zip(firsts.tolist(), (lasts + 1).tolist(), strict=True))


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
        if not all(1 <= first < behind <= NO_MYSQL_NUMBER for first, behind in spans):
            raise struct.error
        yield source, spans
        offset += 16 * n_spans
    if offset != len(raw):
        raise struct.error


def _uuid(text: str, whole: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise _not_mysql(whole) from None


def _interval(text: str, whole: str) -> tuple[int, int]:
    match = _MYSQL_INTERVAL.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last < NO_MYSQL_NUMBER:
        raise _not_mysql(whole)
    return first, last + 1


def _not_mysql(text: str) -> UsageError:
    return UsageError("usage", f"not a MySQL GTID set (uuid:first-last,...): {text!r}")
