"""Two live writers at every hop: one continues, the other fails loudly and has written nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from mirrorlake.errors import RefusedError
from mirrorlake.lake.gold.apply import ApplyHop
from mirrorlake.lake.gold.control.rules import TableRules
from tests.support.binlog_spec import Log
from tests.support.binlog_writer import encode_logs
from tests.support.crash import SimulatedCrash, crash_at
from tests.support.histories import random_history
from tests.support.lake_runs import QUIET, LakeRun, expected_gold

HISTORY = random_history(11, items=8, tables=1)
FILES = encode_logs(HISTORY.log("mysql"), 1_000)


def first_half(spark, folder) -> LakeRun:
    """A lake over the first half of a log; ``more`` brings the rest."""
    logs = folder / "logs"
    logs.mkdir()
    bring(logs, FILES[: len(FILES) // 2])
    return LakeRun(spark, logs, folder / "lake")


@pytest.fixture
def run(spark, tmp_path) -> LakeRun:
    return first_half(spark, tmp_path)


@pytest.fixture(scope="module")
def up_to_silver(spark, tmp_path_factory) -> LakeRun:
    run = first_half(spark, tmp_path_factory.mktemp("writers"))
    run.ingest()
    run.assemble()
    return run


@pytest.fixture
def to_apply(up_to_silver, tmp_path) -> LakeRun:
    """The same lake, in which silver has what bronze has, and gold nothing."""
    return up_to_silver.copied(tmp_path / "copy")


def bring(logs, files):
    for encoded in files:
        (logs / encoded.name).write_bytes(encoded.data)


def more(run):
    bring(run.logs, FILES)


def apply_hop(run) -> ApplyHop:
    return ApplyHop(run.lake_of_another_process(), TableRules(), epoch_changes=1_000_000)


def apply_all(hop):
    for _ in hop.apply():
        pass
    hop.flush()


def refused(call) -> str | None:
    """The code of what it was refused for, None when it went through."""
    try:
        call()
    except RefusedError as error:
        return error.code
    return None


def at_once(*calls) -> list[str | None]:
    """What became of calls that start at the same moment."""
    barrier = threading.Barrier(len(calls))

    def run(call):
        barrier.wait()
        return refused(call)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def check_bronze(run):
    """Continuing from what is in the lake brings every event once."""
    more(run)
    run.ingest()
    raw = run.spark.table(run.lake.names.bronze_events).orderBy("lsn").select("raw").collect()
    assert b"".join(row.raw for row in raw) == b"".join(encoded.data[4:] for encoded in FILES)


def check_silver(run):
    """Continuing from what is in the lake brings every row change once."""
    more(run)
    run.ingest()
    run.assemble()
    changes = run.spark.table(run.lake.names.silver_changes).where("op IN ('INSERT', 'UPDATE', 'DELETE')")
    assert changes.count() == sum(transaction.count for transaction in HISTORY.transactions)


def check_gold(run):
    """Continuing from what is in the lake gives the right tables."""
    check_silver(run)
    run.apply()
    assert run.gold() == expected_gold(HISTORY)


# --- ingest


@pytest.mark.parametrize("has_begun", [False, True], ids=["empty lake", "going on"])
@pytest.mark.parametrize("is_longer", [False, True], ids=["same range", "longer range"])
def test_a_stale_ingest_is_refused(run, has_begun, is_longer):
    if has_begun:
        run.ingest(until=f"{FILES[0].name}:{len(FILES[0].data)}")
    first, second = run.ingest_job(), run.ingest_job()
    list(first.step(QUIET))
    before = run.versions()
    if is_longer:
        more(run)
    assert refused(lambda: list(second.step(QUIET))) == "lake-writer"
    assert run.versions() == before
    check_bronze(run)


def test_of_two_ingests_at_once_one_is_refused(run):
    jobs = [run.ingest_job(), run.ingest_job()]
    outcome = at_once(*(lambda job=job: list(job.step(QUIET)) for job in jobs))
    assert sorted(outcome, key=str) == [None, "lake-writer"]
    assert run.versions()["bronze_events"] == 1
    check_bronze(run)


# --- assemble


def assemble_all(hop):
    for part in hop.pending():
        hop.assemble(part)


def test_a_stale_assemble_is_refused(run):
    run.ingest()
    first, second = run.assemble_hop(100), run.assemble_hop(100)
    part = next(second.pending())
    assemble_all(first)
    before = run.versions()
    assert refused(lambda: second.assemble(part)) == "lake-writer"
    assert run.versions() == before
    check_silver(run)


def test_a_stale_assemble_of_a_longer_range_is_refused(run):
    run.ingest()
    first, second = run.assemble_hop(100), run.assemble_hop(100)
    assemble_all(first)
    before = run.versions()["silver_changes"]
    more(run)
    run.ingest()
    assert refused(lambda: assemble_all(second)) == "lake-writer"
    assert run.versions()["silver_changes"] == before
    check_silver(run)


def test_of_two_assembles_at_once_one_is_refused(run):
    run.ingest()
    hops = [run.assemble_hop(100), run.assemble_hop(100)]
    outcome = at_once(*(lambda hop=hop: assemble_all(hop) for hop in hops))
    assert sorted(outcome, key=str) == [None, "lake-writer"]
    assert run.versions()["silver_changes"] == 1
    check_silver(run)


# --- apply


@pytest.mark.parametrize("is_longer", [False, True], ids=["same range", "longer range"])
@pytest.mark.heavy
def test_a_stale_apply_is_refused(to_apply, is_longer):
    run = to_apply
    first, second = apply_hop(run), apply_hop(run)
    apply_all(first)
    if is_longer:
        more(run)
        run.ingest()
        run.assemble()
    before = run.versions()
    assert refused(lambda: apply_all(second)) == "lake-writer"
    assert run.versions() == before
    check_gold(run)


@pytest.mark.heavy
def test_an_apply_that_is_overtaken_between_two_epochs_is_refused(to_apply):
    run = to_apply
    first, second = apply_hop(run), apply_hop(run)
    epochs = first.apply()
    next(epochs)
    assert refused(lambda: apply_all(second)) == "lake-writer"
    before = run.versions()
    list(epochs)
    assert run.versions() != before
    check_gold(run)


def test_of_two_applies_at_once_one_is_refused(to_apply):
    run = to_apply
    hops = [apply_hop(run) for _ in range(2)]
    outcome = at_once(*(lambda hop=hop: apply_all(hop) for hop in hops))
    assert sorted(outcome, key=str) == [None, "lake-writer"]
    check_gold(run)


@pytest.mark.parametrize("step", ["append_once", "replace_once", "run_ddl"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.heavy
def test_of_two_that_carry_out_an_epoch_which_a_crash_left_open_one_at_most_goes_on(run, monkeypatch, step, when):
    if step == "replace_once":  # of a mirror that has rows already
        run.all_hops()
    more(run)
    run.ingest()
    run.assemble()
    with pytest.raises(SimulatedCrash):
        crash_at(monkeypatch, f"mirrorlake.lake.delta.progress.{step}", when)
        run.apply()
    monkeypatch.undo()
    hops = [apply_hop(run) for _ in range(2)]
    outcome = at_once(*(lambda hop=hop: apply_all(hop) for hop in hops))
    assert set(outcome) <= {None, "lake-writer"}
    assert outcome.count(None) <= 1
    check_gold(run)


def test_a_log_without_changes_moves_no_table(spark, tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    bring(logs, encode_logs(Log("mariadb")))
    run = LakeRun(spark, logs, tmp_path / "lake")
    run.all_hops()
    before = run.versions()
    run.all_hops()
    assert run.versions() == before
    assert run.gold() == {}
