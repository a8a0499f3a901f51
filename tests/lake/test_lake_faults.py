"""What can happen to a lake between two runs or during one: it continues, or a name says what is wrong."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import MirrorlakeError, RefusedError
from mirrorlake.jobs.inspect.status import read_status
from mirrorlake.jobs.maintenance import maintain
from mirrorlake.jobs.run.replicate import run_all
from mirrorlake.lake.delta.failures import as_ours
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.gold.control.register import REFUSED, STREAMING
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_spec import Insert, Log, Transaction
from tests.support.binlog_writer import EncodedFile, encode_logs, write_logs
from tests.support.crash import SimulatedCrash, crash_at
from tests.support.histories import History
from tests.support.history_generator import Generator
from tests.support.lake_checks import check
from tests.support.lake_runs import QUIET, LakeRun, expected_gold

pytestmark = pytest.mark.xdist_group("lake_faults")

SEED, DAY = 5, 86_400


def two_tables() -> tuple[History, list[EncodedFile]]:
    """Two tables of one database that every transaction changes; a file of log for each of them."""
    generator = Generator(SEED, ("shop",))
    generator.create_tables(2)
    for _ in range(6):
        generator.statements = []
        for table in generator.schemas.values():
            generator._insert(table)
            generator._update(table)
        generator.items.append(Transaction(tuple(generator.statements)))
    history = History(SEED, tuple(generator.items))
    return history, encode_logs(history.log("mysql"), 1)


HISTORY, FILES = two_tables()
TABLES = list(HISTORY.schemas)
HALF = len(FILES) - 3


@pytest.fixture(scope="module")
def half(spark, tmp_path_factory) -> Path:
    """A folder with the first files and the lake made of them."""
    folder = tmp_path_factory.mktemp("half")
    (folder / "logs").mkdir()
    bring(folder / "logs", HALF)
    LakeRun(spark, folder / "logs", folder / "lake").all_hops()
    return folder


@pytest.fixture
def run(spark, half, tmp_path) -> LakeRun:
    """A copy of that lake, in another folder."""
    shutil.copytree(half, tmp_path / "copy")
    return LakeRun(spark, tmp_path / "copy/logs", tmp_path / "copy/lake")


def bring(logs: Path, count: int = len(FILES)) -> None:
    """The first files of the log."""
    for encoded in FILES[:count]:
        (logs / encoded.name).write_bytes(encoded.data)


def finish(run: LakeRun) -> None:
    bring(run.logs)
    run.all_hops()
    check(run, HISTORY)


def failure(work) -> MirrorlakeError:
    with pytest.raises(Exception) as raised:  # noqa: B017
        work()
    return as_ours(raised.value)


def parquet_files(folder: str) -> list[Path]:
    return [path for path in Path(folder).rglob("*.parquet") if "_delta_log" not in path.parts]


def mirror_id(run: LakeRun, number: int) -> str:
    return run.register.get(TABLES[number]).mirror_id


# --- places


def test_a_lake_that_was_copied_elsewhere_goes_on_there(run):
    finish(run)


def test_gold_takes_what_is_durable_in_silver_and_the_rest_waits(run):
    """Bursts: gold's input ends at silver's fence, inside what bronze holds; equality counts as inside."""
    lake, options = run.lake, run.options(source=None)

    def state() -> tuple:
        status = read_status(lake, options)
        lsns = status.bronze.lsn, status.silver.lsn, status.gold.lsn
        return *lsns, status.silver.waiting, status.gold.waiting, status.gold.lag_bytes > 0

    start = state()
    assert start[0] == start[1] == start[2] and start[3:] == (0, 0, False)
    changes = [transaction.count for transaction in HISTORY.transactions]
    bring(run.logs, HALF + 1)
    run.ingest()
    run.assemble()
    fence = state()[1]
    bring(run.logs)
    run.ingest()
    run.apply()
    bronze, silver, gold, events, held, is_behind = state()
    assert bronze > silver == gold == fence and events > 0 and held == 0 and is_behind
    assert run.gold() == expected_gold(History(SEED, HISTORY.items[: HALF + 1]))
    run.assemble()
    assert state()[3:5] == (0, sum(changes[HALF + 1 :])) != (0, 0)
    run.apply(epoch_changes=1)
    check(run, HISTORY)


def test_a_ddl_that_a_killed_assemble_had_written_down_is_still_carried_out(spark, tmp_path, monkeypatch):
    """In memory from hop to hop, where the rows of a small batch are not looked up again."""
    write_logs(tmp_path / "logs", HISTORY.log("mysql"))
    run = LakeRun(spark, tmp_path / "logs", tmp_path / "lake")
    with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):
        crash_at(patch, "mirrorlake.lake.delta.progress.append_from", "before", 2)  # the first is bronze's
        run_all(run.lake, FileSource(run.logs), run.options(), QUIET)
    run_all(run.lake, FileSource(run.logs), run.options(), QUIET)
    assert {entry.state for entry in run.register} == {STREAMING}
    check(run, HISTORY)


# --- storage


@pytest.fixture
def small_disk(tmp_path) -> Path:
    """A file system of 6 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(disk)], capture_output=True).returncode:
        pytest.skip("a small file system needs the right to mount")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_stops_a_run_by_name_and_the_next_one_goes_on(spark, half, small_disk):
    shutil.copytree(half, small_disk / "copy")
    run = LakeRun(spark, small_disk / "copy/logs", small_disk / "copy/lake")
    bring(run.logs)
    ballast, codes = small_disk / "ballast", []
    for free_kb in (0, 8, 24, 60, 120):  # staging, the data, Delta's log: each may be the first that does not fit
        ballast.unlink(missing_ok=True)
        status = os.statvfs(small_disk)
        ballast.write_bytes(bytes(max(0, status.f_bavail * status.f_frsize - free_kb * 1024)))
        try:
            run.all_hops()
        except Exception as error:
            codes.append((as_ours(error).code, as_ours(error).exit_code))
    assert codes and set(codes) == {("lake-storage", 4)}
    ballast.unlink()
    finish(run)


def test_a_batch_for_which_there_is_no_room_leaves_no_file(spark, small_disk):
    table = TableSchema(
        "d", "t", (Column("id", ColumnType("int"), False), Column("b", ColumnType("longblob"))), ("id",)
    )
    rows = Insert(table, [{"id": 1, "b": random.Random(1).randbytes(2 << 20)}])
    write_logs(small_disk / "logs", Log("mysql", [Transaction([rows])]))
    run = LakeRun(spark, small_disk / "logs", small_disk / "lake")
    for _ in range(3):
        assert (failure(run.ingest).code, parquet_files(small_disk / "lake")) == ("lake-storage", [])


@pytest.mark.parametrize("layer", ["bronze", "silver"])
def test_a_data_file_that_is_gone_is_named_and_once_back_the_run_goes_on(run, tmp_path, layer):
    bring(run.logs)
    run.ingest()
    run.assemble() if layer == "silver" else None
    folder = {"bronze": f"{run.folder}/bronze/events", "silver": f"{run.folder}/silver/changes"}[layer]
    hidden = [(path, tmp_path / path.name) for path in parquet_files(folder)]
    for path, elsewhere in hidden:
        shutil.move(path, elsewhere)
    error = failure(run.all_hops)
    assert (error.code, error.exit_code) == ("lake-damaged", 3) and folder in str(error)
    for path, elsewhere in hidden:
        shutil.move(elsewhere, path)
    finish(run)


@pytest.mark.heavy
def test_maintenance_by_others_between_the_steps_of_a_run_changes_nothing(run):
    spark, names = run.spark, run.lake.names
    tables = [names.bronze_events, names.silver_changes, names.control_epochs, names.mirror(mirror_id(run, 0))]
    bring(run.logs)
    for step in (run.ingest, run.assemble, run.apply):
        step()
        for table in tables:
            spark.sql(f"OPTIMIZE {table}")
            spark.sql(f"VACUUM {table}")
    maintain(run.options(source=None), spark)
    run.all_hops()
    check(run, HISTORY)


@pytest.mark.long
def test_clocks_of_writers_that_differ_change_nothing(run):
    """Each step's files are dated as a writer dates them whose clock is a day ahead, or a year late."""
    bring(run.logs)
    known: set[Path] = set()
    for step, seconds_off in ((lambda: None, DAY), (run.ingest, -365 * DAY), (run.assemble, DAY), (run.apply, 0)):
        step()
        written = {path for path in run.folder.rglob("*") if path.is_file()} - known
        for path in written:
            os.utime(path, (time.time() + seconds_off,) * 2)
        known |= written
    maintain(run.options(source=None), run.spark)
    run.all_hops()
    check(run, HISTORY)


# --- hands


def restore(run: LakeRun, table: str, steps_back: int) -> int:
    version = run.spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").first().version
    run.spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {version - steps_back}")
    return version


def test_bronze_and_silver_go_on_from_what_a_restore_left(run):
    bring(run.logs)
    run.ingest()
    run.assemble()
    restore(run, run.lake.names.bronze_events, 1)
    restore(run, run.lake.names.silver_changes, 1)
    finish(run)


@pytest.mark.heavy
def test_a_restore_of_what_delta_would_take_for_done_is_refused_until_it_is_taken_back(run):
    bring(run.logs)
    names = run.lake.names
    for table in (names.control_epochs, names.control_tables, names.control_barriers, names.silver_table_schemas):
        newest = restore(run, table, 1)
        error = failure(run.all_hops)
        assert (error.code, error.exit_code) == ("lake-restored", 3)
        run.spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF {newest}")
    finish(run)


def edited(run: LakeRun, mirror: str) -> None:
    run.spark.sql(f"DELETE FROM {mirror} WHERE _lsn >= 0")


def restored(run: LakeRun, mirror: str) -> None:
    restore(run, mirror, 1)


def dropped(run: LakeRun, mirror: str) -> None:
    shutil.rmtree(run.lake.names.mirror_path(mirror_id(run, 0)))


@pytest.mark.parametrize("change", [edited, restored, dropped], ids=lambda change: change.__name__)
@pytest.mark.heavy
def test_a_mirror_that_others_changed_is_refused_and_the_other_tables_go_on(run, change):
    change(run, run.lake.names.mirror(mirror_id(run, 0)))
    bring(run.logs)
    run.all_hops()
    first, second = (run.register.get(name) for name in TABLES)
    assert (first.state, first.code, second.state) == (REFUSED, "mirror-changed", STREAMING)
    assert run.gold() == {second.name: expected_gold(HISTORY)[second.name]}
    run.all_hops()
    maintain(run.options(source=None), run.spark)


# --- Delta's own housekeeping


def age(run: LakeRun, folder: str, days: int) -> None:
    """Make the commits of a table ``days`` days old."""
    moment = time.time() - days * 86400
    for path in Path(run.folder, folder, "_delta_log").iterdir():
        os.utime(path, (moment, moment))


def test_progress_that_delta_has_forgotten_is_refused_and_not_taken_for_an_empty_table(run):
    table = run.lake.names.silver_changes
    age(run, "silver/changes", 40)
    for number in range(3):  # others commit on an idle table; Delta cleans up after a checkpoint
        settings = f"'delta.checkpointInterval' = '1', 'touched' = '{number}'"
        run.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({settings})")
    with pytest.raises(RefusedError) as refused:
        read_progress(run.spark, table)
    assert refused.value.code == "lake-history"
    bring(run.logs)
    assert failure(run.all_hops).code == "lake-history"


def test_a_run_renews_progress_that_lies_below_commits_of_others(run):
    names = run.lake.names
    tables = {
        "bronze/events": names.bronze_events, "silver/changes": names.silver_changes,
        "control/epochs": names.control_epochs,
    }  # fmt: skip
    before = {folder: read_progress(run.spark, table) for folder, table in tables.items()}
    for folder, table in tables.items():
        run.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('touched' = 'once')")
        age(run, folder, 20)
    run.all_hops()
    for folder, table in tables.items():
        after = read_progress(run.spark, table)
        assert (after.lsn, after.payload, after.buried_since) == (before[folder].lsn, before[folder].payload, None)
        assert after.sequence == before[folder].sequence + 1
    versions = run.versions()
    run.all_hops()
    assert run.versions() == versions
    finish(run)
