"""Complete rows that the log has only in part with columns of the mirror.

A MERGE writes whole rows. A column that was not logged has the value that the mirror's row has before the MERGE, under
the key that the row had then.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.changes.images import REMOVED
from mirrorlake.core.changes.incomplete_images import LOGGED, base_column
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.lake.gold.control.table import LSN_COLUMN

_NO_BASE = "raise_error('internal: the mirror lacks a row of which the log has some columns')"


def completed(
    session: SparkSession, partial: DataFrame, mirror: Sql, types: dict[str, Sql], key: tuple[str, ...]
) -> DataFrame:
    """Fill the gaps of ``partial``, rows of ``partial_schema``; the result has ``image_schema``.

    The statement that uses them fails when the mirror has no row where there must be one.
    """
    same_row = " AND ".join(f"m.{quote(name)} = s.{base_column(i)}" for i, name in enumerate(key))
    joined = partial.alias("s").join(session.table(mirror).alias("m"), on=F.expr(same_row), how="left")
    columns = [
        f"IF(substring(s.{LOGGED}, {i}, 1) = '0', m.{quote(name)}, s.{quote(name)}) AS {quote(name)}"
        for i, name in enumerate(types, 1)
    ]
    lsn = f"IF(s.{LOGGED} IS NOT NULL AND m.{LSN_COLUMN} IS NULL, {_NO_BASE}, s.{LSN_COLUMN}) AS {LSN_COLUMN}"
    return joined.selectExpr(*columns, lsn, f"s.{REMOVED}")
