"""A mirror says what its source's definition says: comments of the table and of its columns, types and key."""

from __future__ import annotations

import json
import os

import pytest
from deltalake import DeltaTable

from mirrorlake.lake.delta.notes import read_commits
from mirrorlake.lake.gold.control.register import STREAMING, TableEntry
from mirrorlake.lake.gold.control.source_properties import source_properties
from mirrorlake.lake.gold.control.table import LSN_COMMENT
from tests.support.binlog_spec import Log
from tests.support.binlog_writer import encode_logs
from tests.support.ddl_log import ddl, insert, table
from tests.support.lake_runs import LakeRun

WRITTEN = """it's "so" \\ `x`; -- ${env:HOME} ${env.PATH} ${user.dir} {} %s 雪 🌨 \n\t/* */"""
ODD = WRITTEN.replace("🌨", "?")  # servers keep comments in utf8mb3
ODD_OF_COLUMN = ODD.replace("${", "$ {")
ODD_LITERAL = "'" + WRITTEN.replace("\\", "\\\\").replace("'", "''") + "'"
CREATED = [
    "create table plain (id int primary key, v int)",
    f"create table odd (id int primary key comment 'number', v int comment {ODD_LITERAL}) comment {ODD_LITERAL}",
    *(
        f"create table {name} (id int primary key comment 'number', v int comment 'value') comment = 'rows'"
        for name in ("same", "tabled", "columned", "gone", "renamed", "widened", "rebuilt", "added")
    ),
    "create table part (id int primary key comment 'in part') partition by list (id) (partition p values in (1))",
    "create table other (id int primary key comment 'in other')",
    "create table alike like odd",
]
ALTERED = [
    "alter table same modify v int comment 'value', comment 'rows'",
    "alter table tabled comment 'more rows'",
    "alter table columned modify v int comment 'worth', change id id int comment ''",
    "alter table gone drop v",
    "alter table renamed rename column v to w",
    "alter table widened modify v bigint comment 'wider'",
    f"alter table rebuilt modify v varchar(20) comment {ODD_LITERAL}, comment ''",
    "alter table added add w int comment 'new' first, rename to joined",
    "alter table part exchange partition p with table other",
]
NUMBER, VALUE, LSN = ("id", "number"), ("v", "value"), ("_lsn", LSN_COMMENT)
EXPECTED = {
    "plain": ("", [("id", ""), ("v", ""), LSN]),
    "odd": (ODD, [NUMBER, ("v", ODD_OF_COLUMN), LSN]),
    "alike": (ODD, [NUMBER, ("v", ODD_OF_COLUMN), LSN]),
    "same": ("rows", [NUMBER, VALUE, LSN]),
    "tabled": ("more rows", [NUMBER, VALUE, LSN]),
    "columned": ("rows", [("id", ""), ("v", "worth"), LSN]),
    "gone": ("rows", [NUMBER, LSN]),
    "renamed": ("rows", [NUMBER, ("w", "value"), LSN]),
    "widened": ("rows", [NUMBER, ("v", "wider"), LSN]),
    "rebuilt": ("", [NUMBER, ("v", ODD_OF_COLUMN), LSN]),
    "joined": ("rows", [("w", "new"), NUMBER, VALUE, LSN]),
    "part": ("", [("id", "in part"), LSN]),
    "other": ("", [("id", "in other"), LSN]),
}
COMMITS_OF_DDL = {"plain": 1, "odd": 1, "alike": 1, "same": 1, "tabled": 2, "columned": 2, "gone": 3, "renamed": 3}
COMMITS_OF_DDL |= {"widened": 4, "rebuilt": 3, "joined": 3, "part": 2, "other": 2}


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory):
    """A lake in which CREATED, a row for each table that has one, and ALTERED are applied."""
    rows = [insert(table(name, "id", "v"), (1, 2)) for name in ("rebuilt", "widened")]
    rows += [insert(table("part", "id"), (1,))]
    items = [ddl("create database shop"), *map(ddl, CREATED), *rows, *map(ddl, ALTERED)]
    folder = tmp_path_factory.mktemp("descriptions")
    (folder / "logs").mkdir()
    for log in encode_logs(Log("mysql", items)):
        (folder / "logs" / log.name).write_bytes(log.data)
    run = LakeRun(spark, folder / "logs", folder / "lake")
    run.ingest()
    run.assemble()
    run.apply()
    return run


def entries(run: LakeRun) -> list[TableEntry]:
    return [entry for entry in run.register if entry.state == STREAMING]


def mirrors(run: LakeRun) -> dict[str, str]:
    return {entry.table: run.lake.names.mirror(entry.mirror_id) for entry in entries(run)}


@pytest.mark.heavy
def test_comments_follow_the_statements_of_the_source(run):
    found = {}
    for name, mirror in mirrors(run).items():
        columns = [(field.name, field.metadata.get("comment", "")) for field in run.spark.table(mirror).schema]
        found[name] = (run.spark.sql(f"DESCRIBE DETAIL {mirror}").first().description or "", columns)
    assert found == EXPECTED


def test_comments_take_nothing_from_the_environment_into_files(run):
    """Spark would replace variables in what each Parquet file says of its columns."""
    (entry,) = (entry for entry in entries(run) if entry.table == "rebuilt")
    files = list((run.folder / "gold" / entry.mirror_id).rglob("*.parquet"))
    assert files and not any(os.environ["PATH"].encode() in file.read_bytes() for file in files)
    assert any(b"$ {env.PATH} $ {user.dir}" in file.read_bytes() for file in files)


def test_properties_follow_the_statements_of_the_source(run):
    for entry in entries(run):
        found = run.spark.sql(f"DESCRIBE DETAIL {run.lake.names.mirror(entry.mirror_id)}").first().properties
        expected = source_properties(entry.schema)
        assert {key: found[key] for key in expected} == expected
        assert list(json.loads(found["mirrorlake.columns"])) == [name for name, _ in EXPECTED[entry.table][1][:-1]]


def test_a_description_costs_one_commit_and_only_if_it_differs(run):
    commits = {name: read_commits(run.spark, mirror) for name, mirror in mirrors(run).items()}
    steps = {name: [c for c in found if c.note and "ddl_lsn" in c.note["payload"]] for name, found in commits.items()}
    assert {name: len(found) for name, found in steps.items()} == COMMITS_OF_DDL


def test_other_readers_show_comments(run):
    entry = next(entry for entry in entries(run) if entry.table == "odd")
    found = DeltaTable(str(run.folder / "gold" / entry.mirror_id))
    fields = [(field.name, field.metadata.get("comment")) for field in found.schema().fields]
    assert (found.metadata().description, fields) == (ODD, [NUMBER, ("v", ODD_OF_COLUMN), LSN])
