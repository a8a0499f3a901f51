"""Read silver after a position, as gold needs it: the tables, their numbers of changes, and the changes themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.binlog.rows.mapped_table import UNDEFINED
from mirrorlake.core.changes.conditions import GENERATED, read_conditions
from mirrorlake.core.changes.images import CHANGE_COLUMNS
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import named, one_of
from mirrorlake.lake.gold.control.table import LSN_COLUMN

ROW_OPS = ("INSERT", "UPDATE", "DELETE")
_SUMMARY_KEYS = ["database", "table", "op", "schema_id", "refusal", "partial"]
CHUNK_BITS = 24  # an epoch is cut in chunks of 16 MiB of log
_COMMITS = {"lsn": LSN_COLUMN, "commit_ts": "_committed_at", "gtid": "_gtid"}
NO_IMAGE = "parse_json('{}')"


@dataclass(frozen=True, slots=True)
class TableChanges:
    """One table's changes in a range of lsn. n_changes: of rows. refused: (lsn, code and reason) of the first refusal.
    has_partial: there are row images that lack columns. first_invalid: lsn of the first change, before any refusal,
    with an invalid value; n_invalid: number of such values, 0 if the table is refused.
    conditions: code -> reason; conditions under which the mirror may apply the changes."""

    database: str
    table: str
    schema_ids: frozenset[int]
    n_changes: int
    n_inserts: int
    n_deletes: int
    first_lsn: int
    refused: tuple[int, str] | None = None
    has_partial: bool = False
    n_invalid: int = 0
    first_invalid: int | None = None
    conditions: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def none(cls, name: TableName, lsn: int) -> TableChanges:
        return cls(*name, frozenset(), 0, 0, 0, lsn)

    @property
    def name(self) -> TableName:
        return TableName(self.database, self.table)

    @property
    def lacks_generated(self) -> bool:
        """Does some row image lack values of generated columns?"""
        return GENERATED in self.conditions

    @property
    def only_inserts(self) -> bool:
        return self.n_inserts == self.n_changes


class _Counts(NamedTuple):
    """Counts over changes with equal ``_SUMMARY_KEYS``. n_invalid, first_invalid: as in ``TableChanges``."""

    database: str
    table: str
    op: str
    schema_id: int
    refusal: str | None
    partial: bool
    n: int
    first_lsn: int
    n_invalid: int
    first_invalid: int | None


@dataclass(frozen=True, slots=True)
class _Summary:
    lsns: LsnRange
    tables: list[TableChanges]

    def is_for(self, lsns: LsnRange) -> bool:
        """Is this the summary of the range? One that begins later, but before the first change, has the same
        changes."""
        first = min((changes.first_lsn for changes in self.tables), default=self.lsns.to + 1)
        return lsns.to == self.lsns.to and self.lsns.after <= lsns.after < first


class ChangeReader:
    """Reads ``silver_changes`` in ranges; from memory if the assembled batches are still there."""

    def __init__(
        self, lake: Lake, batches: list[pa.RecordBatch] | None = None, *, only: TableName | None = None,
        is_wanted: Callable[[str, str], bool] = lambda *_: True,
    ):  # fmt: skip
        """only: read as if silver had only this table's changes; then without batches. is_wanted(database, table): does
        the table count for the size of an epoch?"""
        self.only, self._is_wanted = only, is_wanted
        self._lake, self._is_seen = lake, named(only) if only else "true"
        self._table = pa.Table.from_batches(batches) if batches else None
        self._summary: _Summary | None = None
        self._cuts: tuple[int, list[int]] | None = None

    def summary(self, lsns: LsnRange) -> list[TableChanges]:
        """The changes of each table, by name."""
        if self._summary is None or not self._summary.is_for(lsns):
            rows = self._count_rows(lsns)
            names = sorted({TableName(*row[:2]) for row in rows})
            self._summary = _Summary(lsns, [_table_changes(name, rows) for name in names])
        return self._summary.tables

    def _count_rows(self, lsns: LsnRange) -> list[_Counts]:
        if self._table is None:
            grouped = self._rows(lsns).groupBy(*_SUMMARY_KEYS)
            first_invalid = F.min(F.when(F.col("invalid") > 0, F.col("lsn")))
            counted = grouped.agg(F.count("*"), F.min("lsn"), F.sum("invalid"), first_invalid)
            return [_Counts(*row) for row in counted.collect()]
        counted_columns = self._table.select([*_SUMMARY_KEYS, "lsn", "invalid"])
        found = counted_columns.filter(self._is_inside(lsns, (*ROW_OPS, "REFUSED")))
        invalid_lsn = pc.if_else(pc.greater(found["invalid"], 0), found["lsn"], None)
        grouped = found.append_column("invalid_lsn", invalid_lsn).group_by(_SUMMARY_KEYS)
        sums = [("lsn", "count"), ("lsn", "min"), ("invalid", "sum"), ("invalid_lsn", "min")]
        counted = grouped.aggregate(sums).select([*_SUMMARY_KEYS, *map("_".join, sums)])
        return [_Counts(*row.values()) for row in counted.to_pylist()]

    def cut(self, lsns: LsnRange, max_changes: int) -> LsnRange:
        """The range up to a boundary after about max_changes row changes of wanted tables, or all of it if there are
        fewer."""
        if self._table is not None:
            return lsns
        if self._cuts is None or self._cuts[0] != lsns.to:
            wanted = [changes for changes in self.summary(lsns) if self._is_wanted(*changes.name)]
            if sum(changes.n_changes for changes in wanted) <= max_changes:
                return lsns
            self._cuts = lsns.to, self._boundaries(lsns, max_changes, one_of(changes.name for changes in wanted))
        return lsns.until(next((cut for cut in self._cuts[1] if cut in lsns), lsns.to))

    def _boundaries(self, lsns: LsnRange, max_changes: int, counts: Sql) -> list[int]:
        rows = self._lake.spark.table(self._lake.names.silver_changes).where(lsns.condition)
        chunks = rows.groupBy(F.shiftright("lsn", CHUNK_BITS).alias("chunk")).agg(
            F.expr(f"count_if({counts})").alias("n"),
            F.max(F.when(F.col("op") == "COMMIT", F.col("lsn"))).alias("boundary"),
        )
        found, seen, boundary = list[int](), 0, None
        for row in sorted(chunks.collect(), key=attrgetter("chunk")):
            if row.n and boundary is not None:
                found.append(boundary)
                seen, boundary = 0, None
            seen += row.n
            if seen >= max_changes and row.boundary is not None:
                boundary = row.boundary  # moves past what does not count
        return found

    def outside_transactions(self, lsns: LsnRange) -> set[TableName]:
        """The tables with row changes that no transaction of an engine has: they end with a COMMIT of the log."""
        if self._table is None:
            changes = self._lake.spark.table(self._lake.names.silver_changes)
            commits = changes.where(f"{lsns.condition} AND op = 'COMMIT' AND statement IS NOT NULL")
            mine = self._rows(lsns).join(commits.select("tx_lsn"), "tx_lsn", "left_semi")
            return {TableName(row.database, row.table) for row in mine.select("database", "table").distinct().collect()}
        is_commit = pc.and_(self._is_inside(lsns, ("COMMIT",)), pc.is_valid(self._table["statement"]))
        groups = self._table["tx_lsn"].filter(is_commit)
        is_mine = pc.and_(self._is_inside(lsns, ROW_OPS), pc.is_in(self._table["tx_lsn"], groups))
        names = self._table.select(["database", "table"]).filter(is_mine).group_by(["database", "table"]).aggregate([])
        return {TableName(row["database"], row["table"]) for row in names.to_pylist()}

    def in_memory(self, name: TableName, lsns: LsnRange, *, that_cascade: bool = False) -> list[pa.RecordBatch] | None:
        """Row changes of one table (``CHANGE_COLUMNS``) if they are in memory, else None.

        that_cascade: only those that may have changed rows of other tables.
        """
        if self._table is None:
            return None
        mine = pc.and_(pc.equal(self._table["database"], name[0]), pc.equal(self._table["table"], name[1]))
        wanted = pc.and_(mine, self._is_inside(lsns, ROW_OPS))
        if that_cascade:
            wanted = pc.and_(wanted, self._table["may_cascade"])
        return self._table.select(list(CHANGE_COLUMNS)).filter(wanted).combine_chunks().to_batches()

    def stored(
        self, session: SparkSession, name: TableName, lsns: LsnRange, *, that_cascade: bool = False
    ) -> DataFrame:
        """The same, read from the lake. A NULL VARIANT does not pass to Python, so a missing image is an empty
        object."""
        rows = session.table(self._lake.names.silver_changes).where(f"{lsns.condition} AND {named(name)}")
        rows = rows.where("may_cascade") if that_cascade else rows
        sides = [F.expr(f"coalesce({side}, {NO_IMAGE})").alias(side) for side in ("before", "after")]
        return rows.where(F.col("op").isin(*ROW_OPS)).select("lsn", "tx_lsn", "ordinal", "op", *sides)

    def commits(self, session: SparkSession, tables: Collection[TableName], lsns: LsnRange) -> DataFrame:
        """When the source committed the row changes of some tables, and with which GTID: one row for each lsn, with
        the columns ``_lsn``, ``_committed_at`` and ``_gtid``."""
        if self._table is None:
            mine = f"{lsns.condition} AND {one_of(tables)}"
            rows = session.table(self._lake.names.silver_changes).where(mine).where(F.col("op").isin(*ROW_OPS))
            renamed = (F.col(name).alias(own) for name, own in _COMMITS.items())
            return rows.select(*renamed).distinct()
        names = pc.binary_join_element_wise(self._table["database"], self._table["table"], ".")
        is_mine = pc.is_in(names, pa.array([f"{database}.{table}" for database, table in tables]))
        rows = self._table.select(list(_COMMITS)).filter(pc.and_(is_mine, self._is_inside(lsns, ROW_OPS)))
        found = rows.group_by(list(_COMMITS)).aggregate([])
        return session.createDataFrame(found.rename_columns(list(_COMMITS.values())))

    def _is_inside(self, lsns: LsnRange, ops: tuple[str, ...]) -> pa.ChunkedArray:
        """A mask of the rows in memory: inside the range, with one of these ops."""
        table = self._table
        inside = pc.and_(pc.greater(table["lsn"], lsns.after), pc.less_equal(table["lsn"], lsns.to))
        return pc.and_(inside, pc.is_in(table["op"], pa.array(ops)))

    def _rows(self, lsns: LsnRange) -> DataFrame:
        changes = self._lake.spark.table(self._lake.names.silver_changes)
        return changes.where(f"{lsns.condition} AND {self._is_seen}").where(F.col("op").isin(*ROW_OPS, "REFUSED"))


def _stops(counts: _Counts) -> bool:
    """Does this refusal stop the mirror? Not if the table was merely undefined: an earlier snapshot has defined it
    since."""
    return counts.op == "REFUSED" and not (counts.refusal or "").startswith(f"{UNDEFINED}:")


def _table_changes(name: TableName, counts: list[_Counts]) -> TableChanges:
    mine = [each for each in counts if each[:2] == name]
    changes = [each for each in mine if each.op in ROW_OPS]
    refused = min(((each.first_lsn, each.refusal) for each in mine if _stops(each)), default=None)
    invalid = [each.first_invalid for each in changes if each.first_invalid is not None]
    return TableChanges(
        *name,
        schema_ids=frozenset(each.schema_id for each in changes),
        n_changes=sum(each.n for each in changes),
        n_inserts=sum(each.n for each in changes if each.op == "INSERT"),
        n_deletes=sum(each.n for each in changes if each.op == "DELETE"),
        first_lsn=min(each.first_lsn for each in mine),
        refused=refused,
        has_partial=any(each.partial for each in changes),
        n_invalid=0 if refused else sum(each.n_invalid for each in changes),
        first_invalid=min((lsn for lsn in invalid if refused is None or lsn < refused[0]), default=None),
        conditions={code: reason for each in changes for code, reason in read_conditions(each.refusal).items()},
    )
