"""Progress that moves only with the data, on real Delta, with writers that are in each other's way."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from datetime import timedelta
from shutil import rmtree

import pytest
from pyspark.errors import AnalysisException, ParseException

from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.sql_text import quote
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.run.watcher import PreparesNext, Watcher
from mirrorlake.lake.delta import progress as progress_module
from mirrorlake.lake.delta.commit_files import log_folder, read_entries
from mirrorlake.lake.delta.creation import create_table
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import LakeNames, local_folder, table_exists
from mirrorlake.lake.delta.progress import (
    Progress,
    append_from,
    append_once,
    claim_source,
    read_progress,
    replace_once,
    run_ddl,
    run_statement,
)
from mirrorlake.lake.delta.session import OWN, private_session, settings_for_few_rows
from mirrorlake.lake.delta.snapshots_ahead import SnapshotsAhead
from mirrorlake.lake.gold.apply import AppliedEpoch
from mirrorlake.lake.gold.control.epochs import Epoch, EpochTable

PAYLOAD = {"source": "mysql:1", "hop": "ingest"}
APP = "mirror/mysql:1/0/t1"


@pytest.fixture
def table(spark, lake_dir):
    name = LakeNames(str(lake_dir)).bronze_events
    create_table(spark, name, "lsn BIGINT, word STRING")
    return name


@pytest.fixture(params=["commit files", "DESCRIBE HISTORY"])
def either(request, spark, lake_dir):
    """A table whose history is read in one way or in the other: a folder with a scheme may be anywhere."""
    folder = f"{lake_dir}/bronze/events"
    name = quote("delta", folder if request.param == "commit files" else f"file:{folder}")
    create_table(spark, name, "lsn BIGINT, word STRING")
    assert (log_folder(spark, name) is None) == (request.param == "DESCRIBE HISTORY")
    return name


def rows(after, last, word="a"):
    return f"SELECT id AS lsn, '{word}' AS word FROM range({after + 1}, {last + 1}, 1, 1)"


def append(spark, table, expected, last, word="a"):
    after = expected.lsn if expected else 0
    return append_from(
        spark, table, spark.sql(rows(after, last, word)), expected=expected, new_lsn=last, payload=PAYLOAD
    )


def contents(spark, table):
    return [tuple(row) for row in spark.sql(f"SELECT lsn, word FROM {table} ORDER BY lsn, word").collect()]


def newest_version(spark, table):
    return spark.sql(f"DESCRIBE HISTORY {table} LIMIT 1").first().version


def blocked(session, query, folder):
    """The rows of a query, held back until the folder has a file ``go``; ``started`` appears when they are awaited."""

    def wait(batches):
        import pathlib
        import time

        pathlib.Path(folder, "started").touch()
        deadline = time.monotonic() + 60
        while not pathlib.Path(folder, "go").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        yield from batches

    frame = session.sql(query)
    return frame.mapInArrow(wait, frame.schema)


class InFlight:
    """Runs ``write`` in a thread up to the point where its rows are awaited, inside its Delta transaction."""

    def __init__(self, folder, write):
        self.folder, self.write, self.result = folder, write, None
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            self.result = self.write()
        except Exception as error:
            self.result = error

    def __enter__(self):
        self.thread.start()
        deadline = time.monotonic() + 60
        while not (self.folder / "started").exists():
            assert self.thread.is_alive() and time.monotonic() < deadline, self.result
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        (self.folder / "go").touch()
        self.thread.join()


def refused_as(result, code):
    return isinstance(result, RefusedError) and result.code == code


# --- one chain of appends


def test_a_table_that_is_absent_or_empty_has_no_progress(spark, table, lake_dir):
    assert read_progress(spark, table) is None
    assert read_progress(spark, LakeNames(str(lake_dir)).silver_changes) is None


def test_each_append_goes_on_where_the_one_before_ended(spark, table):
    first = append(spark, table, None, 10)
    second = append(spark, table, first, 15)
    assert second == Progress(15, PAYLOAD, 2) == read_progress(spark, table)
    assert contents(spark, table) == [(lsn, "a") for lsn in range(1, 16)]


def test_an_append_without_rows_moves_progress(spark, table):
    first = append(spark, table, None, 10)
    append_from(spark, table, spark.sql(rows(10, 10)), expected=first, new_lsn=99, payload=PAYLOAD)
    assert read_progress(spark, table).lsn == 99


@pytest.mark.parametrize("last", [5, 20, 30])
def test_of_two_writers_in_flight_one_wins_and_the_other_writes_nothing(spark, table, tmp_path, last):
    start = append(spark, table, None, 3)
    slow = private_session(spark)

    def write():
        staged = blocked(slow, rows(3, last, "slow"), tmp_path)
        return append_from(slow, table, staged, expected=start, new_lsn=last, payload=PAYLOAD)

    with InFlight(tmp_path, write) as loser:
        quick = append(private_session(spark), table, start, 20, "quick")
    assert refused_as(loser.result, "lake-writer")
    assert "from lsn 3 (commit 1) to lsn 20 (commit 2)" in loser.result.message
    assert contents(spark, table)[3:] == [(lsn, "quick") for lsn in range(4, 21)]
    assert read_progress(spark, table) == quick


@pytest.mark.parametrize("expected_none", [True, False], ids=["from nothing", "from a commit"])
@pytest.mark.parametrize("last", [5, 20, 30])
def test_a_stale_writer_fails_loudly_and_writes_nothing(spark, table, last, expected_none):
    stale = None if expected_none else append(spark, table, None, 3)
    newest = append(spark, table, append(spark, table, stale, 10), 20)
    before, version = contents(spark, table), newest_version(spark, table)
    with pytest.raises(RefusedError, match="progress moved") as refused:
        append(private_session(spark), table, stale, last, "stale")
    assert refused.value.code == "lake-writer"
    assert (contents(spark, table), newest_version(spark, table)) == (before, version)
    assert read_progress(spark, table) == newest


def test_a_first_writer_for_another_source_collides_too(spark, table):
    append(spark, table, None, 10)
    with pytest.raises(RefusedError) as refused:
        append_from(spark, table, spark.sql(rows(0, 5)), expected=None, new_lsn=5, payload={"source": "mysql:2"})
    assert refused.value.code == "lake-writer"


def test_writers_that_race_for_every_commit_never_double_or_lose_a_row(spark, table):
    def write(session, word):
        while (now := read_progress(session, table)) is None or now.lsn < 60:
            try:
                append(session, table, now, (now.lsn if now else 0) + 10, word)
            except RefusedError as error:
                assert error.code == "lake-writer"

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, [private_session(spark), private_session(spark)], ["a", "b"]))
    assert [lsn for lsn, _ in contents(spark, table)] == list(range(1, 61))
    assert read_progress(spark, table).sequence == 6


def test_maintenance_between_our_commits_does_not_disturb_progress(spark, table):
    first = append(spark, table, None, 10)
    second = append(spark, table, first, 20)
    spark.sql(f"OPTIMIZE {table}")
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.checkpointInterval' = '50')")
    assert read_progress(spark, table) == second
    assert append(spark, table, second, 30) == read_progress(spark, table)


def test_a_commit_that_maintenance_overtakes_is_still_recognised(spark, table, tmp_path):
    second = append(spark, table, append(spark, table, None, 10), 20)
    slow = private_session(spark)

    def write():
        staged = blocked(slow, rows(20, 30), tmp_path)
        return append_from(slow, table, staged, expected=second, new_lsn=30, payload=PAYLOAD)

    with InFlight(tmp_path, write) as writer:
        spark.sql(f"OPTIMIZE {table}")
    assert writer.result == Progress(30, PAYLOAD, 3) == read_progress(spark, table)


def test_progress_is_found_below_many_commits_of_others(spark, either, monkeypatch):
    table = either
    monkeypatch.setattr("mirrorlake.lake.delta.notes.HISTORY_WINDOWS", ("LIMIT 2", "LIMIT 4", ""))
    first = append(spark, table, None, 10)
    for number in range(5):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('note' = '{number}')")
    assert read_progress(spark, table) == first


def test_a_restored_table_goes_on_from_what_it_holds(spark, either):
    table = either
    first = append(spark, table, None, 10)
    append(spark, table, append(spark, table, first, 20), 30)
    spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF 1")
    restored = read_progress(spark, table)
    assert restored == Progress(10, PAYLOAD, 3)
    append(spark, table, restored, 15)
    assert [lsn for lsn, _ in contents(spark, table)] == list(range(1, 16))


def test_a_failing_append_leaves_progress_and_propagates(spark, table):
    first = append(spark, table, None, 10)
    with pytest.raises(Exception, match="no luck"):
        failing = "SELECT CAST(raise_error('no luck') AS BIGINT) AS lsn, 'a' AS word"
        append_from(spark, table, spark.sql(failing), expected=first, new_lsn=20, payload=PAYLOAD)
    assert read_progress(spark, table) == first
    assert len(contents(spark, table)) == 10


def test_commit_files_tell_what_describe_history_tells(spark, table):
    first = append(spark, table, None, 10)
    spark.sql(rows(10, 11)).writeTo(table).option("userMetadata", "é\n").append()
    spark.sql(f"OPTIMIZE {table}")
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')")
    spark.sql(f"RESTORE TABLE {table} TO VERSION AS OF 1")
    append(spark, table, first, 20)
    for found, row in zip(
        read_entries(log_folder(spark, table)), spark.sql(f"DESCRIBE HISTORY {table}").collect(), strict=True
    ):
        assert (found.version, found.operation, found.userMetadata) == (row.version, row.operation, row.userMetadata)
        assert abs(found.timestamp - row.timestamp) < timedelta(seconds=1)
        if row.operation == "RESTORE":
            assert str(found.operationParameters["version"]) == row.operationParameters["version"] == "1"


def test_metadata_of_others_is_ignored_and_a_later_format_is_refused(spark, either):
    table = either
    first = append(spark, table, None, 10)
    for foreign in ("not json", "[1]", '{"a": 1}'):
        spark.sql(rows(10, 11)).writeTo(table).option("userMetadata", foreign).append()
    assert read_progress(spark, table) == first
    spark.sql(rows(10, 11)).writeTo(table).option("userMetadata", '{"mirrorlake": 2}').append()
    with pytest.raises(RefusedError) as refused:
        read_progress(spark, table)
    assert refused.value.code == "lake-version"


def test_a_lake_of_another_source_is_refused():
    claim_source(None, "mysql:2")
    claim_source(Progress(1, PAYLOAD), "mysql:1")
    with pytest.raises(RefusedError, match="mysql:1, not mysql:2") as refused:
        claim_source(Progress(1, PAYLOAD), "mysql:2")
    assert refused.value.code == "lake-source"


# --- planned steps, at most once

STATEMENTS = {
    "merge": "MERGE INTO {table} t USING (SELECT 1L AS lsn, 'x' AS word) s ON t.lsn = s.lsn "
    "WHEN MATCHED THEN UPDATE SET word = concat(t.word, s.word) WHEN NOT MATCHED THEN INSERT *",
    "insert": "INSERT INTO {table} VALUES (1, 'x')",
}


def run(session, table, sql, lsn):
    return run_statement(session, table, sql.format(table=table), app_id=APP, lsn=lsn, payload=PAYLOAD).is_new


def settings_left(session):
    keys = (progress_module.TXN_APP_ID, progress_module.TXN_VERSION, progress_module.USER_METADATA)
    return [key for key in keys if session.conf.get(key, None) is not None]


@pytest.fixture
def filled(spark, table):
    spark.sql(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    return table


@pytest.mark.parametrize("sql", STATEMENTS.values(), ids=STATEMENTS)
def test_a_statement_runs_once_per_step(spark, filled, sql):
    session, before = private_session(spark), contents(spark, filled)
    assert run(session, filled, sql, 7) is True
    after, version = contents(spark, filled), newest_version(spark, filled)
    assert after != before
    assert run(session, filled, sql, 7) is False
    assert run(session, filled, sql, 6) is False
    assert (contents(spark, filled), newest_version(spark, filled)) == (after, version)
    assert read_progress(spark, filled) == Progress(7, PAYLOAD)
    assert run(session, filled, sql, 8) is True
    assert settings_left(session) == []


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO {table} SELECT * FROM {table} WHERE lsn > 100",
        "MERGE INTO {table} t USING (SELECT 100L AS lsn) s ON t.lsn = s.lsn WHEN MATCHED THEN DELETE",
        "MERGE INTO {table} t USING (SELECT 1L AS lsn) s ON t.lsn = s.lsn WHEN MATCHED AND t.word = 'b' THEN DELETE",
        "MERGE INTO {table} t USING (SELECT lsn FROM {table} WHERE lsn > 100) s ON t.lsn = s.lsn AND t.lsn > 100 "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (lsn) VALUES (s.lsn)",
    ],
)
def test_a_statement_that_changes_no_row_still_moves_progress_once(spark, filled, sql):
    session, before = private_session(spark), contents(spark, filled)
    assert run(session, filled, sql, 7) is True
    assert read_progress(spark, filled) == Progress(7, PAYLOAD)
    assert run(session, filled, sql, 7) is False
    assert contents(spark, filled) == before


@pytest.mark.parametrize(
    "where, query",
    [
        (None, "SELECT lsn, concat(word, 'x') AS word FROM {table}"),
        ("lsn < 2", "SELECT lsn, concat(word, 'x') AS word FROM {table} WHERE lsn < 2"),
        ("lsn < 2", "SELECT * FROM {table} LIMIT 0"),
        ("lsn > 100", "SELECT * FROM {table} LIMIT 0"),
    ],
)
def test_rows_are_replaced_once_per_step(spark, filled, where, query):
    def replace(lsn):
        rows = spark.sql(query.format(table=filled))
        return replace_once(spark, filled, rows, where=where, app_id=APP, lsn=lsn, payload=PAYLOAD).is_new

    before = contents(spark, filled)
    assert replace(7) is True
    after, version = contents(spark, filled), newest_version(spark, filled)
    assert (after == before) == (where == "lsn > 100")
    assert (replace(7), replace(6)) == (False, False)
    assert (contents(spark, filled), newest_version(spark, filled)) == (after, version)
    assert read_progress(spark, filled) == Progress(7, PAYLOAD)
    assert replace(8) is True


def test_a_table_that_is_gone_is_not_made_again_by_its_rows(spark, filled):
    rows = spark.createDataFrame([(3, "c")], "lsn BIGINT, word STRING")
    rmtree(local_folder(filled))
    with pytest.raises(AnalysisException):
        replace_once(spark, filled, rows, app_id=APP, lsn=7, payload=PAYLOAD)
    assert not table_exists(spark, filled)


@pytest.mark.parametrize(
    "sql", ["UPDATE {table} SET word = raise_error('no luck')", "UPDATE {table} SET nosuch = 'no luck'", "no luck"]
)
def test_a_failing_statement_leaves_progress_rows_and_settings(spark, filled, sql):
    session = private_session(spark)
    run(session, filled, STATEMENTS["merge"], 7)
    before = contents(spark, filled)
    with pytest.raises(Exception, match="no luck|nosuch"):
        run(session, filled, sql, 8)
    assert read_progress(spark, filled).lsn == 7
    assert settings_left(session) == []
    session.sql(f"INSERT INTO {filled} VALUES (3, 'c')")
    assert contents(spark, filled) == [*before, (3, "c")]


def test_settings_of_a_statement_end_with_it(spark, filled):
    session, name = private_session(spark), "spark.sql.shuffle.partitions"
    for sql in (STATEMENTS["merge"], "no luck"):
        session.conf.set(name, 3)
        with suppress(ParseException):
            run_statement(session, filled, sql.format(table=filled), app_id=APP, lsn=7, payload=PAYLOAD,
                          settings=settings_for_few_rows(session))  # fmt: skip
        assert session.conf.get(name) == "3"
    assert settings_for_few_rows(session)[name] == "1"
    session.conf.set(OWN, "")
    assert settings_for_few_rows(session) == {}


def test_of_two_processes_at_the_same_step_one_is_refused(spark, filled, tmp_path):
    slow = private_session(spark)
    blocked(slow, "SELECT 1L AS lsn, 'slow' AS word", tmp_path).createOrReplaceTempView("changes")
    merge = "MERGE INTO {table} t USING changes s ON t.lsn = s.lsn WHEN MATCHED THEN UPDATE SET word = s.word"
    with InFlight(tmp_path, lambda: run(slow, filled, merge, 7)) as loser:
        assert run(private_session(spark), filled, "UPDATE {table} SET word = 'quick'", 7)
    assert refused_as(loser.result, "lake-writer")
    assert contents(spark, filled) == [(1, "quick"), (2, "quick")]
    assert settings_left(slow) == []


def test_rows_are_appended_once_per_step(spark, table):
    def add(lsn):
        return append_once(spark, table, spark.sql(rows(0, 3)), app_id=APP, lsn=lsn, payload=PAYLOAD).is_new

    assert [add(7), add(7), add(6)] == [True, False, False]
    assert contents(spark, table) == [(1, "a"), (2, "a"), (3, "a")]
    assert read_progress(spark, table) == Progress(7, PAYLOAD)


def test_a_step_that_a_restore_has_undone_is_refused_instead_of_skipped(spark, filled):
    session = private_session(spark)
    run(session, filled, STATEMENTS["merge"], 7)
    spark.sql(f"RESTORE TABLE {filled} TO VERSION AS OF 1")
    with pytest.raises(RefusedError) as refused:
        run(session, filled, STATEMENTS["merge"], 7)
    assert refused.value.code == "lake-restored"


def test_ddl_carries_the_note_and_moves_progress_only_with_an_lsn(spark, table):
    session = private_session(spark)
    run_ddl(session, f"ALTER TABLE {table} ADD COLUMN more INT", PAYLOAD)
    assert read_progress(spark, table) is None
    run_ddl(session, f"ALTER TABLE {table} ADD COLUMN most INT", {**PAYLOAD, "ddl": "add most"}, lsn=9)
    assert read_progress(spark, table) == Progress(9, {**PAYLOAD, "ddl": "add most"})
    with pytest.raises(Exception, match="most"):
        run_ddl(session, f"ALTER TABLE {table} ADD COLUMN most INT", PAYLOAD, lsn=10)
    assert read_progress(spark, table).lsn == 9
    assert settings_left(session) == []


def test_a_snapshot_that_was_prepared_leaves_fewer_jobs_to_the_next_commit(spark, table):
    def jobs_of_an_append(expected, last):
        group = f"append {last}"
        spark.sparkContext.setJobGroup(group, group)
        progress = append(spark, table, expected, last)
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        return progress, len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))

    first, _ = jobs_of_an_append(None, 1)
    second, unprepared = jobs_of_an_append(first, 2)
    wait(SnapshotsAhead(spark).prepare(table))
    third, prepared = jobs_of_an_append(second, 3)
    assert third.sequence == 3
    assert prepared < unprepared


def test_a_table_that_has_no_mirror_is_not_prepared(spark):
    lake = Lake(spark, LakeNames("uc:main.shop"), "mysql:1", "mysql")
    ddl = Epoch(1, "ddl", LsnRange(-1, 4), (EpochTable("shop", "orders", None),))
    PreparesNext(Watcher(), lake).applied(AppliedEpoch(ddl, 0))


def test_preparing_a_table_that_is_gone_does_nothing(spark, table):
    (gone,) = SnapshotsAhead(spark).prepare(f"{table[:-1]}_gone`")
    assert isinstance(gone.exception(), AnalysisException)
    append(spark, table, None, 1)


def test_a_note_that_delta_could_not_read_again_is_refused_before_the_commit(spark, table):
    first = append(spark, table, None, 1)

    def note(n_bytes):
        payload = PAYLOAD | {"gtids": "1" * n_bytes}
        return append_from(spark, table, spark.sql(rows(1, 2)), expected=first, new_lsn=2, payload=payload)

    with pytest.raises(RefusedError) as refused:
        note(16_000_000)
    assert (refused.value.code, refused.value.message.split(" of ")[0]) == ("lake-note", "gtids would take most")
    assert read_progress(spark, table) == first and contents(spark, table) == [(1, "a")]
    second = note(15_999_000)
    assert read_progress(spark, table) == second and contents(spark, table) == [(1, "a"), (2, "a")]


@pytest.mark.parametrize(
    "note", ['{"mirrorlake": "x"}', '{"mirrorlake": 1}', '{"mirrorlake": 1, "lsn": 1, "payload": []}']
)
def test_a_note_that_we_did_not_write_so_is_damage(spark, table, note):
    spark.sql(rows(1, 2)).writeTo(table).option("userMetadata", note).append()
    with pytest.raises(RefusedError, match="lake-damaged: a commit carries a note"):
        read_progress(spark, table)
