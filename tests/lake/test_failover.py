"""A lake whose log another server continues with, hop by hop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.changes.assembler import Assembler
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.position import unpack_lsn
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_writer import write_logs
from tests.support.histories import random_history
from tests.support.lake_runs import QUIET, LakeRun, run_of

SHOWN = ("gtid", "ordinal", "op", "database", "table", "statement", "changes", "checksum")


def test_a_lake_goes_on_in_another_servers_log_also_when_that_has_nothing_new_yet(spark, tmp_path, seed):
    history, random = random_history(seed, items=12, tables=2), Random(seed)
    flavor, n_items = random.choice(("mysql", "mariadb")), len(history.items)
    cut = random.randrange(n_items // 2, n_items)
    former = replace(history.log(flavor), items=history.items[:cut])

    def replica(n_items: int) -> LakeRun:
        """Its log, as far as so many items."""
        log = history.log(flavor, basename="replica", compression=True, end="open")
        write_logs(tmp_path / "replica", replace(log, items=log.items[:n_items]), 4_000)
        return LakeRun(spark, tmp_path / "replica", run.folder)

    run = run_of(spark, tmp_path, lambda folder: write_logs(folder, former, 3_000))
    follow(run)
    before = silver(run)
    with pytest.raises(RefusedError) as refused:
        replica(cut).ingest_job()
    assert refused.value.code == "lake-source"
    follow(replica(cut), failover="follow")
    assert silver(run) == before
    assert list(replica(cut).ingest_job().step(QUIET)) == []
    follow(replica(n_items))
    write_logs(tmp_path / "whole", history.log(flavor))
    assert silver(run) == assembled(FileSource(tmp_path / "whole"))
    events = spark.table(run.lake.names.bronze_events).select("lsn", "log_file").collect()
    places = {(unpack_lsn(event.lsn)[0], Path(event.log_file).stem) for event in events}
    assert places == {(0, "binlog"), (1, "replica")}


def follow(run: LakeRun, **given) -> None:
    list(run.ingest_job(**given).step(QUIET))
    run.assemble()


def assembled(source: FileSource) -> list[tuple]:
    """The same of a log, without a lake."""
    reader = LogReader(source.earliest(), parse_gtid_set(source.flavor, ""))
    chunks = reader.read(source.read(source.earliest(), source.current()))
    rows = pa.Table.from_batches(Assembler(source.flavor).assemble([chunk.batch for chunk in chunks]))
    return [tuple(row.values()) for row in rows.select(SHOWN).to_pylist()]


def silver(run: LakeRun) -> list[tuple]:
    """In the order of the log."""
    rows = run.spark.table(run.lake.names.silver_changes).orderBy("tx_lsn", "ordinal").select(*SHOWN)
    return list(map(tuple, rows.collect()))
