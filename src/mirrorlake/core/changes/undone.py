"""Find logged row changes that their own transaction rolled back: they are left out.

MariaDB logs a transaction that made or dropped a temporary table even if it is rolled back, and ``ROLLBACK TO``
if such a table, or one of an engine without transactions, was changed after the savepoint:

    GTID, rows, QUERY "ROLLBACK"
    GTID, rows, QUERY "SAVEPOINT `a`", rows that do not count, QUERY "ROLLBACK TO `a`", rows, XID

Changes of tables without transactions, which no rollback undoes, are never among them: both servers log these in
separate groups (measured on MySQL 9.7, MariaDB 10.11 and 11.8).

A group's events are counted in segments: segment n is after the nth QUERY event of the group, up to the next one.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.binlog.events import parse_query
from mirrorlake.core.binlog.rows.decode import UNCLEAR
from mirrorlake.core.changes.bronze_events import BronzeEvents
from mirrorlake.core.changes.opened_events import open_events
from mirrorlake.core.constants import PLAIN_ROWS, EventType, one_of

UNDONE_ROWS = pa.schema([(name, pa.int64()) for name in ("tx_lsn", "first", "stop", "instead")])
UNDONE_COLUMNS = "tx_lsn BIGINT, first BIGINT, stop BIGINT, instead BIGINT"
LEFT_OUT = 0
"""The event type, which is none, that an undone event gets."""

MOST_SAVEPOINTS = 1 << 16
"""That are open, or rolled back to, in one transaction; of one with more it is not known what is undone."""
_LONGEST_NAME = 256
"""Characters of a name that are read: the servers allow 64, each of which may be doubled, and quotes."""
_ALL, _SEGMENT_BITS = sys.maxsize, 40
_ROWS_AND_NOTES = one_of(*PLAIN_ROWS, EventType.ROWS_QUERY, EventType.ANNOTATE_ROWS)
_EQUAL_BESIDES = str.maketrans({"ß": "S", "ẞ": "S", "Ϲ": "Σ"})  # in capitals
_VERB = re.compile(r"(ROLLBACK TO(?: SAVEPOINT)?|RELEASE SAVEPOINT|SAVEPOINT|ROLLBACK)(?:\s+(.+))?", re.DOTALL)


class Segments(NamedTuple):
    """Segments first..stop-1 of the group at ``tx_lsn``. instead: the event type that their row changes get:
    ``LEFT_OUT`` for undone ones, ``UNCLEAR`` if it is not known how many are undone."""

    tx_lsn: int
    first: int
    stop: int
    instead: int


def rolled_back_groups(events: Iterable[pa.RecordBatch]) -> list[int]:
    """Return the tx_lsn of each group with a ROLLBACK or ROLLBACK TO. events: at least the QUERY events, opened."""
    found = set[int]()
    for batch in events:
        kinds = batch.column("event_type").to_numpy(zero_copy_only=False)
        queries = batch.select(["raw", "tx_lsn"]).filter(pa.array(kinds == EventType.QUERY))
        rolls_back = pc.match_substring(queries.column("raw"), b"\0ROLLBACK")  # after the database's name
        found.update(queries.column("tx_lsn").filter(rolls_back).to_pylist())
    return sorted(found)


def undone_segments(events: Iterable[pa.RecordBatch]) -> Iterator[Segments]:
    """Yield the segments that the groups' own statements undo, no segment twice. events: all QUERY events of whole
    groups, in log order."""
    group, savepoints, found = -1, _Savepoints(), list[Segments]()
    for batch in open_events(events):
        if not batch.num_rows:
            continue
        queries = BronzeEvents(batch)
        for i in np.flatnonzero(queries.event_type == EventType.QUERY).tolist():
            if queries.tx_lsn[i] != group:
                yield from found
                group, savepoints, found = int(queries.tx_lsn[i]), _Savepoints(), []
            undone = savepoints.after(parse_query(queries.body_view(i)).statement)
            if undone is not None:
                _put_last(found, Segments(group, *undone))
    yield from found


def _put_last(found: list[Segments], new: Segments) -> None:
    """Add segments to others of their group; the new ones, which end last, count where both are."""
    while found and found[-1].first >= new.first:
        found.pop()
    if found and found[-1].stop > new.first:
        found[-1] = found[-1]._replace(stop=new.first)
    found.append(new)


class _Savepoints:
    """The savepoints of one group, up to one of its statements."""

    def __init__(self) -> None:
        self._segment = self._rolled_back = 0
        self._first: dict[str, tuple[int, str]] = {}  # name in capitals -> segment after it, name without accents
        self._alike: dict[str, dict[str, None]] = {}  # name without accents -> names; the oldest first in both

    def after(self, statement: str) -> tuple[int, int, int] | None:
        """Read the group's next statement; return (first, stop, instead) of the segments that it undoes."""
        self._segment += 1
        match = _VERB.fullmatch(statement)
        if match is None:
            return None
        verb = match[1]
        if verb == "ROLLBACK":
            return 0, _ALL, LEFT_OUT
        if self._rolled_back > MOST_SAVEPOINTS:
            return None  # all are unclear
        name = _capitals(_unquoted((match[2] or "")[:_LONGEST_NAME]))
        if verb == "SAVEPOINT":
            self._forget(name)  # it replaces an earlier one of the same name
            self._keep(name, self._segment)
            return self._all_unclear() if len(self._first) > MOST_SAVEPOINTS else None
        if verb.startswith("RELEASE"):
            self._forget_from(name)
            return None
        self._rolled_back += 1
        if self._rolled_back > MOST_SAVEPOINTS:
            return self._all_unclear()
        alike = self._alike.get(_without_accents(name))
        if not alike or name in alike and name != next(reversed(alike)):
            return 0, self._segment, UNCLEAR
        newest = next(reversed(alike))
        segment, _ = self._first[newest]
        self._forget_from(newest)
        self._keep(newest, segment)
        return segment, self._segment, LEFT_OUT

    def _all_unclear(self) -> tuple[int, int, int]:
        """Give the group up, whatever follows in it."""
        self._rolled_back = MOST_SAVEPOINTS + 1
        self._first.clear()
        self._alike.clear()
        return 0, _ALL, UNCLEAR

    def _keep(self, name: str, segment: int) -> None:
        self._first[name] = segment, (plain := _without_accents(name))
        self._alike.setdefault(plain, {})[name] = None

    def _forget_from(self, name: str) -> None:
        """Forget a savepoint and all after it. Only ``popitem`` keeps the end of a dictionary quick to find."""
        while name in self._first:
            _, (_, plain) = self._first.popitem()
            self._alike[plain].popitem()

    def _forget(self, name: str) -> None:
        if name in self._first:
            _, plain = self._first.pop(name)
            del self._alike[plain][name]


def undone_rows(events: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same as batches of ``UNDONE_ROWS``."""
    cells = [list(column) for column in zip(*undone_segments(events), strict=True)]
    if cells:
        yield pa.RecordBatch.from_arrays([pa.array(column, pa.int64()) for column in cells], schema=UNDONE_ROWS)


class Undone:
    """Undone segments in a range of the log. rows: int64[n, 4], ``UNDONE_ROWS`` by group and number of the segment."""

    def __init__(self, segments: Iterable[Segments] = ()):
        """segments: no segment twice."""
        rows = np.fromiter(chain.from_iterable(segments), np.int64).reshape(-1, len(UNDONE_ROWS))
        self.rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        self._groups = np.unique(self.rows[:, 0])
        self._keys = self._key(self.rows[:, 0], self.rows[:, 1])

    @classmethod
    def of(cls, events: list[pa.RecordBatch]) -> Undone:
        """Find them in all events of a range, in log order, opened."""
        groups = rolled_back_groups(events)
        if not groups:
            return cls()
        chosen = pa.array(groups)
        return cls(undone_segments(batch.filter(pc.is_in(batch.column("tx_lsn"), chosen)) for batch in events))

    def __contains__(self, tx_lsn: int) -> bool:
        at = int(np.searchsorted(self._groups, tx_lsn))
        return at < len(self._groups) and int(self._groups[at]) == tx_lsn

    def instead(self, groups: np.ndarray, segments: np.ndarray) -> np.ndarray:
        """The event type that a row change in a segment of a group gets; -1: its own. Arrays of one length."""
        at = np.searchsorted(self._keys, self._key(groups, segments), side="right") - 1
        found = self.rows[at]  # the last row for -1, which is of a later segment
        is_in = (at >= 0) & (found[:, 0] == groups) & (segments < found[:, 2])
        return np.where(is_in, found[:, 3], -1)

    def _key(self, groups: np.ndarray, segments: np.ndarray) -> np.ndarray:
        """Numbers in the order of groups and their segments. A group that is not known has that of the next one."""
        return np.searchsorted(self._groups, groups).astype(np.int64) << _SEGMENT_BITS | segments


class UndoneMask:
    """Masks undone row changes in consecutive batches of opened events, whole groups in all."""

    def __init__(self, undone: Undone):
        self._undone, self._group, self._segment = undone, -1, 0

    def event_types(self, events: BronzeEvents) -> np.ndarray:
        """uint8 per event; another one for undone row changes and the texts of their statements."""
        kinds, groups = events.event_type, events.tx_lsn
        if not len(self._undone.rows):
            return kinds
        segments = self._segments(groups, kinds == EventType.QUERY)
        chosen = np.flatnonzero(_ROWS_AND_NOTES[kinds])
        instead = self._undone.instead(groups[chosen], segments[chosen])
        kinds = kinds.copy()
        kinds[chosen[instead >= 0]] = instead[instead >= 0]
        return kinds

    def _segments(self, groups: np.ndarray, is_query: np.ndarray) -> np.ndarray:
        """The segment of each event, and of the last one for the next batch."""
        n_queries = np.cumsum(is_query)
        first = np.searchsorted(groups, groups)
        segments = n_queries - (n_queries - is_query)[first]
        segments += np.where(groups == self._group, self._segment, 0)
        self._group, self._segment = int(groups[-1]), int(segments[-1])
        return segments


def _capitals(name: str) -> str:
    """A name in capitals, letter by letter: no letter becomes two."""
    return "".join(letter.upper() if len(letter.upper()) == 1 else letter for letter in name)


def _unquoted(name: str) -> str:
    return name[1:-1].replace(name[0] * 2, name[0]) if name[:1] in ("`", '"') else name


def _without_accents(name: str) -> str:
    """Remove accents from a name in capitals. The servers, except MariaDB since 11.5, compare names by
    utf8mb3_general_ci, which ignores accents: names that are equal to it are equal here."""
    return "".join(unicodedata.normalize("NFD", letter)[0] for letter in name.translate(_EQUAL_BESIDES)).upper()
