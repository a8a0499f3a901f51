"""Patterns of ``database.table`` that choose tables: ``shop.*,!shop.log_*``. The last one that fits a table decides.

``*`` fits any characters, ``?`` one, ``[abc]`` one of these; ``!`` in front excludes what fits. If all
patterns exclude, every other table is taken. A ``*`` alone fits every table.

Tables that online schema change tools keep next to the table they change follow that table. gh-ost: ``_t_gho`` gets the
rows in their new form, ``_t_ghc`` is the tool's log, ``t`` becomes ``_t_del`` or ``_t_20240102030405_del``.
pt-online-schema-change: ``_t_new``, or with more underscores in front, and ``_t_old``.
"""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Collection
from dataclasses import dataclass

from mirrorlake.core.schema.lower_case_names import AS_WRITTEN, NameCase
from mirrorlake.core.schema.table_name import TableName

NOT_CHOSEN = "no pattern of --tables fits it"
_EVERY = ("*", "*.*")
_WILD = "*?["
_LOG = re.compile("_.+_ghc")
_SHADOW = re.compile(r"_(.+?)(?:_[0-9]{14})?_(?:gho|del|new|old)")
_LIKE = 0.75
"""How like a name must be to be shown, from 0 to 1: the database is often equal."""


@dataclass(frozen=True, slots=True)
class TablePatterns:
    """patterns: in order, each with a dot or ``*``. name_case: how the source compares names."""

    patterns: tuple[str, ...]
    name_case: NameCase = AS_WRITTEN

    def why_not(self, database: str, table: str) -> str | None:
        """Why the table is left out; None: it is taken.

        A shadow table, which may replace another table or have been it, is taken or excluded with that one.
        """
        if is_tool_log(table):
            return "the log of an online schema change"
        others = [self._why_not(database, other) for other in shadowed(table)]
        if excluded := next((reason for reason in others if reason not in (None, NOT_CHOSEN)), None):
            return excluded
        return None if None in others else self._why_not(database, table)

    def unused(self, names: Collection[TableName]) -> list[str]:
        """The patterns that fit none of these tables although they should: not those that exclude with a wildcard,
        and not the patterns for every table."""
        expected = [p for p in self.patterns if p not in _EVERY and not (_excludes(p) and _is_wild(p))]
        return [pattern for pattern in expected if not any(self.fits(pattern, *name) for name in names)]

    def fits(self, pattern: str, database: str, table: str) -> bool:
        name, pattern = self.name_case.fold_all(f"{database}.{table}", pattern.removeprefix("!"))
        return fnmatch.fnmatchcase(name, pattern)

    def _why_not(self, database: str, table: str) -> str | None:
        last = next((p for p in reversed(self.patterns) if self.fits(p, database, table)), None)
        if last is None:
            return None if all(map(_excludes, self.patterns)) else NOT_CHOSEN
        return f"excluded by {last}" if _excludes(last) else None


def fault_of(pattern: str) -> str | None:
    """What is wrong with a pattern; None: nothing."""
    name = pattern.removeprefix("!")
    if name in _EVERY[:1] or all(name.partition(".")):
        return None
    return f"{pattern!r} is no pattern of database.table, such as shop.orders, shop.* or !shop.log_*"


def nearest(pattern: str, names: Collection[TableName]) -> list[str]:
    """At most three names, or patterns with another database, that are like a pattern; the best first."""
    database, _, table = pattern.removeprefix("!").partition(".")
    if _is_wild(table) and database not in (databases := {name.database for name in names}):
        return [f"{like}.{table}" for like in difflib.get_close_matches(database, sorted(databases))]
    return difflib.get_close_matches(f"{database}.{table}", sorted(map(str, names)), cutoff=_LIKE)


def is_tool_log(table: str) -> bool:
    return _LOG.fullmatch(table) is not None


def shadowed(table: str) -> tuple[str, ...]:
    """Names of the tables that this one can be a shadow of; none when its name is no shadow's."""
    found = _SHADOW.fullmatch(table)
    if found is None:
        return ()
    name = found[1]
    return tuple(name[i:] for i in range(len(name) - len(name.lstrip("_")) + 1) if name[i:])


def _excludes(pattern: str) -> bool:
    return pattern.startswith("!")


def _is_wild(pattern: str) -> bool:
    return any(sign in pattern for sign in _WILD)
