"""Runs in an environment of its own, with Spark 3.5 and Delta 3.3: OUT FOLDER... writes each Delta table that this
Spark can read to OUT as Parquet, in a folder of the same name."""

import sys
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

out, *folders = map(Path, sys.argv[1:])
settings = {
    "spark.jars.packages": "io.delta:delta-spark_2.12:3.3.2",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
}
spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
for folder in folders:
    try:
        spark.read.format("delta").load(str(folder)).write.parquet(str(out / folder.name))
    except Exception as error:  # Delta raises it through Java for some of its conditions
        if not isinstance(error, AnalysisException) and "DELTA_UNSUPPORTED" not in str(error):
            raise
