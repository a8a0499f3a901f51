"""The Spark session of a lake: one of our own on this machine, or the platform's.

A session of our own keeps out of the user's way: the JVM's log goes to a file, nothing is written into the current
folder, no port is opened to the network. A session of the platform or a notebook keeps what it has, but for the
settings that our statements need.
"""

from __future__ import annotations

import importlib.metadata
import locale
import logging
import os
import re
import sys
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.lake.delta.scratch import make_scratch

SAME_MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
}
"""With another value a statement of ours, or a value in a file, would mean something else, or become NULL silently."""
IF_POSSIBLE = {
    # Since Spark 4.1 a union of parts of one partition each is one partition: one task would decode the whole log.
    "spark.sql.unionOutputPartitioning": "false",
    # ``${env:NAME}`` in a statement is text, not a variable of the environment; see ``replaces_variables``.
    "spark.sql.variable.substitute": "false",
}
LOCAL_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Spark's defaults (200 and 50 partitions, 10000 listing tasks) are for clusters: a MERGE of 500 rows takes 4-7 s
    # with them and 0.8 s with these.
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    # Every mirror has its own code for each kind of query, and Spark keeps 100 pieces: with this, applying the
    # demo's log on a warm JVM takes 71 s of CPU time instead of 90. A piece takes 25 kB of heap, and as much again.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # Delta keeps what it knows of 10,000 tables for an hour: 3 MB each, query plans above all, and Spark the plans of
    # 1,000 queries that a UI would show. A lake of some hundred mirrors must not fill the heap with them.
    "spark.databricks.delta.delta.log.cacheSize": "150",
    "spark.sql.ui.retainedExecutions": "20",
    # Bytes that a Python worker gets at once; it needs several times as much while it decodes (Spark: 64 MB).
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    # Rows of a batch when Spark reads a file (its own: 4096), and bytes that it gathers before it writes a part of one
    # (128 MB): with a heap of 600 MB, 1 GB of events of 8 kB ended without memory.
    "spark.sql.parquet.columnarReaderBatchSize": "512",
    "spark.hadoop.parquet.block.size": str(32 << 20),
    # Rows after which Parquet looks at the size of a page and of a part, at first (100) and later (10,000): values may
    # have 48 MB each. After rows without a value, 400 values of 1 MB were one page, for which readers lacked memory.
    "spark.hadoop.parquet.page.size.row.check.min": "1",
    "spark.hadoop.parquet.page.size.row.check.max": "16",
    "spark.hadoop.parquet.block.size.row.check.min": "1",
    "spark.hadoop.parquet.block.size.row.check.max": "16",
    # A task's result up to this size (1 MB) comes directly. A larger one is fetched over the network, from this JVM.
    "spark.task.maxDirectResultSize": "64m",
    "spark.python.daemon.module": "mirrorlake.lake.delta.python_workers",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A client of the driver's ports must know a secret, which Spark makes for each local session.
    "spark.authenticate": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
OWN = "spark.mirrorlake.own"
"""Marks a session that this file has opened: there no setting for one statement can be forbidden."""
FEW_ROWS = {"spark.sql.shuffle.partitions": "1", "spark.databricks.delta.merge.materializeSource": "none"}
"""For a MERGE of rows in the driver's memory: they are the same at each read, so Delta need not keep a copy."""
DRIVER_MEMORY, LEAST_DIRECT_MEMORY = "2g", 1 << 30
"""Heap, and the bytes for Arrow and the network: together under 4 GiB."""
SMALL_IO_BUFFERS = "-Djdk.nio.maxCachedBufferSize=262144"
"""In bytes. Each thread of the JVM keeps the buffer of its largest read or write until it ends: 300 MB in all, with
events of 8 kB."""
FEW_MALLOC_ARENAS = ("MALLOC_ARENA_MAX", "2")
"""glibc keeps pools for each thread, of which the JVM has many: 130 MB that nothing uses."""
COLLECTOR = "-XX:+UseParallelGC"
"""Java's default, G1, marks concurrently: a backlog of a million changes takes a fifth more CPU time with it."""
END_WITHOUT_MEMORY = "-XX:+ExitOnOutOfMemoryError"
"""Spark waits without end for some of its threads, such as the one that serves rows to Python, if they lack memory."""
NO_EXTERNAL_XML = ("-Djavax.xml.accessExternalDTD=", "-Djavax.xml.accessExternalSchema=")
"""A row's XML may name a DTD or schema elsewhere: Java's parser, which ``xpath`` asks, would fetch it."""
ASCII_ALONE = ("ANSI_X3.4-1968", "US-ASCII", "646")
"""Character sets of the locale C, also where the chosen locale is not installed: Python takes UTF-8 there, but Java has
no file with another character in its path."""
CLASS_ARCHIVE = "java-classes.jsa"
"""Classes as Java maps them, put next to the interpreter by `make`: start and first table take 24 s of CPU time
instead of 31."""
BRIEF_RUN = "-XX:TieredStopAtLevel=1"
"""Keeps the JVM's optimizing compiler out of commands of a few queries: the start takes half the CPU time (8 instead of
14 s). Whatever applies changes needs it: the demo's log takes 105 s without it and 55 s with it on a warm JVM."""


_remote: weakref.WeakSet[SparkSession] = weakref.WeakSet()
"""Sessions of Spark Connect in use."""


DELTA_SETTING = "spark.databricks.delta.commitInfo.userMetadata"
"""One of the settings by which a statement carries our note and its transaction id."""


def open_session(
    app_name: str = "mirrorlake",
    *,
    brief: bool = False,
    driver_memory: str | None = None,
    settings: dict[str, str] | None = None,
) -> SparkSession:
    """The active session if there is one, Databricks' own on Databricks, one of the Spark Connect server in the
    environment variable SPARK_REMOTE, else a local session with Delta.

    ``brief``: for a few queries only.
    ``driver_memory``: JVM heap of a local session, e.g. ``2g``; environment ``MIRRORLAKE_DRIVER_MEMORY``, then 2g.
    ``settings``: further Spark settings of a local session. Environment ``MIRRORLAKE_SPARK_LOG`` keeps the JVM's log.

    Raises: UsageError("spark-start") when no JVM comes up; the message is the log's own reason.
    """
    spark = SparkSession.getActiveSession()
    if spark is None and not {"DATABRICKS_RUNTIME_VERSION", "SPARK_REMOTE"}.isdisjoint(os.environ):
        spark = SparkSession.builder.getOrCreate()
    if spark is not None:
        return prepare_session(spark)
    return _open_local(app_name, brief, driver_memory, settings or {})


def prepare_session(session: SparkSession) -> SparkSession:
    """The same session, with the settings that our statements need.

    Raises: RefusedError("spark-session") for a setting that has another value and cannot be set, as on a platform that
    allows only some.
    """
    if is_connect(session):
        _remote.add(session)
    for key, value in SAME_MEANING.items():
        try:
            session.conf.set(key, value)
        except PySparkException:
            _require(session, key, value)
    for key, value in IF_POSSIBLE.items():
        with suppress(PySparkException):
            session.conf.set(key, value)
    return session


def _require(session: SparkSession, key: str, value: str) -> None:
    with suppress(PySparkException):  # a platform that does not show it has Spark's default, which is ours
        found = session.conf.get(key)
        if found.casefold() != value.casefold():
            raise RefusedError("spark-session", f"{key} is {found} and cannot be set to {value}")


def private_session(spark: SparkSession) -> SparkSession:
    """A session with its own settings and temporary views on the same engine."""
    if not is_connect(spark):
        session = spark.newSession()
    elif hasattr(spark, "cloneSession"):  # Spark 4.1
        session = spark.cloneSession()
    else:
        session = SparkSession.builder.create()
    return prepare_session(session)


def close_remote_sessions() -> None:
    """Release the sessions of a Spark Connect server at the end of a command, without a call to it: it may be down.

    PySpark closes remaining sessions while the interpreter ends, and then waits without end for threads that have
    ended.
    """
    for session in list(_remote):
        session.client.close()


def settings_for_few_rows(session: SparkSession) -> dict[str, str]:
    """``FEW_ROWS`` in a session of our own; elsewhere the platform's settings stay."""
    return FEW_ROWS if is_own(session) else {}


@contextmanager
def session_settings(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings for the statements of a ``with`` block. A transaction id that stays set would silently drop every
    later write of the session."""
    earlier = {key: session.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            session.conf.set(key, value)
        yield
    finally:
        for key, value in earlier.items():
            session.conf.unset(key) if value is None else session.conf.set(key, value)


def replaces_variables(session: SparkSession) -> bool:
    """Does the platform insist on replacing ``${name}`` in statements? Then no name may contain that."""
    try:
        return session.conf.get("spark.sql.variable.substitute", "true") != "false"
    except PySparkException:  # a platform that does not say it
        return True


def is_own(session: SparkSession) -> bool:
    """Did ``open_session`` start the engine, and not the platform?"""
    return bool(session.conf.get(OWN, None))


def is_connect(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


def takes_settings(session: SparkSession) -> bool:
    """May the session choose Delta's settings? Databricks serverless lets nobody: there a MERGE could carry no
    transaction id, and a repeated one would run twice."""
    try:
        session.conf.set(DELTA_SETTING, "")
        session.conf.unset(DELTA_SETTING)
    except PySparkException:
        return False
    return True


def _open_local(app_name: str, brief: bool, driver_memory: str | None, settings: dict[str, str]) -> SparkSession:
    scratch = _scratch(os.environ.pop("SPARK_LOCAL_DIRS", "").split(",")[0] or None)
    log_file = Path(os.environ.get("MIRRORLAKE_SPARK_LOG") or scratch / "spark.log")
    own_java = Path(sys.prefix) / "java"  # put there by `make`
    if own_java.exists():
        os.environ.setdefault("JAVA_HOME", str(own_java))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # a host name that does not resolve is no obstacle
    os.environ.setdefault(*FEW_MALLOC_ARENAS)
    if locale.nl_langinfo(locale.CODESET) in ASCII_ALONE:
        os.environ["LC_ALL"] = "C.UTF-8"
    conf = SparkConf(loadDefaults=False).setMaster("local[*]").setAppName(app_name)
    conf.setAll(list(LOCAL_SETTINGS.items()))
    conf.setAll([*SAME_MEANING.items(), *IF_POSSIBLE.items(), (OWN, "true"), delta_jars()])
    heap = driver_memory or os.environ.get("MIRRORLAKE_DRIVER_MEMORY") or DRIVER_MEMORY
    conf.set("spark.driver.memory", heap)
    java_options = [
        f'-Dderby.system.home="{scratch}"', f'-Djava.io.tmpdir="{scratch}"',
        f"-XX:MaxDirectMemorySize={direct_memory(heap)}", SMALL_IO_BUFFERS, COLLECTOR,
        END_WITHOUT_MEMORY, *NO_EXTERNAL_XML,
    ]  # fmt: skip
    archive = Path(sys.prefix) / CLASS_ARCHIVE
    if archive.exists():
        java_options.append(f'-XX:SharedArchiveFile="{archive}"')
    conf.set("spark.driver.extraJavaOptions", " ".join([*java_options, BRIEF_RUN] if brief else java_options))
    conf.set("spark.local.dir", str(scratch))
    conf.set("spark.hadoop.fs.permissions.umask-mode", f"{_umask():03o}")  # Hadoop takes 022, whatever the process has
    conf.set("spark.sql.warehouse.dir", (scratch / "warehouse").as_uri())
    conf.setAll(list(settings.items()))
    context = _start(conf, log_file)
    context.setLogLevel("ERROR")
    return SparkSession.builder.getOrCreate()


def direct_memory(heap: str) -> int:
    """Bytes outside a heap such as 8g: half of it, so that more memory helps also where Arrow lacks it."""
    found = re.fullmatch(r"([0-9]{1,9})([kmgt])b?", heap.strip().lower())
    n_bytes = int(found[1]) << {"k": 10, "m": 20, "g": 30, "t": 40}[found[2]] if found else 0
    return max(LEAST_DIRECT_MEMORY, n_bytes // 2)


def _umask() -> int:
    """The process's umask, which can only be read by setting it (umask(2))."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _scratch(base: str | None) -> Path:
    where = f"SPARK_LOCAL_DIRS {base}" if base else "the temporary folder"
    if "," in (base or tempfile.gettempdir()):
        raise UsageError("spark-start", f"{where} has a comma in its path, which Spark takes for two folders")
    try:
        return make_scratch(base)
    except OSError as error:
        raise UsageError("spark-start", f"no scratch folder can be made in {where}: {error.strerror}") from error


def _start(conf: SparkConf, log_file: Path) -> SparkContext:
    from pyspark.java_gateway import launch_gateway  # classic Spark only

    with log_file.open("ab") as log:
        try:
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
            context = SparkContext(conf=conf, gateway=gateway)
        except Exception as error:  # py4j, PySpark and OSError, by what is missing
            raise UsageError("spark-start", _reason(log_file, error)) from error
    if server := getattr(context, "_accumulatorServer", None):
        server.handle_error = lambda *_: None  # it would print a traceback when the JVM ends
    logging.getLogger().addFilter(_not_of_py4j)
    return context


def _not_of_py4j(record: logging.LogRecord) -> bool:
    """py4j logs each call that the JVM's end cut short by the root logger, with a traceback, and raises it as well."""
    return record.module != "java_gateway"


def _reason(log_file: Path, error: Exception) -> str:
    """The line of the log with the reason, if there is one."""
    lines = [line.strip() for line in log_file.read_text(errors="replace").splitlines() if line.strip()]
    telling = [line for line in lines if "Exception" in line or "JAVA_HOME" in line or line.lower().startswith("error")]
    return "Spark did not start: " + (telling or lines or [str(error)])[0][:300]


def delta_jars() -> tuple[str, str]:
    """The JARs next to the interpreter if `make` has put them there, else Delta's coordinates for Ivy."""
    jars = sorted((Path(sys.prefix) / "delta-jars").glob("*.jar"))
    if jars:  # not in spark.jars: each session would copy them
        return "spark.driver.extraClassPath", os.pathsep.join(map(str, jars))
    version = importlib.metadata.version
    return "spark.jars.packages", delta_coordinates(version("pyspark"), version("delta-spark"))


def delta_coordinates(spark: str, delta: str) -> str:
    """Delta's JAR for Ivy. spark, delta: versions. Since Delta 4.1 there is one for each line of Spark."""
    line = "" if delta.startswith("4.0.") else "_" + ".".join(spark.split(".")[:2])
    return f"io.delta:delta-spark{line}_2.13:{delta}"
