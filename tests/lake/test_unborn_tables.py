"""A process killed inside CREATE TABLE leaves a folder with a log and no commit; the next run gets over it."""

from __future__ import annotations

import os
import threading
import time

import pytest

from mirrorlake.lake.bronze import table as bronze
from mirrorlake.lake.delta.names import LakeNames, remove_unborn, table_exists


@pytest.mark.parametrize("left_over", [[], [".00000000000000000000.json.1c2f.tmp"]])
def test_a_table_is_created_over_a_log_without_a_commit(spark, lake_dir, left_over):
    names = LakeNames(str(lake_dir))
    log = lake_dir / "bronze/events/_delta_log"
    log.mkdir(parents=True)
    for name in left_over:
        (log / name).touch()
        os.utime(log / name, (0, 0))
    os.utime(log, (0, 0))
    bronze.create(spark, names)
    assert table_exists(spark, names.bronze_events)
    assert spark.table(names.bronze_events).count() == 0


def test_a_table_with_a_commit_is_left_as_it_is(spark, lake_dir):
    names = LakeNames(str(lake_dir))
    bronze.create(spark, names)
    before = sorted(path.name for path in (lake_dir / "bronze/events/_delta_log").iterdir())
    bronze.create(spark, names)
    assert sorted(path.name for path in (lake_dir / "bronze/events/_delta_log").iterdir()) == before


def test_a_table_that_another_process_is_creating_is_left_alone(lake_dir):
    names = LakeNames(str(lake_dir))
    log = lake_dir / "bronze/events/_delta_log"
    log.mkdir(parents=True)
    (log / ".00000000000000000000.json.1c2f.tmp").touch()
    cleaner = threading.Thread(target=remove_unborn, args=[names.bronze_events])
    cleaner.start()
    time.sleep(0.5)
    (log / ".00000000000000000000.json.1c2f.tmp").rename(log / "00000000000000000000.json")
    cleaner.join()
    assert [path.name for path in log.iterdir()] == ["00000000000000000000.json"]
