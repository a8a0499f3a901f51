"""``--change-feed``: Delta's change data feed of a mirror has the changed rows of each epoch, and no others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.binlog_spec import Delete, Log, Rotate, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.ddl_log import ddl, insert, table
from tests.support.lake_runs import LakeRun

pytestmark = pytest.mark.xdist_group("change_feed")

OLD, NEW, WIDE = table("older", "id", "v"), table("newer", "id", "v"), table("newer", "id", "v", "w")
OTHER, TICKS, KEYLESS = (
    table("other", "id", "w"),
    table("ticks", "id", "a`b"),
    replace(table("keyless", "a`b"), primary_key=()),
)
LATER = table("later", "id", "v", "a`b", "_Change_Type")
BEFORE = (
    ddl("create database shop"), ddl("create table older (id int primary key, v int)"),
    insert(OLD, (1, 1), (2, 2), (3, 3)),
)  # fmt: skip
AFTER = (
    ddl("create table newer (id int primary key, v int)"),
    ddl("create table reserved (id int primary key, _change_type int)"),
    insert(NEW, (1, 1), (2, 2), (3, 3)),
    Transaction([Update(OLD, [({"id": 1, "v": 1}, {"id": 1, "v": 10})]), Delete(OLD, [{"id": 2, "v": 2}])]),
    ddl("alter table newer add w int"),
    Transaction([
        Update(WIDE, [({"id": 1, "v": 1, "w": None}, {"id": 1, "v": 1, "w": 5}),
                      ({"id": 3, "v": 3, "w": None}, {"id": 4, "v": 3, "w": None})]),
    ]),
    ddl("create table other (id int primary key, v varchar(9))"),
    ddl("alter table other rename column v to w"),
    ddl("alter table other modify w int"),
    insert(OTHER, (1, 5)),
    ddl("create table ticks (id int primary key, `a``b` int)"),
    ddl("create table keyless (`a``b` int)"),
    insert(TICKS, (1, 1), (2, 2)),
    insert(KEYLESS, (1,), (1,), (2,)),
    ddl("create table another (id int primary key)"),
    Transaction([
        Update(TICKS, [({"id": 1, "a`b": 1}, {"id": 1, "a`b": 5})]), Delete(TICKS, [{"id": 2, "a`b": 2}]),
        Delete(KEYLESS, [{"a`b": 1}]),
    ]),
    ddl("create table later (id int primary key, v int)"),
    insert(table("later", "id", "v"), (1, 1)),
    ddl("alter table later add `a``b` int, add _Change_Type int"),
    Transaction([Update(LATER, [({"id": 1, "v": 1, "a`b": None, "_Change_Type": None},
                                 {"id": 1, "v": 2, "a`b": None, "_Change_Type": 3})])]),
)  # fmt: skip


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory) -> LakeRun:
    """A lake whose first file was applied without the option."""
    folder = tmp_path_factory.mktemp("feed")
    run = LakeRun.of_first_file(spark, Log("mysql", [*BEFORE, Rotate(), *AFTER]), folder)
    run.assemble()
    run.apply()
    run.ingest()
    run.assemble()
    run.apply(change_feed=True)
    return run


def feed(run: LakeRun, name: str, columns: str) -> list[list[tuple]]:
    """The changes of each version that has some, in order."""
    mirror = run.lake.names.mirror(run.register.get(("shop", name)).mirror_id)
    has_feed = run.spark.sql(f"DESCRIBE DETAIL {mirror}").first().properties.get("delta.enableChangeDataFeed")
    assert has_feed == "true"
    history = run.spark.sql(f"DESCRIBE HISTORY {mirror}").collect()
    on = [row.version for row in history if "enableChangeDataFeed" in str(row.operationParameters)]
    path = run.lake.names.mirror_path(run.register.get(("shop", name)).mirror_id)
    rows = run.spark.sql(f"SELECT * FROM table_changes_by_path('{path}', {max(on)})")
    found: dict[int, list[tuple]] = {}
    for version, *row in rows.selectExpr("_commit_version", "_change_type", *columns.split(", ")).collect():
        found.setdefault(version, []).append(tuple(row))
    return [sorted(found[version], key=str) for version in sorted(found)]


def test_a_mirror_that_was_there_has_a_feed_from_its_next_epoch_on(run):
    assert feed(run, "older", "id, v") == [
        [("delete", 2, 2), ("update_postimage", 1, 10), ("update_preimage", 1, 1)],
    ]


def test_a_new_mirror_has_a_feed_from_its_first_row_on_through_ddl(run):
    assert feed(run, "newer", "id, v, w") == [
        [("insert", 1, 1, None), ("insert", 2, 2, None), ("insert", 3, 3, None)],
        [
            ("delete", 3, 3, None),
            ("insert", 4, 3, None),
            ("update_postimage", 1, 1, 5),
            ("update_preimage", 1, 1, None),
        ],
    ]  # fmt: skip


def test_a_feed_begins_again_after_new_types_of_columns_that_were_renamed(run):
    assert feed(run, "other", "id, w") == [[("insert", 1, 5)]]


@pytest.mark.parametrize("name", ["reserved", "ticks", "keyless", "later"])
def test_a_mirror_with_a_name_that_delta_takes_in_no_feed_has_none(run, name):
    entry = run.register.get(("shop", name))
    properties = run.spark.sql(f"DESCRIBE DETAIL {run.lake.names.mirror(entry.mirror_id)}").first().properties
    assert (entry.state, properties.get("delta.enableChangeDataFeed", "false")) == ("streaming", "false")


def test_mirrors_with_such_names_follow(run):
    gold = run.gold()
    assert gold["shop", "ticks"] == [canonical_row({"id": 1, "a`b": 5})]
    assert gold["shop", "keyless"] == sorted(canonical_row({"a`b": value}) for value in (1, 2))
    assert gold["shop", "later"] == [canonical_row({"id": 1, "v": 2, "a`b": None, "_Change_Type": 3})]
