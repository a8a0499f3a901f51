"""Mirrors of tables without a key: each row as often as in the source.

what the epoch has for the table          statement
no row count falls                        append of the added rows
anything else                             MERGE by the whole row

A MERGE deletes all rows that match. So if k of n equal rows are deleted, its source has the row once, which deletes n,
and n - k copies to insert, each with the ``_lsn`` that it had. A mirror with fewer than k copies makes the statement
fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.changes.row_counts import COPIES, net_copies, place
from mirrorlake.core.changes.rows_in_force import rows_in_force
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.versioning import end_column
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.core.values.variant_columns import Asked
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import StepCommit, append_once, run_statement, step_done
from mirrorlake.lake.delta.refusals import refusing
from mirrorlake.lake.gold.control.register import MIRROR_DIVERGED
from mirrorlake.lake.gold.control.table import LSN_COLUMN, mirror_types
from mirrorlake.lake.gold.merge.changes import ChangeReader, TableChanges
from mirrorlake.lake.gold.merge.generated_columns import computed_sql, without_generated
from mirrorlake.lake.gold.merge.merge import literal_range
from mirrorlake.lake.gold.merge.net_effect import Sizes, asked_types

_DIVERGED = refusing(MIRROR_DIVERGED, "the log deletes more of equal rows than the mirror has")
_MARKS = f"{LSN_COLUMN} BIGINT, {COPIES} BIGINT"
_EACH_COPY = f"explode(array_repeat(0, CAST({COPIES} AS INT)))"  # none for a number below 0


@dataclass(frozen=True, slots=True)
class NetCopies:
    """rows: columns of ``copies_schema``, each row once. local: the same in memory, if it was made in the driver and
    nothing was computed."""

    rows: DataFrame
    local: pa.Table | None
    only_come: bool


def net_copies_of(
    session: SparkSession, reader: ChangeReader, changes: TableChanges, lsn_from: int, lsn_to: int,
    schema: TableSchema, sizes: Sizes,
) -> NetCopies:  # fmt: skip
    """Find the changed row counts. schema: of the mirror."""
    if not changes.lacks_generated:
        return _told_copies_of(session, reader, changes, lsn_from, lsn_to, schema, sizes)
    told = without_generated(schema)
    net = _told_copies_of(session, reader, changes, lsn_from, lsn_to, told, sizes)
    places: dict[str, Sql] = {column.name: place(i) for i, column in enumerate(told.columns)}
    columns = [
        f"{places.get(column.name) or computed_sql(column, schema, lambda name: places[name])} AS {place(i)}"
        for i, column in enumerate(schema.columns)
    ]
    return NetCopies(net.rows.selectExpr(*columns, LSN_COLUMN, COPIES), None, net.only_come)


def _told_copies_of(
    session: SparkSession, reader: ChangeReader, changes: TableChanges, lsn_from: int, lsn_to: int,
    schema: TableSchema, sizes: Sizes,
) -> NetCopies:  # fmt: skip
    """Find the changed row counts. schema: of columns that the changes have."""
    types, asked, end = mirror_types(schema), asked_types(schema), end_column(schema)
    ddl = ", ".join([*(f"{place(i)} {kind}" for i, kind in enumerate(types.values())), _MARKS])
    batches = reader.in_memory(changes.name, lsn_from, lsn_to)
    if batches is None:
        rows = reader.stored(session, changes.name, lsn_from, lsn_to)
        if changes.n_changes > sizes.local:
            return _by_workers(rows, changes, asked, types, ddl, end)
        batches = rows.toArrow().to_batches()
    local = net_copies(rows_in_force(batches, end), asked)
    return NetCopies(session.createDataFrame(local, ddl), local, not len(_that_go(local)))


def write_copies(
    session: SparkSession, lake: Lake, mirror_id: str, net: NetCopies, types: dict[str, Sql], lsn: int, payload: dict,
    settings: Mapping[str, str],
) -> StepCommit:  # fmt: skip
    """Apply row counts. settings: of ``prepare_files``. Raises Spark's error for ``mirror-diverged`` if the mirror has
    too few rows."""
    mirror, app_id = lake.names.mirror(mirror_id), lake.app_id(mirror_id)
    if net.only_come:
        columns = [f"{place(i)} AS {quote(name)}" for i, name in enumerate(types)]
        rows = net.rows.selectExpr("*", f"{_EACH_COPY} AS _copy").selectExpr(*columns, LSN_COLUMN)
        return append_once(session, mirror, rows, app_id=app_id, lsn=lsn, payload=payload)
    done = step_done(session, mirror, app_id=app_id, lsn=lsn)  # its rows are already deleted: it would fail
    if done:
        return StepCommit(done.version, False, done.changed_by)
    view = f"copies_{mirror_id}"
    net.rows.createOrReplaceTempView(view)
    try:
        statement = merge_copies_statement(mirror, quote(view), types, _range(net.local, types))
        return run_statement(session, mirror, statement, app_id=app_id, lsn=lsn, payload=payload, settings=settings)
    finally:
        session.catalog.dropTempView(view)


def merge_copies_statement(mirror: Sql, net: Sql, types: Mapping[str, Sql], row_range: Sql = "") -> Sql:
    """net: a table or view of ``copies_schema``. row_range: see ``literal_range``, for the rows whose count falls."""
    places = [place(i) for i in range(len(types))]
    columns, kinds = ", ".join(places), list(types.values())
    in_mirror = f"{_whole_row([f't.{quote(name)}' for name in types], kinds)} = s._row{row_range}"
    go = f"SELECT *, {_whole_row(places, kinds)} AS _row FROM {net} WHERE {COPIES} < 0"
    held = f"SELECT s.*, t.{LSN_COLUMN} AS _held FROM {mirror} t JOIN ({go}) s ON {in_mirror}"
    numbered = (  # 0: the row that deletes; from 1 on: the copies in the mirror
        f"SELECT *, count(_held) OVER (PARTITION BY _row) AS _n,"
        f" row_number() OVER (PARTITION BY _row ORDER BY _held NULLS FIRST) - 1 AS _nth"
        f" FROM ({held} UNION ALL SELECT *, NULL FROM ({go}))"
    )
    source = (
        f"SELECT IF(_n < -{COPIES}, {_DIVERGED}, IF(_nth = 0, _row, NULL)) AS _row, {columns},"
        f" _held AS {LSN_COLUMN} FROM ({numbered}) WHERE _nth = 0 OR _nth > -{COPIES}"
        f" UNION ALL SELECT NULL, {columns}, {LSN_COLUMN} FROM {net} LATERAL VIEW {_EACH_COPY} AS _copy"
    )
    written = ", ".join(map(quote, [*types, LSN_COLUMN]))
    values = ", ".join(f"s.{name}" for name in [*places, LSN_COLUMN])
    return (
        f"MERGE INTO {mirror} t USING ({source}) s ON {in_mirror}"
        f" WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND s._row IS NULL THEN INSERT ({written}) VALUES ({values})"
    )


def _by_workers(
    rows: DataFrame, changes: TableChanges, asked: dict[str, Asked], types: dict[str, Sql], ddl: Sql, end: str | None
) -> NetCopies:
    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows_in_force(batches, end):
            yield from net_copies([batch], asked).to_batches()

    counted = rows.mapInArrow(count, ddl)
    if changes.only_inserts:
        return NetCopies(counted, None, only_come=True)
    places = [place(i) for i in range(len(types))]
    sums = [*(f"first({name}) AS {name}" for name in places), f"max({LSN_COLUMN}) AS {LSN_COLUMN}"]
    grouped = counted.groupBy(F.expr(_whole_row(places, types.values()))).agg(
        *map(F.expr, [*sums, f"sum({COPIES}) AS {COPIES}"])
    )
    return NetCopies(grouped.where(f"{COPIES} <> 0").select(*counted.columns), None, only_come=False)


def _whole_row(columns: Sequence[Sql], kinds: Iterable[Sql]) -> Sql:
    """A value that is equal for equal rows. To Spark -0.0 equals 0.0, but their texts differ."""
    fields = (
        f"'{place(i)}', " + (f"CAST({column} AS STRING)" if kind in ("float", "double") else column)
        for i, (column, kind) in enumerate(zip(columns, kinds, strict=True))
    )
    return f"named_struct({', '.join(fields)})"


def _that_go(local: pa.Table) -> pa.Table:
    return local.filter(pc.less(local[COPIES], 0))


def _range(local: pa.Table | None, types: Iterable[str]) -> Sql:
    if local is None:
        return ""
    return "".join(literal_range(_that_go(local)[place(i)], name) for i, name in enumerate(types))
