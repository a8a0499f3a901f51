"""Hidden columns (``columns: drop``): no file of silver or gold has a value of them, through all DDL."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace

import pytest

from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.silver.overrides import give
from tests.support.binlog_spec import Ddl, Delete, Insert, Log, Statement, Transaction, Update
from tests.support.binlog_writer import write_logs
from tests.support.canonical import canonical_row
from tests.support.files_of_lake import files_with, values
from tests.support.lake_runs import LakeRun

SECRET = "+49 170 5550199"
COLUMNS = {"shop.people.phone": "drop", "shop.people.fax": "drop", "*.*.password": "drop"}
ID, V = Column("id", ColumnType("int"), False), Column("v", ColumnType("int"))
TEXT = ColumnType("varchar", length=40, charset="utf8mb4")
NAMES = ("phone", "tel", "fax", "password")


def people(*names: str, table: str = "people") -> TableSchema:
    columns = (Column(name, TEXT) if name in NAMES else V for name in names)
    named = (Column(name, column.type) for name, column in zip(names, columns, strict=True))
    return TableSchema("shop", table, (ID, *named), ("id",))


def row(number: int, *names: str) -> dict:
    return {"id": number} | {name: SECRET if name in NAMES else number for name in names}


def insert(number: int, *names: str, table: str = "people") -> Transaction:
    sql = f"INSERT INTO {table} VALUES ({number}, '{SECRET}')"
    return Transaction([Statement([Insert(people(*names, table=table), [row(number, *names)])], sql=sql)])


KEYLESS = TableSchema("shop", "logins", (Column("v", ColumnType("int")), Column("password", TEXT)), ())
LOGINS = [{"v": v, "password": f"{SECRET} {n}"} for n, v in enumerate((1, 1, 1, 2))]
LOG = Log("mysql", [
    Ddl("CREATE DATABASE shop CHARACTER SET utf8mb4"),
    Ddl("CREATE TABLE people (id INT PRIMARY KEY, phone VARCHAR(40), v INT)", "shop"),
    Ddl("CREATE TABLE logins (v INT, password VARCHAR(40))", "shop"),
    Ddl("CREATE TABLE secrets (password VARCHAR(40) PRIMARY KEY, v INT)", "shop"),
    Transaction([Insert(KEYLESS, LOGINS), Delete(KEYLESS, LOGINS[:1]),
                 Update(KEYLESS, [(LOGINS[1], LOGINS[1] | {"v": 3}), (LOGINS[3], LOGINS[3] | {"password": SECRET})])]),
    insert(1, "phone", "v"),
    insert(2, "phone", "v"),
    Transaction([Update(people("phone", "v"), [(row(1, "phone", "v"), row(1, "phone", "v") | {"v": 10})])]),
    Ddl("ALTER TABLE people CHANGE phone tel VARCHAR(40) DEFAULT 'none' AFTER v, ADD w INT", "shop"),
    insert(3, "v", "tel", "w"),
    Ddl("ALTER TABLE people RENAME COLUMN w TO fax, ADD x INT FIRST, MODIFY v BIGINT", "shop"),
    Ddl("RENAME TABLE people TO clients", "shop"),
    Ddl("ALTER TABLE clients DROP tel, ADD y INT", "shop"),
    Ddl("CREATE TABLE people LIKE clients", "shop"),
])  # fmt: skip


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory) -> LakeRun:
    folder = tmp_path_factory.mktemp("hidden")
    write_logs(folder / "logs", LOG)
    run = LakeRun(spark, folder / "logs", folder / "lake", columns=COLUMNS)
    run.all_hops()
    return run


@pytest.mark.heavy
def test_no_file_of_silver_or_gold_has_a_hidden_value(run):
    assert files_with(run.folder, SECRET) == []
    assert any(SECRET.encode() in values(file) for file in (run.folder / "bronze").rglob("*.parquet"))


def test_mirrors_have_all_that_is_not_hidden(run):
    clients = [{"x": None, "id": n, "v": v, "y": None} for n, v in ((1, 10), (2, 2), (3, 3))]
    assert run.gold() == {
        ("shop", "clients"): [canonical_row(row) for row in clients],
        ("shop", "logins"): [canonical_row({"v": v}) for v in (1, 2, 3)],
        ("shop", "people"): [],
    }  # fmt: skip
    register = {e.table: (e.state, e.code, e.schema.left_out) for e in run.register if e.state != "dropped"}
    assert register == {
        "clients": ("streaming", None, ("fax",)),
        "logins": ("streaming", None, ("password",)),
        "people": ("streaming", None, ("fax",)),
        "secrets": ("refused", "hidden-column", ()),
    }


def test_silver_has_no_text_of_a_statement_that_changed_rows(run):
    rows = run.spark.table(run.lake.names.silver_changes).where("statement IS NOT NULL")
    counted = Counter(row.op for row in rows.select("op").collect())
    assert counted == {"DDL": sum(isinstance(item, Ddl) for item in LOG.items)}


def test_other_patterns_are_refused_until_their_tables_have_a_snapshot(run, tmp_path):
    """Patterns that change nothing for the tables that there are need none; without the file nothing is shown."""
    shutil.copytree(run.folder, tmp_path / "lake")

    def assembled(columns: dict[str, str]) -> str | None:
        again = LakeRun(run.spark, run.logs, tmp_path / "lake", columns=columns)
        try:
            again.assemble()
        except RefusedError as error:
            return str(error)
        return None

    said = "lake-columns: the patterns of columns hide or hash others than before of "
    others = {"shop.*.fax": "drop", "*.*.password": "drop", "shop.clients.v": "drop"}
    assert assembled(COLUMNS | {"crm.*.email": "drop"}) is None
    assert assembled(others) == f"{said}shop.clients"
    assert assembled({}) == f"{said}shop.logins,shop.people"
    create = "CREATE TABLE clients (x INT, id INT PRIMARY KEY, v BIGINT, fax INT, y INT)"
    end = read_progress(run.spark, run.lake.names.silver_changes).lsn
    give(replace(run.lake, names=LakeNames(str(tmp_path / "lake"))), Answer(1, end, "shop", "clients", create, "none"))
    assert assembled(others) is None
    assert assembled(others) is None
