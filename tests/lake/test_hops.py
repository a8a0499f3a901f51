"""Random histories through all three hops: however the work is cut, repeated or interrupted, gold is the oracle's.

More of them: --histories N. The same ones again: --seed N.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.jobs.run.replicate import run_all
from mirrorlake.lake.gold.apply import ApplyHop
from mirrorlake.lake.gold.control.register import REFUSED
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.merge.net_effect import Sizes
from mirrorlake.lake.silver.events import collect
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_spec import Ddl, Insert, Log, Query, Transaction
from tests.support.binlog_writer import encode_logs, write_logs
from tests.support.canonical import canonical_row
from tests.support.crash import SimulatedCrash, crash_at
from tests.support.histories import History, random_history
from tests.support.lake_checks import check, check_epochs
from tests.support.lake_runs import QUIET, LakeRun, count_as_large, expected_gold, run_of
from tests.support.oracle import TableDdl
from tests.support.partial_rows import with_partial_rows

HISTORIES = 1
FLAVORS = ("mysql", "mariadb")
STEPS = ("append_from", "append_once", "replace_once", "run_ddl")


class Case:
    """One history as a log of one flavor, and random choices of its own: row images, metadata, checksums, files."""

    def __init__(self, seed: int, number: int, items: int = 12):
        self.random = Random(f"{seed} {number}")
        self.history = random_history(seed + number, items=items, tables=2, keyless=0.4)
        options = {"checksum": self.random.random() < 0.8, "compression": self.random.random() < 0.5}
        flavor = FLAVORS[(seed + number) % 2]
        if flavor == "mariadb":
            options["fragment_bytes"] = self.random.choice((0, 100))
        self.log = partial_log(self.history, self.random, flavor, **options)
        self.files = encode_logs(self.log, self.random.choice((None, 4_000, 15_000)))
        self.bytes = sum(len(encoded.data) for encoded in self.files)

    def lake(self, spark, folder) -> LakeRun:
        (folder / "logs").mkdir()
        for encoded in self.files:
            (folder / "logs" / encoded.name).write_bytes(encoded.data)
        return LakeRun(spark, folder / "logs", folder / "lake")

    def cut_finely(self, monkeypatch) -> None:
        """About five chunks of log, for silver and for gold: a file's offsets start again, so there may be more."""
        bits = max(8, (self.bytes // 5).bit_length() - 1)
        monkeypatch.setattr("mirrorlake.lake.silver.assemble.CHUNK_BITS", bits)
        monkeypatch.setattr("mirrorlake.lake.gold.merge.changes.CHUNK_BITS", bits)
        monkeypatch.setattr("mirrorlake.lake.silver.assemble.LONG_BYTES", self.random.choice((0, 1 << 30)))

    def somewhere(self) -> str:
        """A position in the log, in a transaction as likely as not."""
        encoded = self.random.choice(self.files)
        start = self.random.choice([offset for _, offset in encoded.item_offsets] or [4])
        inside = start + int.from_bytes(encoded.data[start + 9 : start + 13], "little")  # after its first event
        return f"{encoded.name}:{self.random.choice((start, inside))}"

    def some_times(self, step: Callable[[], object]) -> None:
        for _ in range(self.random.choice((1, 1, 2))):
            step()


def partial_log(history: History, random: Random, flavor: str, **options) -> Log:
    items = with_partial_rows(history.items, random, flavor)
    return Log(flavor, items, metadata=random.choice(("FULL", "MINIMAL", "NO_LOG")), **options)


def test_any_cut_and_any_repetition_of_the_hops_gives_the_same(spark, tmp_path, seed, history_number, monkeypatch):
    case = Case(seed, history_number)
    case.cut_finely(monkeypatch)
    if case.random.random() < 0.5:
        count_as_large(monkeypatch, merges=case.random.random() < 0.5)
    random, run = case.random, case.lake(spark, tmp_path)
    for until in [*(case.somewhere() for _ in range(random.randint(0, 2))), "current"]:
        sizes = {"batch_bytes": random.choice((case.bytes // 3, 1 << 30)), "block_bytes": random.choice((300, 4_000))}
        case.some_times(lambda: run.ingest(until=until, **sizes))  # noqa: B023
        case.some_times(lambda: run.assemble(random.choice((1, 3, 100))))
        case.some_times(lambda: run.apply(epoch_changes=random.choice((5, 40, 10_000))))
    check(run, case.history)
    before = run.versions()
    run.all_hops()
    assert run.versions() == before


def test_a_long_transaction_is_decoded_a_stretch_at_a_time(spark, tmp_path, monkeypatch):
    """With the same rows as otherwise; the transactions before and after it among them."""
    orders, visits = (TableSchema("shop", name, (Column("id", ColumnType("int"), False),), ("id",)) for name in "ov")
    ids = iter(range(10_000))
    changes = [Insert(table, [{"id": next(ids)} for _ in range(50)]) for _ in range(60) for table in (orders, visits)]
    items = [Ddl(f"CREATE TABLE {name} (id INT PRIMARY KEY)", "shop") for name in "ov"]
    items += [Transaction(changes[:1]), Transaction(changes[1:-1]), Transaction(changes[-1:])]
    write_logs(tmp_path / "logs", Log("mariadb", items))
    monkeypatch.setattr("mirrorlake.lake.silver.assemble.CHUNK_BITS", 10)
    read, silvers = [], []
    monkeypatch.setattr("mirrorlake.lake.silver.assemble.collect", lambda events: read.append(1) or collect(events))
    for long_bytes, n_reads in ((1 << 30, 0), (4096, 9)):
        monkeypatch.setattr("mirrorlake.lake.silver.assemble.LONG_BYTES", long_bytes)
        run = LakeRun(spark, tmp_path / "logs", tmp_path / str(long_bytes))
        run.ingest()
        read.clear()
        run.assemble()
        assert len(read) >= n_reads and (len(read) == 0) == (n_reads == 0)
        rows = spark.table(run.lake.names.silver_changes).orderBy("lsn", "ordinal")
        silvers.append(rows.selectExpr("* EXCEPT (before, after)", "to_json(before)", "to_json(after)").toArrow())
    assert silvers[0].num_rows == 2 + 120 * 50 + 2 * 3
    assert silvers[0].equals(silvers[1])


@pytest.mark.parametrize("flavor", FLAVORS)
def test_events_that_are_large_when_opened_are_decoded_by_spark(spark, tmp_path, monkeypatch, flavor, seed):
    """With the same rows as in memory."""
    log = Log(flavor, random_history(seed, items=8, tables=2, keyless=0.4).items, compression=True)
    write_logs(tmp_path / "logs", log)
    silvers = []
    for opened_bytes in (1 << 30, 0):
        monkeypatch.setattr("mirrorlake.lake.silver.assemble.OPENED_BYTES", opened_bytes)
        run = LakeRun(spark, tmp_path / "logs", tmp_path / str(opened_bytes))
        run.ingest()
        assert [batch.n_rows is None for batch in run.assemble()] == [opened_bytes == 0]
        rows = spark.table(run.lake.names.silver_changes).orderBy("tx_lsn", "ordinal", "lsn")
        silvers.append(rows.selectExpr("* EXCEPT (before, after)", "to_json(before)", "to_json(after)").toArrow())
    assert silvers[0].num_rows > 20
    assert silvers[0].equals(silvers[1])


@pytest.mark.databricks
def test_a_crash_at_any_step_changes_nothing(spark, tmp_path, seed, history_number, monkeypatch):
    case = Case(seed, 1000 + history_number, items=8)
    if case.random.random() < 0.5:
        count_as_large(monkeypatch, merges=case.random.random() < 0.5)
    run = case.lake(spark, tmp_path)
    for _ in range(4):
        step, when = case.random.choice(STEPS), case.random.choice(("before", "after"))
        with monkeypatch.context() as patch:
            crash_at(patch, f"mirrorlake.lake.delta.progress.{step}", when, case.random.randint(1, 3))
            try:
                run.all_hops()
            except SimulatedCrash:
                pass
    run.all_hops()
    check(run, case.history)


@pytest.mark.heavy
def test_the_hops_of_one_process_hand_their_batches_on_in_memory(spark, tmp_path, seed):
    case = Case(seed, 2000)
    run = case.lake(spark, tmp_path)
    for until in (case.somewhere(), "current"):
        run_all(run.lake, FileSource(run.logs), run.options(until=until), QUIET)
    check(run, case.history)


FORMS = (("whole", 1_000_000), ("whole", 7), ("partial", 7))
"""Of the row images; and about how many changes one worker takes."""


@pytest.mark.databricks
def test_an_epoch_too_large_for_the_driver_is_reduced_by_workers(spark, tmp_path, seed, is_long, history_number):
    """By one worker for each table, by several that part its changes by key, and by one where images lack columns."""
    history = random_history(seed + 3000 + history_number, items=12, tables=2, keyless=0.4)
    flavor = FLAVORS[(seed + history_number) % 2]
    write_logs(tmp_path / "whole", history.log(flavor))
    write_logs(tmp_path / "partial", partial_log(history, Random(seed), flavor))
    for logs, per_task in FORMS if is_long else [Random(seed).choice(FORMS)]:
        run = LakeRun(spark, tmp_path / logs, tmp_path / f"lake-{logs}-{per_task}")
        run.ingest()
        run.assemble()
        hop = ApplyHop(run.lake, TableRules(), epoch_changes=25, sizes=Sizes(local=0, per_task=per_task))
        assert sum(done.n_changes for done in hop.apply()) == sum(t.count for t in history.transactions if t.count)
        hop.flush()
        check(run, history)


def test_a_table_that_one_run_leaves_out_is_not_mirrored_by_halves(spark, tmp_path):
    """Its changes of that time are missing, so it is refused from then on, or it has them all."""
    history = random_history(21, items=6, tables=1, databases=("shop",))
    table = next(iter(history.schemas.values()))
    run = LakeRun(spark, *_half(tmp_path, history))
    run.all_hops()
    write_logs(tmp_path / "logs", history.log("mysql"), 1)
    run.ingest()
    run.assemble()
    run.apply(tables="other.*")
    run.apply()
    entry = run.register.get((table.database, table.table))
    assert entry.state == REFUSED or run.gold() == expected_gold(history)


def test_a_statement_among_row_changes_ends_its_table_before_the_transaction(spark, tmp_path):
    """The other table of the transaction gets all of it in one epoch."""
    columns = (Column("id", ColumnType("int"), False), Column("v", ColumnType("int"), True))
    t, u = (TableSchema("d", name, columns, ("id",)) for name in ("t", "u"))
    row = {n: [{"id": n, "v": n}] for n in (1, 2, 3)}
    mixed = [Insert(t, row[2]), Insert(u, row[2]), Query("UPDATE u SET v = 9", "d"), Insert(t, row[3])]
    create = "(id INT PRIMARY KEY, v INT)"
    items = [Ddl("CREATE DATABASE d"), *(Ddl(f"CREATE TABLE {name} {create}", "d") for name in ("t", "u"))]
    items += [Transaction([Insert(t, row[1]), Insert(u, row[1])]), Transaction(mixed)]
    run = run_of(spark, tmp_path, lambda folder: write_logs(folder, Log("mysql", items)))
    run.all_hops()
    check_epochs(run)
    assert run.gold() == {("d", "t"): [canonical_row(row[n][0]) for n in (1, 2, 3)]}
    refused = run.register.get(("d", "u"))
    assert (refused.state, refused.code) == (REFUSED, "statement-dml")
    assert run.mirror(refused.mirror_id) == [canonical_row(row[1][0])]


def _half(folder, history):
    """The log up to the table's first transaction."""
    first = next(n for n, item in enumerate(history.items) if isinstance(item, TableDdl)) + 2
    write_logs(folder / "logs", Log("mysql", history.items[:first], end="open"), 1)
    return folder / "logs", folder / "lake"
