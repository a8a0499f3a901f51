"""Puts Delta's JARs into DIR/jars, where a local session finds them: python fetch_jars.py DIR

Spark resolves them itself while a session starts, so this also shows that Java, Spark and Delta fit together.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from delta import configure_spark_with_delta_pip
from pyspark.sql import SparkSession


def fetch(folder: Path) -> None:
    """The JARs appear all at once, at the very end: a broken download leaves no half of them."""
    ivy = folder / "ivy"
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.jars.ivy", str(ivy)).config("spark.driver.host", "127.0.0.1")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    configure_spark_with_delta_pip(builder).getOrCreate().stop()
    shutil.rmtree(folder / "jars", ignore_errors=True)
    (ivy / "jars").rename(folder / "jars")
    shutil.rmtree(ivy)


if __name__ == "__main__":
    fetch(Path(sys.argv[1]).resolve())
