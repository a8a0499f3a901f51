"""``control_runs``: a row for each run, what ends a run with an error after its work, and a lake that shows both."""

from __future__ import annotations

import getpass
import json
import platform
import re
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml
from pyspark.errors import AnalysisException

import mirrorlake
from mirrorlake.config import Options
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.maintenance import RUN_DAYS, maintain
from mirrorlake.jobs.run import hops, run_log
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.jobs.workspace.status import read_health
from mirrorlake.lake.delta.names import SYSTEM_TABLES, LakeNames
from mirrorlake.lake.gold.control.runs import RunRow, last_runs, record
from tests.support.binlog_spec import Log
from tests.support.command_line import complaint, mirrorlake_cli
from tests.support.ddl_log import ddl, insert, table
from tests.support.lake_runs import LakeRun

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(mirrorlake.__file__).parent / "demo_data/mysql"
BY = f"{getpass.getuser()}@{platform.node()}"
THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


@pytest.fixture
def options(demo, lake_dir) -> Options:
    """The demo's lake, a copy, with a table that is refused and nothing left to do."""
    shutil.copytree(demo.lakes["mysql"], lake_dir)
    shutil.rmtree(lake_dir / "control/runs")  # as in a lake from before this table
    return Options(source=f"files:{DATA}", lake=str(lake_dir))


def rows(options: Options, spark) -> list[RunRow]:
    """All rows, in the order in which they were written."""
    table = open_lake(options, spark).names.control_runs
    return [RunRow(**row) for row in spark.table(table).orderBy("at").toArrow().to_pylist()]


def as_texts(rows) -> list[dict[str, str | None]]:
    """Rows as a SQL warehouse gives them."""
    found = rows.toArrow().to_pylist()
    return [{name: None if value is None else str(value) for name, value in row.items()} for row in found]


def test_a_run_leaves_a_row_when_it_begins_and_one_when_it_ends(options, spark):
    assert last_runs(open_lake(options, spark), 10) == []
    before = datetime.now(timezone.utc)
    hops.run(options, Watcher(), spark)
    hops.assemble(options, Watcher(), spark)
    first, last, began, ended = rows(options, spark)
    assert first == RunRow(first.run, "run", BY, mirrorlake.__version__, first.started, first.at, refused=1)
    assert last == RunRow(
        first.run, "run", BY, mirrorlake.__version__, first.started, last.at, last.at, "ok", None, 0, 1, last.lag_s
    )
    assert before < first.started <= first.at < last.at
    assert 0 < last.lag_s < (datetime.now(timezone.utc) - before).total_seconds()
    assert (began.verb, began.outcome, ended.verb, ended.outcome, ended.refused) == (
        "assemble",
        None,
        "assemble",
        "ok",
        None,
    )
    assert [run.run for run in last_runs(open_lake(options, spark), 10)] == [ended.run, last.run]


def test_a_run_that_continues_gives_signs_of_life_and_one_that_fails_its_code(options, spark, monkeypatch):
    class Fails(Watcher):
        n_looks = 0

        def complete(self, at):
            self.n_looks += 1
            if self.n_looks == 3:
                raise RefusedError("log-gap", "for this test")

    monkeypatch.setattr(run_log, "BEAT_S", 0.0)
    with pytest.raises(RefusedError):
        hops.run(options.model_copy(update={"follow": True}), Fails(), spark)
    assert [(row.ended is None, row.outcome) for row in rows(options, spark)] == [
        (True, None), (True, None), (True, None), (True, None), (False, "log-gap"),
    ]  # fmt: skip


def test_a_run_whose_rows_cannot_be_written_does_its_work_and_says_so_once(options, spark, capsys):
    run_log.warn.cache_clear()
    lake, control = open_lake(options, spark), Path(options.lake, "control")
    shutil.rmtree(control)
    control.write_text("no folder")
    with run_log.recorded(lake, "assemble", Watcher()) as log:
        log.begins()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: control_runs does not show this run: ")


def test_a_run_ends_with_an_error_if_tables_are_refused_or_the_lag_is_too_large_and_it_is_asked_for(options, spark):
    run = ("run", "--source", options.source, "--lake", options.lake)
    assert mirrorlake_cli(*run).exit_code == 0
    refused = mirrorlake_cli(*run, "--fail-on", "refused")
    assert (refused.exit_code, refused.stderr.splitlines()[-2]) == (3, "tables-refused: shop.visits (needs-resync)")
    late = mirrorlake_cli(*run, "--max-lag", "0.0001")
    assert (late.exit_code, late.stderr.splitlines()[-2]) == (4, "lag: the lag is 0 s, and may be 0 s")
    assert mirrorlake_cli(*run, "--max-lag", "10m").exit_code == 0
    status = ("status", "--lake", options.lake)
    shown = mirrorlake_cli(*status, "--json", "--max-lag", "1h")
    found = json.loads(shown.stdout)
    assert shown.exit_code == 0 and 0 < found["lag_s"] < 600
    assert [(run["outcome"], run["refused"]) for run in found["runs"]] == [
        ("ok", 1), ("lag", 1), ("tables-refused", 1), ("ok", 1),
    ]  # fmt: skip
    in_warehouse = read_health(lambda sql: as_texts(spark.sql(sql)), LakeNames(options.lake)).to_json()
    assert found["lag_s"] < in_warehouse.pop("lag_s") < found["lag_s"] + 600
    assert in_warehouse == {name: found[name] for name in ("tables", "refused", "runs")}
    assert mirrorlake_cli(*status, "--max-lag", "0.001").exit_code == 4
    assert json.loads(mirrorlake_cli(*status, "--source", options.source, "--json").stdout)["lag_s"] == 0.0


def test_the_lag_of_a_lake_without_a_complete_run_is_not_known(options, spark):
    lines = mirrorlake_cli("status", "--lake", options.lake, "--max-lag", "1h").stderr.splitlines()
    assert lines[0] == "lag: the lag is not known, and may be 3,600 s"


@pytest.mark.parametrize("asked", [("--fail-on", "refused"), ("--max-lag", "1m")])
def test_a_run_that_follows_has_no_end_to_check(asked):
    run = ("run", "--source", "files:x", "--lake", "x")
    assert complaint(mirrorlake_cli(*run, "--follow", *asked))[:2] == (2, "usage")


def alerted(options: Options, spark) -> dict[str, int | None]:
    """The number that each alert of the bundle finds."""
    names = open_lake(options, spark).names
    resources = yaml.safe_load((ROOT / "resources/health.alert.yml").read_text())["resources"]
    schema = re.escape("${var.catalog}.${resources.schemas.lake.name}.")
    queries = {
        name: re.sub(rf"{schema}(\w+)", lambda found: names.system_table(found[1]), alert["query_text"])
        for name, alert in resources["alerts"].items()
    }
    return {name: spark.sql(query).first()[0] for name, query in queries.items()}


def test_the_alerts_of_the_bundle_find_what_is_late_refused_and_without_a_run(options, spark):
    hops.assemble(options, Watcher(), spark)
    assert alerted(options, spark) == {"late": 0, "refused": 1, "no_run": 0}
    lake, ago = open_lake(options, spark), datetime.now(timezone.utc) - timedelta(minutes=50, seconds=30)
    spark.sql(f"DELETE FROM {lake.names.control_runs}")
    for verb, lag_s in (("apply", 600.0), ("assemble", 60.0), ("ingest", None)):
        record(lake, RunRow(verb, verb, BY, "0", ago, ago, lag_s=lag_s))
    record(lake, RunRow("m", "maintain", BY, "0", THEN, datetime.now(timezone.utc)))
    assert alerted(options, spark) == {"late": 60, "refused": 1, "no_run": 50}
    record(lake, RunRow("r", "run", BY, "0", ago, ago, lag_s=0.0))
    assert alerted(options, spark) == {"late": 50, "refused": 1, "no_run": 50}


def test_maintenance_leaves_rows_with_sizes_or_a_code_also_in_a_table_without_sizes_and_forgets_old_runs(
    spark, tmp_path
):
    items = (ddl("create database shop"), ddl("create table t (id int primary key)"), insert(table("t", "id"), (1,)))
    run = LakeRun.up_to_silver(spark, Log("mysql", items), tmp_path)
    run.apply()
    options = run.options()
    hops.assemble(options, Watcher(), spark)
    lake = open_lake(options, spark)
    older = spark.table(lake.names.control_runs).drop("sizes").limit(1).cache()
    at = datetime.now(timezone.utc) - timedelta(days=RUN_DAYS + 1)
    older.count()
    older.writeTo(lake.names.control_runs).using("delta").replace()
    assert last_runs(lake, 1)[0].sizes is None
    record(lake, RunRow("old", "run", BY, "0", THEN, at))
    maintain(options, spark)
    runs = rows(options, spark)
    assert [(row.verb, row.outcome, row.rows) for row in runs] == [
        ("assemble", runs[0].outcome, 0), ("maintain", None, 0), ("maintain", "ok", 0),
    ]  # fmt: skip
    sizes = {size["table"]: (size["files"], size["bytes"]) for size in runs[-1].sizes}
    files = [file.stat().st_size for file in Path(options.lake, "silver/changes").glob("*.parquet")]
    assert sizes["silver_changes"][0] == 1 and sizes["silver_changes"][1] in files
    (n_mirrors,) = spark.sql(f"SELECT count(DISTINCT mirror_id) FROM {lake.names.control_tables}").first()
    assert len(sizes) == len(SYSTEM_TABLES) + n_mirrors
    shutil.rmtree(Path(options.lake, "control/syncpoints"))
    with pytest.raises(AnalysisException):
        maintain(options, spark)
    failed = [(row.verb, row.outcome, row.sizes) for row in rows(options, spark)][-2:]
    assert failed == [("maintain", None, None), ("maintain", "lake-damaged", None)]
