"""Events that silver collects come in log order, however the files of bronze and Spark's tasks have them, and however
many there are."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from mirrorlake.core.changes.bronze_events import BRONZE_COLUMNS
from mirrorlake.core.constants import EventType
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.silver.events import NO_XA, collect, collect_definitions, events_at_commits
from tests.support.binlog_spec import Ddl, Insert, Log, Transaction
from tests.support.binlog_writer import write_logs
from tests.support.lake_runs import LakeRun

ORDERS = TableSchema("shop", "orders", (Column("id", ColumnType("int"), False),), ("id",))

ARRANGEMENTS = {
    "as written": lambda events: events,
    "tasks in another order": lambda events: events.repartitionByRange(4, F.desc("lsn")).sortWithinPartitions("lsn"),
    "backwards": lambda events: events.orderBy(F.desc("lsn")),
    "mixed": lambda events: events.repartition(3, F.expr("lsn % 7")),
    "some at one lsn": lambda events: events.withColumn("lsn", F.expr("lsn - lsn % 1000")).orderBy(F.desc("own_lsn")),
}


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("collected")
    items = [Ddl("CREATE TABLE orders (id INT PRIMARY KEY)", "shop")]
    for k in range(40):
        items.append(Transaction([Insert(ORDERS, [{"id": 3 * k + i} for i in range(3)])]))
        items += [Ddl(f"CREATE TABLE t{k} (id INT PRIMARY KEY)", "shop")] * (k % 4 == 0)
    write_logs(folder / "logs", Log("mariadb", items))
    run = LakeRun(spark, folder / "logs", folder / "lake")
    run.ingest()
    return run


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_events_come_in_log_order(run, arrangement):
    events = events_at_commits(run.lake, LsnRange(-1, 1 << 62), NO_XA)
    arranged = ARRANGEMENTS[arrangement](events)
    expected = events.toPandas().sort_values("lsn")
    found = pa.Table.from_batches(collect(arranged))
    assert found.column_names == list(BRONZE_COLUMNS)
    assert found["raw"].to_pylist() == expected["raw"].map(bytes).tolist()
    assert len(found) > 160


def test_no_events_are_no_batches(run):
    assert collect(events_at_commits(run.lake, LsnRange(1 << 61, 1 << 62), NO_XA)) == []


@pytest.mark.parametrize("most", [5, 1000])
def test_a_range_with_many_definitions_is_collected_in_parts(run, most):
    everything = LsnRange(-1, 1 << 62)
    parts = pa.Table.from_batches(collect_definitions(run.lake, everything, NO_XA, most)).to_pylist()
    maps = [event for event in parts if event["event_type"] == EventType.TABLE_MAP]
    assert [event["lsn"] for event in parts] == sorted({event["lsn"] for event in parts})
    statements = [bytes(event["raw"]) for event in parts if event["event_type"] == EventType.QUERY]
    assert [text[text.index(b"CREATE") : -4].decode() for text in statements] == [
        f"CREATE TABLE {name} (id INT PRIMARY KEY)" for name in ("orders", *(f"t{k}" for k in range(0, 40, 4)))
    ]
    assert len({bytes(event["raw"])[19:-4] for event in maps}) == 11  # a DDL gives the table another id
    assert (len(maps) == 11) == (most == 1000) and len(maps) <= 40
