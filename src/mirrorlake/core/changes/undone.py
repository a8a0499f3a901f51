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
from collections.abc import Iterable, Iterator, Mapping
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

_ALL = sys.maxsize
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
    """Yield the segments that the groups' own statements undo. events: all QUERY events of whole groups, in log
    order."""
    group, savepoints = -1, _Savepoints()
    for batch in open_events(events):
        if not batch.num_rows:
            continue
        found = BronzeEvents(batch)
        for i in np.flatnonzero(found.event_type == EventType.QUERY).tolist():
            if found.tx_lsn[i] != group:
                group, savepoints = int(found.tx_lsn[i]), _Savepoints()
            undone = savepoints.after(parse_query(found.body_view(i)).statement)
            if undone is not None:
                yield Segments(group, *undone)


class _Savepoints:
    """The savepoints of one group, up to one of its statements."""

    def __init__(self) -> None:
        self._segment = 0
        self._first: dict[str, tuple[int, str]] = {}  # name in capitals -> segment after it, name without accents
        self._alike: dict[str, dict[str, None]] = {}  # name without accents -> names; the oldest first in both

    def after(self, statement: str) -> tuple[int, int, int] | None:
        """Read the group's next statement; return (first, stop, instead) of the segments that it undoes."""
        self._segment += 1
        match = _VERB.fullmatch(statement)
        if match is None:
            return None
        verb, name = match[1], _capitals(_unquoted(match[2] or ""))
        if verb == "ROLLBACK":
            return 0, _ALL, LEFT_OUT
        if verb == "SAVEPOINT":
            self._forget(name)  # it replaces an earlier one of the same name
            self._first[name] = self._segment, (plain := _without_accents(name))
            self._alike.setdefault(plain, {})[name] = None
            return None
        if verb.startswith("RELEASE"):
            self._forget_after(name)
            self._forget(name)
            return None
        alike = self._alike.get(_without_accents(name))
        if not alike or name in alike and name != next(reversed(alike)):
            return 0, self._segment, UNCLEAR
        newest = next(reversed(alike))
        self._forget_after(newest)
        return self._first[newest][0], self._segment, LEFT_OUT

    def _forget_after(self, name: str) -> None:
        while name in self._first and (newest := next(reversed(self._first))) != name:
            self._forget(newest)

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
    """Undone segments in a range of the log, by group."""

    def __init__(self, segments: Iterable[Segments] = ()):
        self._of: dict[int, list[Segments]] = {}
        for found in segments:
            self._of.setdefault(found.tx_lsn, []).append(found)

    @classmethod
    def of(cls, events: list[pa.RecordBatch]) -> Undone:
        """Find them in all events of a range, in log order, opened."""
        groups = rolled_back_groups(events)
        if not groups:
            return cls()
        chosen = pa.array(groups)
        return cls(undone_segments(batch.filter(pc.is_in(batch.column("tx_lsn"), chosen)) for batch in events))

    def __contains__(self, tx_lsn: int) -> bool:
        return tx_lsn in self._of

    @property
    def by_group(self) -> Mapping[int, list[Segments]]:
        """The segments by tx_lsn of their group."""
        return self._of


class UndoneMask:
    """Masks undone row changes in consecutive batches of opened events, whole groups in all."""

    def __init__(self, undone: Undone):
        self._of, self._group, self._segment = undone.by_group, -1, 0

    def event_types(self, events: BronzeEvents) -> np.ndarray:
        """uint8 per event; another one for undone row changes and the texts of their statements."""
        kinds = events.event_type
        if not self._of:
            return kinds
        kinds = kinds.copy()
        first, last = int(events.tx_lsn[0]), int(events.tx_lsn[-1])
        for group in [group for group in self._of if first <= group <= last]:
            here = slice(*np.searchsorted(events.tx_lsn, [group, group + 1]).tolist())
            segment = np.cumsum(kinds[here] == EventType.QUERY)
            segment += self._segment if group == self._group else 0
            if not len(segment):
                continue
            for found in self._of[group]:
                undone = (found.first <= segment) & (segment < found.stop) & _ROWS_AND_NOTES[events.event_type[here]]
                kinds[here][undone] = found.instead
            self._group, self._segment = group, int(segment[-1])
        return kinds


def _capitals(name: str) -> str:
    """A name in capitals, letter by letter: no letter becomes two."""
    return "".join(letter.upper() if len(letter.upper()) == 1 else letter for letter in name)


def _unquoted(name: str) -> str:
    return name[1:-1].replace(name[0] * 2, name[0]) if name[:1] in ("`", '"') else name


def _without_accents(name: str) -> str:
    """Remove accents from a name in capitals. The servers, except MariaDB since 11.5, compare names by
    utf8mb3_general_ci, which ignores accents: names that are equal to it are equal here."""
    return "".join(unicodedata.normalize("NFD", letter)[0] for letter in name.translate(_EQUAL_BESIDES)).upper()
