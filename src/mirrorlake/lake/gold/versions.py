"""Versions of mirror tables."""

from __future__ import annotations

from pyspark.sql import SparkSession


def newest_version(spark: SparkSession, mirror: str) -> int:
    """The Delta version of the newest commit."""
    return spark.sql(f"DESCRIBE HISTORY {mirror} LIMIT 1").first().version
