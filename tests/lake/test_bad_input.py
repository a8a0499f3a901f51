"""Logs that must not be read, and lakes that must not be written: refused by name, and no table has moved."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mirrorlake.errors import REFUSALS, RefusedError
from mirrorlake.jobs.run.open import create_lake
from mirrorlake.jobs.run.replicate import run_all, run_ingest
from mirrorlake.jobs.run.source import open_source
from tests.support.binlog_spec import Log, RawEvent, Restart
from tests.support.binlog_writer import encode_logs
from tests.support.damage import cut, flip_byte
from tests.support.histories import random_history
from tests.support.lake_runs import QUIET, LakeRun

pytestmark = pytest.mark.xdist_group("bad_input")

HISTORY = random_history(11, items=8, tables=1)
FILE_BYTES = 1_500
FILES = encode_logs(HISTORY.log("mysql"), FILE_BYTES)
LAST = FILES[-1]


def bring(logs: Path, files) -> Path:
    logs.mkdir(exist_ok=True)
    for encoded in files:
        (logs / encoded.name).write_bytes(encoded.data)
    return logs


@pytest.fixture(scope="module")
def run(spark, tmp_path_factory) -> LakeRun:
    """A lake over the first file; the next one has come since."""
    folder = tmp_path_factory.mktemp("bad")
    run = LakeRun(spark, bring(folder / "logs", FILES[:1]), folder / "lake")
    run.all_hops()
    return run


@pytest.fixture
def logs(tmp_path) -> Path:
    """The whole log, to be damaged."""
    return bring(tmp_path / "logs", FILES)


def attempt(run: LakeRun, logs: Path, **given) -> RefusedError:
    """The refusal of a run over a folder of logs."""
    with pytest.raises(RefusedError) as refused:
        options = run.options(source=f"files:{logs}", **given)
        source = open_source(options)
        run_all(create_lake(options, source, run.spark), source, options, QUIET)
    return refused.value


def check_refusal(error: RefusedError, code: str) -> None:
    assert (error.code, error.exit_code) == (code, 3)
    assert "\n" not in str(error) and len(str(error)) > len(code) + 10
    assert error.hint == REFUSALS[code] and "\n" not in error.hint


def remove(name):
    return lambda logs: (logs / name).unlink()


def renumbered(logs):
    (logs / FILES[0].name).unlink()
    (logs / FILES[1].name).rename(logs / "binlog.000077")


def overwrite(name, data):
    return lambda logs: (logs / name).write_bytes(data)


def cut_first_transaction(logs):
    cut(logs / LAST.name, LAST.item_offsets[-1][1] + 100)


DAMAGE = {
    "the folder is gone": (shutil.rmtree, "log-missing"),
    "no file is left": (lambda logs: [path.unlink() for path in logs.iterdir()], "log-missing"),
    "the file to go on with is gone": (lambda logs: [remove(f.name)(logs) for f in FILES[:2]], "log-missing"),
    "a file in the middle is gone": (remove(FILES[2].name), "log-gap"),
    "a closed file is cut inside an event": (lambda logs: cut(logs / FILES[1].name, -7), "log-truncated"),
    "a closed file is cut between events": (lambda logs: cut(logs / FILES[1].name, -43), "log-truncated"),
    "the last file is cut inside an event": (cut_first_transaction, "log-truncated"),
    "the last file is empty": (overwrite(LAST.name, b""), "log-truncated"),
    "a row has another bit": (lambda logs: flip_byte(logs / LAST.name, -200, 4), "log-checksum"),
    "the last file is no binlog": (overwrite(LAST.name, b"-- a dump\n" * 50), "log-event"),
    "no file is a binlog": (lambda logs: [overwrite(f.name, b"-- a dump\n" * 50)(logs) for f in FILES], "log-event"),
    "the last file is encrypted": (overwrite(LAST.name, b"\xfdbin" + bytes(600)), "log-event"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_log_is_refused_and_the_lake_is_as_it_was(run, logs, what):
    damage, code = DAMAGE[what]
    damage(logs)
    before = run.versions()
    check_refusal(attempt(run, logs), code)
    assert run.versions() == before


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ([RawEvent(26, b"\1\0\0")], "log-incident"),
        ([RawEvent(99, bytes(20))], "log-event"),
        ([RawEvent(164, bytes(20))], "log-event"),
    ],
    ids=["incident", "unknown event", "encryption"],
)
def test_a_log_that_cannot_be_followed_is_refused_and_the_lake_is_as_it_was(run, tmp_path, items, code):
    logs = bring(tmp_path / "logs", encode_logs(Log("mysql", [*HISTORY.items, Restart(), *items]), FILE_BYTES))
    before = run.versions()
    check_refusal(attempt(run, logs), code)
    assert run.versions() == before


@pytest.mark.parametrize("other", [{"server_id": 8}, {"basename": "master-bin"}, {"flavor": "mariadb"}], ids=str)
def test_a_lake_of_another_source_is_refused(run, tmp_path, other):
    log = HISTORY.log(**{"flavor": "mysql", **other})
    logs = bring(tmp_path / "logs", encode_logs(log, FILE_BYTES))
    before = run.versions()
    check_refusal(attempt(run, logs), "lake-source")
    assert run.versions() == before


def test_a_start_or_an_end_that_the_log_does_not_have_is_refused(run, logs, tmp_path):
    before = run.versions()
    check_refusal(attempt(run, logs, until=f"{LAST.name}:{len(LAST.data) + 1}"), "log-truncated")
    check_refusal(attempt(run, logs, until="binlog.000099:4"), "log-gap")
    assert run.versions() == before
    beside_an_event = f"{FILES[0].name}:{FILES[0].item_offsets[0][1] + 1}"
    options = run.options(source=f"files:{logs}", lake=str(tmp_path / "new"), start=beside_an_event)
    source = open_source(options)
    lake = create_lake(options, source, run.spark)
    with pytest.raises(RefusedError):
        run_ingest(lake, source, options, QUIET)
    assert run.spark.table(lake.names.bronze_events).count() == 0


def test_the_undamaged_log_is_read_on_after_all_that(run, logs):
    options = run.options(source=f"files:{logs}")
    run_ingest(run.lake, open_source(options), options, QUIET)
    assert run.spark.table(run.lake.names.bronze_events).select("log_file").distinct().count() == len(FILES)
