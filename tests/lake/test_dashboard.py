"""Each query of the bundle's dashboard, on a lake that has something for all of them."""

from __future__ import annotations

import json
import re
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import mirrorlake
from mirrorlake.config import Options
from mirrorlake.errors import REFUSALS
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.lake.delta.names import SYSTEM_TABLES
from mirrorlake.lake.gold.control.register import TableRegister
from mirrorlake.lake.gold.control.runs import RunRow, record

ROOT = Path(__file__).resolve().parents[2]
DASHBOARD = json.loads((ROOT / "resources/health.lvdash.json").read_text("utf-8"))
EXPECTED = json.loads((Path(mirrorlake.__file__).parent / "demo_data/mysql/expected.json").read_text("utf-8"))
MINUTE = datetime(2026, 11, 21, 16, 31, tzinfo=timezone.utc)
NOW = datetime.now(timezone.utc).replace(microsecond=0)
AGO = {minutes: NOW - timedelta(minutes=minutes) for minutes in (5, 6, 90, 95)}


@pytest.fixture(scope="module")
def lake(demo, spark, tmp_path_factory):
    """The demo's lake with its DDL and its refused table, and runs, sizes and invalid values of ours."""
    folder = tmp_path_factory.mktemp("dashboard") / "lake"
    shutil.copytree(demo.lakes["mysql"], folder)
    lake = open_lake(Options(lake=str(folder)), spark)
    spark.sql(f"DELETE FROM {lake.names.control_runs}")
    (orders,) = (entry.mirror_id for entry in TableRegister.read(lake) if entry.table == "orders")
    sizes = [{"table": "silver_changes", "files": 3, "bytes": 2_500_000}, {"table": orders, "files": 1, "bytes": 4_500}]
    for row in (
        RunRow("m", "maintain", "me", "1", AGO[95], AGO[95], AGO[95], "ok", sizes=sizes[:1]),
        RunRow("n", "maintain", "me", "1", AGO[90], AGO[90], AGO[90], "ok", sizes=sizes),
        RunRow("r", "run", "me", "1", AGO[6], AGO[6]),
        RunRow("r", "run", "me", "1", AGO[6], AGO[5], AGO[5], "lag", 7, 2, 1, 90.0),
    ):
        record(lake, row)
    spark.sql(
        f"INSERT INTO {lake.names.silver_changes} (lsn, tx_lsn, op, database, table, commit_ts, invalid) VALUES"
        " (1, 1, 'INSERT', 'old', 't', TIMESTAMP'2026-11-02 10:00:00Z', 2),"
        " (2, 2, 'UPDATE', 'old', 't', TIMESTAMP'2026-11-02 11:00:00Z', 1)"
    )
    return lake


def found(lake, name: str) -> list[dict]:
    """The rows of a dataset; every field that a widget asks for is a column of it."""
    (lines,) = (dataset["queryLines"] for dataset in DASHBOARD["datasets"] if dataset["name"] == name)
    tables = rf"(?<!')\b({'|'.join(SYSTEM_TABLES)})\b(?!')"
    rows = lake.spark.sql(re.sub(tables, lambda table: lake.names.system_table(table[1]), "".join(lines))).toArrow()
    for page in DASHBOARD["pages"]:
        for query in [query["query"] for item in page["layout"] for query in item["widget"]["queries"]]:
            if query["datasetName"] == name:
                assert {field["name"] for field in query["fields"]} <= set(rows.column_names)
    return rows.to_pylist()


def test_the_mirrors_are_as_late_as_the_newest_complete_run(lake):
    (late,) = found(lake, "late")
    assert late["minutes"] - (datetime.now(timezone.utc) - NOW) // timedelta(minutes=1) in (6, 7)
    assert found(lake, "lag") == [{"minute": AGO[5].replace(second=0), "verb": "run", "lag_minutes": 1.5}]


def test_runs_are_shown_once_with_their_newest_row(lake):
    assert [list(run.values()) for run in found(lake, "runs")] == [
        [AGO[6], "run", "lag", AGO[5], AGO[5], "me", 2, 1, 1.5, "1"],
        [AGO[90], "maintain", "ok", AGO[90], AGO[90], "me", 0, None, None, "1"],
        [AGO[95], "maintain", "ok", AGO[95], AGO[95], "me", 0, None, None, "1"],
    ]


def test_a_refused_table_has_its_reason_and_what_to_do(lake):
    assert found(lake, "states") == [{"mirrors": len(EXPECTED["tables"]), "refused": 1}]
    (refused,) = found(lake, "refused")
    assert {refused["table_name"]: refused["code"]} == EXPECTED["refused"]
    assert refused["next_step"] == REFUSALS[refused["code"]] and "visit_id" in refused["reason"]


def test_changes_are_counted_by_minute_and_table_of_the_last_day_that_has_some(lake):
    assert found(lake, "changes") == [
        {"minute": MINUTE, "table_name": table, "changes": sum(of_table.values())}
        for table, of_table in sorted(EXPECTED["changes"].items())
    ]


def test_ddl_is_shown_with_its_tables_and_its_effect(lake):
    ddl = [(row["table_names"], " ".join(row["statement"].split()[:3]), row["effect"]) for row in found(lake, "ddl")]
    assert ddl[:5] == [
        ("shop.visits", "ALTER TABLE visits", "compared"),
        ("shop.products", "ALTER TABLE products", "compared"),
        ("shop.carts", "DROP TABLE `carts`", "registered"),
        ("shop.carts", "CREATE TABLE carts", "compared"),
        ("shop.orders", "ALTER TABLE orders", "compared"),
    ]
    assert (len(ddl), ddl[-1]) == (14, ("shop", "CREATE DATABASE shop", "none"))


def test_invalid_values_are_counted_by_table(lake):
    first, last = (datetime(2026, 11, 2, hour, tzinfo=timezone.utc) for hour in (10, 11))
    assert found(lake, "invalid") == [
        {"table_name": "old.t", "invalid_values": 3, "changed_rows": 2, "first_at": first, "last_at": last}
    ]


def test_files_and_bytes_are_those_of_the_last_maintenance(lake):
    (orders,) = (entry.mirror_id for entry in TableRegister.read(lake) if entry.table == "orders")
    assert found(lake, "sizes") == [
        {"table_name": "silver_changes", "mirror_id": None, "files": 3, "megabytes": 2.5},
        {"table_name": "shop.orders", "mirror_id": orders, "files": 1, "megabytes": 0.005},
    ]
    assert found(lake, "growth") == [
        {"started": AGO[95], "megabytes": 2.5, "files": 3},
        {"started": AGO[90], "megabytes": 2.505, "files": 4},
    ]
