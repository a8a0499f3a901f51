"""Syncpoints: what all mirrors had together at one position in the log, read again later."""

from __future__ import annotations

import datetime as dt
import json
from random import Random

import pytest
from typer.testing import CliRunner

from mirrorlake.cli import app
from mirrorlake.core.gtid import parse_gtid_set
from mirrorlake.core.position import BinlogPosition
from mirrorlake.errors import UsageError
from mirrorlake.jobs.inspect.sql import Catalog
from mirrorlake.jobs.inspect.syncpoints import list_syncpoints, make_syncpoint
from mirrorlake.jobs.maintenance import maintain
from mirrorlake.jobs.run.replicate import run_all
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.bronze.ingest import IngestProgress
from mirrorlake.lake.gold.apply import ApplyHop
from mirrorlake.lake.gold.control.rules import TableRules
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.lake.gold.syncpoint.positions import end_before, end_of, gtids_at
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_spec import Transaction
from tests.support.canonical import mirror_rows
from tests.support.command_line import complaint
from tests.support.crash import SimulatedCrash, crash_at
from tests.support.histories import History
from tests.support.history_generator import Generator
from tests.support.lake_checks import check, check_epochs
from tests.support.lake_runs import LakeRun, expected_gold

pytestmark = pytest.mark.xdist_group("syncpoints")

FLAVOR = "mysql"
DAY_MS = 86_400_000


def history_with_ddl(seed: int) -> History:
    """Transactions over several tables between columns that come and go, a table that goes and one that comes."""
    generator = Generator(seed, ("shop",))
    generator.create_tables(2)
    for ddl in (generator._add_column, generator._drop_column, generator._drop, generator._create):
        n_items = len(generator.items) + 3
        while len(generator.items) < n_items:  # a transaction that would change no row is none
            generator._transaction()
        ddl()
    generator._transaction()
    return History(seed, tuple(generator.items))


@pytest.fixture(scope="module")
def history(seed) -> History:
    return history_with_ddl(seed)


@pytest.fixture(scope="module")
def ingested(spark, history, tmp_path_factory) -> LakeRun:
    return LakeRun.up_to_silver(spark, history.log(FLAVOR), tmp_path_factory.mktemp("syncpoints"))


@pytest.fixture
def run(ingested, tmp_path) -> LakeRun:
    return ingested.copied(tmp_path / "copy")


@pytest.fixture(scope="module")
def applied(ingested, tmp_path_factory) -> LakeRun:
    run = ingested.copied(tmp_path_factory.mktemp("applied") / "copy")
    run.apply()
    return run


@pytest.fixture
def applied_run(applied, tmp_path) -> LakeRun:
    return applied.copied(tmp_path / "copy")


@pytest.fixture(scope="module")
def places(ingested) -> list[tuple[int, str]]:
    """(lsn, GTID) of every transaction and DDL."""
    rows = ingested.spark.table(ingested.lake.names.silver_changes).where("op IN ('COMMIT', 'DDL')").orderBy("lsn")
    return [(row.lsn, row.gtid) for row in rows.select("lsn", "gtid").collect()]


def after(history: History, count: int) -> dict:
    """Gold after these numbers of transactions and DDLs."""
    return expected_gold(History(history.seed, history.items[:count]))


def read_at(run: LakeRun, point) -> dict:
    with Catalog(run.lake, point) as catalog:
        return {
            (t.database, t.table): sorted(mirror_rows(catalog.query(f"SELECT * FROM `{t.database}__{t.table}`")))
            for t in point.tables
        }


def gtids_of(places, count: int):
    gtids = parse_gtid_set(FLAVOR, "")
    for _, gtid in places[:count]:
        gtids.add_one(gtid)
    return gtids


def n_up_to(places, lsn: int) -> int:
    return sum(end <= lsn for end, _ in places)


def test_gtid_sets_and_places_in_the_log_belong_together(ingested, places):
    for count in (1, len(places) // 2, len(places)):
        lsn, gtids = places[count - 1][0], gtids_of(places, count)
        assert gtids_at(ingested.lake, lsn) == gtids and end_of(ingested.lake, gtids) == lsn
        assert gtids_at(ingested.lake, lsn - 1) == gtids_of(places, count - 1)
    gtids.add_one(places[0][1].rpartition(":")[0] + ":999999")
    assert end_of(ingested.lake, gtids) is None


def test_a_position_is_come_to_where_the_last_transaction_before_it_ends(ingested, places, seed):
    events = ingested.spark.table(ingested.lake.names.bronze_events).orderBy("lsn").collect()
    ends = {event.tx_lsn: event.lsn for event in events}
    for event in Random(seed).sample(events, 6):
        expected = max((lsn for tx_lsn, lsn in ends.items() if lsn <= event.lsn), default=None)
        assert end_before(ingested.lake, BinlogPosition(event.log_file, event.end_log_pos)) == expected
    resume = IngestProgress.read(ingested.lake).position
    assert end_before(ingested.lake, resume) == events[-1].lsn
    assert end_before(ingested.lake, BinlogPosition(resume.log_file, resume.offset + 1)) is None


def position_behind(run: LakeRun, lsn: int) -> BinlogPosition:
    event = run.spark.table(run.lake.names.bronze_events).where(f"lsn = {lsn}").first()
    return BinlogPosition(event.log_file, event.end_log_pos)


def test_every_epochs_end_can_be_read_again(run, history, places, seed, is_long):
    """Also after later DDL, a drop of the table among them. The short form reads three of them, by the seed."""
    hop, taken = ApplyHop(run.lake, TableRules(), epoch_changes=1), []
    for _ in hop.apply():
        taken.append(syncpoints.take(run.lake, hop.lsn))
        assert syncpoints.take(run.lake, hop.lsn) == taken[-1]
    hop.flush()
    check(run, history)
    assert syncpoints.published(run.lake) == taken and len(taken) >= 7
    for point in taken if is_long else Random(seed).sample(taken, 3):
        count = n_up_to(places, point.lsn)
        assert read_at(run, point) == after(history, count)
        assert point.gtids == str(gtids_of(places, count)) and point.name == f"lsn-{point.lsn}"


@pytest.mark.parametrize("when", ["before", pytest.param("after", marks=pytest.mark.long)])
@pytest.mark.heavy
def test_an_epoch_ends_where_a_syncpoint_was_asked_for_and_a_crash_changes_nothing(
    run, history, places, monkeypatch, when
):
    """The process ends between the commits of the tables and the publication, or right after it. One is asked for by
    GTIDs, one by its position."""
    counts = [5, len(places)]
    syncpoints.request(run.lake, "n5", gtids_of(places, 5))
    syncpoints.request(run.lake, f"n{len(places)}", position_behind(run, places[-1][0]))
    crashes = 0
    while True:
        with monkeypatch.context() as patched:
            is_first = when == "after" or not crashes  # of this process; what the last one left comes first
            crash_at(patched, "mirrorlake.lake.gold.syncpoint.syncpoints._append", when, 1 if is_first else 2)
            try:
                run.apply()
                break
            except SimulatedCrash:
                crashes += 1
    check(run, history)
    check_epochs(run)
    found = syncpoints.published(run.lake)
    assert [(point.name, point.lsn) for point in found] == [(f"n{count}", places[count - 1][0]) for count in counts]
    assert [read_at(run, point) for point in found] == [after(history, count) for count in counts]
    rows = run.spark.table(run.lake.names.control_syncpoints)
    assert rows.where("phase = 'published'").count() == len(counts) and not syncpoints.waiting(run.lake)
    assert crashes == len(counts)


def before_a_transaction(history: History) -> int:
    """How many items there are up to a transaction that another one follows: no DDL ends an epoch there."""
    pairs = zip(history.items, history.items[1:], strict=False)
    return next(n for n, pair in enumerate(pairs, 1) if all(isinstance(item, Transaction) for item in pair))


def test_what_gold_has_gone_past_is_missed_unless_an_epoch_ended_there(applied_run, history, places):
    run = applied_run
    syncpoints.request(run.lake, "inside", gtids_of(places, before_a_transaction(history)))
    syncpoints.request(run.lake, "tables", gtids_of(places, 3))
    syncpoints.request(run.lake, "nowhere", BinlogPosition("binlog.000001", 1 << 35))
    run.apply()
    (found,) = syncpoints.published(run.lake)
    assert found.name == "tables" and read_at(run, found) == after(history, 3)
    assert {point.name for point in syncpoints.missed(run.lake)} == {"inside", "nowhere"} and not syncpoints.waiting(
        run.lake
    )


@pytest.mark.heavy
def test_a_run_takes_one_so_often_and_none_where_the_source_stands_still(run, history, places):
    class Told(Watcher):
        taken: list = []

        def took(self, point):
            self.taken.append(point)

    for _ in range(2):
        run_all(run.lake, FileSource(run.logs), run.options(syncpoint_every=1e-6), Told())
    assert Told.taken == syncpoints.published(run.lake)
    assert [n_up_to(places, point.lsn) for point in Told.taken][-1] == len(places)
    assert len({point.lsn for point in Told.taken}) == len(Told.taken) >= 7


def test_a_syncpoint_is_found_by_name_lsn_and_time(applied_run):
    run = applied_run
    first = make_syncpoint(run.lake, "first", None)
    assert [point["name"] for point in list_syncpoints(run.lake)] == ["first"]
    assert first.commit_ts is not None
    later = (first.commit_ts + dt.timedelta(hours=1)).isoformat()
    earlier = (first.commit_ts - dt.timedelta(seconds=1)).isoformat()
    for text in ("first", str(first.lsn), first.commit_ts.isoformat(), later):
        assert syncpoints.find(run.lake, text) == first
    for work in (
        lambda: syncpoints.find(run.lake, earlier),
        lambda: syncpoints.find(run.lake, "second"),
        lambda: make_syncpoint(run.lake, "first", None),
        lambda: make_syncpoint(run.lake, "first", first.gtids),
        lambda: make_syncpoint(run.lake, "1st", None),
        lambda: make_syncpoint(run.lake, "lsn-5", None),
    ):
        with pytest.raises(UsageError) as refused:
            work()
        assert refused.value.code == "syncpoint"


def test_the_command_line_takes_lists_and_reads_them(ingested, applied_run, history, places):
    def mirrorlake(*arguments: str, run: LakeRun = applied_run):
        return CliRunner().invoke(app, [*arguments, "--lake", str(run.folder)])

    assert complaint(mirrorlake("syncpoint", run=ingested))[:2] == (2, "syncpoint")
    gtids = str(gtids_of(places, len(places)))
    assert mirrorlake("syncpoint", "first").stdout == f"published first  {gtids}\n"
    assert mirrorlake("syncpoint", "later", "--at", gtids).stdout == f"requested later  {gtids}\n"
    first, later = json.loads(mirrorlake("syncpoints", "--json").stdout)
    assert [point["name"] + " " + point["phase"] for point in (first, later)] == ["first published", "later requested"]
    assert [(t["database"], t["table"]) for t in first["tables"]] == sorted(history.tables)
    for (database, table), rows in history.tables.items():
        statement = f"SELECT count(*) AS n FROM `{database}__{table}`"
        shown = mirrorlake("sql", statement, "--at", "first", "--format", "json")
        assert json.loads(shown.stdout) == [{"n": len(rows)}] and "at first, committed" in shown.stderr
    assert complaint(mirrorlake("sql", "SELECT 1", "--at", "nowhere"))[:2] == (2, "syncpoint")


@pytest.mark.heavy
def test_maintenance_keeps_what_a_syncpoint_pins_until_it_expires(run, history, places):
    hop = ApplyHop(run.lake, TableRules(), epoch_changes=10**6)
    for _ in hop.apply():
        if hop.lsn >= places[4][0]:
            break
    point = syncpoints.take(run.lake, hop.lsn, "early")
    hop.flush()
    run.apply()
    make_syncpoint(run.lake, "late", None)
    names, count = run.lake.names, n_up_to(places, point.lsn)
    run.spark.sql(f"UPDATE {names.control_syncpoints} SET at = at - INTERVAL 41 DAYS")
    maintain(run.options(syncpoint_days=60), run.spark)
    assert [kept.name for kept in syncpoints.published(run.lake)] == ["early", "late"]
    for table in point.tables:
        mirror = names.mirror(table.mirror_id)
        shown = run.spark.sql(f"SHOW TBLPROPERTIES {mirror}").collect()
        kept = [row.value for row in shown if row.key.endswith("RetentionDuration")]
        assert kept == ["interval 61 days"] * 2
        history_of = run.spark.sql(f"DESCRIBE HISTORY {mirror}").where("operation = 'VACUUM START'")
        assert int(history_of.first().operationParameters["defaultRetentionMillis"]) == 61 * DAY_MS
    assert read_at(run, point) == after(history, count) and len(point.tables) >= 2
    maintain(run.options(syncpoint_days=40), run.spark)
    assert [kept.name for kept in syncpoints.published(run.lake)] == ["late"]
