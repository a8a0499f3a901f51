"""Rows that foreign keys change without a row event, made part of the child's net effect.

While a row references a key, its parent has it; so where a parent's row leaves its key (``left_keys``), the server has
removed every child row that referenced it at that moment, or set its columns NULL. Which rows these are follows from
the *versions* of the child's rows: what its mirror held before the epoch, and what each change of the epoch left, every
one from its place in the log up to the next change of its key. Rows that are removed so leave keys of their own, which
other tables may reference, and the same one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.changes.images import REMOVED
from mirrorlake.core.changes.left_keys import MOVED, left_name
from mirrorlake.core.schema.keys import CASCADE, ROW_CHANGING_ACTIONS, SET_NULL
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.names import literal, quote
from mirrorlake.lake.gold.foreign_keys import Comparison, Reference, Referenced
from mirrorlake.lake.gold.net_effect import NetEffect
from mirrorlake.lake.gold.placed_rows import CODE, PLACE, PlacedRows, Versions, alias
from mirrorlake.lake.gold.register import TableEntry
from mirrorlake.lake.gold.table import LSN_COLUMN

UPDATED = "an UPDATE of a key that its rows reference changed them"
TOO_DEEP = "rows go through more levels of tables than the server allows"
MAX_LEVELS = 15
"""InnoDB goes no deeper (FK_MAX_CASCADE_DEL)."""

UNSPELLED = "whether a text is the one that it references, only the server knows"

_IS_BEFORE = "_is_before"
_EMPTY = "CAST(NULL AS STRUCT<tx_lsn: BIGINT, ordinal: INT>)"


def _raise(reason: str) -> str:
    return f"raise_error({literal(f'{CODE}: {reason}')})"


_FORM = {
    Comparison.BY_VALUE: "{}",
    Comparison.PADDED: "rtrim({})",
    Comparison.ASCII: "IF({0} RLIKE '[^ -~]', " + _raise(UNSPELLED) + ", lower(rtrim({0})))",
}
"""Equal where the values are, or may be."""


def leaves_keys(session: SparkSession, rows: PlacedRows, reference: Reference) -> bool:
    """Whether rows of the parent leave keys in a way that the reference acts on."""
    acting = [f"{MOVED} = {moved}" for moved, action in _actions(reference) if action in ROW_CHANGING_ACTIONS]
    return not rows.left(session, reference).where(" OR ".join(acting)).isEmpty()


def _actions(reference: Reference) -> tuple[tuple[bool, str | None], ...]:
    return (False, reference.on_delete), (True, reference.on_update)


def with_cascades(session: SparkSession, rows: PlacedRows, net: NetEffect, child: TableEntry) -> NetEffect:
    """net: of the child's logged changes.

    Raises RefusedError ``foreign-key-cascade``, or makes the statement that uses the rows fail with it, when rows
    change in a way that is not derived.
    """
    found = list(_hits_of(session, rows, net, child))
    nulled = [reference for reference, _ in found if SET_NULL in (reference.on_delete, reference.on_update)]
    nulled = list(dict.fromkeys(nulled))
    effects = [_effect(hits, reference, nulled, child) for reference, hits in found]
    return NetEffect(_merged(session, rows, net, child, reduce(DataFrame.unionByName, effects), nulled))


def _hits_of(
    session: SparkSession, rows: PlacedRows, net: NetEffect, child: TableEntry
) -> Iterator[tuple[Reference, DataFrame]]:
    """Level by level, what hits the child's rows."""
    new = _NewHits(session) if _is_circular(rows.along) else None
    own = {reference.child.name: reference.child for reference in rows.along}
    versions = {name: rows.versions(session, of, net if name == child.name else None) for name, of in own.items()}
    fresh = {reference.referenced: rows.left(session, reference) for reference in rows.along}
    for _ in range(MAX_LEVELS + 1):
        below: dict[Referenced, list[DataFrame]] = {}
        for reference in (r for r in rows.along if r.referenced in fresh):
            name, columns = reference.child.name, rows.columns_of(reference.child)
            hits = _hits(versions[name], reference, columns, fresh[reference.referenced])
            hits = new.only(hits, reference) if new else hits
            if name == child.name:
                yield reference, hits
            for referenced in {r.referenced for r in rows.along if reference.removes and r.parent.name == name}:
                below.setdefault(referenced, []).append(_left_by(hits, columns, referenced[1]))
        fresh = {name: reduce(DataFrame.unionByName, parts) for name, parts in below.items()}
        if not fresh or (new and not new.found_any()):
            return
    raise RefusedError(CODE, TOO_DEEP)


def _is_circular(along: Sequence[Reference]) -> bool:
    below = {reference.child.name for reference in along if reference.removes}
    for _ in along:
        below = {r.child.name for r in along if r.removes and r.parent.name in below}
    return bool(below)


def _hits(versions: Versions, reference: Reference, names: list[str], left: DataFrame) -> DataFrame:
    """Versions of rows with the first hit of each: their columns, ``began`` (NULL: before the epoch), ``is_final`` (it
    lasts to the epoch's end), place, lsn and ``moved`` of the hit."""
    pairs = [(f"v.{alias(names.index(column))}", f"l.{left_name(i)}") for i, column in enumerate(reference.columns)]
    same = " AND ".join(
        _FORM[kind].format(mine) + " = " + _FORM[kind].format(theirs)
        for kind, (mine, theirs) in zip(reference.comparisons, pairs, strict=True)
    )
    spelled = [f"{mine} = {theirs}" for kind, (mine, theirs) in zip(reference.comparisons, pairs, strict=True)
               if kind is Comparison.ASCII]  # fmt: skip
    columns = [alias(i) for i in range(len(names))]
    hit = left.selectExpr("*", f"{PLACE} AS hit").alias("l")
    before = versions.before.alias("v").join(hit, F.expr(same))
    lsn = f"IF({' AND '.join(spelled)}, l.lsn, {_raise(UNSPELLED)}) AS lsn" if spelled else "l.lsn"
    of_version = [*(f"v.{column}" for column in columns), "l.hit", lsn, f"l.{MOVED}"]
    if versions.first is None or versions.changed is None:
        return _first_hits(before.selectExpr(*of_version, f"{_EMPTY} AS began", "true AS is_final"), columns)
    key = [alias(i) for i in range(len(reference.child.schema.primary_key))]
    same_key = " AND ".join(f"v.{column} = f.{column}" for column in key)
    before = before.join(versions.first.alias("f"), F.expr(same_key), "left").where("first IS NULL OR l.hit < first")
    changed = versions.changed.alias("v").join(hit, F.expr(f"{same} AND l.hit > v.began"))
    changed = changed.where("v.ended IS NULL OR l.hit < v.ended")
    return _first_hits(
        before.selectExpr(*of_version, f"{_EMPTY} AS began", "first IS NULL AS is_final").unionByName(
            changed.selectExpr(*of_version, "v.began", "v.ended IS NULL AS is_final")
        ),
        columns,
    )


def _first_hits(hits: DataFrame, columns: list[str]) -> DataFrame:
    grouped = hits.groupBy(*columns, "began", "is_final").agg(F.expr(f"min(struct(hit, lsn, {MOVED})) AS found"))
    return grouped.selectExpr(*columns, "began", "is_final", "found.*")


def _left_by(hits: DataFrame, names: list[str], referenced: tuple[str, ...]) -> DataFrame:
    """Keys that removed rows leave, as ``PlacedRows.left``."""
    keys = [alias(names.index(name)) for name in referenced]
    gone = hits.where(f"NOT {MOVED}").where(" AND ".join(f"{key} IS NOT NULL" for key in keys))
    left = (f"{key} AS {left_name(i)}" for i, key in enumerate(keys))
    return gone.selectExpr(*left, "hit.tx_lsn", "hit.ordinal", "lsn", MOVED)


class _NewHits:
    """Where references lead back to a table: hits that were not found on a level above. They are kept in memory."""

    def __init__(self, session: SparkSession):
        self._session = session
        self._known: dict[tuple[str, str], DataFrame] = {}
        self._n_new = 0

    def only(self, hits: DataFrame, reference: Reference) -> DataFrame:
        n_key = len(reference.child.schema.primary_key)
        known, name = self._known.get(reference.child.name), reference.child.name
        if known is not None:
            same = " AND ".join([*(f"h.{alias(i)} = k.{alias(i)}" for i in range(n_key)), "h.began <=> k.began"])
            hits = hits.alias("h").join(known.alias("k"), F.expr(same), "left_anti")
        table: pa.Table = hits.toArrow()
        self._n_new += table.num_rows
        found = self._session.createDataFrame(table, hits.schema)
        self._known[name] = found if known is None else known.unionByName(found)
        return found

    def found_any(self) -> bool:
        """Since it was asked last."""
        n_new, self._n_new = self._n_new, 0
        return n_new > 0


def _effect(hits: DataFrame, reference: Reference, nulled: list[Reference], child: TableEntry) -> DataFrame:
    """What is done to rows that last to the epoch's end: key, lsn, whether they go, and which references are nulled."""
    key = [alias(i) for i in range(len(child.schema.primary_key))]
    acts = [f"{MOVED} = {moved}" for moved, action in _actions(reference) if action in ROW_CHANGING_ACTIONS]
    is_unclear = reference.on_update == CASCADE or Comparison.ASCII in reference.comparisons
    lsn = f"IF({MOVED}, {_raise(UPDATED)}, lsn) AS lsn" if is_unclear else "lsn"
    nulls = f"IF({MOVED}, {reference.on_update == SET_NULL}, {reference.on_delete == SET_NULL})"
    return hits.where("is_final").where(" OR ".join(acts)).selectExpr(
        *key, f"began IS NULL AS {_IS_BEFORE}", lsn, f"NOT {MOVED} AND {reference.removes} AS {REMOVED}",
        *(f"{nulls if one is reference else False} AS {_null(i)}" for i, one in enumerate(nulled)),
    )  # fmt: skip


def _null(i: int) -> str:
    """Whether the columns of nulled reference i become NULL."""
    return f"null{i}"


def _merged(
    session: SparkSession, rows: PlacedRows, net: NetEffect, child: TableEntry, effects: DataFrame,
    nulled: list[Reference],
) -> DataFrame:  # fmt: skip
    """The net effect with the rows that are hit as they are then."""
    key = child.schema.primary_key
    marks = ["lsn", REMOVED, *(_null(i) for i in range(len(nulled)))]
    each = effects.groupBy(*(alias(i) for i in range(len(key))), _IS_BEFORE)
    done = each.agg(*(F.max(mark).alias(mark) for mark in marks)).alias("e")
    same = F.expr(" AND ".join(f"r.{quote(name)} = e.{alias(i)}" for i, name in enumerate(key)))
    sources = (net.rows, f"NOT {_IS_BEFORE}"), (session.sql(f"SELECT * FROM {rows.mirror_before(child)}"), _IS_BEFORE)
    columns = [name for name in net.rows.columns if name not in (LSN_COLUMN, REMOVED)]
    after = [f"{_after(name, nulled)} AS {quote(name)}" for name in columns]
    found = net.rows.alias("r").join(done.where(f"NOT {_IS_BEFORE}"), same, "left_anti")
    for source, is_source in sources:
        hit = source.alias("r").join(done.where(is_source), same)
        found = found.unionByName(hit.selectExpr(*after, f"e.lsn AS {LSN_COLUMN}", f"e.{REMOVED}"))
    return found


def _after(column: str, nulled: list[Reference]) -> str:
    becomes_null = [f"e.{_null(i)}" for i, reference in enumerate(nulled) if column in reference.columns]
    return f"IF({' OR '.join(becomes_null)}, NULL, r.{quote(column)})" if becomes_null else f"r.{quote(column)}"
