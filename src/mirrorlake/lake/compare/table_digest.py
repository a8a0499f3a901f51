"""Summarise a mirror in a few numbers: are two equal, and if not, in which columns do they differ?"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.lake.gold.control.table import own_columns


@dataclass(frozen=True, slots=True)
class TableDigest:
    """rows: how many. columns: name -> type and sum of the hashes of its values, each together with its row's key."""

    rows: int
    columns: dict[str, tuple[str, int]]

    def difference(self, other: TableDigest) -> str:
        """How the other one differs; empty if they are equal."""
        if self == other:
            return ""
        both = self.columns | other.columns
        names = [name for name in both if self.columns.get(name) != other.columns.get(name)]
        rows = f"{self.rows} rows, now {other.rows}" if self.rows != other.rows else f"{self.rows} rows"
        return f"{rows}; columns that differ: {', '.join(names) or 'none'}"


def digest(spark: SparkSession, mirror: Sql, version: int, schema: TableSchema) -> TableDigest:
    """Digest one Delta version in one pass, independent of the order of its rows. Our own columns are left out."""
    own = own_columns(schema)
    rows = spark.sql(f"SELECT * FROM {mirror} VERSION AS OF {version}")
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema if field.name not in own}
    keys = [F.col(quote(name)) for name in schema.primary_key]
    sums = []
    for name in kinds:
        cell = F.col(quote(name))
        of_row = F.xxhash64(*keys, cell.isNull(), cell)  # a NULL leaves a hash as it was
        sums.append(F.sum(of_row.cast("decimal(38,0)")))
    n_rows, *found = rows.agg(F.count(F.lit(1)), *sums).collect()[0]
    return TableDigest(n_rows, {n: (k, int(v or 0)) for (n, k), v in zip(kinds.items(), found, strict=True)})
