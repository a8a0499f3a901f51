"""Compare the rows of a table with those of its mirror: sums of hashes in parts by key, then rows of differing parts.

All rows of a part may be more than an answer can have: then its parts are compared, down to few rows.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from mirrorlake.core.sql_text import Sql, server_literal
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.source_look import Sums
from mirrorlake.lake.compare.row_text import FINEST, KEY_BYTES, SHOWN, VALUE_BYTES, Spelled, hash_of, part_of

_DIGITS = re.compile("[0-9]{1,40}")
MISSING, EXTRA, CHANGED = "missing in the mirror", "only in the mirror", "different"
PARTS_LOOKED_INTO = 8
LOOKED_INTO_BYTES = 8 << 20
"""At most, of the rows of a side that are compared one by one."""


def differing_parts(theirs: Sums, ours: Sums) -> dict[str, int]:
    """Return part -> its number of rows on the side that has more, of the first parts that differ."""
    parts = sorted(part for part in theirs.keys() | ours.keys() if theirs.get(part) != ours.get(part))
    none = (0, "0")
    return {part: max(theirs.get(part, none)[0], ours.get(part, none)[0]) for part in parts[:PARTS_LOOKED_INTO]}


def few_rows(source: Side, mirror: Side, key: Spelled, text: Spelled, parts: dict[str, int], n_columns: int) -> Parts:
    """Parts that differ and together have at most ``LOOKED_INTO_BYTES``, of the first level that has some.

    parts: of level 0. None are left if more rows than that have the same hash.
    """
    level, n_rows = 0, LOOKED_INTO_BYTES // (KEY_BYTES + VALUE_BYTES * n_columns)
    while sum(parts.values()) > n_rows and level < FINEST:
        within, level = Parts(level, list(parts)), level + 1
        parts = differing_parts(*(side.sums(key, text, level, within) for side in (source, mirror)))
    taken, left = [], n_rows
    for part, n in parts.items():
        if n <= left:
            taken.append(part)
            left -= n
    return Parts(level, taken)


def for_source(spelled: Spelled) -> Sql:
    return spelled.source


def for_mirror(spelled: Spelled) -> Sql:
    return spelled.mirror


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of one level; see ``part_of``."""

    level: int
    numbers: list[str]


@dataclass(frozen=True, slots=True)
class Side:
    """table: in SQL, as ``ask`` takes it. spelled: this side's expression. number: the SQL type of a hash."""

    ask: Callable[[Sql], Sequence[tuple]]
    table: Sql
    spelled: Callable[[Spelled], Sql]
    number: Sql

    def sums(self, key: Spelled, text: Spelled, level: int = 0, within: Parts | None = None) -> Sums:
        """Return part of the keys -> (number of rows, sum of their hashes). within: only parts of these."""
        of_part, row_hash = map(self.spelled, (part_of(key, level), hash_of(text)))
        rows = f"{self.table} WHERE {self._in(key, within)}" if within else self.table
        total = f"SUM(CAST({row_hash} AS {self.number}))"
        digits = self.spelled(SHOWN.of(Spelled(total, total)))
        found = self._typed(f"SELECT {of_part}, COUNT(*), {digits} FROM {rows} GROUP BY 1", (str, int, str))
        if not all(_DIGITS.fullmatch(number) for part, _, total in found for number in (part, total)):
            raise self._unexpected()
        return {part: (n, total) for part, n, total in found}

    def rows(self, key: Spelled, text: Spelled, shown: Spelled, parts: Parts) -> Iterable[tuple]:
        """Return (the key's hash, the row's text, the key for a person) of the rows in some parts."""
        if not parts.numbers:
            return []
        wanted = ", ".join(map(self.spelled, (hash_of(key), text, shown)))
        return self._typed(f"SELECT {wanted} FROM {self.table} WHERE {self._in(key, parts)}", (str, str, str))

    def _typed(self, sql: Sql, kinds: tuple) -> Iterable[tuple]:
        """Ask for rows with cells of these types. Raises RefusedError ``server-protocol`` for others."""
        rows = self.ask(sql)
        if all(len(row) == len(kinds) and all(map(isinstance, row, kinds)) for row in rows):
            return rows
        raise self._unexpected()

    def _unexpected(self) -> RefusedError:
        what = f"an answer about the rows of {self.table} that is not what was asked for"
        return RefusedError("server-protocol", what)

    def _in(self, key: Spelled, parts: Parts) -> Sql:
        numbers = ", ".join(map(server_literal, parts.numbers))  # digits, which both sides spell alike
        return f"{self.spelled(part_of(key, parts.level))} IN ({numbers})"


def differing_keys(theirs: Iterable[tuple], ours: Iterable[tuple], *, names: list[str]) -> list[tuple[str, str]]:
    """Return (shown key, difference) from rows (key's hash, row's text, shown key). names: of the columns."""
    shown, sides = dict[str, str](), (defaultdict[str, Counter](Counter), defaultdict[str, Counter](Counter))
    for side, rows in zip(sides, (theirs, ours), strict=True):
        for key, text, what in rows:
            side[key][text] += 1
            shown.setdefault(key, what)
    source, mirror = sides
    keys = [key for key in shown if source.get(key) != mirror.get(key)]
    return sorted((shown[key], _what(source.get(key), mirror.get(key), names)) for key in keys)


def _what(source: Counter | None, mirror: Counter | None, names: list[str]) -> str:
    if not source or not mirror:
        return MISSING if source else EXTRA
    cells = zip(names, min(source).split(","), min(mirror).split(","), strict=False)  # the server may lie
    return f"{CHANGED} in {', '.join(name for name, theirs, ours in cells if theirs != ours)}"
