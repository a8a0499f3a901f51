"""Mirrors whose files others have damaged: each refuses its own table, and the other tables go on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mirrorlake.jobs.maintenance import maintain
from tests.support.binlog_spec import Log, Rotate, Transaction, Update
from tests.support.canonical import canonical_row
from tests.support.ddl_log import ddl, insert, table
from tests.support.lake_runs import LakeRun

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
KINDS = [damage.__name__ for damage in DAMAGES]
CHANGED, ALTERED = [f"{kind}_changed" for kind in KINDS], [f"{kind}_altered" for kind in KINDS]


def update(name: str) -> Transaction:
    return Transaction([Update(table(name, "id", "v"), [({"id": 1, "v": 1}, {"id": 1, "v": 2})])])


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory) -> LakeRun:
    """A lake that has applied the rest of its log after the damages. None of them concerns table ``other``."""
    names = [*CHANGED, *ALTERED, "other"]
    items = [ddl("create database shop"), *(ddl(f"create table {name} (id int primary key, v int)") for name in names)]
    items += [insert(table(name, "id", "v"), (1, 1), (2, 2)) for name in names]
    later = [update(name) for name in (*CHANGED, "other")]
    later += [ddl(f"alter table {name} modify v varchar(20)") for name in ALTERED]
    log = Log("mysql", [*items, Rotate(), *later, insert(table("other", "id", "v"), (3, 3))])
    run = LakeRun.of_first_file(spark, log, tmp_path_factory.mktemp("damaged"))
    run.assemble()
    run.apply()
    for damage in DAMAGES:
        for doing in ("changed", "altered"):
            entry = run.register.get(("shop", f"{damage.__name__}_{doing}"))
            damage(Path(run.lake.names.mirror_path(entry.mirror_id)))
    run.all_hops()
    return run


def test_each_refuses_its_own_table(run):
    states = {entry.table: (entry.code, entry.reason.split(":")[0]) for entry in run.register if entry.code}
    others = {
        f"commit_without_operation_{doing}": "others changed the mirror table" for doing in ("changed", "altered")
    }
    others["put_file_for_folder_changed"] = "the mirror table is gone"
    assert states == {
        name: ("mirror-changed", others.get(name, "the mirror table is damaged")) for name in (*CHANGED, *ALTERED)
    }


def test_the_other_tables_go_on(run):
    rows = [{"id": 1, "v": 2}, {"id": 2, "v": 2}, {"id": 3, "v": 3}]
    assert run.gold() == {("shop", "other"): [canonical_row(row) for row in rows]}
    run.all_hops()


def test_maintenance_goes_on_with_the_others(run):
    outcomes = dict(maintain(run.options(source=None), run.spark, drop_features=True).itertuples(index=False))
    ids = {entry.table: entry.mirror_id for entry in run.register}
    assert outcomes[ids["other"]] == "compacted"
    broken = ("cut_first_commit", "spoil_newest_commit", "lose_first_commit", "need_a_later_feature")
    assert {outcomes[ids[f"{kind}_changed"]] for kind in broken} == {"damaged"}
