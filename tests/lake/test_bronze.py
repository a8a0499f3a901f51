"""Bronze is the log: its files can be rebuilt from it, and its progress is always a position between transactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrorlake.core.position import BinlogPosition, parse_gtid_set, unpack_lsn
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.bronze.ingest import OPEN_BYTES
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_spec import Ddl, Insert, Log, Restart, Transaction
from tests.support.binlog_writer import write_logs
from tests.support.histories import random_history
from tests.support.lake_runs import LakeRun

MAGIC = b"\xfebin"
DEMO = Path(__file__).resolve().parents[2] / "src/mirrorlake/demo_data"
T = TableSchema("d", "t", (Column("id", ColumnType("int"), False), Column("b", ColumnType("longblob"))), ("id",))
FLAVORS = pytest.mark.parametrize("flavor", ["mysql", "mariadb"])


def rebuilt(run: LakeRun) -> dict[str, bytes]:
    """The binlog files as bronze knows them."""
    files: dict[str, bytes] = {}
    events = run.spark.table(run.lake.names.bronze_events).orderBy("lsn").select("log_file", "raw")
    for row in events.toArrow().to_pylist():
        files[row["log_file"]] = files.get(row["log_file"], MAGIC) + row["raw"]
    return files


def originals(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix[1:].isdigit()}


def commits(run: LakeRun) -> int:
    history = run.spark.sql(f"DESCRIBE HISTORY {run.lake.names.bronze_events}")
    return history.where("operation <> 'CREATE TABLE'").count()


@FLAVORS
def test_the_binlog_files_of_a_real_server_are_rebuilt_byte_for_byte(spark, tmp_path, flavor):
    run = LakeRun(spark, DEMO / flavor, tmp_path / "lake")
    run.ingest(batch_bytes=1 << 20)
    assert rebuilt(run) == originals(DEMO / flavor)


@pytest.mark.parametrize("name", ["{a,b}", "g?*[x]", "back\\slash"])
def test_a_lake_may_be_in_a_folder_whose_name_looks_like_a_pattern(spark, tmp_path, name):
    write_logs(tmp_path / "logs", Log("mysql", [Ddl("CREATE TABLE t (id INT PRIMARY KEY)", "d")]))
    run = LakeRun(spark, tmp_path / "logs", tmp_path / name)
    run.ingest()
    assert rebuilt(run) == originals(tmp_path / "logs")


@FLAVORS
def test_files_read_in_small_batches_are_rebuilt_and_every_batch_ends_at_a_boundary(spark, tmp_path, seed, flavor):
    write_logs(tmp_path / "logs", random_history(seed, items=12, tables=2).log(flavor), 6_000)
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    batches = run.ingest(batch_bytes=6_000, block_bytes=500)
    assert len(batches) == commits(run) > 1
    assert rebuilt(run) == originals(tmp_path / "logs")
    events = run.spark.table(run.lake.names.bronze_events).orderBy("lsn").select("lsn", "tx_lsn").collect()
    last_of_group = {tx_lsn: lsn for lsn, tx_lsn in events}
    assert {batch.lsns.to for batch in batches} <= set(last_of_group.values())
    assert [batch.lsns.after for batch in batches] == [-1, *(batch.lsns.to for batch in batches[:-1])]
    assert sum(batch.n_events for batch in batches) == len(events)


@FLAVORS
def test_progress_says_where_to_go_on_and_what_was_read(spark, tmp_path, flavor):
    history = random_history(3, items=6, tables=1)
    write_logs(tmp_path / "logs", history.log(flavor))
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run.ingest()
    progress = read_progress(spark, run.lake.names.bronze_events)
    last = run.spark.table(run.lake.names.bronze_events).orderBy("lsn", ascending=False).first()
    n_groups = len(history.transactions)
    gtids = {"mysql": f"6c1f7e0a-11d2-11ef-9a3b-0242ac120002:1-{n_groups}", "mariadb": f"0-7-{n_groups}"}[flavor]
    assert progress.lsn == last.lsn
    assert unpack_lsn(progress.lsn) == (0, BinlogPosition(last.log_file, 0).file_number, last.log_pos)
    named = ("source", "flavor", "hop", "lsn_from", "lsn_to", "gtids")
    values = (f"files:{flavor}:7:binlog", flavor, "ingest", -1, last.lsn, str(parse_gtid_set(flavor, gtids)))
    assert {name: progress.payload[name] for name in named} == dict(zip(named, values, strict=True))
    assert BinlogPosition.parse(progress.payload["resume"]) > BinlogPosition(last.log_file, last.log_pos)


@FLAVORS
def test_a_transaction_that_is_not_finished_is_not_committed(spark, tmp_path, flavor):
    """The end is, one after another, after each event of the last transaction of the log."""
    write_logs(tmp_path / "logs", random_history(3, items=8, tables=1).log(flavor))
    whole = LakeRun(spark, tmp_path / "logs", tmp_path / "whole")
    whole.ingest()
    rows = [row.asDict() for row in spark.table(whole.lake.names.bronze_events).orderBy("lsn").drop("raw").collect()]
    last_tx = max(row["tx_lsn"] for row in rows if row["event_type"] == 16)
    inside = [row for row in rows if row["tx_lsn"] == last_tx]
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run.ingest(until=f"{inside[0]['log_file']}:{inside[0]['end_log_pos']}")
    before = read_progress(spark, run.lake.names.bronze_events)
    assert before.payload["resume"] == f"{inside[0]['log_file']}:{inside[0]['log_pos']}"
    for row in inside[1:-1]:
        assert run.ingest(until=f"{row['log_file']}:{row['end_log_pos']}") == []
    assert read_progress(spark, run.lake.names.bronze_events) == before
    run.ingest()
    assert rebuilt(run) == originals(tmp_path / "logs")


def test_a_run_that_finds_nothing_new_commits_nothing(spark, tmp_path):
    write_logs(tmp_path / "logs", random_history(3, items=8, tables=1).log("mysql", end="open"))
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run.ingest()
    before = run.versions()
    assert run.ingest() == []
    assert run.ingest(until="binlog.000001:4") == []
    assert run.versions() == before


def test_no_staged_file_is_left_behind(spark, tmp_path):
    write_logs(tmp_path / "logs", random_history(3, items=8, tables=1).log("mysql"))
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run.all_hops()
    assert [path for path in (tmp_path / "lake/_staging").rglob("*") if path.is_file()] == []


def test_the_demo_logs_of_both_servers_are_there():
    assert {FileSource(DEMO / flavor).flavor for flavor in ("mysql", "mariadb")} == {"mysql", "mariadb"}


@pytest.mark.parametrize("blob_bytes", [20, OPEN_BYTES + 1_000])
def test_the_rows_of_a_transaction_that_a_crash_tore_are_not_kept(spark, tmp_path, blob_bytes):
    first, *others = (Insert(T, [{"id": i, "b": bytes(blob_bytes)}]) for i in range(3))
    groups = [Transaction([first]), Transaction(others, end=""), Restart(after_crash=True), Ddl("CREATE DATABASE e")]
    write_logs(tmp_path / "logs", Log("mariadb", groups))
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    run.ingest(block_bytes=500)
    gtids = run.spark.table(run.lake.names.bronze_events).where("gtid IS NOT NULL").select("gtid").distinct()
    assert sorted(row.gtid for row in gtids.collect()) == ["0-7-1", "0-7-2"]
    assert str(read_progress(run.spark, run.lake.names.bronze_events).payload["gtids"]) == "0-7-2"
