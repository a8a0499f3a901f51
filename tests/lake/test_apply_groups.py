"""Several processes apply one lake, and mirrors move between them at any moment."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from threading import Event, Lock

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from mirrorlake.errors import RefusedError, RetryableError, UsageError
from mirrorlake.jobs.inspect.status import read_status
from mirrorlake.jobs.run.replicate import run_apply
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.gold.apply import ApplyHop
from mirrorlake.lake.gold.apply_group import ApplyGroup
from mirrorlake.lake.gold.control.register import REFUSED
from mirrorlake.lake.gold.control.rules import TableRules
from tests.support.binlog_spec import Log
from tests.support.crash import COMMITS, SimulatedCrash, replace_everywhere
from tests.support.ddl_log import EVERY_CLASS, FEW, ddl, insert, table
from tests.support.every_step import check_every_step_once
from tests.support.lake_runs import QUIET, LakeRun, n_commits

COUNTS = (2, 1, 3)
"""Of how many groups one layout after another is."""


@dataclass
class Layout:
    """Processes that share the mirrors. left: so many commits, and the next layout takes over. overtaken: that one is
    over, too."""

    count: int
    left: int
    over: Event = field(default_factory=Event)
    overtaken: Event = field(default_factory=Event)


class Relay:
    """Layouts on one lake, one after another, as new processes.

    The former ones run on. Each reaches one more commit, tries it when the next layout has made its own, and that is
    the last thing it does.
    """

    def __init__(self, run: LakeRun, monkeypatch, commits_each: int):
        self._run, self._commits_each = run, commits_each
        self._layouts: dict[int, tuple[SparkSession, Layout]] = {}
        self._lock = Lock()
        self.overtaken_tries = 0
        replace_everywhere(monkeypatch, COMMITS, self._committing)
        replace_everywhere(monkeypatch, ["mirrorlake.lake.delta.session.private_session"], self._making_session)

    def _committing(self, commit: Callable) -> Callable:
        def call(session, *args, **kwargs):
            _, layout = self._layouts[id(session)]
            if layout.over.is_set():
                layout.overtaken.wait()
                self.overtaken_tries += 1
                commit(session, *args, **kwargs)
                raise SimulatedCrash
            before = n_commits(self._run.folder)
            result = commit(session, *args, **kwargs)
            with self._lock:
                layout.left -= n_commits(self._run.folder) > before
                if layout.left <= 0:
                    layout.over.set()
            return result

        return call

    def _making_session(self, make: Callable) -> Callable:
        def call(session):
            made, (_, layout) = make(session), self._layouts[id(session)]
            self._layouts[id(made)] = made, layout
            return made

        return call

    def process(self, layout: Layout, number: int) -> str | None:
        """One process of a layout; None when it ends as it should, else why not."""
        lake = self._run.lake_of_another_process()
        self._layouts[id(lake.spark)] = lake.spark, layout
        try:
            run_apply(lake, self._run.options(group=f"{number}/{layout.count}"), QUIET)
        except SimulatedCrash:
            return "crash"
        except RefusedError as error:
            return error.code
        except AnalysisException:  # columns that a DDL of the next layout has taken away
            return "overtaken" if layout.over.is_set() else "analysis"
        return None

    def finish(self) -> list[str]:
        """Layout after layout until one has nothing left to do; what processes ended with."""
        former, started = None, []
        with ThreadPoolExecutor(64) as pool:
            for count in cycle(COUNTS):
                layout = Layout(count, self._commits_each)
                processes = [pool.submit(self.process, layout, number + 1) for number in range(count)]
                while not layout.over.is_set() and not has_ended(processes):
                    layout.over.wait(0.1)
                layout.over.set()
                if former:
                    former.overtaken.set()
                former, started = layout, [*started, *processes]
                if all(process.done() and process.result() is None for process in processes):
                    break
            former.overtaken.set()
        return [process.result() for process in started]


def has_ended(processes: list[Future]) -> bool:
    """All have, or one that the others would wait for."""
    ended = [process for process in processes if process.done()]
    return len(ended) == len(processes) or any(process.result() is not None for process in ended)


def test_mirrors_move_behind_every_commit_and_former_owners_run_on(spark, tmp_path, monkeypatch, is_long):
    log, commits_each = (EVERY_CLASS, 1) if is_long else (FEW, 20)
    run = LakeRun.up_to_silver(spark, Log("mariadb", log.items), tmp_path)
    relay = Relay(run, monkeypatch, commits_each)
    ends = relay.finish()
    monkeypatch.undo()
    assert set(ends) <= {None, "crash", "lake-writer", "overtaken"}
    assert relay.overtaken_tries > (4 if is_long else 1)
    log.check_every_ddl_once(run)
    check_every_step_once(run.lake)


class CountChanges(Watcher):
    n_changes = 0

    def applied(self, done):
        self.n_changes += done.n_changes


def in_groups(run: LakeRun, count: int) -> dict[int, int]:
    """Apply with one process for each group, at once; how many changes each has applied."""
    watchers = {number: CountChanges() for number in range(1, count + 1)}

    def process(number: int) -> None:
        run_apply(run.lake_of_another_process(), run.options(group=f"{number}/{count}"), watchers[number])

    with ThreadPoolExecutor(count) as pool:
        for done in as_completed([pool.submit(process, number) for number in watchers]):
            done.result()
    return {number: watcher.n_changes for number, watcher in watchers.items()}


TABLES = [table(f"t{i}", "id", "v") for i in range(4)]
BOTH_ROWS = [json.dumps({"id": str(n), "v": str(n)}) for n in (1, 2)]


def some_tables(spark: SparkSession, folder: Path, *between) -> LakeRun:
    """Each with ``BOTH_ROWS``, up to silver; the log has these items between the first row of all and the second."""
    creates = [ddl(f"create table {each.table} (id int primary key, v int)") for each in TABLES]
    first, second = ([insert(each, (n, n)) for each in TABLES] for n in (1, 2))
    log = Log("mysql", (ddl("create database shop"), *creates, *first, *between, *second))
    return LakeRun.up_to_silver(spark, log, folder)


@pytest.mark.long
def test_each_group_applies_its_own_mirrors(spark, tmp_path):
    run = some_tables(spark, tmp_path)
    applied = in_groups(run, 3)
    assert run.gold() == {("shop", each.table): BOTH_ROWS for each in TABLES}
    owners = {ApplyGroup(1, 3).owner_of(entry.mirror_id) for entry in run.register}
    assert len(owners) > 1 and {number for number, n_changes in applied.items() if n_changes} == owners
    assert sum(applied.values()) == 2 * len(TABLES)
    check_every_step_once(run.lake)


@pytest.mark.heavy
def test_what_another_group_finds_wrong_with_a_mirror_the_first_one_records(spark, tmp_path):
    run = some_tables(spark, tmp_path, ddl("create table z (id int primary key)"))
    hop = ApplyHop(run.lake, TableRules(), epoch_changes=1_000)
    epochs = hop.apply()
    next(epochs), next(epochs)
    hop.flush()
    gone, *_ = (entry for entry in run.register if ApplyGroup(1, 2).owner_of(entry.mirror_id) == 2)
    shutil.rmtree(run.lake.names.mirror_path(gone.mirror_id))
    in_groups(run, 2)
    refused = {entry.name: (entry.code, entry.reason) for entry in run.register if entry.state == REFUSED}
    assert refused == {gone.name: ("mirror-changed", "the mirror table is gone")}
    assert run.gold() == {("shop", "z"): []} | {
        ("shop", each.table): BOTH_ROWS for each in TABLES if each.table != gone.table
    }


@pytest.mark.heavy
def test_a_group_without_the_others_gives_up(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("mirrorlake.lake.gold.apply_group.PATIENCE_S", 1.0)
    run = some_tables(spark, tmp_path)
    missing = []
    for group in ("2/2", "1/2"):
        with pytest.raises(RetryableError) as error:
            run.apply(group=group)
        missing.append(error.value.message)
    assert missing == ["no sign of apply group 1/2 for 1 s", "no sign of apply group 2/2 for 1 s"]
    status = read_status(run.lake, run.options(source=None))
    planned = status.open_epoch.tables
    theirs = tuple(f"{t.database}.{t.table}" for t in planned if ApplyGroup(2, 2).owns(t.mirror_id))
    assert status.to_do == theirs and 0 < len(theirs) < len(planned)
    run.apply()
    check_every_step_once(run.lake)
    assert read_status(run.lake, run.options(source=None)).to_do == ()


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/2/3", "-1/2"])
def test_what_is_no_group(text):
    with pytest.raises(UsageError, match="a group is written 2/4"):
        ApplyGroup.parse(text)
