"""Mirrors whose files others have damaged: each refuses its own table, and the other tables go on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import pytest

from mirrorlake.jobs.maintenance import maintain
from tests.support.binlog_spec import Log, Rotate, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.ddl_log import PARTITIONS, ddl, insert, table
from tests.support.lake_runs import LakeRun

pytestmark = pytest.mark.xdist_group("damaged mirrors")  # each of the two lakes is damaged once

Damage: TypeAlias = Callable[[Path], None]
FUTURE = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["later"], "writerFeatures": ["later"]}


def commits(mirror: Path) -> list[Path]:
    return sorted((mirror / "_delta_log").glob("0*.json"))


def add_commit(mirror: Path, *actions: dict) -> None:
    file = mirror / "_delta_log" / f"{len(commits(mirror)):020}.json"
    file.write_text("".join(json.dumps(action) + "\n" for action in actions))


def put(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)


def lose_data(mirror: Path) -> None:
    for file in mirror.glob("*.parquet"):
        file.unlink()


def cut_data(mirror: Path) -> None:
    for file in mirror.glob("*.parquet"):
        put(file, file.read_bytes()[:-7])


def cut_first_commit(mirror: Path) -> None:
    first = commits(mirror)[0]
    put(first, first.read_bytes()[:-30])


def spoil_newest_commit(mirror: Path) -> None:
    put(commits(mirror)[-1], b"\xff\xfe{")


def lose_first_commit(mirror: Path) -> None:
    commits(mirror)[0].unlink()


def put_file_for_folder(mirror: Path) -> None:
    shutil.rmtree(mirror)
    mirror.write_text("")


def need_a_later_feature(mirror: Path) -> None:
    add_commit(mirror, {"commitInfo": {"timestamp": 1, "operation": "UPGRADE PROTOCOL"}}, {"protocol": FUTURE})


def commit_without_operation(mirror: Path) -> None:
    add_commit(mirror, {"txn": {"appId": "of others", "version": 1}})


def carry_a_spoilt_note(mirror: Path) -> None:
    add_commit(mirror, {"commitInfo": {"timestamp": 1, "operation": "WRITE", "userMetadata": '{"mirrorlake": 1}'}})


DAMAGES = [
    lose_data, cut_data, cut_first_commit, spoil_newest_commit, lose_first_commit, put_file_for_folder,
    need_a_later_feature, commit_without_operation, carry_a_spoilt_note,
]  # fmt: skip
COLUMNS, ON_UPDATE = "id int primary key, v int unique", "on update cascade"
RELATED = (
    ddl(f"create table parent ({COLUMNS})"),
    ddl(f"create table child ({COLUMNS}, foreign key (v) references parent (id) {ON_UPDATE})"),
    ddl(f"create table grandchild ({COLUMNS}, foreign key (v) references child (v) {ON_UPDATE})"),
    ddl(f"create table parted (id int primary key, v int) {PARTITIONS}"),
    ddl("create table whole (id int primary key, v int)"),
    *(insert(table(name, "id", "v"), (1, 1), (2, 2)) for name in ("parent", "child", "grandchild", "parted", "whole")),
)
RELATED_LATER = (
    Transaction([Update(table("parent", "id", "v"), [({"id": 1, "v": 1}, {"id": 3, "v": 1})])]),
    ddl("alter table parted exchange partition low with table whole"),
)


def update(name: str) -> Transaction:
    return Transaction([Update(table(name, "id", "v"), [({"id": 1, "v": 1}, {"id": 1, "v": 2})])])


@pytest.fixture(scope="module", params=["folder", pytest.param("catalog", marks=pytest.mark.long)])
def where(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def damages(where, seed, is_long) -> list[Damage]:
    """Each is done to the mirrors of two tables, of which one is changed later and one is altered. The short form has
    every third damage, by the seed."""
    if where == "catalog":
        return DAMAGES[::4]
    return DAMAGES if is_long else DAMAGES[seed % 3 :: 3]


@pytest.fixture(scope="module")
def run(request, where, damages, spark, tmp_path_factory) -> LakeRun:
    """A lake that has applied the rest of its log after the damages. None of them concerns table ``other``."""
    changed, altered = names_of(damages, "changed"), names_of(damages, "altered")
    names = [*changed, *altered, "other"]
    items = [ddl("create database shop"), *(ddl(f"create table {name} (id int primary key, v int)") for name in names)]
    items += [insert(table(name, "id", "v"), (1, 1), (2, 2)) for name in names]
    later = [update(name) for name in (*changed, "other")]
    later += [ddl(f"alter table {name} modify v varchar(20)") for name in altered]
    later += [*RELATED_LATER, insert(table("other", "id", "v"), (3, 3))]
    log, folder = Log("mariadb", [*items, *RELATED, Rotate(), *later]), tmp_path_factory.mktemp("damaged")
    given = {}
    if where == "catalog":
        given = {"lake": "uc:spark_catalog.damaged", "staging": str(folder / "staged"), "views": "none"}
        spark.sql(f"CREATE SCHEMA damaged LOCATION '{folder / 'warehouse'}'")
        request.addfinalizer(lambda: spark.sql("DROP SCHEMA damaged CASCADE"))
    run = LakeRun.of_first_file(spark, log, folder, **given)
    run.assemble()
    run.apply()
    of_tables = [*zip(changed, damages, strict=True), *zip(altered, damages, strict=True)]
    for name, damage in [*of_tables, ("child", lose_data), ("whole", spoil_newest_commit)]:
        damage(folder_of(run, run.register.get(("shop", name)).mirror_id))
    run.all_hops()
    return run


def names_of(damages: Iterable[Damage], doing: str) -> list[str]:
    return [f"{damage.__name__}_{doing}" for damage in damages]


def folder_of(run: LakeRun, mirror_id: str) -> Path:
    if not run.lake.names.is_unity:
        return Path(run.lake.names.mirror_path(mirror_id))
    described = run.spark.sql(f"DESCRIBE DETAIL {run.lake.names.mirror(mirror_id)}").collect()[0]
    return Path(described.location.removeprefix("file:"))


def test_each_refuses_its_own_table(run, damages):
    names = [*names_of(damages, "changed"), *names_of(damages, "altered")]
    without_folder = ["put_file_for_folder_changed", *["put_file_for_folder_altered"] * run.lake.names.is_unity]
    states = {entry.table: (entry.code, entry.reason.split(":")[0]) for entry in run.register if entry.code}
    wanted = {name: "the mirror table is damaged" for name in (*names, "child", "whole")}
    wanted |= {name: "others changed the mirror table" for name in wanted if "without_operation" in name}
    wanted |= {name: "the mirror table is gone" for name in wanted if name in without_folder}
    wanted = {name: ("mirror-changed", reason) for name, reason in wanted.items()}
    reason = "a foreign key changes its rows, and the mirror of shop.child is damaged"
    wanted["grandchild"] = "foreign-key-cascade", reason
    wanted["parted"] = "needs-resync", "it takes rows of another mirror, which is damaged or gone"
    assert states == wanted


def test_the_other_tables_go_on(run):
    rows = [{"id": 1, "v": 2}, {"id": 2, "v": 2}, {"id": 3, "v": 3}]
    parents = [{"id": 2, "v": 2}, {"id": 3, "v": 1}]
    assert run.gold() == {
        ("shop", "other"): [canonical_row(row) for row in rows],
        ("shop", "parent"): [canonical_row(row) for row in parents],
    }
    run.all_hops()


@pytest.mark.heavy
def test_maintenance_goes_on_with_the_others(run, damages):
    outcomes = dict(maintain(run.options(source=None), run.spark, drop_features=True).itertuples(index=False))
    ids = {entry.table: entry.mirror_id for entry in run.register}
    assert outcomes[ids["other"]] == "compacted"
    broken = {cut_first_commit, spoil_newest_commit, lose_first_commit, need_a_later_feature}.intersection(damages)
    assert {outcomes[ids[name]] for name in names_of(broken, "changed")} == {"damaged"}
