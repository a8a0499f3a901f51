"""Versions of a child's rows, and the keys that parents give up -> which versions a cascade changes, and where.

A version is matched once, by the first key given up that it references while it lasts. It is removed, or has columns
set. If its parent got a new key, it continues under the new key, and may be matched again. Removed versions give up
their own keys, for the next level of tables, or for the same table where references lead back to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.changes.parent_keys import MOVED, left_name, new_name
from mirrorlake.core.schema.keys import CASCADE, NOT_FOLLOWED, parents_first
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.errors import RefusedError
from mirrorlake.lake.gold.cascade.foreign_keys import Comparison, Reference
from mirrorlake.lake.gold.cascade.row_versions import CHANGE_ORDER, OrderedRows, Versions, alias, failing
from mirrorlake.lake.gold.control.register import TableEntry
from mirrorlake.lake.gold.merge.net_effect import NetEffect

UPDATED = "an UPDATE of a key that its rows reference changed them"
UNSPELLED = "whether a text is the one that it references, only the server knows"
SET_ABOVE = "a foreign key of its parent set columns that its rows reference"
TOO_DEEP = "rows go through more levels of tables than the server allows"
MAX_LEVELS = 15
"""InnoDB's own limit (FK_MAX_CASCADE_DEL)."""

IS_BEFORE = "_is_before"
"""Column of a version: the mirror had it before the epoch."""
_NOWHERE = "CAST(NULL AS STRUCT<tx_lsn: BIGINT, ordinal: INT>)"
_IS_MATCH = "(v.began IS NULL OR l.match > v.began) AND (v.ended IS NULL OR l.match < v.ended)"


_FORM = {
    Comparison.BY_VALUE: "{}",
    Comparison.PADDED: "rtrim({})",
    Comparison.ASCII: "IF({0} RLIKE '[^ -~]', " + failing(UNSPELLED) + ", lower(rtrim({0})))",
}
"""Texts that are equal if the values are equal, or may be."""


def matches_of(
    session: SparkSession, rows: OrderedRows, net: NetEffect, child: TableEntry
) -> Iterator[tuple[Reference, DataFrame]]:
    """Find what matches the child's rows, through each of its references."""
    search, (ordered, circular) = _Search(session, rows, net, child), parents_first(_losing_parents(rows.along))
    for _ in range(MAX_LEVELS + 2):
        changed = [search.look_into(name, is_repeated=bool(circular)) for name in (*ordered, *circular)]
        if not any(changed):
            break
    else:
        raise RefusedError(NOT_FOLLOWED, TOO_DEEP)
    for reference, matches in search.found.items():
        _require_unset(matches, reference, rows.along)
        if reference.child.name == child.name:
            yield reference, matches


class _Search:
    """found: the matches through each reference. They are right once it is known which rows of its parent are removed.

    A row that is removed gives up its keys once, at the first match that removes it, whichever reference has it.
    """

    def __init__(self, session: SparkSession, rows: OrderedRows, net: NetEffect, child: TableEntry):
        own = {reference.child.name: reference.child for reference in rows.along}
        self.found: dict[Reference, DataFrame] = {}
        self._session, self._rows = session, rows
        self._versions = {
            name: rows.versions(session, entry, net if name == child.name else None) for name, entry in own.items()
        }
        self._names = {name: rows.columns_of(entry) for name, entry in own.items()}
        self._logged = {reference.referenced: rows.left(session, reference) for reference in rows.along}
        self._removed: dict[TableName, DataFrame] = {}

    def look_into(self, name: TableName, *, is_repeated: bool) -> bool:
        """Find the matches of a table's rows. is_repeated: ask whether other rows are removed than the last time, which
        keeps them in memory."""
        removing = []
        for reference in (r for r in self._rows.along if r.child.name == name):
            matches = self.found[reference] = self._matches(reference)
            new = (new_name(i) for i in range(len(reference.columns)))
            removing += [matches.where(f"NOT {MOVED}").drop(*new)] if reference.removes else []
        if not removing:
            return False
        columns = [alias(i) for i in range(len(self._names[name]))]
        removed, known = _first_matches(reduce(DataFrame.unionByName, removing), columns), self._removed.get(name)
        self._removed[name] = _kept(self._session, removed) if is_repeated else removed
        return is_repeated and (known is None or _are_different(known, self._removed[name]))

    def _matches(self, reference: Reference) -> DataFrame:
        parent, child, logged = reference.parent.name, reference.child.name, self._logged[reference.referenced]
        left = logged.rows
        if parent in self._removed:
            left = left.unionByName(_left_by(self._removed[parent], self._names[parent], reference.parent_columns))
        matches = _matches(self._versions[child], reference, self._names[child], left)
        if reference.on_update == CASCADE and logged.has_any(True):
            return _followed(self._session, matches, reference, self._rows, left)
        return matches


def _are_different(one: DataFrame, other: DataFrame) -> bool:
    return not (one.exceptAll(other).isEmpty() and other.exceptAll(one).isEmpty())


def _losing_parents(along: Sequence[Reference]) -> dict[TableName, set[TableName]]:
    """child -> the tables that it references and that lose rows."""
    lose_rows = {r.child.name for r in along if r.removes}
    return {r.child.name: {o.parent.name for o in along if o.child.name == r.child.name} & lose_rows for r in along}


def _require_unset(matches: DataFrame, reference: Reference, along: Sequence[Reference]) -> None:
    """Raise RefusedError ``foreign-key-cascade`` if the matches have columns set that a lower table references."""
    if any(reference.may_set_for(lower) or reference.may_hide_from(lower, along) for lower in along):
        if not matches.where(F.col(MOVED).isin(*reference.setting)).isEmpty():
            raise RefusedError(NOT_FOLLOWED, SET_ABOVE)


def _matches(versions: Versions, reference: Reference, names: list[str], left: DataFrame) -> DataFrame:
    """Versions of rows with the first match of each: their columns, ``began``, ``ended`` (NULL: it lasts to the epoch's
    end), whether the mirror had it before the epoch, and the ``CHANGE_ORDER``, lsn, ``moved`` and the new key of the
    match."""
    indexes = [names.index(column) for column in reference.columns]
    same, lsn = _matching(reference, indexes)
    columns = [alias(i) for i in range(len(names))]
    match = left.selectExpr("*", f"{CHANGE_ORDER} AS match").alias("l")
    of_version = [*(f"v.{column}" for column in columns), "l.match", lsn, f"l.{MOVED}", *_new_keys(reference)]
    before = versions.before.alias("v").join(match, F.expr(same))
    if versions.first is None or versions.changed is None:
        nowhere = (f"{_NOWHERE} AS {name}" for name in ("began", "ended"))
        return _first_matches(before.selectExpr(*of_version, *nowhere, f"true AS {IS_BEFORE}"), columns)
    key = columns[: len(reference.child.schema.primary_key)]
    same_key = " AND ".join(f"v.{column} = f.{column}" for column in key)
    before = before.join(versions.first.alias("f"), F.expr(same_key), "left").where("first IS NULL OR l.match < first")
    changed = versions.changed
    if not versions.is_complete:
        began = ", ".join(f"began{i}" for i in indexes)
        changed = changed.selectExpr("*", f"greatest({began}, {began}) AS began", f"{_NOWHERE} AS ended")
    changed = changed.alias("v").join(match, F.expr(same)).where(_IS_MATCH)
    changed = changed.selectExpr(*of_version, "v.began", "v.ended", f"false AS {IS_BEFORE}")
    before = before.selectExpr(*of_version, f"{_NOWHERE} AS began", "first AS ended", f"true AS {IS_BEFORE}")
    return _first_matches(before.unionByName(changed), columns)


def _matching(reference: Reference, indexes: list[int]) -> tuple[Sql, Sql]:
    """The condition under which a version ``v`` has the key ``l``, and the lsn of the match, which may fail."""
    pairs = [
        (kind, f"v.{alias(c)}", f"l.{left_name(i)}")
        for i, (kind, c) in enumerate(zip(reference.comparisons, indexes, strict=True))
    ]
    same = " AND ".join(f"{_FORM[kind].format(mine)} = {_FORM[kind].format(theirs)}" for kind, mine, theirs in pairs)
    spelled = " AND ".join(f"{mine} = {theirs}" for kind, mine, theirs in pairs if kind is Comparison.ASCII)
    return same, f"IF({spelled}, l.lsn, {failing(UNSPELLED)}) AS lsn" if spelled else "l.lsn"


def _first_matches(matches: DataFrame, columns: list[Sql]) -> DataFrame:
    of_version = [*columns, "began", "ended", IS_BEFORE]
    of_match = [name for name in matches.columns if name not in (*of_version, "match")]
    first = F.expr(f"min(struct(match, {', '.join(map(quote, of_match))})) AS found")
    return matches.groupBy(*of_version).agg(first).selectExpr(*of_version, "found.*")


def _followed(
    session: SparkSession, matches: DataFrame, reference: Reference, rows: OrderedRows, left: DataFrame
) -> DataFrame:
    """Follow matches of rows whose parents got a new key, up to the parent's last key or its end. In memory.

    A row continues under the new key, which the parent may give up again.
    """
    names = rows.columns_of(reference.child)
    indexes = [names.index(column) for column in reference.columns]
    asked = {column for r in rows.along if r.parent.name == reference.child.name for column in r.parent_columns}
    is_key = not asked.union(reference.child.schema.primary_key).isdisjoint(reference.columns)
    going = _kept(session, matches.where(MOVED))
    settled = matches.where(f"NOT {MOVED}")
    while not going.isEmpty():
        if is_key or any(kind is not Comparison.BY_VALUE for kind in reference.comparisons):
            raise RefusedError(NOT_FOLLOWED, UPDATED)
        now = [f"{new_name(indexes.index(i))} AS {alias(i)}" if i in indexes else alias(i) for i in range(len(names))]
        version = going.selectExpr(*now, "began AS origin", "match AS began", "ended", IS_BEFORE)
        same, lsn = _matching(reference, indexes)
        match = left.selectExpr("*", f"{CHANGE_ORDER} AS match").alias("l")
        again = version.alias("v").join(match, F.expr(same)).where(_IS_MATCH)
        columns = [alias(i) for i in range(len(names))]
        again = again.selectExpr(
            *(f"v.{column}" for column in columns), "v.origin AS began", "v.ended", f"v.{IS_BEFORE}",
            "l.match", lsn, f"l.{MOVED}", *_new_keys(reference),
        )  # fmt: skip
        again = _kept(session, _first_matches(again, columns))
        stays = going.alias("g").join(again.alias("a"), _same_version("g", "a", reference.child), "left_anti")
        settled = settled.unionByName(stays).unionByName(again.where(f"NOT {MOVED}"))
        going = again.where(MOVED)
    return settled


def _kept(session: SparkSession, frame: DataFrame) -> DataFrame:
    """Keep the rows of a frame in memory."""
    return session.createDataFrame(frame.toArrow(), frame.schema)


def _same_version(one: Sql, other: Sql, child: TableEntry) -> Column:
    key = (f"{one}.{alias(i)} = {other}.{alias(i)}" for i in range(len(child.schema.primary_key)))
    which = (f"{one}.{name} <=> {other}.{name}" for name in ("began", IS_BEFORE))
    return F.expr(" AND ".join([*key, *which]))


def _new_keys(reference: Reference) -> list[Sql]:
    return [f"l.{new_name(i)}" for i in range(len(reference.columns))]


def _left_by(matches: DataFrame, names: list[str], referenced: tuple[str, ...]) -> DataFrame:
    """Keys that removed rows give up, as ``OrderedRows.left``."""
    keys = [alias(names.index(name)) for name in referenced]
    gone = matches.where(f"NOT {MOVED}").where(" AND ".join(f"{key} IS NOT NULL" for key in keys))
    left = [f"{key} AS {left_name(i)}" for i, key in enumerate(keys)]
    nowhere = [f"IF(true, NULL, {key}) AS {new_name(i)}" for i, key in enumerate(keys)]
    return gone.selectExpr(*left, "match.tx_lsn", "match.ordinal", "lsn", MOVED, *nowhere)
