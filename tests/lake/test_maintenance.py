import os
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from mirrorlake.config import Options
from mirrorlake.errors import UsageError
from mirrorlake.jobs.maintenance import maintain
from mirrorlake.lake.delta.creation import create_table
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.maintenance import (
    BUSY,
    COMPACTED,
    LINKED,
    UNCHANGED,
    compact,
    drop_feature,
    keep_history,
    remove_mirror,
    remove_staged,
)
from mirrorlake.lake.delta.names import LakeNames, local_folder, table_exists
from mirrorlake.lake.delta.progress import append_from, read_progress
from mirrorlake.lake.gold.control import retired
from mirrorlake.lake.gold.control import table as gold
from mirrorlake.lake.gold.control.register import TableEntry
from mirrorlake.lake.gold.control.retired import _ends

SOURCE = "files:mysql:1:binlog"


@pytest.fixture
def names(lake_dir):
    return LakeNames(str(lake_dir))


def entry(lsn, table, state, mirror_id, epoch=None):
    return TableEntry(lsn, "shop", table, state, mirror_id, epoch=epoch or 10 * lsn)


def test_a_mirror_ends_with_the_drop_or_the_next_create_of_its_table():
    entries = [
        entry(1, "a", "streaming", "a__1"),
        entry(2, "b", "streaming", "b__2"),
        entry(3, "a", "refused", "a__1"),
        entry(4, "a", "dropped", None),
        entry(5, "b", "streaming", "b__5"),
        entry(6, "a", "streaming", "a__6"),
        entry(7, "c", "refused", None),
        entry(8, "a", "streaming", "a__copy", epoch=80),  # and another copy, with nothing new in the log
        entry(8, "a", "streaming", "a__another", epoch=81),
    ]
    ended = {"a__1": 40, "b__2": 50, "a__6": 80, "a__copy": 81}
    assert _ends(entries) == ended | {"b__5": None, "a__another": None}


def test_only_mirrors_that_ended_before_the_retention_are_removable(spark, names):
    gold.create(spark, names)
    lake = Lake(spark, names, SOURCE, "mysql")
    rows = [(1, "a", "a__1", "streaming", 7), (2, "b", "b__2", "streaming", 7)]
    rows += [(3, "a", None, "dropped", 8), (4, "b", None, "dropped", 9)]
    registered = spark.createDataFrame(rows, "lsn BIGINT, table STRING, mirror_id STRING, state STRING, epoch BIGINT")
    registered.withColumn("database", F.lit("shop")).writeTo(names.control_tables).append()
    spark.sql(
        f"INSERT INTO {names.control_epochs} (epoch, phase, kind, at) VALUES"
        " (8, 'done', 'ddl', current_timestamp() - INTERVAL 31 DAYS),"
        " (9, 'plan', 'ddl', current_timestamp() - INTERVAL 31 DAYS),"
        " (9, 'done', 'ddl', current_timestamp() - INTERVAL 29 DAYS)"
    )
    assert retired.mirrors(lake, retention_days=30) == (["b__2"], ["a__1"])


def test_a_removed_mirror_is_gone_and_removing_it_again_does_nothing(spark, names):
    create_table(spark, names.mirror("a__1"), "id INT")
    assert remove_mirror(spark, names, "a__1") == "removed"
    assert not table_exists(spark, names.mirror("a__1")) and not os.path.exists(names.mirror_path("a__1"))
    assert remove_mirror(spark, names, "a__1") == UNCHANGED


def test_a_table_that_stands_still_gets_no_commits_and_keeps_its_progress(spark, names):
    table, progress = names.bronze_events, None
    create_table(spark, table, "lsn BIGINT")
    for lsn in (1, 2):
        rows = spark.range(lsn, lsn + 1).toDF("lsn")
        progress = append_from(spark, table, rows, expected=progress, new_lsn=lsn, payload={})
    assert compact(spark, table, 30) == COMPACTED
    newest = spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").first().version
    assert compact(spark, table, 30) == UNCHANGED
    assert spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").first().version == newest
    assert read_progress(spark, table) == progress and spark.table(table).count() == 2
    assert spark.sql(f"DESCRIBE DETAIL {table}").first().numFiles == 1


def test_a_conflict_is_left_for_next_time(spark, names, monkeypatch):
    class Overtaken:
        def sql(self, statement):
            if statement.startswith("OPTIMIZE"):
                raise RuntimeError("[DELTA_CONCURRENT_DELETE_READ] another commit was quicker")
            return spark.sql(statement)

        def __getattr__(self, name):
            return getattr(spark, name)

    table = names.bronze_events
    create_table(spark, table, "lsn BIGINT")
    append_from(spark, table, spark.range(1).toDF("lsn"), expected=None, new_lsn=1, payload={})
    assert compact(Overtaken(), table, 30) == BUSY


def test_files_that_a_link_in_a_tables_folder_leads_to_stay(spark, names, tmp_path):
    """A lake may come from somebody else, and Delta's VACUUM follows links."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "old.txt").touch()
    os.utime(outside / "old.txt", (10**9, 10**9))
    table = names.bronze_events
    create_table(spark, table, "lsn BIGINT")
    append_from(spark, table, spark.range(1).toDF("lsn"), expected=None, new_lsn=1, payload={})
    link = local_folder(table) / "elsewhere"
    link.symlink_to(outside)
    assert (compact(spark, table, 30), drop_feature(spark, table, "deletionVectors")) == (LINKED, LINKED)
    assert (outside / "old.txt").exists()
    link.unlink()
    assert compact(spark, table, 30) == COMPACTED


def test_a_table_whose_folder_is_a_link_stays(spark, names, tmp_path):
    table, folder, outside = names.mirror("a__1"), Path(names.mirror_path("a__1")), tmp_path / "outside"
    create_table(spark, table, "lsn BIGINT")
    append_from(spark, table, spark.range(1).toDF("lsn"), expected=None, new_lsn=1, payload={})
    folder.rename(outside)
    folder.symlink_to(outside)
    before = sorted(outside.rglob("*"))
    keep_history(spark, table, 99)
    assert (compact(spark, table, 30), drop_feature(spark, table, "deletionVectors")) == (LINKED, LINKED)
    assert remove_mirror(spark, names, "a__1") == LINKED and sorted(outside.rglob("*")) == before


def test_a_table_stays_whose_lake_has_a_link_to_the_folder_of_all_its_mirrors(spark, names, lake_dir, tmp_path):
    """Otherwise a lake of somebody else removes any Delta table of this user, also one of another lake."""
    table, outside = names.mirror("a__1"), tmp_path / "outside"
    create_table(spark, table, "lsn BIGINT")
    (lake_dir / "gold").rename(outside)
    (lake_dir / "gold").symlink_to(outside)
    before = sorted(outside.rglob("*"))
    assert remove_mirror(spark, names, "a__1") == LINKED and sorted(outside.rglob("*")) == before


def test_old_staged_batches_are_removed_and_all_else_in_the_folder_stays(names, lake_dir, tmp_path):
    """The folder may be an option, and have been there before. In use: a batch of today."""
    crashed, running, filled = (letter * 32 for letter in "abc")
    staged = lake_dir / "_staging/ingest"
    paths = (f"{crashed}/00000.parquet", f"{running}/00000.parquet", f"{filled}/letter.txt", "photos/00000.parquet")
    for path in paths:
        (staged / path).parent.mkdir(parents=True)
        (staged / path).touch()
    (staged / ("d" * 32)).symlink_to(staged / "photos")
    (lake_dir / "_staging/assemble").symlink_to(staged)
    for folder in staged.iterdir():
        os.utime(folder, None if folder.name == running else (10**9, 10**9))
    assert remove_staged(names, "assemble", 7) == 0 and remove_staged(names, "ingest", 7) == 1
    assert sorted(folder.name for folder in staged.iterdir()) == [running, filled, "d" * 32, "photos"]


def test_a_staged_batch_that_its_run_removes_at_the_same_time_is_gone(names, lake_dir, monkeypatch):
    batch = lake_dir / "_staging/ingest" / ("a" * 32)
    batch.mkdir(parents=True)
    os.utime(batch, (10**9, 10**9))

    def removed_then(folder: Path) -> bool:
        if folder == batch:
            batch.rmdir()
        return True

    monkeypatch.setattr(Path, "is_dir", removed_then)
    assert remove_staged(names, "ingest", 7) == 0


@pytest.mark.parametrize("days", [29, -1, 36_501, 10**11])
def test_a_retention_shorter_than_the_replay_window_or_without_an_end_is_refused(lake_dir, days):
    with pytest.raises(UsageError, match="from 30 to 36,500 days"):
        maintain(Options(lake=str(lake_dir)), retention_days=days)
