"""GTID sets of both flavors as values that grow with the log.

MySQL: ``uuid:1-5:7,uuid2:3`` - per source uuid the numbers seen, kept as sorted half-open intervals.
MariaDB: ``domain-server-sequence,...`` - per domain the last transaction seen, all before it included.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from uuid import UUID

import numpy as np

from mirrorlake.errors import RefusedError, UsageError

_MYSQL_INTERVAL = re.compile(r"(\d+)(?:-(\d+))?")
_MARIADB_GTID = re.compile(r"(\d+)-(\d+)-(\d+)")

Intervals = list[tuple[int, int]]


class MysqlGtidSet:
    """Transactions by source uuid (lower case, with dashes) and number; grows in place, see ``copy``."""

    __slots__ = ("_sources",)
    __hash__ = None

    def __init__(self, sources: dict[str, Intervals] | None = None):
        self._sources = {uuid: merged for uuid, spans in (sources or {}).items() if (merged := _merge(spans))}

    @classmethod
    def parse(cls, text: str) -> MysqlGtidSet:
        """Raises UsageError for malformed text, RefusedError ``log-event`` for tagged GTIDs."""
        sources: dict[str, Intervals] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            uuid_text, *spans = (piece.strip() for piece in part.split(":"))
            if any(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", span) for span in spans):
                raise RefusedError("log-event", f"tagged GTIDs are not read yet: {part!r}")
            sources.setdefault(_uuid(uuid_text, text), []).extend(_interval(span, text) for span in spans or [""])
        return cls(sources)

    @classmethod
    def decode(cls, raw: bytes) -> MysqlGtidSet:
        """The inverse of ``encode``, also the body of a PREVIOUS_GTIDS event.

        Raises RefusedError ``log-event`` when the bytes do not add up, or hold tags (format byte 1 in byte 7).
        """
        if len(raw) >= 8 and raw[7]:
            raise RefusedError("log-event", "the log holds tagged GTIDs, which are not read yet")
        try:
            return cls(dict(_decode_sources(raw)))
        except struct.error:
            raise RefusedError("log-event", "a GTID set ends before its last interval") from None

    def encode(self) -> bytes:
        """The form of COM_BINLOG_DUMP_GTID and PREVIOUS_GTIDS (MySQL ``sql/rpl_gtid_set.cc``, ``Gtid_set::encode``).

        u64 number of uuids; for each: 16 bytes, u64 number of intervals; for each: u64 first, u64 behind the last.
        """
        parts = [struct.pack("<Q", len(self._sources))]
        for uuid, spans in sorted(self._sources.items()):
            parts += [UUID(uuid).bytes, struct.pack("<Q", len(spans))]
            parts += [struct.pack("<QQ", *span) for span in spans]
        return b"".join(parts)

    def add(self, uuid: str, first: int, last: int | None = None) -> None:
        """Add the transactions first..last (both included) of one source."""
        span = (first, (first if last is None else last) + 1)
        self._sources[uuid] = _merge([*self._sources.get(uuid, ()), span])

    def update_groups(self, sids: np.ndarray, numbers: np.ndarray) -> None:
        """Add n transactions. sids: uint8[n, 16], source uuids; numbers: int64[n]."""
        if not len(numbers):
            return
        distinct, source_of = np.unique(np.ascontiguousarray(sids).view("V16").ravel(), return_inverse=True)
        for k, raw in enumerate(distinct):
            uuid = str(UUID(bytes=raw.tobytes()))
            self._sources[uuid] = _merge([*self._sources.get(uuid, ()), *_runs(numbers[source_of == k])])

    def contains(self, other: MysqlGtidSet) -> bool:
        return all(
            any(first <= start and end <= behind for first, behind in self._sources.get(uuid, ()))
            for uuid, spans in other._sources.items()
            for start, end in spans
        )

    def copy(self) -> MysqlGtidSet:
        return MysqlGtidSet(self._sources)

    def __bool__(self) -> bool:
        return bool(self._sources)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MysqlGtidSet) and self._sources == other._sources

    def __str__(self) -> str:
        return ",".join(
            ":".join([uuid, *(f"{a}-{b - 1}" if b - a > 1 else str(a) for a, b in spans)])
            for uuid, spans in sorted(self._sources.items())
        )

    def __repr__(self) -> str:
        return f"MysqlGtidSet({str(self)!r})"


class MariadbGtidSet:
    """The last transaction of every domain; grows in place, see ``copy``."""

    __slots__ = ("_domains",)
    __hash__ = None

    def __init__(self, domains: dict[int, tuple[int, int]] | None = None):
        self._domains = dict(domains or {})

    @classmethod
    def parse(cls, text: str) -> MariadbGtidSet:
        """Raises UsageError for malformed text or two GTIDs of one domain."""
        domains: dict[int, tuple[int, int]] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            match = _MARIADB_GTID.fullmatch(part)
            domain, server, sequence = map(int, match.groups()) if match else (0, 0, -1)
            if not match or domain in domains:
                raise UsageError("usage", f"not a MariaDB GTID set (domain-server-sequence,...): {text!r}")
            domains[domain] = server, sequence
        return cls(domains)

    def add(self, domain: int, server: int, sequence: int) -> None:
        """The transaction that comes next in its domain."""
        self._domains[domain] = server, sequence

    def update_groups(self, domains: np.ndarray, servers: np.ndarray, numbers: np.ndarray) -> None:
        """Add n transactions in log order; the last of each domain stays."""
        from_the_end, position = np.unique(np.asarray(domains)[::-1], return_index=True)
        for domain, back in zip(from_the_end.tolist(), position.tolist(), strict=True):
            last = len(domains) - 1 - back
            self._domains[domain] = int(servers[last]), int(numbers[last])

    def contains(self, other: MariadbGtidSet) -> bool:
        """By sequence number, which only grows within a domain."""
        return all(
            domain in self._domains and self._domains[domain][1] >= sequence
            for domain, (_, sequence) in other._domains.items()
        )

    def copy(self) -> MariadbGtidSet:
        return MariadbGtidSet(self._domains)

    def __bool__(self) -> bool:
        return bool(self._domains)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MariadbGtidSet) and self._domains == other._domains

    def __str__(self) -> str:
        return ",".join(f"{domain}-{server}-{sequence}" for domain, (server, sequence) in sorted(self._domains.items()))

    def __repr__(self) -> str:
        return f"MariadbGtidSet({str(self)!r})"


GtidSet = MysqlGtidSet | MariadbGtidSet


def parse_gtid_set(flavor: str, text: str) -> GtidSet:
    """``text`` as a server of that flavor prints it; empty text is the empty set."""
    return (MariadbGtidSet if flavor == "mariadb" else MysqlGtidSet).parse(text)


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
    offset = 8
    for _ in range(n_sources):
        sid, n_spans = struct.unpack_from("<16sQ", raw, offset)
        offset += 24
        if n_spans > (len(raw) - offset) // 16:
            raise struct.error
        yield str(UUID(bytes=sid)), [struct.unpack_from("<QQ", raw, offset + 16 * k) for k in range(n_spans)]
        offset += 16 * n_spans


def _uuid(text: str, whole: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise UsageError("usage", f"not a MySQL GTID set (uuid:first-last,...): {whole!r}") from None


def _interval(text: str, whole: str) -> tuple[int, int]:
    match = _MYSQL_INTERVAL.fullmatch(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise UsageError("usage", f"not a MySQL GTID set (uuid:first-last,...): {whole!r}")
    return first, last + 1
