"""A mirror has the features of Delta that its source's statements have needed, and no others."""

from __future__ import annotations

import pytest

from tests.support.binlog_spec import Log
from tests.support.canonical import canonical_row
from tests.support.ddl_log import ddl, insert, table
from tests.support.lake_runs import LakeRun

PLAIN = (1, 2, ["appendOnly", "invariants"])


def protocols(run: LakeRun) -> dict[str, tuple]:
    """Of each mirror: versions that a reader and a writer must know, features of the table."""
    details = {
        entry.table: run.spark.sql(f"DESCRIBE DETAIL {run.lake.names.mirror(entry.mirror_id)}").first()
        for entry in run.register
    }
    return {name: (d.minReaderVersion, d.minWriterVersion, sorted(d.tableFeatures)) for name, d in details.items()}


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory):
    changes = {
        "plain": "add w bigint first",
        "dropped": "drop v",
        "renamed": "rename column v to u",
        "widened": "modify v bigint",
        "rebuilt": "modify v varchar(20)",
        "dated": "add d datetime",
        "dated_full": "add d datetime not null default '2026-01-02 03:04:05'",
        "spaced": "add `v w` int",
        "all_of_it": "drop v, modify id bigint, add d datetime",
    }
    created = [ddl(f"create table {name} (id int primary key, v int)") for name in changes]
    rows = [insert(table(name, "id", "v"), (1, 2)) for name in changes]
    altered = [ddl(f"alter table {name} {clauses}") for name, clauses in changes.items()]
    items = [ddl("create database shop"), *created, ddl("create table odd (`i d` int primary key, d datetime)")]
    run = LakeRun.up_to_silver(spark, Log("mysql", [*items, *rows, *altered]), tmp_path_factory.mktemp("features"))
    run.apply()
    return run


def test_each_statement_gives_its_mirror_what_it_needs(run):
    readers = {
        "plain": (1, []), "rebuilt": (1, []), "dated": (3, ["timestampNtz"]), "dated_full": (3, ["timestampNtz"]),
        "dropped": (2, ["columnMapping"]), "renamed": (2, ["columnMapping"]), "spaced": (2, ["columnMapping"]),
        "widened": (3, ["typeWidening"]), "odd": (3, ["columnMapping", "timestampNtz"]),
        "all_of_it": (3, ["columnMapping", "timestampNtz", "typeWidening"]),
    }  # fmt: skip
    assert protocols(run) == {
        name: (version, 7 if needed else 2, sorted([*needed, *PLAIN[2]])) for name, (version, needed) in readers.items()
    }


def test_the_rows_are_as_the_statements_left_them(run):
    rows = {
        "plain": {"w": None, "id": 1, "v": 2}, "dropped": {"id": 1}, "renamed": {"id": 1, "u": 2},
        "widened": {"id": 1, "v": 2}, "rebuilt": {"id": 1, "v": "2"}, "dated": {"id": 1, "v": 2, "d": None},
        "dated_full": {"id": 1, "v": 2, "d": "2026-01-02 03:04:05.000000"}, "spaced": {"id": 1, "v": 2, "v w": None},
        "all_of_it": {"id": 1, "d": None}, "odd": None,
    }  # fmt: skip
    assert run.gold() == {("shop", name): [canonical_row(row)] if row else [] for name, row in rows.items()}
