"""Versions of mirror tables."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from mirrorlake.lake.delta.names import table_exists


def newest_version(spark: SparkSession, mirror: str) -> int | None:
    """The Delta version of the newest commit; None when there is no such table any more."""
    try:
        return spark.sql(f"DESCRIBE HISTORY {mirror} LIMIT 1").collect()[0].version
    except AnalysisException:
        if table_exists(spark, mirror):
            raise
        return None
