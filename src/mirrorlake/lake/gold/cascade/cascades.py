"""Add rows that foreign keys change without a row event to the child's net effect.

While a row references a key, its parent has it; so where a parent's row gives up its key (``parent_keys``), the server
has removed every child row that referenced it at that moment, or set its columns. Which rows these are
(``matches``) follows from the *versions* of the child's rows: what its mirror had before the epoch, and the result
of each change of the epoch, valid from its position in the log up to the next change of its key.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.changes.images import REMOVED
from mirrorlake.core.changes.parent_keys import LACKS_REFERENCED, MOVED, new_name
from mirrorlake.core.schema.keys import CASCADE, ROW_CHANGING_ACTIONS, SET_NULL
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.lake.delta.refusals import crossed
from mirrorlake.lake.gold.cascade.foreign_keys import Comparison, Reference
from mirrorlake.lake.gold.cascade.matches import IS_BEFORE, UPDATED, matches_of
from mirrorlake.lake.gold.cascade.row_versions import OrderedRows, alias, failing
from mirrorlake.lake.gold.control.register import TableEntry
from mirrorlake.lake.gold.control.table import LSN_COLUMN, mirror_types
from mirrorlake.lake.gold.merge.net_effect import NetEffect

DEPENDENT = "a column that depends on others may have changed with a foreign key's"


def leaves_keys(session: SparkSession, rows: OrderedRows, reference: Reference) -> bool:
    """Do rows of the parent give up keys in a way that the reference acts on, or may act on?"""
    try:
        return rows.left(session, reference).has_any(*_acting(reference))
    except Exception as error:
        found = crossed(error)
        if found and found.message == LACKS_REFERENCED:
            return True
        raise


def _acting(reference: Reference) -> list[bool]:
    """Values of ``moved`` of the rows that the reference acts on."""
    actions = (False, reference.on_delete), (True, reference.on_update)
    return [moved for moved, action in actions if action in ROW_CHANGING_ACTIONS]


def with_cascades(session: SparkSession, rows: OrderedRows, net: NetEffect, child: TableEntry) -> NetEffect:
    """Add cascades to a net effect. net: of the child's logged changes; returned unchanged if no row is match.

    Raises RefusedError ``foreign-key-cascade``, or lets Spark fail with it, when rows change in a way that is not
    derived.
    """
    found = list(matches_of(session, rows, net, child))
    setting = list(dict.fromkeys(reference for reference, _ in found if reference.setting))
    effects = [_effect(matches, reference, setting, child) for reference, matches in found]
    done = _of_each_row(reduce(DataFrame.unionByName, effects), setting, child)
    local = done.limit(rows.sizes.local + 1).toArrow()
    if not len(local):
        return net
    if len(local) > rows.sizes.local:
        return NetEffect(_merged(session, rows, net, child, done, setting))
    merged = _merged(session, rows, net, child, session.createDataFrame(local, done.schema), setting)
    return NetEffect(merged, _keys_of_both(net.local, local, child.schema.primary_key))


def _keys_of_both(net: pa.Table | None, done: pa.Table, key: tuple[str, ...]) -> pa.Table | None:
    if net is None:
        return None
    found = done.select([alias(i) for i in range(len(key))]).rename_columns(list(key))
    return pa.concat_tables([net.select(list(key)), found.cast(net.select(list(key)).schema)])


def _effect(matches: DataFrame, reference: Reference, setting: list[Reference], child: TableEntry) -> DataFrame:
    """The effect on rows that last to the epoch's end: key, lsn, whether they are removed, and the columns set."""
    key = [alias(i) for i in range(len(child.schema.primary_key))]
    sets = f"IF({MOVED}, {reference.on_update in ROW_CHANGING_ACTIONS}, {reference.on_delete == SET_NULL})"
    lsn = "lsn"
    if any(kind is not Comparison.BY_VALUE for kind in reference.comparisons):
        lsn = f"IF({MOVED}, {failing(UPDATED)}, {lsn})"
    if any(column.generated or column.row_period for column in child.schema.columns):
        lsn = f"IF({sets}, {failing(DEPENDENT)}, {lsn})"
    types, marks = mirror_types(child.schema), []
    for i, one in enumerate(setting):
        marks.append(f"{sets if one is reference else False} AS {_is_set(i)}")
        for j, column in enumerate(one.columns):
            value = f"IF({reference.on_update == CASCADE}, {new_name(j)}, NULL)" if one is reference else "NULL"
            marks.append(f"CAST({value} AS {types[column]}) AS {_value(i, j)}")
    removed = f"NOT {MOVED} AND {reference.removes} AS {REMOVED}"
    lasting = matches.where("ended IS NULL").where(F.col(MOVED).isin(*_acting(reference)))
    return lasting.selectExpr(*key, IS_BEFORE, f"{lsn} AS lsn", removed, *marks)


def _is_set(i: int) -> Sql:
    """Name of the column: are the columns of reference i set?"""
    return f"set{i}"


def _value(i: int, j: int) -> Sql:
    """Name of the column: the value that column j of reference i is set to."""
    return f"value{i}_{j}"


def _of_each_row(effects: DataFrame, setting: list[Reference], child: TableEntry) -> DataFrame:
    """Combine all effects on a row, by its key and by whether the mirror had it before the epoch."""
    values = [_value(i, j) for i, reference in enumerate(setting) for j in range(len(reference.columns))]
    marks = ["lsn", REMOVED, *(_is_set(i) for i in range(len(setting))), *values]
    each = effects.groupBy(*(alias(i) for i in range(len(child.schema.primary_key))), IS_BEFORE)
    return each.agg(*(F.max(mark).alias(mark) for mark in marks))


def _merged(
    session: SparkSession, rows: OrderedRows, net: NetEffect, child: TableEntry, done: DataFrame,
    setting: list[Reference],
) -> DataFrame:  # fmt: skip
    """The net effect with the changed state of rows that are matched. done: from ``_of_each_row``."""
    key, done = child.schema.primary_key, done.alias("e")
    same = F.expr(" AND ".join(f"r.{quote(name)} = e.{alias(i)}" for i, name in enumerate(key)))
    sources = (net.rows, f"NOT {IS_BEFORE}"), (session.sql(f"SELECT * FROM {rows.mirror_before(child)}"), IS_BEFORE)
    columns = [name for name in net.rows.columns if name not in (LSN_COLUMN, REMOVED)]
    after = [f"{_after(name, setting)} AS {quote(name)}" for name in columns]
    found = net.rows.alias("r").join(done.where(f"NOT {IS_BEFORE}"), same, "left_anti")
    for source, is_source in sources:
        match = source.alias("r").join(done.where(is_source), same)
        found = found.unionByName(match.selectExpr(*after, f"e.lsn AS {LSN_COLUMN}", f"e.{REMOVED}"))
    return found


def _after(column: str, setting: list[Reference]) -> Sql:
    value = f"r.{quote(column)}"
    for i, reference in enumerate(setting):
        if column in reference.columns:
            value = f"IF(e.{_is_set(i)}, e.{_value(i, reference.columns.index(column))}, {value})"
    return value
