"""A lake whose log another server goes on with, hop by hop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from mirrorlake.core.position import unpack_lsn
from mirrorlake.errors import RefusedError
from tests.support.binlog_writer import write_logs
from tests.support.histories import random_history
from tests.support.lake_runs import QUIET, LakeRun, expected_gold, run_of


def test_a_lake_goes_on_in_another_servers_log_also_when_that_has_nothing_new_yet(spark, tmp_path, seed):
    history, random = random_history(seed, items=12, tables=2, keyless=0.4), Random(seed)
    flavor, cut = random.choice(("mysql", "mariadb")), random.randrange(6, len(history.items))
    former = replace(history.log(flavor), items=history.items[:cut])

    def replica(n_items: int) -> LakeRun:
        """Its log, as far as so many items."""
        log = history.log(flavor, basename="replica", compression=True, end="open")
        write_logs(tmp_path / "replica", replace(log, items=log.items[:n_items]), 4_000)
        return LakeRun(spark, tmp_path / "replica", run.folder)

    run = run_of(spark, tmp_path, lambda folder: write_logs(folder, former, 3_000))
    run.all_hops()
    before = run.gold()
    with pytest.raises(RefusedError) as refused:
        replica(cut).ingest_job()
    assert refused.value.code == "lake-source"
    follow(replica(cut), failover="follow")
    assert run.gold() == before
    assert list(replica(cut).ingest_job().step(QUIET)) == []
    follow(replica(len(history.items)))
    assert run.gold() == expected_gold(history)
    rows = (
        spark.table(run.lake.names.bronze_events).orderBy("lsn").select("lsn", "tx_lsn", "gtid", "log_file").collect()
    )
    gtids = [row.gtid for row in rows if row.gtid and row.lsn == row.tx_lsn]
    assert len(gtids) == len(set(gtids))
    assert {(unpack_lsn(row.lsn)[0], Path(row.log_file).stem) for row in rows} == {(0, "binlog"), (1, "replica")}


def follow(run: LakeRun, **given) -> None:
    list(run.ingest_job(**given).step(QUIET))
    run.assemble()
    run.apply()
