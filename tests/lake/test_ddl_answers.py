"""Refused statements and the operator's answers: the tables continue with the rows of the source."""

from __future__ import annotations

import getpass
import json

import pytest
from typer.testing import CliRunner

from mirrorlake.cli import app
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.jobs.replay import ReplayedTable, replay
from tests.support.binlog_spec import Delete, Insert, Log, Transaction, Update
from tests.support.binlog_writer import write_logs
from tests.support.crash import SimulatedCrash, carry_out_under_kills, crash_at
from tests.support.ddl_log import ddl, insert, table
from tests.support.lake_runs import QUIET, LakeRun

C, E, R, T, U = (table(name, "id", "v") for name in "certu")
K = TableSchema("shop", "k", (Column("v", ColumnType("int")),), ())
R_WIDER, T_WIDER = table("r", "id", "v", "w"), table("t", "id", "v", "z")
UNKNOWN = "alter table {} fancy index i (v)"
REFUSED = {  # table -> the statement, the answer
    "t": (UNKNOWN.format("t"), None),
    "k": (UNKNOWN.format("k"), None),
    "r": ("alter table r fancy add w int default 5", "alter table r add w int default 5"),
    "c": ("create table c (id int primary key, v int) fancy 1", "create table shop.c (id int primary key, v int)"),
}
ITEMS = (
    ddl("create database shop"),
    *(ddl(f"create table {name} (id int primary key, v int)") for name in "ertu"),
    ddl("create table k (v int)"),
    insert(E, (1, 1)),
    insert(R, (1, 1)),
    insert(T, (1, 1), (2, 2)),
    insert(K, (1,), (1,), (2,)),
    *(ddl(statement) for statement, _ in REFUSED.values()),
    Transaction([
        Insert(U, [{"id": 1, "v": 1}]), Insert(C, [{"id": 1, "v": 1}]), Insert(R_WIDER, [{"id": 2, "v": 2, "w": 2}]),
        Delete(K, [{"v": 1}]), Update(T, [({"id": 1, "v": 1}, {"id": 1, "v": 10})]), Insert(U, [{"id": 2, "v": 2}]),
    ]),
    ddl("alter table t add z int"),
    insert(T_WIDER, (3, 3, 3)),
    ddl(UNKNOWN.format("e")),
    ddl("rename table e to f"),
)  # fmt: skip
MORE = (
    insert(K, (1,), (3,)),
    Transaction([Delete(T_WIDER, [{"id": 2, "v": 2, "z": None}]), Update(C, [({"id": 1, "v": 1}, {"id": 1, "v": 7})])]),
)
AS_IN_SOURCE = {
    "c": ['{"id": "1", "v": "1"}'],
    "k": ['{"v": "1"}', '{"v": "2"}'],
    "r": ['{"id": "1", "v": "1", "w": "5"}', '{"id": "2", "v": "2", "w": "2"}'],
    "t": ['{"id": "1", "v": "10", "z": null}', '{"id": "2", "v": "2", "z": null}', '{"id": "3", "v": "3", "z": "3"}'],
    "u": ['{"id": "1", "v": "1"}', '{"id": "2", "v": "2"}'],
}
AS_IN_SOURCE_LATER = AS_IN_SOURCE | {
    "c": ['{"id": "1", "v": "7"}'],
    "k": ['{"v": "1"}', '{"v": "1"}', '{"v": "2"}', '{"v": "3"}'],
    "t": ['{"id": "1", "v": "10", "z": null}', '{"id": "3", "v": "3", "z": "3"}'],
}

pytestmark = pytest.mark.xdist_group("ddl_answers")


@pytest.fixture(scope="module")
def refused(spark, tmp_path_factory) -> LakeRun:
    """A lake in which every statement that is not known has refused its table."""
    folder = tmp_path_factory.mktemp("answers")
    write_logs(folder / "logs", Log("mysql", ITEMS, metadata="MINIMAL", end="open"))
    run = LakeRun(spark, folder / "logs", folder / "lake")
    run.all_hops()
    return run


def command(run: LakeRun, *words: str):
    return CliRunner().invoke(app, ["ddl", *words, "--lake", str(run.folder)])


def listed(run: LakeRun) -> dict[str, list[dict]]:
    return json.loads(command(run, "list", "--json").stdout)


@pytest.fixture(scope="module")
def answered(refused, tmp_path_factory) -> LakeRun:
    """The same, and what replaces each statement; no hop has run since."""
    run = refused.copied(tmp_path_factory.mktemp("answered") / "copy")
    for name, (_, text) in REFUSED.items():
        done = command(run, *(["skip", f"shop.{name}"] if text is None else ["replace", f"shop.{name}", text]))
        assert done.exit_code == 0, done.output
    return run


def gold(run: LakeRun) -> dict[str, list[str]]:
    return {name: rows for (_, name), rows in run.gold().items()}


@pytest.mark.heavy
def test_answered_tables_go_on_with_the_rows_of_the_source_wherever_the_process_is_killed(
    answered, tmp_path, monkeypatch, is_long
):
    """In the short form every eighth commit ends the process."""
    every = 1 if is_long else 8
    run = answered.copied(tmp_path / "copy")
    assert gold(run) == {"u": AS_IN_SOURCE["u"]}
    kills = carry_out_under_kills(monkeypatch, run.folder, [run.assemble, run.apply], every=every)
    assert kills > (6 * len(REFUSED) if is_long else 2)
    assert gold(run) == AS_IN_SOURCE
    write_logs(run.logs, Log("mysql", ITEMS + MORE, metadata="MINIMAL", end="open"))
    run.all_hops()
    assert gold(run) == AS_IN_SOURCE_LATER
    found = listed(run)
    assert [(row["table"], row["state"], row["by"]) for row in found["answers"]] == [
        (name, "done", getpass.getuser()) for name in REFUSED
    ]
    assert [row["table"] for row in found["refused"]] == ["f"]


@pytest.mark.parametrize("commits", [pytest.param(1, marks=pytest.mark.long), 2])
@pytest.mark.heavy
def test_a_table_without_a_key_goes_on_from_where_it_is_however_the_rest_is_cut(
    refused, tmp_path, monkeypatch, commits
):
    run = refused.copied(tmp_path / "copy")
    write_logs(run.logs, Log("mysql", ITEMS + MORE, metadata="MINIMAL", end="open"))
    run.all_hops()
    assert command(run, "skip", "shop.k").exit_code == 0
    run.assemble()
    with monkeypatch.context() as patch, pytest.raises(SimulatedCrash):
        patch.setattr("mirrorlake.lake.gold.merge.changes.CHUNK_BITS", 4)
        crash_at(patch, "mirrorlake.lake.gold.row_epoch.write_counts", "after", commits)
        run.apply(epoch_changes=1)
    run.apply()
    assert gold(run)["k"] == AS_IN_SOURCE_LATER["k"]


@pytest.mark.long
def test_an_answer_that_is_known_from_the_start_gives_the_same_rows(answered, tmp_path):
    found = replay(answered.options(source=None), str(tmp_path / "into"), QUIET, answered.spark)
    assert found == [
        ReplayedTable(f"shop.{name}", "refused (ddl-unsupported), now streaming" if name in REFUSED else "")
        for name in "cfkrtu"
    ]
    assert gold(LakeRun(answered.spark, answered.logs, tmp_path / "into")) == AS_IN_SOURCE


WRONG = {
    ("skip", "shop.u"): "no statement has refused it (table shop.u)",
    ("skip", "shop.t", "--at", "7"): "no statement at lsn 7 has refused it (table shop.t)",
    ("skip", "shop.c"): "nothing is known of the table before the statement",
    ("skip", "shop.r"): "definition-mismatch: the table map has 3 columns, the definition 2",
    ("replace", "shop.r", "alter table r add w text"): "definition-mismatch: column 3: the table map has w int",
    ("replace", "shop.t", "nonsense"): "a statement was not understood: nonsense is not understood at character 1",
    ("replace", "shop.t", "alter table t frobnicate"): "frobnicate is not understood at character 15",
    (
        "replace",
        "shop.t",
        "alter table u add x int",
    ): "the statement leaves the table as it was, or is about another one",
    ("replace", "shop.t", "rename table t to s"): "the statement is about shop.s, too",
    ("replace", "shop.e", "drop table e"): "no statement has refused it (table shop.e)",
}


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_a_wrong_answer_is_refused_and_changes_nothing(refused, words):
    before = refused.versions()
    done = command(refused, *words)
    assert done.exit_code == 2
    assert done.stderr.splitlines()[0].startswith(f"ddl-answer: {WRONG[words]}"), done.stderr
    assert refused.versions() == before


def test_the_list_tells_the_statement_that_refused_each_table(refused):
    found = listed(refused)
    assert found["answers"] == []
    assert [(row["table"], row["code"], row["statement"]) for row in found["refused"]] == [
        *((name, "ddl-unsupported", statement) for name, (statement, _) in REFUSED.items()),
        ("f", "ddl-unsupported", "rename table e to f"),
    ]
