"""Sessions that take no settings but the six of Databricks serverless: in this process, or of a command.

python -m tests.support.no_settings run --source ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    monkeypatch.setattr(type(spark.conf), "set", _checked(type(spark.conf).set))
    monkeypatch.setattr("mirrorlake.lake.delta.session.OWN", "spark.mirrorlake.platform")


def _checked(real: Callable[..., None]) -> Callable[..., None]:
    def checked(self: Any, key: str, value: Any) -> None:
        if key not in ALLOWED:
            raise AnalysisException(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available.")
        real(self, key, value)

    return checked


def main() -> None:
    """The command line as a client of the Spark Connect server in SPARK_REMOTE, which lets it set nothing else."""
    from pyspark.sql.connect.conf import RuntimeConf

    from mirrorlake.cli import main as command

    RuntimeConf.set = _checked(RuntimeConf.set)  # type: ignore[method-assign]
    command()


if __name__ == "__main__":
    main()
