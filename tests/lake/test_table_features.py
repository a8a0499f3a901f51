"""A mirror has the features of Delta that its source's statements have needed, and no others."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from mirrorlake.config import Options
from mirrorlake.jobs.maintenance import maintain
from mirrorlake.lake.gold.control.register import STREAMING
from tests.support.binlog_spec import Log, Rotate, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.ddl_log import ddl, insert, table
from tests.support.lake_runs import LakeRun

pytestmark = pytest.mark.xdist_group("table_features")

PLAIN = (1, 2, ["appendOnly", "invariants"])


def protocols(run: LakeRun) -> dict[str, tuple]:
    """Of each mirror: versions that a reader and a writer must know, features of the table."""
    details = {
        entry.table: run.spark.sql(f"DESCRIBE DETAIL {run.lake.names.mirror(entry.mirror_id)}").first()
        for entry in run.register
    }
    return {name: (d.minReaderVersion, d.minWriterVersion, sorted(d.tableFeatures)) for name, d in details.items()}


CHANGES = {
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


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory):
    """A lake that has applied CHANGES, and has one more file of log before it."""
    created = [ddl(f"create table {name} (id int primary key, v int)") for name in CHANGES]
    rows = [insert(table(name, "id", "v"), (1, 2)) for name in CHANGES]
    altered = [ddl(f"alter table {name} {clauses}") for name, clauses in CHANGES.items()]
    items = [ddl("create database shop"), *created, ddl("create table odd (`i d` int primary key, d datetime)")]
    later = [Transaction([Update(table("renamed", "id", "u"), [({"id": 1, "u": 2}, {"id": 1, "u": 3})])])]
    later += [ddl("alter table renamed rename column u to w"), insert(table("dropped", "id"), (2,))]
    folder = tmp_path_factory.mktemp("features")
    run = LakeRun.of_first_file(spark, Log("mysql", [*items, *rows, *altered, Rotate(), *later]), folder)
    run.assemble()
    run.apply()
    return run


def test_each_statement_gives_its_mirror_what_it_needs(run):
    readers = {
        "plain": (1, []), "rebuilt": (1, []), "dated": (3, ["timestampNtz"]), "dated_full": (3, ["timestampNtz"]),
        **dict.fromkeys(("dropped", "renamed", "spaced", "odd"), (3, ["columnMapping", "timestampNtz"])),
        "widened": (3, ["typeWidening"]),
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


@pytest.mark.skipif(version("delta-spark").startswith("4.0."), reason="its DROP FEATURE does not run on Spark 4.0.1")
@pytest.mark.heavy
def test_unneeded_features_are_taken_away_and_the_next_rename_brings_its_own_back(run):
    outcomes = maintain(Options(lake=str(run.folder)), run.spark, drop_features=True)
    mirrors = {entry.mirror_id: entry.table for entry in run.register}
    features = [row.table.partition(" ") for row in outcomes.itertuples() if " " in row.table]
    assert sorted((mirrors[mirror_id], feature) for mirror_id, _, feature in features) == [
        ("all_of_it", "columnMapping"), ("all_of_it", "typeWidening"), ("dropped", "columnMapping"),
        ("renamed", "columnMapping"), ("widened", "typeWidening"),
    ]  # fmt: skip
    assert set(outcomes.outcome[outcomes.table.str.contains(" ")]) == {"removed"}
    without = {name: found[2] for name, found in protocols(run).items()}
    assert [name for name, found in without.items() if "columnMapping" in found] == ["odd", "spaced"]
    assert not any("typeWidening" in found for found in without.values())
    run.ingest()
    run.assemble()
    run.apply()
    assert {entry.state for entry in run.register} == {STREAMING}
    gold = run.gold()
    assert gold["shop", "renamed"] == [canonical_row({"id": 1, "w": 3})]
    assert gold["shop", "dropped"] == [canonical_row({"id": 1}), canonical_row({"id": 2})]
    assert gold["shop", "all_of_it"] == [canonical_row({"id": 1, "d": None})]
    assert [name for name, found in protocols(run).items() if "columnMapping" in found[2]] == [
        "odd",
        "renamed",
        "spaced",
    ]
