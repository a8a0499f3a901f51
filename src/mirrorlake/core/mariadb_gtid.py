"""MariaDB's GTID sets as values that grow with the log: ``domain-server-sequence,...``.

Per domain the last transaction seen, all before it included. The set keeps more, the server's binlog state: in each
domain the last transaction of every server, the domain's last one at the end.
"""

from __future__ import annotations

import re

import numpy as np

from mirrorlake.errors import UsageError

_GTID = re.compile(r"([0-9]{1,10})-([0-9]{1,10})-([0-9]{1,20})")
_NO_ID, _NO_SEQUENCE = 1 << 32, 1 << 64


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
            match = _GTID.fullmatch(part)
            domain, server, sequence = map(int, match.groups()) if match else (_NO_ID, 0, 0)
            is_known = domain in gtids._domains and not is_state
            if is_known or max(domain, server) >= _NO_ID or sequence >= _NO_SEQUENCE:
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

    def minus(self, other: object) -> MariadbGtidSet:
        """The ends in this set that ``other`` has not reached, see ``contains``."""
        assert isinstance(other, MariadbGtidSet), "sets of two flavors are not compared"
        return MariadbGtidSet(
            {domain: _last(servers) for domain, servers in self._domains.items() if not other._reaches(domain, servers)}
        )

    def contains(self, other: object) -> bool:
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
    def n_parts(self) -> int:
        """Number of last transactions, of each server in each domain."""
        return sum(map(len, self._domains.values()))

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


def _last(servers: dict[int, int]) -> tuple[int, int]:
    return next(reversed(servers.items()))
