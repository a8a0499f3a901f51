"""One statement for one mirror table and one epoch.

what the epoch has for the table                 statement
only inserts, or the mirror is still empty       append of the rows that remain: their keys cannot be there, unless
                                                 a DDL that was ignored has left them
anything else, and the mirror is small           all its rows, joined with the changes by key, in place of themselves
anything else, and the mirror is large           the same join for the rows among which the changed ones are, if these
                                                 are few; else MERGE by key, where a session takes settings for it

In the join and in MERGE, ``_lsn`` makes an older change lose. columns: all that the mirror has, also our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from mirrorlake.core.changes.images import REMOVED
from mirrorlake.core.sql_text import Sql, bytes_literal, literal, quote
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import StepCommit, append_once, replace_once, run_statement
from mirrorlake.lake.delta.session import settings_for_few_rows
from mirrorlake.lake.gold.control.table import LSN_COLUMN
from mirrorlake.lake.gold.merge.net_effect import NetEffect

MAX_LISTED = 1000
"""Keys in one predicate, at most: beyond that a range costs less."""
_RANGED = (pa.types.is_integer, pa.types.is_date)


def append_rows(
    session: SparkSession, lake: Lake, mirror_id: str, net: NetEffect, columns: list[str], lsn: int, payload: dict
) -> StepCommit:
    names = map(quote, columns)
    rows = net.rows.where(f"NOT {REMOVED}").select(*names)
    return append_once(
        session, lake.names.mirror(mirror_id), rows, app_id=lake.app_id(mirror_id), lsn=lsn, payload=payload
    )


def rewrite_rows(
    session: SparkSession, lake: Lake, mirror_id: str, net: NetEffect, columns: list[str], key: tuple[str, ...],
    lsn: int, payload: dict, *, is_small: bool,
) -> StepCommit:  # fmt: skip
    """Write rows of a mirror again, with a net effect in them.

    is_small: all rows, into one file unless the net effect is large. Else those among which the net effect's rows are,
    by the first column of the key; all rows if the keys are not in memory.
    """
    mirror, view = lake.names.mirror(mirror_id), f"images_{mirror_id}"
    among = rows_among(net.local[key[0]], key[0]) if net.local is not None and not is_small else None
    held = f"(SELECT * FROM {mirror} WHERE {among})" if among else mirror
    with temporary_view(session, net.rows, view):
        rows = session.sql(changed_rows(held, quote(view), columns, key))
        rows = rows.coalesce(1) if is_small and net.local is not None else rows
        return replace_once(session, mirror, rows, where=among, app_id=lake.app_id(mirror_id), lsn=lsn, payload=payload)


def rows_among(values: pa.ChunkedArray, column: str) -> Sql | None:
    """Which rows have these values in a column, or lie among them: Delta skips files by it. None: all rows may."""
    if values.null_count:
        return None
    if len(values) <= MAX_LISTED and (listed := literals(values.unique())) is not None:
        return f"{quote(column)} IN ({', '.join(listed)})"
    return _between(values, quote(column)) or None


def are_few_among(net: NetEffect, key: tuple[str, ...]) -> bool:
    """Are the rows of ``rows_among`` at most twice those that change? Then MERGE would cost more."""
    if net.local is None or len(key) > 1 or (values := net.local[key[0]]).null_count:
        return False
    if len(values) <= MAX_LISTED:
        return literals(values.unique()) is not None
    if not pa.types.is_integer(values.type):
        return False
    least, greatest = pc.min_max(values).as_py().values()
    return greatest - least < 2 * len(values)


def changed_rows(mirror: Sql, source: Sql, columns: list[str], key: tuple[str, ...]) -> Sql:
    """A query: the rows of a mirror, or of a part of it, after the changes of ``source``."""
    names = [quote(column) for column in columns]
    same_key = " AND ".join(f"t.{quote(c)} = s.{quote(c)}" for c in key)
    is_changed = f"coalesce(s.{LSN_COLUMN} >= coalesce(t.{LSN_COLUMN}, s.{LSN_COLUMN}), false)"
    cells = ", ".join(f"IF({is_changed}, s.{name}, t.{name}) AS {name}" for name in names)
    joined = f"{mirror} t FULL OUTER JOIN {source} s ON {same_key}"
    return f"SELECT {cells} FROM {joined} WHERE NOT ({is_changed} AND s.{REMOVED})"


def merge_rows(
    session: SparkSession, lake: Lake, mirror_id: str, net: NetEffect, columns: list[str], key: tuple[str, ...],
    lsn: int, payload: dict,
) -> StepCommit:  # fmt: skip
    """Merge a net effect. If it is in memory, a literal range of its keys skips files."""
    mirror, view = lake.names.mirror(mirror_id), f"images_{mirror_id}"
    with temporary_view(session, net.rows, view):
        statement = merge_statement(mirror, quote(view), columns, key, _key_range(net.local, key))
        return run_statement(
            session, mirror, statement, app_id=lake.app_id(mirror_id), lsn=lsn, payload=payload,
            settings=settings_for_few_rows(session) if net.is_at_hand else {},
        )  # fmt: skip


@contextmanager
def temporary_view(session: SparkSession, rows: DataFrame, name: str) -> Iterator[None]:
    """Rows under a name for statements of the session, until the ``with`` block ends."""
    rows.createOrReplaceTempView(name)
    try:
        yield
    finally:
        session.catalog.dropTempView(name)


def merge_statement(mirror: Sql, source: Sql, columns: list[str], key: tuple[str, ...], key_range: Sql = "") -> Sql:
    same_key = " AND ".join(f"t.{quote(c)} = s.{quote(c)}" for c in key)
    newer = f"s.{LSN_COLUMN} >= t.{LSN_COLUMN}"
    return (
        f"MERGE INTO {mirror} t USING {source} s ON {same_key}{key_range}"
        f" WHEN MATCHED AND s.{REMOVED} AND {newer} THEN DELETE"
        f" WHEN MATCHED AND NOT s.{REMOVED} AND {newer} THEN UPDATE SET "
        + ", ".join(f"t.{quote(c)} = s.{quote(c)}" for c in columns)
        + f" WHEN NOT MATCHED AND NOT s.{REMOVED} THEN INSERT ({', '.join(map(quote, columns))})"
        + f" VALUES ({', '.join(f's.{quote(c)}' for c in columns)})"
    )


def _key_range(local: pa.Table | None, key: tuple[str, ...]) -> Sql:
    return literal_range(local[key[0]], key[0]) if local is not None else ""


def literal_range(values: pa.ChunkedArray, column: str) -> Sql:
    """Literal bounds of the values that a mirror's column must have: Delta skips files by literals only."""
    if not len(values) or values.null_count:
        return ""
    between = _between(values, f"t.{quote(column)}")
    return f" AND {between}" if between else ""


def literals(values: pa.Array) -> list[Sql] | None:
    """Write values as literals of Spark; None for a type whose literals might not equal them. values: none is NULL."""
    kind = values.type
    if pa.types.is_integer(kind):
        return [str(int(value)) for value in values.to_pylist()]
    if pa.types.is_date(kind):
        return [f"DATE{literal(str(value))}" for value in values.to_pylist()]
    if pa.types.is_string(kind):
        return [literal(value) for value in values.to_pylist()]
    if pa.types.is_binary(kind):
        return [bytes_literal(value) for value in values.to_pylist()]
    return None


def _between(values: pa.ChunkedArray, column: Sql) -> Sql:
    """A column lies between the least and the greatest of these values; empty for types that have no range here."""
    if not any(is_kind(values.type) for is_kind in _RANGED):
        return ""
    bounds = literals(pa.array(list(pc.min_max(values).as_py().values()), values.type))
    return f"{column} BETWEEN {bounds[0]} AND {bounds[1]}" if bounds else ""
