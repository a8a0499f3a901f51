"""Find the known transactions in another server's log, and check that it can have taken over; see ``failover``.

Files are read from the newest one back (``look_back``), until they have all new transactions. Then their
transactions are read from the front (``meet``), up to the last known one.
"""

from __future__ import annotations

from collections.abc import Iterator

from mirrorlake.core.gtid import GtidSet
from mirrorlake.core.mariadb_gtid import MariadbGtidSet
from mirrorlake.core.mysql_gtid import MysqlGtidSet
from mirrorlake.core.position import BinlogPosition
from mirrorlake.errors import RefusedError

Transactions = Iterator[tuple[str | None, BinlogPosition]]


def overlap_of(known: GtidSet, newest: str) -> MysqlOverlap | MariadbOverlap:
    """Make an overlap. known: every transaction; newest: the last of them."""
    return MysqlOverlap(known, newest) if isinstance(known, MysqlGtidSet) else MariadbOverlap(known, newest)


class MysqlOverlap:
    """Known transactions of a log. is_whole: the files read so far have all new ones, and the newest known one,
    too. left: known ones that were not met yet."""

    def __init__(self, known: MysqlGtidSet, newest: str):
        self._known, self._newest, self._before = known, newest, MysqlGtidSet()
        self._new_from: set[str] = set()
        self.is_whole, self.left = False, MysqlGtidSet()

    def look_back(self, before: GtidSet, transactions: Transactions) -> None:
        """Add one more file at the front. before: the transactions of all earlier files."""
        assert isinstance(before, MysqlGtidSet), "sets of two flavors are not compared"
        self._before = before
        self.is_whole = self._known.contains(before) and not before.holds(self._newest)

    def begin(self) -> MysqlGtidSet:
        """All known transactions of the files read so far."""
        gone = self._before.minus(self._known)
        if gone:
            raise _gap(str(gone))
        self.left = self._known.minus(self._before)
        return self.left.copy()

    def meet(self, gtid: str) -> None:
        server = gtid.partition(":")[0]
        if not self.left.holds(gtid):
            self._new_from.add(server)
            return
        if self._new_from - {server}:
            raise RefusedError(
                "failover-diverged", f"the server has transactions of another server before {gtid}, which is known"
            )
        self.left.strike(gtid)


class MariadbOverlap:
    """Known transactions of a MariaDB log, as ``MysqlOverlap``. left: the last known transaction of each domain, if it
    was not met yet."""

    def __init__(self, known: MariadbGtidSet, newest: str):
        self._known, self._newest, self._before = known, newest, MariadbGtidSet()
        self._ends = {known.last(domain): domain for domain in known.domains}
        self._found: dict[int, tuple[int, int]] = {}
        self._seen = MariadbGtidSet()
        self.is_whole, self.left = False, MariadbGtidSet()

    def look_back(self, before: GtidSet, transactions: Transactions) -> None:
        assert isinstance(before, MariadbGtidSet), "sets of two flavors are not compared"
        self._before = before
        for gtid, position in transactions:
            if gtid in self._ends:
                domain, server, sequence = map(int, gtid.split("-"))
                if domain in self._found:
                    raise RefusedError("failover-unproven", f"two transactions are {gtid}", position=str(position))
                self._found[domain] = server, sequence
        missing = [gtid for gtid, domain in self._ends.items() if not self._is_found_or_before(gtid, domain)]
        if missing:
            raise lacking(",".join(missing))
        domains = {*before.domains, *self._known.domains} - self._found.keys()
        is_covered = all(before.last(domain) == self._known.last(domain) for domain in domains)
        self.is_whole = is_covered and self._ends.get(self._newest) in self._found

    def _is_found_or_before(self, gtid: str, domain: int) -> bool:
        """Was the transaction met, or may it be in an earlier file, like others of its domain and server?"""
        return domain in self._found or int(gtid.split("-")[1]) in self._before.servers(domain)

    def begin(self) -> MariadbGtidSet:
        for domain in {*self._before.domains, *self._known.domains} - self._found.keys():
            if self._before.last(domain) != self._known.last(domain):
                raise self._not_found(domain)
            self._check(domain, self._before)
        if not self.is_whole:
            raise RefusedError(
                "failover-unproven", f"the server has purged {self._newest}, the newest known transaction"
            )
        self._seen = self._before.copy()
        self.left = MariadbGtidSet(self._found)
        return self.left.copy()

    def meet(self, gtid: str) -> None:
        if self.left.holds(gtid):
            self._seen.add_one(gtid)
            self.left.strike(gtid)
            if gtid in self._ends:
                self._check(self._ends[gtid], self._seen)

    def _check(self, domain: int, seen: MariadbGtidSet) -> None:
        if not seen.servers(domain).items() <= self._known.servers(domain).items():
            what = f"up to {self._known.last(domain)} the server has others than {self._known.state}"
            raise RefusedError("failover-diverged", what)

    def _not_found(self, domain: int) -> RefusedError:
        """The error for a missing transaction; only its sequence number can show whether it was purged."""
        known = self._known.last(domain)
        if known is None:
            return _gap(f"domain {domain} up to {self._before.last(domain)}")
        server, sequence = map(int, known.split("-")[1:])
        is_behind = self._before.servers(domain)[server] >= sequence
        return _gap(f"those behind {known}") if is_behind else lacking(known)


def _gap(what: str) -> RefusedError:
    return RefusedError("failover-gap", f"new transactions are gone from the server's log: {what}")


def lacking(what: object) -> RefusedError:
    return RefusedError("failover-diverged", f"the server lacks transactions that are known: {what}")
