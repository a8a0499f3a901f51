"""Sessions that take no settings but the six of Databricks serverless, in this process."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pytest import MonkeyPatch

ALLOWED = frozenset(
    {
        "spark.databricks.execution.timeout", "spark.sql.ansi.enabled", "spark.sql.files.maxPartitionBytes",
        "spark.sql.legacy.timeParserPolicy", "spark.sql.session.timeZone", "spark.sql.shuffle.partitions",
    }
)  # fmt: skip
"""Source: Databricks' documentation, "Configure Spark properties for serverless notebooks and jobs"."""


def forbid_settings(monkeypatch: MonkeyPatch, spark: SparkSession) -> None:
    """Every session refuses other settings, and is the platform's."""
    conf = type(spark.conf)
    real = conf.set

    def checked(self, key: str, value: str) -> None:
        if key not in ALLOWED:
            raise AnalysisException(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available.")
        real(self, key, value)

    monkeypatch.setattr(conf, "set", checked)
    monkeypatch.setattr("mirrorlake.lake.delta.session.OWN", "spark.mirrorlake.platform")
