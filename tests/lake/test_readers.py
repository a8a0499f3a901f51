"""Other programs read the mirrors: the same rows, or a refusal that docs/read-mirrors.md names."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import deltalake
import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mirrorlake.config import Options
from mirrorlake.core.sql_text import literal
from mirrorlake.jobs.inspect.duckdb_file import install_delta, write_duckdb
from mirrorlake.jobs.inspect.tables import list_tables
from mirrorlake.jobs.inspect.views import list_views
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.lake.gold.control.table import LSN_COLUMN
from tests.support.binlog_spec import Ddl, Insert, Log, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.ddl_log import ddl, insert, table
from tests.support.lake_runs import LakeRun, count_as_large
from tests.support.random_tables import create_table_sql, table_of_every_type
from tests.support.values import edge_values

EVERY_TYPE = table_of_every_type("shop", "every_type")
FEATURES = {
    "renamed": "rename column v to u",
    "widened": "modify v bigint",
    "dated": "add d datetime not null default '2026-01-02 03:04:05'",
}


def by_delta_rs(folder: str) -> pa.Table:
    return deltalake.DeltaTable(folder).to_pyarrow_table()


def by_data_fusion(folder: str) -> pa.Table:
    rows = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(folder)).execute("SELECT * FROM t")
    return pa.table(rows.read_all())


def by_polars(folder: str) -> pa.Table:
    return polars.read_delta(folder).to_arrow()


def by_duckdb(folder: str) -> pa.Table:
    with duckdb.connect() as connection:
        install_delta(connection)
        return connection.sql(f"SELECT * FROM delta_scan({literal(folder)})").to_arrow_table()


REFUSED_BY: dict[Callable[[str], pa.Table], set[str]] = {
    by_delta_rs: {"renamed", "widened", "large"},
    by_data_fusion: {"widened"},
    by_polars: {"renamed", "widened"},
    by_duckdb: set(),
}
"""The mirrors that a program cannot read."""
_REFUSALS = (deltalake.exceptions.DeltaError, polars.exceptions.PolarsError)
ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/read-mirrors.md").read_text(encoding="utf-8")
FEATURES_OF = {
    "none": "plain", "timestampNtz": "dated", "columnMapping": "renamed", "typeWidening": "widened",
    "deletionVectors": "large",
}  # fmt: skip
"""Feature in the page's table -> the mirror that has it."""


@pytest.fixture(scope="module")
def mirrors(spark, tmp_path_factory) -> dict[str, tuple[str, list[str]]]:
    """Name -> folder of the mirror and what the source has: a table with every type, and one for each feature of
    Delta."""
    names = [*FEATURES, "large"]
    created = [ddl(f"create table {name} (id int primary key, v int)") for name in names]
    filled = [insert(table(name, "id", "v"), (1, 2), (3, 4)) for name in names]
    altered = [ddl(f"alter table {name} {clauses}") for name, clauses in FEATURES.items()]
    changed = Transaction([Update(table("large", "id", "v"), [({"id": 1, "v": 2}, {"id": 1, "v": 3})])])
    rows = list(rows_of_every_type())
    items = [
        ddl("create database shop charset utf8mb4"), Ddl(create_table_sql(EVERY_TYPE), "shop"), *created,
        Transaction([Insert(EVERY_TYPE, rows)]), *filled, *altered, changed,
    ]  # fmt: skip
    run = LakeRun.up_to_silver(spark, Log("mysql", items), tmp_path_factory.mktemp("readers"))
    with pytest.MonkeyPatch.context() as patch:
        count_as_large(patch)
        run.apply()
    expected = {
        "every_type": rows,
        "renamed": [{"id": 1, "u": 2}, {"id": 3, "u": 4}],
        "widened": [{"id": 1, "v": 2}, {"id": 3, "v": 4}],
        "dated": [{"id": n, "v": n + 1, "d": datetime(2026, 1, 2, 3, 4, 5)} for n in (1, 3)],
        "large": [{"id": 1, "v": 3}, {"id": 3, "v": 4}],
    }
    folders = {entry.table: run.lake.names.mirror_path(entry.mirror_id) for entry in run.register}
    return {name: (folders[name], sorted(map(canonical_row, rows))) for name, rows in expected.items()}


def rows_of_every_type() -> Iterator[dict[str, object]]:
    """Rows in which each column has its largest, smallest and oddest values, and one of NULLs."""
    edges = {column.name: edge_values(column.type) for column in EVERY_TYPE.columns}
    for n in range(max(map(len, edges.values()))):
        yield {name: values[n % len(values)] for name, values in edges.items()} | {"id": n}
    yield dict.fromkeys(edges) | {"id": -1}


@pytest.mark.parametrize("read", REFUSED_BY, ids=lambda read: read.__name__)
@pytest.mark.heavy
def test_a_program_reads_what_the_source_has_or_refuses(read, mirrors):
    found = {name: rows_or_refusal(read, folder) for name, (folder, _) in mirrors.items()}
    assert found == {name: None if name in REFUSED_BY[read] else rows for name, (_, rows) in mirrors.items()}


@pytest.mark.long
def test_spark_3_5_reads_all_but_a_column_that_was_widened(mirrors, tmp_path):
    python = subprocess.run([ROOT / "scripts/spark35.sh"], check=True, capture_output=True, text=True).stdout.strip()
    folders = {name: Path(folder) for name, (folder, _) in mirrors.items()}
    command = [python, ROOT / "tests/support/read_by_spark35.py", tmp_path, *folders.values()]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK_", "SPARK_"))}
    subprocess.run(command, check=True, env={**environment, "PYSPARK_PYTHON": python, "PYTHONPATH": ""})
    parts = {name: list((tmp_path / folder.name).glob("*.parquet")) for name, folder in folders.items()}
    found = {name: pq.ParquetDataset(files).read().to_pylist() if files else None for name, files in parts.items()}
    assert {name: rows and canonical(rows) for name, rows in found.items()} == {
        name: None if name == "widened" else rows for name, (_, rows) in mirrors.items()
    }


def test_the_page_says_what_each_program_reads():
    header, _, *rows = re.findall(r"^\|(.*)\|$", PAGE, re.MULTILINE)
    names = [cell.strip() for cell in header.split("|")[2:]]
    said = {cells[0].strip(): [cell.strip() for cell in cells[2:]] for cells in (row.split("|") for row in rows)}
    assert names == ["deltalake, pandas", "deltalake, SQL", "Polars", "DuckDB"]  # in the order of REFUSED_BY
    assert said == {
        feature: ["no" if mirror in refused else "yes" for refused in REFUSED_BY.values()]
        for feature, mirror in FEATURES_OF.items()
    }


@pytest.fixture(scope="module")
def demo_folder(demo, spark, tmp_path_factory) -> Path:
    """A folder in which the page's examples find what they name."""
    folder = tmp_path_factory.mktemp("examples")
    (folder / "demo-lake").symlink_to(demo.lakes["mysql"])
    views = list_views(open_lake(Options(lake=str(folder / "demo-lake")), spark), "duckdb")
    write_duckdb(folder / "demo.duckdb", {view.name.schema for view in views.views}, views.statements)
    return folder


@pytest.mark.parametrize("example", re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
def test_the_pages_examples_read_the_demo_by_name(demo_folder, monkeypatch, spark, example):
    monkeypatch.chdir(demo_folder)
    names = {}
    exec(example, names)
    lake = open_lake(Options(lake="demo-lake"), spark)
    [mirror] = [
        table["path"] for table in list_tables(lake) if f"{table['database']}.{table['table']}" == "shop.orders"
    ]
    ids = names["orders"]["order_id"]
    expected = sorted(row.order_id for row in spark.read.format("delta").load(mirror).select("order_id").collect())
    assert len(expected) > 400
    assert sorted(int(str(number)) for number in ids) == expected


def rows_or_refusal(read: Callable[[str], pa.Table], folder: str) -> list[str] | None:
    try:
        rows = read(folder).to_pylist()
    except _REFUSALS:
        return None
    return canonical(rows)


def canonical(rows: list[dict]) -> list[str]:
    return sorted(canonical_row({name: value for name, value in row.items() if name != LSN_COLUMN}) for row in rows)
