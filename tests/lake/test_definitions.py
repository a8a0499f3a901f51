"""A run that dies between the commit of definitions and that of changes repeats the range; no DDL counts twice."""

from __future__ import annotations

from pathlib import Path

import mirrorlake
from mirrorlake.config import Options
from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.jobs.run.open import create_lake
from mirrorlake.jobs.run.replicate import run_ingest
from mirrorlake.jobs.run.source import open_source
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.silver.definitions import DefinitionLog

LOGS = Path(mirrorlake.__file__).parent / "demo_data" / "mariadb"


def test_a_range_that_is_read_again_adds_no_definition(spark, lake_dir):
    options = Options(source=f"files:{LOGS}", lake=str(lake_dir))
    source = open_source(options)
    lake = create_lake(options, source, spark)
    run_ingest(lake, source, options, Watcher())
    events = spark.table(lake.names.bronze_events).select(*BRONZE_COLUMNS).orderBy("lsn").toArrow().to_batches()

    assert DefinitionLog(lake).extend(events, 1)
    first = rows(lake)
    assert [row for row in first if row[3] == "alter"]
    again = DefinitionLog(lake)
    assert not again.extend(events, 2)
    assert rows(lake) == first


def rows(lake) -> list[tuple]:
    table = lake.spark.table(lake.names.silver_table_schemas)
    return sorted(map(tuple, table.select("lsn", "database", "table", "action", "refusal").collect()), key=str)
