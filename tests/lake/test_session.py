import ast
import datetime
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from mirrorlake.config import Options
from mirrorlake.core.sql_text import literal, quote
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.inspect.status import read_status
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.lake.delta.creation import create_table
from mirrorlake.lake.delta.names import LakeNames, table_exists
from mirrorlake.lake.delta.session import (
    CLASS_ARCHIVE,
    DELTA_SETTING,
    IF_POSSIBLE,
    SAME_MEANING,
    open_session,
    prepare_session,
    private_session,
    replaces_variables,
    takes_settings,
)

WORK = """
from mirrorlake.errors import MirrorlakeError
from mirrorlake.lake.delta.session import open_session
try:
    spark = open_session(driver_memory="1g")
except MirrorlakeError as error:
    raise SystemExit(f"{error.code} {error.exit_code}")
spark.sql("CREATE TABLE t (id INT) USING DELTA")
spark.sql("INSERT INTO t VALUES (1)")
"""
SAVE = """
import sys
spark.table("t").write.format("delta").save(sys.argv[1])
"""


def run_python(code, folder, *arguments, umask=-1, **environment):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, umask=umask, timeout=240
    )


@pytest.mark.heavy
def test_a_session_prints_nothing_leaves_nothing_in_the_current_folder_and_keeps_the_umask(tmp_path):
    here, table = tmp_path / "here", tmp_path / "table"
    here.mkdir()
    done = run_python(WORK + SAVE, here, str(table), umask=0o027)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(here.iterdir()) == []
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in (table, *table.rglob("*"))}
    assert modes == {(True, 0o750), (False, 0o640)}


@pytest.mark.parametrize("chosen", ["C", "xx_XX.UTF-8"])
@pytest.mark.heavy
def test_a_path_of_any_letters_is_a_path_in_the_locale_c_or_one_that_is_not_installed(tmp_path, chosen):
    table = tmp_path / "é я"
    done = run_python(WORK + SAVE, tmp_path, str(table), LC_ALL=chosen)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == [table.name] and Path(table, "_delta_log").is_dir()


def test_a_machine_without_java_gets_one_line_and_exit_code_2(tmp_path):
    done = run_python(WORK, tmp_path, JAVA_HOME=str(tmp_path))
    assert done.stderr.strip() == "spark-start 2"


def test_a_scratch_folder_that_is_not_there_gets_the_same(tmp_path):
    done = run_python(WORK, tmp_path, SPARK_LOCAL_DIRS=str(tmp_path / "not_there"))
    assert done.stderr.strip() == "spark-start 2"


def test_so_does_a_temporary_folder_with_a_comma_of_which_spark_makes_two_that_all_may_read(tmp_path):
    (tmp_path / "a,b").mkdir()
    done = run_python(WORK, tmp_path, TMPDIR=str(tmp_path / "a,b"))
    assert done.stderr.strip() == "spark-start 2"
    assert [path.name for path in tmp_path.iterdir()] == ["a,b"]


KILLED = """
import os, signal, sys, threading
from mirrorlake.lake.delta.failures import as_ours
from mirrorlake.lake.delta.session import open_session
spark = open_session(brief=True, driver_memory="1g")
rows = spark.range(3).mapInArrow(lambda batches: batches, "id BIGINT")
rows.collect()
java = spark.sparkContext._gateway.proc
if sys.argv[1] == "with a call unread":
    java.send_signal(signal.SIGSTOP)
    threading.Timer(1, java.kill).start()
else:
    java.kill()
    java.wait()
for again in range(3):
    try:
        rows.collect()
    except Exception as error:
        print(as_ours(error).code, flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("when", ["between calls", "with a call unread"])
@pytest.mark.heavy
def test_a_java_that_was_killed_is_spark_ended_at_each_further_call_and_nothing_is_printed(tmp_path, when):
    done = run_python(KILLED, tmp_path, when)
    assert (done.stdout.split(), done.stderr) == (["spark-ended"] * 3, "")


WITHOUT_MEMORY = """
import os
from mirrorlake.lake.delta.failures import as_ours
from mirrorlake.lake.delta.session import open_session
spark = open_session(brief=True, driver_memory="1g")
try:
    spark.sql("SELECT repeat('a', 2147483647)").toArrow()
except Exception as error:
    print(as_ours(error).code, flush=True)
os._exit(0)
"""


def test_a_java_without_memory_ends_also_if_a_thread_that_serves_rows_needed_it(tmp_path):
    """Spark would wait for that thread without end."""
    done = run_python(WITHOUT_MEMORY, tmp_path)
    assert (done.stdout.split(), done.stderr) == (["spark-ended"], "")


def test_the_active_session_is_used_again(spark):
    assert open_session() is spark


def test_a_platform_that_lets_no_session_choose_is_known(spark, monkeypatch):
    """With a setting that nobody can choose here."""
    assert takes_settings(spark)
    assert spark.conf.get(DELTA_SETTING, None) is None
    monkeypatch.setattr("mirrorlake.lake.delta.session.DELTA_SETTING", "spark.sql.extensions")
    assert not takes_settings(spark)


def test_a_lake_is_read_alike_with_a_session_that_a_notebook_passes(demo, spark):
    foreign = spark.newSession()
    for key, value in (
        ("spark.sql.session.timeZone", "America/New_York"), ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.timestampType", "TIMESTAMP_NTZ"), ("spark.sql.parser.escapedStringLiterals", "true"),
        ("spark.sql.unionOutputPartitioning", "true"),
    ):  # fmt: skip
        foreign.conf.set(key, value)
    options = Options(lake=str(demo.lakes["mysql"]))
    lake = open_lake(options, foreign)
    names = [*SAME_MEANING, *IF_POSSIBLE]
    assert lake.spark is foreign
    assert {name: foreign.conf.get(name) for name in names} == SAME_MEANING | IF_POSSIBLE
    assert {name: spark.conf.get(name) for name in names} == SAME_MEANING | IF_POSSIBLE
    with_ours, with_theirs = (
        replace(read_status(each, options), lag_s=None) for each in (open_lake(options, spark), lake)
    )
    assert with_theirs == with_ours


def test_values_of_files_are_what_they_are_whatever_others_have_set(spark, tmp_path):
    foreign = spark.newSession()
    for name in ("datetimeRebaseModeInWrite", "datetimeRebaseModeInRead", "int96RebaseModeInWrite"):
        foreign.conf.set(f"spark.sql.parquet.{name}", "LEGACY")
    foreign.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    foreign.conf.set("spark.sql.parquet.binaryAsString", "true")
    foreign.conf.set("spark.sql.parquet.inferTimestampNTZ.enabled", "false")
    prepare_session(foreign)
    day, moment = datetime.date(1582, 10, 10), datetime.datetime(1001, 2, 3, 4, 5, 6, 7)
    values = f"DATE'{day}' AS day, TIMESTAMP'{moment}' AS moment, TIMESTAMP_NTZ'{moment}' AS local, X'ff' AS bytes"
    foreign.sql(f"SELECT {values}").write.parquet(str(tmp_path / "spark"))
    (row,) = pq.read_table(tmp_path / "spark", coerce_int96_timestamp_unit="us").to_pylist()
    assert row == {"day": day, "moment": moment, "local": moment, "bytes": b"\xff"}
    columns = {"day": pa.array([day]), "local": pa.array([moment], pa.timestamp("us")), "bytes": pa.array([b"\xff"])}
    pq.write_table(pa.table(columns), tmp_path / "arrow.parquet")
    read = foreign.read.parquet(str(tmp_path / "arrow.parquet"))
    assert [kind for _, kind in read.dtypes] == ["date", "timestamp_ntz", "binary"]
    assert read.collect()[0].asDict() == {name: column[0].as_py() for name, column in columns.items()}


def test_a_setting_that_cannot_be_set_is_named_if_its_value_is_another(spark, monkeypatch):
    static, value = "spark.sql.catalogImplementation", spark.conf.get("spark.sql.catalogImplementation")
    monkeypatch.setitem(SAME_MEANING, static, value.upper())
    assert prepare_session(spark) is spark
    monkeypatch.setitem(SAME_MEANING, static, "other")
    with pytest.raises(RefusedError) as refused:
        prepare_session(spark)
    assert str(refused.value) == f"spark-session: {static} is {value} and cannot be set to other"


def test_private_sessions_share_neither_settings_nor_views(spark):
    first, second = private_session(spark), private_session(spark)
    first.conf.set("spark.databricks.delta.write.txnVersion", "1")
    first.range(1).createOrReplaceTempView("mine")
    assert second.conf.get("spark.databricks.delta.write.txnVersion", None) is None
    assert not second.catalog.tableExists("mine")


HOSTILE = [
    "${env:HOME}", "${spark.app.name}", "$${a}", "\\${env:HOME}", "a${nothing}b", "{}", "it's", '"', "`", "\\", "\\'",
    "; --", "/* */", "\0", "\u2028", "\U0001f600", "'||reflect('java.lang.System','getenv','HOME')||'", "%s", ".", "",
    "a\nb\r\t", "\\u0041",
]  # fmt: skip


@pytest.mark.parametrize("replaces", ["false", "true"])
def test_text_in_a_literal_stays_as_it_is_also_where_spark_replaces_variables(spark, replaces):
    session = private_session(spark)
    assert not replaces_variables(session)
    session.conf.set("spark.sql.variable.substitute", replaces)
    [found] = session.sql(f"SELECT {', '.join(map(literal, HOSTILE))}").collect()
    assert (list(found), replaces_variables(session)) == (HOSTILE, replaces == "true")


def test_a_name_stays_as_it_is_in_every_session(spark):
    names = [f"{i}{name}" for i, name in enumerate(HOSTILE)]
    for session in (spark, private_session(spark)):
        found = session.sql(f"SELECT {', '.join(f'1 AS {quote(name)}' for name in names)}")
        assert found.columns == names
        assert found.selectExpr(*map(quote, names)).where(f"{quote(names[0])} = 1").columns == names


def test_the_parts_of_a_union_stay_tasks_of_their_own(spark):
    for session in (spark, private_session(spark)):
        part = session.range(3).coalesce(1)
        parts = part.unionAll(part).select(F.spark_partition_id().alias("part"))
        assert {row.part for row in parts.collect()} == {0, 1}


def test_every_session_thinks_in_utc(spark):
    with ThreadPoolExecutor(1) as thread:
        zone = thread.submit(lambda: private_session(spark).sql("SELECT current_timezone()").first()[0]).result()
    assert zone == "UTC"


@pytest.mark.parametrize("folder", ["plain", "with space", "back`tick", "it's", "100%41"])
def test_a_table_is_created_once_in_a_folder_of_any_name(spark, tmp_path, folder):
    names = LakeNames(str(tmp_path / folder))
    assert not table_exists(spark, names.bronze_events)
    create_table(spark, names.bronze_events, "lsn BIGINT", {"delta.checkpointInterval": "50"})
    spark.sql(f"INSERT INTO {names.bronze_events} VALUES (1)")
    create_table(spark, names.bronze_events, "lsn BIGINT", {"delta.checkpointInterval": "50"})
    assert table_exists(spark, names.bronze_events)
    assert spark.table(names.bronze_events).count() == 1
    assert (tmp_path / folder / "bronze" / "events" / "_delta_log").is_dir()


def test_what_the_workers_process_imports_starts_no_thread(tmp_path):
    code = "import os; from mirrorlake.lake.delta.python_workers import preload; preload(); "
    code += "print(os.listdir('/proc/self/task'))"
    assert len(ast.literal_eval(run_python(code, tmp_path).stdout)) == 1


def test_spark_forks_its_workers_from_that_process(spark):
    def parent(batches):
        command = Path(f"/proc/{os.getppid()}/cmdline").read_text()
        yield from (pa.RecordBatch.from_pydict({"command": [command] * len(batch)}) for batch in batches)

    (row,) = spark.range(1).coalesce(1).mapInArrow(parent, "command STRING").collect()
    assert "mirrorlake.lake.delta.python_workers" in row.command


def test_java_maps_the_archive_of_classes(spark):
    archive = Path(sys.prefix) / CLASS_ARCHIVE
    if not archive.exists():
        pytest.skip("this Java made no archive")
    pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    assert str(archive) in Path(f"/proc/{pid}/maps").read_text()


@pytest.mark.heavy
def test_an_archive_of_another_java_is_left_aside(tmp_path):
    archive = tmp_path / "other.jsa"
    archive.write_bytes(b"of another Java")
    code = f"from mirrorlake.lake.delta import session; session.CLASS_ARCHIVE = {str(archive)!r}"
    done = run_python(code + WORK, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


SHUFFLE = (
    WORK
    + """
import os, sys
from pathlib import Path
spark.range(1000).repartition(3).write.format("noop").mode("overwrite").save()
spark.sparkContext.parallelize(range(100), 2).map(lambda n: (n % 3, b"x" * 100)).groupByKey(2).count()
scratch = Path(spark.conf.get("spark.local.dir"))
gateway = spark._jvm.java.lang.System
print(scratch, oct(scratch.stat().st_mode & 0o777), gateway.getProperty("java.io.tmpdir"), sep="|", end="|")
print(spark.conf.get("spark.authenticate"), sorted({path.name.split("-")[0] for path in scratch.iterdir()}), sep="|")
print(*os.listdir(sys.argv[1]), sep="|", flush=True)
"""
)


@pytest.mark.heavy
def test_whatever_spark_keeps_outside_the_lake_is_in_one_folder_that_goes_with_the_process(tmp_path):
    temporary, other, work = (tmp_path / name for name in ("temp", "it's other", "work"))
    for folder in (temporary, other, work):
        folder.mkdir()
    for base, environment in ((temporary, {}), (other, {"SPARK_LOCAL_DIRS": str(other)})):
        done = run_python(SHUFFLE.replace("sys.argv[1]", repr(str(base))), work, TMPDIR=str(temporary), **environment)
        assert (done.returncode, done.stderr) == (0, "")
        about, found = done.stdout.splitlines()
        scratch, mode, java, authenticate, kept = about.split("|")
        assert (mode, java, authenticate, Path(scratch).parent) == ("0o700", scratch, "true", base)
        assert "'blockmgr'" in kept
        assert {name for name in found.split("|") if name.startswith(("blockmgr", "spark-", "mirrorlake-"))} == {
            Path(scratch).name
        }
        deadline = time.monotonic() + 20
        while list(base.glob("mirrorlake-*")) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert list(base.iterdir()) == []
    assert list(work.iterdir()) == []


ENVIRONMENTS = """
import os, sys
import pyarrow as pa
import pyarrow.parquet as pq
from mirrorlake.cli import app
sys.argv[1:] = ["tables", "--lake", "none"]
try:
    app()
except SystemExit as ended:
    print(ended.code)
from pyspark.sql import SparkSession
spark = SparkSession.getActiveSession()
system = spark._jvm.java.lang.System
print(system.getenv("MARK"), system.getenv("MIRRORLAKE_PASSWORD"))
def environments(batches):
    for batch in batches:
        with open(f"/proc/{os.getppid()}/environ") as of_daemon:
            found = [str(dict(os.environ)), of_daemon.read()]
        yield pa.RecordBatch.from_pydict({"found": found})
workers = [row.found for row in spark.range(1).coalesce(1).mapInArrow(environments, "found STRING").collect()]
workers += [str(system.getenv()), str(system.getProperties()), str(spark.sparkContext.getConf().getAll())]
print(["MARK" in of for of in workers], ["S3cret" in of for of in workers])
"""


def test_neither_java_nor_a_worker_of_a_command_has_the_password(tmp_path):
    variables = {"MIRRORLAKE_PASSWORD": "S3cret-Passw0rd", "MARK": "here", "MIRRORLAKE_DRIVER_MEMORY": "1g"}
    done = run_python(ENVIRONMENTS, tmp_path, **variables)
    assert done.stdout.splitlines() == [
        "3", "here None", f"{[True, True, True, False, False]} {[False] * 5}"
    ], done.stderr  # fmt: skip


def test_large_values_after_rows_without_one_are_on_several_pages(spark, tmp_path):
    """Otherwise Parquet looks at the size of a page again after thousands of rows, and readers lack memory for it."""
    folder = str(tmp_path / "t")
    values = "IF(id < 20, NULL, concat(id, repeat('a', 1000000))) AS v"
    spark.range(0, 84, 1, 1).selectExpr(values).write.parquet(folder)
    java, (file,) = spark._jvm, (tmp_path / "t").glob("*.parquet")
    path = java.org.apache.hadoop.fs.Path(str(file))
    opened = java.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, spark._jsc.hadoopConfiguration())
    reader = java.org.apache.parquet.hadoop.ParquetFileReader.open(opened)
    try:
        pages = reader.readOffsetIndex(reader.getFooter().getBlocks().get(0).getColumns().get(0))
        first_rows = [pages.getFirstRowIndex(page) for page in range(pages.getPageCount())]
    finally:
        reader.close()
    sizes = [end - start for start, end in zip(first_rows, [*first_rows[1:], 84], strict=True)]
    assert sum(sizes) == 84 and max(sizes) <= 32
