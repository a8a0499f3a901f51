"""A write that never began, and one whose answer was lost: every call between reading and committing fails in turn.

After each failure no recorded progress is ahead of what is committed, and at last every transaction is there once.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.gold.register import DROPPED, STREAMING
from tests.lake.test_hops import check_epochs, expected_silver, silver
from tests.support.binlog_spec import Rotate
from tests.support.binlog_writer import encode_logs
from tests.support.crash_sites import CrashSites
from tests.support.histories import History
from tests.support.history_generator import Generator
from tests.support.lake_runs import LakeRun, expected_gold


def small_history(seed: int) -> tuple[History, list[int]]:
    """A history, and after how many of its items the hops run: creation, changes, a change of definition, a drop."""
    generator = Generator(seed, ("shop",))
    generator.create_tables(2)
    cuts = [len(generator.items)]
    for ddl in (None, generator._add_column, generator._drop_column, generator._drop):
        if ddl:
            ddl()
        for _ in range(2):
            generator._transaction()
        generator.items.append(Rotate())
        cuts.append(len(generator.items))
    return History(seed, tuple(generator.items)), cuts


class Steps:
    """The history cut into steps, and what the lake must hold before and after each."""

    def __init__(self, spark, folder, seed):
        self.history, self.cuts = small_history(seed)
        (folder / "logs").mkdir()
        self.places = {}
        for encoded in encode_logs(self.history.log("mysql")):
            (folder / "logs" / encoded.name).write_bytes(encoded.data)
            self.places |= {number: f"{encoded.name}:{offset}" for number, offset in encoded.item_offsets}
        self.run = LakeRun(spark, folder / "logs", folder / "lake")

    def up_to(self, cut: int) -> History:
        return History(self.history.seed, self.history.items[:cut])

    def recorded(self) -> tuple[int, int, int]:
        """The lsn up to which bronze, silver and gold say that they are complete."""
        names = self.run.lake.names
        found = [read_progress(self.run.spark, name) for name in (names.bronze_events, names.silver_changes)]
        gold = read_progress(self.run.spark, names.control_epochs)
        return *(p.lsn if p else -1 for p in found), gold.payload["applied_lsn"] if gold else -1

    def check_nothing_is_ahead(self, done: int, cut: int, silver_before: int) -> None:
        """done, cut: items before and after the step. silver_before: what silver had recorded before it."""
        bronze_lsn, silver_lsn, gold_lsn = self.recorded()
        newest = self.run.spark.table(self.run.lake.names.bronze_events).agg({"lsn": "max"}).first()[0]
        assert bronze_lsn == (-1 if newest is None else newest) >= silver_lsn >= gold_lsn
        is_assembled = silver_lsn > silver_before
        assert silver(self.run) == expected_silver(self.up_to(cut if is_assembled else done))
        mirrors = self.run.gold()
        if gold_lsn == silver_lsn:
            assert mirrors == expected_gold(self.up_to(cut if is_assembled else done))
        between = [expected_gold(self.up_to(items)) for items in (done, done + 1, cut)]  # the second: behind its DDL
        assert all(any(rows == state.get(name, []) for state in between) for name, rows in mirrors.items())


@pytest.mark.parametrize("when", ["before", "after"])
def test_every_call_between_reading_and_committing_fails_in_turn(spark, tmp_path, seed, monkeypatch, when):
    steps = Steps(spark, tmp_path, seed)
    run, sites, done = steps.run, CrashSites(monkeypatch, when), 0
    for cut in steps.cuts:
        until, silver_before = steps.places.get(cut, "current"), steps.recorded()[1]
        hops: tuple[Callable[[], object], ...] = (lambda: run.ingest(until=until), run.assemble, run.apply)  # noqa: B023
        for hop in hops:
            while sites.fails_in(hop):
                steps.check_nothing_is_ahead(done, cut, silver_before)
        done = cut
    assert {entry.state for entry in run.register} <= {STREAMING, DROPPED}
    assert silver(run) == expected_silver(steps.history) and run.gold() == expected_gold(steps.history)
    check_epochs(run)
    print(f"{when}: {len(sites.failed)} sites")
