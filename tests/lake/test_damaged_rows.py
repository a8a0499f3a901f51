"""Tables of ours whose columns or rows others have changed: the lake is damaged, and no text of theirs becomes SQL."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.errors import RefusedError
from mirrorlake.lake.gold.control import retired
from mirrorlake.lake.gold.control.epochs import ROWS, Epoch, EpochLog, EpochTable
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.lake.gold.ddl import barriers
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.lake.silver.definitions import recorded
from mirrorlake.lake.silver.overrides import read_answers
from tests.support.binlog_spec import Ddl, Log
from tests.support.lake_runs import LakeRun

pytestmark = pytest.mark.xdist_group("damaged_rows")

LOG = Log("mysql", [Ddl("CREATE DATABASE d"), Ddl("CREATE TABLE t (id INT NOT NULL PRIMARY KEY)", "d")])
TABLES = "array(named_struct('database', 'd', 'table', 't', 'mirror_id', 't', 'version', '0 WHERE true'))"
PINNED = "array(named_struct('database', 'd', 'table', 't', 'mirror_id', {}, 'version', {}))"
NO_TABLES = "cast(NULL AS ARRAY<STRUCT<database: STRING, table: STRING, mirror_id: STRING, version: BIGINT>>)"
READERS = {
    "control_syncpoints": syncpoints.published,
    "control_epochs": EpochLog,
    "control_tables": TableRegister.read,
    "control_answers": read_answers,
    "silver_table_schemas": recorded,
}


@pytest.fixture(scope="module")
def whole(spark, tmp_path_factory):
    """A lake with a syncpoint, and an epoch that is planned and not done."""
    run = LakeRun.up_to_silver(spark, LOG, tmp_path_factory.mktemp("whole"))
    run.apply()
    log = EpochLog(run.lake)
    syncpoints.take(run.lake, log.applied_lsn, "s")
    after = LsnRange(log.applied_lsn, log.applied_lsn + 1)
    log.plan(Epoch(log.next_number, ROWS, after, (EpochTable("d", "t", "t", 0),)))
    return run


@pytest.fixture
def lake(whole, tmp_path):
    return whole.copied(tmp_path / "damaged").lake


def change(lake, table: str, column: str, value: str) -> None:
    """Give a column of a table another value in each row, and so another type."""
    changed = lake.spark.table(getattr(lake.names, table)).withColumn(column, F.expr(value))
    folder = lake.names.folder(*table.split("_", 1))
    changed.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(folder)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("control_syncpoints", "lsn", "'0 OR true'"), ("control_syncpoints", "tables", TABLES),
        ("control_epochs", "lsn_from", "'0 OR true'"), ("control_epochs", "tables", TABLES),
        ("control_tables", "lsn", "'0 OR true'"), ("control_answers", "lsn", "'0 OR true'"),
        ("silver_table_schemas", "lsn", "'0 OR true'"),
    ],
)  # fmt: skip
def test_a_column_of_another_type_is_damage_of_the_lake(lake, table, column, value):
    READERS[table](lake)
    change(lake, table, column, value)
    with pytest.raises(RefusedError, match=f"lake-damaged: column {column} of {table} has another type"):
        READERS[table](lake)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("control_syncpoints", "tables", "transform(tables, t -> if(true, NULL, t))"),
        ("control_syncpoints", "tables", PINNED.format("'t'", "-5L")),
        ("control_syncpoints", "tables", PINNED.format("if(true, NULL, 't')", "0L")),
        ("control_syncpoints", "at", "if(true, NULL, at)"), ("control_syncpoints", "lsn", "if(true, NULL, lsn)"),
        ("control_syncpoints", "commit_ts", "timestamp_micros(9223372036854775807)"),
        ("control_epochs", "tables", NO_TABLES), ("control_epochs", "epoch", "epoch + 9"),
        ("control_epochs", "lsn_to", "if(true, NULL, lsn_to)"), ("silver_table_schemas", "steps", "'x'"),
        ("silver_table_schemas", "columns", "'{}'"), ("silver_table_schemas", "answer", "if(true, NULL, answer)"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_damage_of_the_lake(lake, table, column, value):
    change(lake, table, column, value)
    with pytest.raises(RefusedError, match=f"lake-damaged: {table} has a row that mirrorlake does not write"):
        READERS[table](lake)


def test_an_epoch_of_another_type_is_damage_where_old_mirrors_are_looked_for(lake):
    change(lake, "control_epochs", "epoch", "cast(epoch AS STRING)")
    with pytest.raises(RefusedError, match="lake-damaged: column epoch of control_epochs has another type"):
        retired.mirrors(lake, retention_days=7)


def test_so_are_barriers_of_such_rows(lake):
    change(lake, "silver_table_schemas", "columns", "'{}'")
    with pytest.raises(RefusedError, match="lake-damaged: silver_table_schemas has a row"):
        barriers.read_definitions(lake)
    with pytest.raises(RefusedError, match="lake-damaged: silver_table_schemas has a row"):
        barriers.read(lake, LsnRange(-1, 1 << 62), 0)
