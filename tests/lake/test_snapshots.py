"""Snapshots of tables that are older than the log, or refused: the mirrors get the same rows wherever the hops are."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from mirrorlake.core.ddl.effect.override import Answer
from mirrorlake.core.schema.column_patterns import NO_COLUMNS
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN
from mirrorlake.jobs.followed import awaited
from mirrorlake.jobs.notebook.report import report_apply
from mirrorlake.jobs.old_snapshots import removable_snapshots
from mirrorlake.jobs.replay import replay
from mirrorlake.jobs.source_look import defined
from mirrorlake.lake.bronze.ingest import IngestProgress, begin
from mirrorlake.lake.bronze.snapshots import new_snapshot_id, write_snapshot
from mirrorlake.lake.bronze.table import end_lsn
from mirrorlake.lake.delta.maintenance import REMOVED, remove_snapshot
from mirrorlake.lake.delta.notes import read_commits
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.delta.types import cell_types
from mirrorlake.lake.silver.overrides import give, read_answers
from tests.support.binlog_spec import Delete, Insert, Log, Transaction, Update
from tests.support.binlog_writer import write_logs
from tests.support.crash import carry_out_under_kills
from tests.support.ddl_log import ddl, insert, table
from tests.support.lake_checks import check_commits
from tests.support.lake_runs import QUIET, LakeRun

E, G, O, U = (table(name, "id", "v") for name in "egou")  # noqa: E741
O_WIDER = table("o", "id", "v", "w")
EARLIER = (
    ddl("create database shop"),
    *(ddl(f"create table {name} (id int primary key, v int)") for name in "gu"),
    insert(U, (1, 1)),
    insert(O, (2, 1)),
    ddl("alter table g fancy 1"),
    Transaction([Update(O, [({"id": 2, "v": 1}, {"id": 2, "v": 2})]), Insert(G, [{"id": 5, "v": 5}])]),
)
"""Of ``o`` and ``e`` the log has no CREATE; a statement has refused ``g``."""
CREATE = "CREATE TABLE `{}` (\n  `id` int NOT NULL,\n  `v` int DEFAULT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB"
ROWS = {"e": [("1", None)], "g": [("4", "4"), ("5", "5")], "o": [("1", "1"), ("2", "2"), ("3", "3")], "u": [("1", "1")]}
CREATE_DATED = CREATE.replace("`v` int", "`v` date")
ROWS_DATED = {"d": [("1", "0000-00-00"), ("2", "2024-02-00"), ("3", None), ("4", "2024-02-29")]}
LATER = (
    Transaction([
        Update(O, [({"id": 1, "v": 1}, {"id": 1, "v": 10})]), Insert(U, [{"id": 2, "v": 2}]),
        Delete(O, [{"id": 3, "v": 3}]), Insert(G, [{"id": 6, "v": 6}]),
    ]),
    ddl("alter table o add w int default 7"),
    insert(O_WIDER, (4, 4, 4)),
    ddl("alter table g comment 'x'"),
    ddl("rename table e to f"),
    Transaction([Insert(G, [{"id": 7, "v": 7}]), Delete(G, [{"id": 4, "v": 4}])]),
)  # fmt: skip
AS_IN_SOURCE = {
    "g": ['{"id": "5", "v": "5"}', '{"id": "6", "v": "6"}', '{"id": "7", "v": "7"}'],
    "o": [
        '{"id": "1", "v": "10", "w": "7"}', '{"id": "2", "v": "2", "w": "7"}', '{"id": "4", "v": "4", "w": "4"}',
    ],
    "u": ['{"id": "1", "v": "1"}', '{"id": "2", "v": "2"}'],
}  # fmt: skip
LAST = (
    Transaction([Delete(O_WIDER, [{"id": 2, "v": 2, "w": 7}]), Update(G, [({"id": 5, "v": 5}, {"id": 5, "v": 0})])]),
)
AS_IN_SOURCE_LAST = AS_IN_SOURCE | {
    "g": ['{"id": "5", "v": "0"}', *AS_IN_SOURCE["g"][1:]],
    "o": [AS_IN_SOURCE["o"][0], AS_IN_SOURCE["o"][2]],
}

pytestmark = pytest.mark.xdist_group("copies")


def log(folder: Path, *items) -> None:
    write_logs(folder, Log("mysql", items, metadata="MINIMAL", end="open"))


def gold(run: LakeRun) -> dict[str, list[str]]:
    return {name: rows for (_, name), rows in run.gold().items()}


@pytest.fixture(scope="module")
def earlier(spark, tmp_path_factory) -> LakeRun:
    """A lake that has reached the position of the snapshots, which do not exist yet."""
    folder = tmp_path_factory.mktemp("copies")
    log(folder / "logs", *EARLIER)
    run = LakeRun(spark, folder / "logs", folder / "lake", commit_columns=True)
    run.all_hops()
    assert gold(run) == {"u": AS_IN_SOURCE["u"][:1]}
    return run


def copy_tables(run: LakeRun, place: int, *names: str, create: str = CREATE, content: dict = ROWS) -> None:
    for name in names:
        text = create.format(name)
        schema, reason = defined(text, ("shop", name), "mysql", AS_WRITTEN, NO_COLUMNS)
        assert reason is None
        copy_id, types = new_snapshot_id(schema, place), cell_types(schema)
        rows = pa.RecordBatch.from_arrays([pa.array(cells) for cells in zip(*content[name], strict=True)], schema=types)
        assert write_snapshot(run.lake, copy_id, schema, [rows], place) == len(content[name])
        give(run.lake, Answer(len(read_answers(run.lake)) + 1, place, "shop", name, text, copy_id))


def end_of(run: LakeRun) -> int:
    """A position after everything that bronze has."""
    return end_lsn(read_progress(run.spark, run.lake.names.bronze_events)) - 1


@pytest.mark.parametrize("ahead", ["silver", pytest.param("gold", marks=pytest.mark.long)])
def test_copied_tables_have_the_rows_of_the_source_wherever_the_process_is_killed(
    earlier, ahead, tmp_path, monkeypatch, is_long
):
    """ahead: what has passed the position before the snapshots exist. In the short form every sixth commit ends the
    process."""
    every = 1 if is_long else 6
    run, place = earlier.copied(tmp_path / "copy"), end_of(earlier)
    log(run.logs, *EARLIER, *LATER)
    run.ingest()
    run.assemble()
    if ahead == "gold":
        run.apply()
    copy_tables(run, place, "o", "g")
    hops = [run.ingest, run.assemble, run.apply]
    assert carry_out_under_kills(monkeypatch, run.folder, hops, every=every) > 6 // every
    assert gold(run) == AS_IN_SOURCE
    if is_long and ahead == "silver":
        found = replay(run.options(source=None), str(tmp_path / "into"), QUIET, run.spark)
        assert [each.difference for each in found if each.difference] == []
        assert gold(LakeRun(run.spark, run.logs, tmp_path / "into")) == AS_IN_SOURCE
    log(run.logs, *EARLIER, *LATER, *LAST)
    run.all_hops()
    assert gold(run) == AS_IN_SOURCE_LAST
    check_commits(run)


@pytest.mark.heavy
def test_a_snapshot_of_a_table_that_is_left_out_makes_no_mirror_and_can_be_repeated(earlier, tmp_path):
    run = earlier.copied(tmp_path / "copy")
    copy_tables(run, end_of(earlier), "e")
    assert awaited(run.lake) == {("shop", "e")}
    run.assemble()
    run.apply(tables="shop.*,!shop.e")
    assert (gold(run), awaited(run.lake)) == ({"u": AS_IN_SOURCE["u"][:1]}, set())
    copy_tables(run, end_of(run), "e")
    run.assemble()
    run.apply()
    assert gold(run) == {"e": ['{"id": "1", "v": null}'], "u": AS_IN_SOURCE["u"][:1]}


def test_values_of_a_snapshot_that_became_null_are_counted_once(earlier, tmp_path):
    run = earlier.copied(tmp_path / "copy")
    copy_tables(run, end_of(earlier), "d", create=CREATE_DATED, content=ROWS_DATED)
    run.assemble()
    report = report_apply(run.options(), run.spark)
    assert [each.invalid for each in report.rows if each.invalid] == ["shop.d: 2"]
    assert gold(run)["d"] == [f'{{"id": "{i}", "v": null}}' for i in (1, 2, 3)] + ['{"id": "4", "v": "2024-02-29"}']
    (entry,) = (entry for entry in run.register if entry.table == "d")
    commits = read_commits(run.spark, run.lake.names.mirror(entry.mirror_id))
    assert [commit.note["payload"].get("invalid") for commit in commits] == [2, None]


@pytest.mark.parametrize("has_log", [False, True])
@pytest.mark.heavy
def test_a_lake_may_begin_with_copies_and_stand_still(earlier, spark, tmp_path, has_log):
    """has_log: its log begins before the copies, else with them. Nothing comes after them."""
    log(tmp_path / "logs", *EARLIER)
    run, begun = LakeRun(spark, tmp_path / "logs", tmp_path / "lake"), IngestProgress.read(earlier.lake)
    if has_log:
        run.ingest()
    else:
        begin(run.lake, begun.position, begun.gtids)
    copy_tables(run, end_of(run), "e", "g")
    run.all_hops()
    rows = gold(run)
    assert (rows["e"], rows["g"]) == (['{"id": "1", "v": null}'], ['{"id": "4", "v": "4"}', '{"id": "5", "v": "5"}'])


@pytest.mark.heavy
def test_a_mirror_that_goes_on_may_be_copied_again(earlier, tmp_path):
    """Twice at one position, without new log: others have changed the mirror, then the mirror of the copy."""
    run, identities = earlier.copied(tmp_path / "copy"), set()
    for _ in range(2):
        (entry,) = (entry for entry in run.register if entry.table == "u")
        identities.add(entry.mirror_id)
        run.spark.sql(f"DELETE FROM {run.lake.names.mirror(entry.mirror_id)}")
        assert gold(run) == {"u": []}
        copy_tables(run, end_of(run), "u")
        run.all_hops()
        assert gold(run) == {"u": AS_IN_SOURCE["u"][:1]}
    assert len(identities) == 2


def test_copies_go_when_they_were_taken_or_nobody_has_answered_for_them(earlier, tmp_path):
    run = earlier.copied(tmp_path / "copy")
    schema, _ = defined(CREATE.format("o"), ("shop", "o"), "mysql", AS_WRITTEN, NO_COLUMNS)
    left_over, killed = "shop__o__1a_0123abcd", "shop__o__1a_0123abce"
    write_snapshot(run.lake, left_over, schema, [], end_of(run))
    for name in (killed, "of_others"):
        Path(run.folder, f"bronze/copy_{name}/_delta_log").mkdir(parents=True)
    copy_tables(run, end_of(run), "o")
    (taken,) = (answer.copy_id for answer in read_answers(run.lake))
    assert removable_snapshots(run.lake, left_days=0, bronze_days=0) == [left_over]
    run.all_hops()
    assert removable_snapshots(run.lake, left_days=1, bronze_days=None) == []
    assert removable_snapshots(run.lake, left_days=1, bronze_days=0) == [taken]
    assert remove_snapshot(run.spark, run.lake.names, taken) == REMOVED
    assert run.lake.names.find_snapshots(run.spark) == [left_over, killed]
