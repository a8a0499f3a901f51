"""The demo: real logs through all hops, stopped and resumed, equal to what the servers held."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import mirrorlake
from mirrorlake.config import Options
from mirrorlake.errors import REFUSALS, UsageError
from mirrorlake.jobs.demo.run import MARK, run_demo
from mirrorlake.jobs.inspect.tables import list_tables
from mirrorlake.jobs.run.open import open_lake
from tests.support.canonical import TableDigest, mirror_rows

DATA = Path(mirrorlake.__file__).parent / "demo_data"
FLAVORS = ("mariadb", "mysql")


@pytest.fixture(params=FLAVORS)
def lake(request, demo, spark):
    return open_lake(Options(lake=str(demo.lakes[request.param])), spark)


@pytest.fixture
def expected(lake):
    return json.loads((DATA / lake.flavor / "expected.json").read_text())


def test_every_mirror_equals_the_table_on_the_server(lake, expected, spark):
    mirrors = {f"{t['database']}.{t['table']}": t for t in list_tables(lake) if t["state"] == "streaming"}
    found = {
        name: TableDigest.of(mirror_rows(spark.read.format("delta").load(table["path"]).toArrow()))
        for name, table in mirrors.items()
    }
    assert found == {name: TableDigest(**digest) for name, digest in expected["tables"].items()}


def test_what_is_refused_is_refused_by_name(lake, expected):
    refused = {f"{t['database']}.{t['table']}": t["code"] for t in list_tables(lake) if t["state"] == "refused"}
    assert refused == expected["refused"]


def test_silver_has_every_transaction_and_every_change_once(lake, expected):
    silver = lake.spark.table(lake.names.silver_changes).where("op <> 'REFUSED'")
    counts = dict(silver.groupBy("op").count().collect())
    changes = expected["changes"].values()
    assert {op: counts[op] for op in ("INSERT", "UPDATE", "DELETE")} == {
        op: sum(ops[op] for ops in changes) for op in ("INSERT", "UPDATE", "DELETE")
    }
    assert counts["BEGIN"] == counts["COMMIT"] == expected["transactions"]
    assert silver.select("tx_lsn", "ordinal").distinct().count() == silver.count()


def test_bronze_rebuilds_the_log_files_byte_for_byte(lake, expected):
    rows = lake.spark.table(lake.names.bronze_events).orderBy("lsn").select("log_file", "raw").toArrow().to_pylist()
    rebuilt = {name: b"\xfebin" for name in expected["log_files"]}
    for row in rows:
        rebuilt[row["log_file"]] += row["raw"]
    assert {name: data == (DATA / lake.flavor / name).read_bytes() for name, data in rebuilt.items()} == dict.fromkeys(
        expected["log_files"], True
    )


@pytest.mark.parametrize("flavor", FLAVORS)
def test_the_demo_stops_at_the_middle_and_goes_on_from_there(demo, flavor):
    log_files = json.loads((DATA / flavor / "expected.json").read_text())["log_files"]
    assert f"stopped at binlog.000002:{log_files['binlog.000002']}: ingest" in demo.report
    assert demo.report.count("started again: continues from what the lake's commits recorded") == 2
    ingested = [line.split()[1] for line in demo.progress.splitlines() if line.startswith("ingest")]
    assert [first[:7] for first in ingested] == ["000000:", "000002:"] * 2


def test_the_report_follows_a_transaction_from_the_mirror_to_raw_events(demo):
    after = demo.report.split("One transaction")[1]
    assert [after.index(text) for text in ("1. gold", "2. silver", "3. bronze")] == sorted(
        after.index(text) for text in ("1. gold", "2. silver", "3. bronze")
    )
    for name in ("BEGIN", "COMMIT", "MARIADB_GTID", "TABLE_MAP", "XID", "0-10-"):
        assert name in after


def test_the_report_names_the_refused_table_and_what_to_do(demo):
    assert demo.report.count("refused   shop.visits: needs-resync: ") == 2
    assert demo.report.count(REFUSALS["needs-resync"]) == 2


def test_a_folder_that_the_demo_has_not_made_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UsageError, match="no demo lake"):
        run_demo(str(tmp_path), "mysql", io.StringIO(), io.StringIO())
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_demo_lake_is_marked_as_one(demo):
    assert all((lake / MARK).exists() for lake in demo.lakes.values())
