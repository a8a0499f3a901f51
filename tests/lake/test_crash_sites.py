"""A write that never began, and one whose answer was lost: every call between reading and committing fails in turn.

After each failure no recorded progress is ahead of what is committed, and at last every transaction is there once.
"""

from __future__ import annotations

import pytest

from mirrorlake.lake.delta.progress import Progress, read_progress
from mirrorlake.lake.gold.control.register import DROPPED, STREAMING
from tests.support.binlog_spec import Rotate
from tests.support.binlog_writer import encode_logs
from tests.support.crash_sites import CrashSites
from tests.support.histories import History
from tests.support.history_generator import Generator
from tests.support.lake_checks import check_epochs, expected_silver, silver
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

    def recorded(self, table: str) -> Progress | None:
        return read_progress(self.run.spark, getattr(self.run.lake.names, table))

    def check_bronze(self, done: int, cut: int) -> None:
        """What is recorded is the last event that is there."""
        newest = self.run.spark.table(self.run.lake.names.bronze_events).agg({"lsn": "max"}).first()[0]
        recorded = self.recorded("bronze_events")
        assert (recorded.lsn if recorded else None) == newest

    def check_silver(self, done: int, cut: int) -> None:
        """All of the step is there and recorded, or nothing."""
        recorded, bronze = self.recorded("silver_changes"), self.recorded("bronze_events")
        is_done = recorded is not None and recorded.lsn == bronze.lsn
        assert silver(self.run) == expected_silver(self.up_to(cut if is_done else done))

    def check_gold(self, done: int, cut: int) -> None:
        """Every mirror is before the step, after its DDL or after all of it; when all is recorded, at its end."""
        recorded, bronze = self.recorded("control_epochs"), self.recorded("bronze_events")
        mirrors = self.run.gold()
        if recorded is not None and recorded.payload["applied_lsn"] == bronze.lsn:
            assert mirrors == expected_gold(self.up_to(cut))
        between = [expected_gold(self.up_to(items)) for items in (done, done + 1, cut)]
        assert all(any(rows == state.get(name, []) for state in between) for name, rows in mirrors.items())


@pytest.mark.parametrize(("when", "fewest_sites"), [("before", 50), pytest.param("after", 10, marks=pytest.mark.long)])
def test_every_call_between_reading_and_committing_fails_in_turn(
    spark, tmp_path, seed, monkeypatch, when, fewest_sites, is_long
):
    """In the short form about a tenth of the calls, others with each seed."""
    every = 1 if is_long else 10
    steps, sites = Steps(spark, tmp_path, seed), CrashSites(monkeypatch, when, every=every, seed=seed)
    run, done = steps.run, 0
    for cut in steps.cuts:
        until = steps.places.get(cut, "current")
        for hop, check in (
            (lambda: run.ingest(until=until), steps.check_bronze),  # noqa: B023
            (run.assemble, steps.check_silver),
            (run.apply, steps.check_gold),
        ):
            while sites.fails_in(hop):
                check(done, cut)
        done = cut
    assert {entry.state for entry in run.register} <= {STREAMING, DROPPED}
    assert silver(run) == expected_silver(steps.history) and run.gold() == expected_gold(steps.history)
    check_epochs(run)
    assert len(sites.failed) >= (fewest_sites if is_long else fewest_sites // 20)
