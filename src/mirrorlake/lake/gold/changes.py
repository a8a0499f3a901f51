"""What silver holds beyond a position, as gold wants to see it: which tables, how much, and the changes themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.changes.images import CHANGE_COLUMNS, REMOVED, image_schema, net_effect, row_images
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import literal, quote

ROW_OPS = ("INSERT", "UPDATE", "DELETE")
_SUMMARY_KEYS = ["database", "table", "op", "schema_id", "refusal"]
CHUNK_BITS = 24  # an epoch is cut in chunks of 16 MiB of log
LOCAL_ROWS = 50_000
"""Up to this many changes are decoded and reduced in the driver: Spark's workers would take longer to start."""


@dataclass(frozen=True, slots=True)
class TableChanges:
    """One table's changes in a range of lsn. refused: (lsn, code and reason) of the first refusal among them."""

    database: str
    table: str
    schema_ids: frozenset[int]
    n_changes: int
    n_inserts: int
    first_lsn: int
    refused: tuple[int, str] | None

    @property
    def name(self) -> tuple[str, str]:
        return self.database, self.table


class ChangeReader:
    """Reads ``silver_changes`` in (lsn_from, lsn_to]; from memory where the assembled batches are at hand."""

    def __init__(self, lake: Lake, batches: list[pa.RecordBatch] | None = None):
        self._lake = lake
        self._table = pa.Table.from_batches(batches) if batches else None
        self._summaries: dict[tuple[int, int], list[TableChanges]] = {}

    def summary(self, lsn_from: int, lsn_to: int) -> list[TableChanges]:
        """What there is for each table, by name."""
        if (lsn_from, lsn_to) not in self._summaries:
            rows = self._count_rows(lsn_from, lsn_to)
            names = sorted({row[:2] for row in rows})
            self._summaries[lsn_from, lsn_to] = [_summary(name, rows) for name in names]
        return self._summaries[lsn_from, lsn_to]

    def _count_rows(self, lsn_from: int, lsn_to: int) -> list[tuple]:
        """(*_SUMMARY_KEYS, number of rows, lowest lsn)"""
        if self._table is None:
            grouped = self._rows(lsn_from, lsn_to).groupBy(*_SUMMARY_KEYS)
            return [tuple(row) for row in grouped.agg(F.count("*"), F.min("lsn")).collect()]
        grouped = self._slice(lsn_from, lsn_to).group_by(_SUMMARY_KEYS).aggregate([("lsn", "count"), ("lsn", "min")])
        return [tuple(row[name] for name in (*_SUMMARY_KEYS, "lsn_count", "lsn_min")) for row in grouped.to_pylist()]

    def cut(self, lsn_from: int, lsn_to: int, max_changes: int) -> int:
        """A boundary in the range behind about max_changes row changes, or its end where there are fewer."""
        if self._table is not None:
            return lsn_to
        rows = self._lake.spark.table(self._lake.names.silver_changes).where(f"lsn > {lsn_from} AND lsn <= {lsn_to}")
        chunks = rows.groupBy(F.shiftright("lsn", CHUNK_BITS).alias("chunk")).agg(
            F.count("*").alias("n"), F.max(F.when(F.col("op") == "COMMIT", F.col("lsn"))).alias("boundary")
        )
        seen = 0
        for row in chunks.orderBy("chunk").collect():
            seen += row.n
            if seen >= max_changes and row.boundary is not None:
                return row.boundary
        return lsn_to

    def images(
        self,
        session: SparkSession,
        name: tuple[str, str],
        lsn_from: int,
        lsn_to: int,
        types: dict[str, str],
        key: tuple[str, ...],
        n: int,
    ) -> tuple[DataFrame, pa.Table | None]:
        """The net effect on each key as a DataFrame of ``image_schema``; also as a table when it is in the driver."""
        arrow_types = {column: arrow_type(kind) for column, kind in types.items()}
        columns = ", ".join(
            [
                *(f"{quote(c)} {k}" for c, k in types.items()),
                "_lsn BIGINT, _tx_lsn BIGINT, _ordinal INT, _removed BOOLEAN",
            ]
        )
        if self._table is not None or n <= LOCAL_ROWS:
            local = self._of_table(session, name, lsn_from, lsn_to)
            images = [row_images(batch, arrow_types, key) for batch in local if batch.num_rows]
            net = net_effect(pa.concat_tables(images), key) if images else image_schema(arrow_types).empty_table()
            return session.createDataFrame(net, columns), net
        changes = self._changes(session, name, lsn_from, lsn_to)

        def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if batch.num_rows:
                    yield from row_images(batch, arrow_types, key).to_batches()

        images = changes.mapInArrow(decode, columns)
        return _last_of_each_key(images, key), None

    def _of_table(
        self, session: SparkSession, name: tuple[str, str], lsn_from: int, lsn_to: int
    ) -> list[pa.RecordBatch]:
        if self._table is None:
            return self._changes(session, name, lsn_from, lsn_to).toArrow().to_batches()
        local = self._slice(lsn_from, lsn_to)
        mine = pc.and_(pc.equal(local["database"], name[0]), pc.equal(local["table"], name[1]))
        return local.filter(mine).select(list(CHANGE_COLUMNS)).combine_chunks().to_batches()

    def _slice(self, lsn_from: int, lsn_to: int) -> pa.Table:
        table = self._table
        inside = pc.and_(pc.greater(table["lsn"], lsn_from), pc.less_equal(table["lsn"], lsn_to))
        return table.filter(pc.and_(inside, pc.is_in(table["op"], pa.array([*ROW_OPS, "REFUSED"]))))

    def _rows(self, lsn_from: int, lsn_to: int) -> DataFrame:
        changes = self._lake.spark.table(self._lake.names.silver_changes)
        return changes.where(f"lsn > {lsn_from} AND lsn <= {lsn_to}").where(F.col("op").isin(*ROW_OPS, "REFUSED"))

    def _changes(self, session: SparkSession, name: tuple[str, str], lsn_from: int, lsn_to: int) -> DataFrame:
        """Row changes of one table. A NULL VARIANT does not pass to Python, so a missing image is an empty object."""
        rows = session.table(self._lake.names.silver_changes).where(
            f"lsn > {lsn_from} AND lsn <= {lsn_to} AND database = {literal(name[0])} AND table = {literal(name[1])}"
        )
        sides = [F.expr(f"coalesce({side}, parse_json('{{}}'))").alias(side) for side in ("before", "after")]
        return rows.where(F.col("op").isin(*ROW_OPS)).select("lsn", "tx_lsn", "ordinal", "op", *sides)


def arrow_type(spark_type: str) -> pa.DataType:
    """The Arrow type of a mirror column's Spark type (DDL spelling)."""
    simple = {
        "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(),
        "double": pa.float64(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"), "string": pa.string(), "binary": pa.binary(),
    }  # fmt: skip
    if spark_type in simple:
        return simple[spark_type]
    precision, scale = spark_type.removeprefix("decimal(").removesuffix(")").split(",")
    return pa.decimal128(int(precision), int(scale))


def _last_of_each_key(images: DataFrame, key: tuple[str, ...]) -> DataFrame:
    order = F.struct("_tx_lsn", "_ordinal", F.when(F.col(REMOVED), 0).otherwise(1))
    keys = [F.col(quote(column)) for column in key]
    newest = F.max_by(F.struct(*(F.col(quote(column)) for column in images.columns)), order)
    return images.groupBy(*keys).agg(newest.alias("_newest")).select("_newest.*")


def _summary(name: tuple[str, str], rows: list[tuple]) -> TableChanges:
    mine = [row for row in rows if row[:2] == name]
    changes = [row for row in mine if row[2] in ROW_OPS]
    refusals = [(row[6], row[4]) for row in mine if row[2] == "REFUSED"]
    return TableChanges(
        *name,
        schema_ids=frozenset(row[3] for row in changes),
        n_changes=sum(row[5] for row in changes),
        n_inserts=sum(row[5] for row in changes if row[2] == "INSERT"),
        first_lsn=min(row[6] for row in mine),
        refused=min(refusals) if refusals else None,
    )
