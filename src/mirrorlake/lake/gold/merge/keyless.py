"""Mirrors of tables without a key: each row as often as in the source.

what the epoch has for the table             statement
no row count falls                           append of the added rows
anything else, and the mirror is small       the whole mirror without the deleted rows, in place of itself
anything else, and the mirror is large       MERGE by the whole row; where a session takes no settings for it, as above

If k of n equal rows are deleted, the k oldest go. A MERGE deletes all rows that match. So its source has the row once,
which deletes n, and n - k copies to insert, each with the ``_lsn`` that it had. A mirror with fewer than k copies makes
the statement fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.changes.row_counts import COUNT, column_name, net_counts
from mirrorlake.core.changes.rows_in_force import rows_in_force
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.versioning import end_column
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.core.values.variant_columns import Asked
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import StepCommit, append_once, replace_once, run_statement, step_done
from mirrorlake.lake.delta.refusals import refusing
from mirrorlake.lake.delta.session import takes_settings
from mirrorlake.lake.gold.control.register import MIRROR_DIVERGED
from mirrorlake.lake.gold.control.table import LSN_COLUMN, mirror_types
from mirrorlake.lake.gold.merge.changes import ChangeReader, TableChanges
from mirrorlake.lake.gold.merge.generated_columns import computed_sql, without_generated
from mirrorlake.lake.gold.merge.merge import literal_range, temporary_view
from mirrorlake.lake.gold.merge.net_effect import Sizes, asked_types

_DIVERGED = refusing(MIRROR_DIVERGED, "the log deletes more of equal rows than the mirror has")
_MARKS = f"{LSN_COLUMN} BIGINT, {COUNT} BIGINT"
_EACH_ROW = f"explode(array_repeat(0, CAST({COUNT} AS INT)))"  # none for a number below 0


@dataclass(frozen=True, slots=True)
class NetCounts:
    """rows: columns of ``counts_schema``, each row once. local: the same in memory, if it was made in the driver and
    nothing was computed."""

    rows: DataFrame
    local: pa.Table | None
    only_come: bool


def net_counts_of(
    session: SparkSession, reader: ChangeReader, changes: TableChanges, lsns: LsnRange, schema: TableSchema,
    sizes: Sizes,
) -> NetCounts:  # fmt: skip
    """Find the changed row counts. schema: of the mirror."""
    if not changes.lacks_generated:
        return _logged_counts_of(session, reader, changes, lsns, schema, sizes)
    logged = without_generated(schema)
    net = _logged_counts_of(session, reader, changes, lsns, logged, sizes)
    names: dict[str, Sql] = {column.name: column_name(i) for i, column in enumerate(logged.columns)}
    columns = [
        f"{names.get(column.name) or computed_sql(column, schema, lambda name: names[name])} AS {column_name(i)}"
        for i, column in enumerate(schema.columns)
    ]
    return NetCounts(net.rows.selectExpr(*columns, LSN_COLUMN, COUNT), None, net.only_come)


def _logged_counts_of(
    session: SparkSession, reader: ChangeReader, changes: TableChanges, lsns: LsnRange, schema: TableSchema,
    sizes: Sizes,
) -> NetCounts:  # fmt: skip
    """Find the changed row counts. schema: of columns that the changes have."""
    types, asked, end = mirror_types(schema), asked_types(schema), end_column(schema)
    ddl = ", ".join([*(f"{column_name(i)} {kind}" for i, kind in enumerate(types.values())), _MARKS])
    batches = reader.in_memory(changes.name, lsns)
    if batches is None:
        rows = reader.stored(session, changes.name, lsns)
        if changes.n_changes > sizes.local:
            return _by_workers(rows, changes, asked, types, ddl, end)
        batches = rows.toArrow().to_batches()
    local = net_counts(rows_in_force(batches, end), asked)
    return NetCounts(session.createDataFrame(local, ddl), local, not len(_that_go(local)))


def write_counts(
    session: SparkSession, lake: Lake, mirror_id: str, net: NetCounts, types: dict[str, Sql], own: Sequence[str],
    lsn: int, payload: dict, is_small: bool,
) -> StepCommit:  # fmt: skip
    """Apply row counts. own: the mirror's columns that are not the source's. is_small: all rows may be written again.
    Raises Spark's error for ``mirror-diverged`` if the mirror has too few rows."""
    mirror, app_id = lake.names.mirror(mirror_id), lake.app_id(mirror_id)
    if net.only_come:
        columns = [f"{column_name(i)} AS {quote(name)}" for i, name in enumerate(types)]
        rows = net.rows.selectExpr("*", f"{_EACH_ROW} AS _each").selectExpr(*columns, *map(quote, own))
        return append_once(session, mirror, rows, app_id=app_id, lsn=lsn, payload=payload)
    done = step_done(session, mirror, app_id=app_id, lsn=lsn)  # its rows are already deleted: it would fail
    if done:
        return StepCommit(done.version, False, done.changed_by)
    view = f"counts_{mirror_id}"
    with temporary_view(session, net.rows, view):
        if is_small or not takes_settings(session):
            rows = session.sql(changed_counts(mirror, quote(view), types, own))
            rows = rows.coalesce(1) if is_small and net.local is not None else rows
            return replace_once(session, mirror, rows, app_id=app_id, lsn=lsn, payload=payload)
        statement = merge_counts_statement(mirror, quote(view), types, own, _range(net.local, types))
        return run_statement(session, mirror, statement, app_id=app_id, lsn=lsn, payload=payload)


def changed_counts(mirror: Sql, net: Sql, types: Mapping[str, Sql], own: Sequence[str]) -> Sql:
    """A query: the rows of a mirror after the row counts of ``net``, a table or view of ``counts_schema`` and of
    ``own``, see ``write_counts``."""
    names, kinds = [column_name(i) for i in range(len(types))], list(types.values())
    held = ", ".join(f"t.{quote(name)} AS {quote(name)}" for name in [*types, *own])
    in_mirror = f"{_whole_row([f't.{quote(name)}' for name in types], kinds)} = s._row"
    go = f"SELECT {_whole_row(names, kinds)} AS _row, -{COUNT} AS _go FROM {net} WHERE {COUNT} < 0"
    numbered = (  # the mirror's columns in a struct, since they may have any names
        f"SELECT struct(t.*) AS t, s._go, count(t.{LSN_COLUMN}) OVER (PARTITION BY s._row) AS _n,"
        f" row_number() OVER (PARTITION BY s._row ORDER BY t.{LSN_COLUMN}) AS _nth"
        f" FROM {mirror} t RIGHT JOIN ({go}) s ON {in_mirror}"
    )
    return (
        f"SELECT {held} FROM {mirror} t LEFT ANTI JOIN ({go}) s ON {in_mirror}"
        f" UNION ALL SELECT {held} FROM ({numbered}) WHERE IF(_n < _go, {_DIVERGED}, _nth > _go)"
        f" UNION ALL SELECT {', '.join([*names, *map(quote, own)])} FROM {net} LATERAL VIEW {_EACH_ROW} AS _each"
    )


def merge_counts_statement(
    mirror: Sql, net: Sql, types: Mapping[str, Sql], own: Sequence[str], row_range: Sql = ""
) -> Sql:
    """net, own: as for ``changed_counts``. row_range: see ``literal_range``, for the rows whose count falls."""
    names = [column_name(i) for i in range(len(types))]
    columns, kinds = ", ".join(names), list(types.values())
    in_mirror = f"{_whole_row([f't.{quote(name)}' for name in types], kinds)} = s._row{row_range}"
    go = f"SELECT *, {_whole_row(names, kinds)} AS _row FROM {net} WHERE {COUNT} < 0"
    held = f"SELECT s.*, {_struct('t', own)} AS _held FROM {mirror} t JOIN ({go}) s ON {in_mirror}"
    numbered = (  # 0: the row that deletes; from 1 on: the copies in the mirror
        f"SELECT *, count(_held) OVER (PARTITION BY _row) AS _n,"
        f" row_number() OVER (PARTITION BY _row ORDER BY _held.{LSN_COLUMN} NULLS FIRST) - 1 AS _nth"
        f" FROM ({held} UNION ALL SELECT *, NULL FROM ({go}))"
    )
    source = (
        f"SELECT IF(_n < -{COUNT}, {_DIVERGED}, IF(_nth = 0, _row, NULL)) AS _row, {columns},"
        f" _held FROM ({numbered}) WHERE _nth = 0 OR _nth > -{COUNT}"
        f" UNION ALL SELECT NULL, {columns}, {_struct('n', own)} FROM {net} n LATERAL VIEW {_EACH_ROW} AS _each"
    )
    written = ", ".join(map(quote, [*types, *own]))
    values = ", ".join([*(f"s.{name}" for name in names), *(f"s._held.{quote(name)}" for name in own)])
    return (
        f"MERGE INTO {mirror} t USING ({source}) s ON {in_mirror}"
        f" WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s._row IS NULL THEN INSERT ({written}) VALUES ({values})"
    )


def _by_workers(
    rows: DataFrame, changes: TableChanges, asked: dict[str, Asked], types: dict[str, Sql], ddl: Sql, end: str | None
) -> NetCounts:
    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows_in_force(batches, end):
            yield from net_counts([batch], asked).to_batches()

    counted = rows.mapInArrow(count, ddl)
    if changes.only_inserts:
        return NetCounts(counted, None, only_come=True)
    names = [column_name(i) for i in range(len(types))]
    sums = [*(f"first({name}) AS {name}" for name in names), f"max({LSN_COLUMN}) AS {LSN_COLUMN}"]
    grouped = counted.groupBy(F.expr(_whole_row(names, types.values()))).agg(
        *map(F.expr, [*sums, f"sum({COUNT}) AS {COUNT}"])
    )
    return NetCounts(grouped.where(f"{COUNT} <> 0").select(*counted.columns), None, only_come=False)


def _whole_row(columns: Sequence[Sql], kinds: Iterable[Sql]) -> Sql:
    """A value that is equal for equal rows. To Spark -0.0 equals 0.0, but their texts differ."""
    fields = (
        f"'{column_name(i)}', " + (f"CAST({column} AS STRING)" if kind in ("float", "double") else column)
        for i, (column, kind) in enumerate(zip(columns, kinds, strict=True))
    )
    return f"named_struct({', '.join(fields)})"


def _struct(table: Sql, own: Sequence[str]) -> Sql:
    return f"struct({', '.join(f'{table}.{quote(name)}' for name in own)})"


def _that_go(local: pa.Table) -> pa.Table:
    return local.filter(pc.less(local[COUNT], 0))


def _range(local: pa.Table | None, types: Iterable[str]) -> Sql:
    if local is None:
        return ""
    return "".join(literal_range(_that_go(local)[column_name(i)], name) for i, name in enumerate(types))
