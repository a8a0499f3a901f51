"""A followed job outlives what passes by itself, and what Spark raises gets our codes."""

from __future__ import annotations

import errno

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException, PythonException

from mirrorlake.errors import InternalError, RefusedError, RetryableError
from mirrorlake.jobs.run import retry
from mirrorlake.jobs.run.retry import keep_running
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.delta.failures import as_ours
from mirrorlake.lake.delta.refusals import RAISED, refusing

LOST = RetryableError("server-lost", "the connection broke")


class Told(Watcher):
    def __init__(self):
        self.waits = []

    def retrying(self, error, wait_s):
        self.waits.append((error.code, wait_s))


def script(*steps):
    """An attempt that plays the next step each time: an error to raise, 'alive' first if it got somewhere before."""
    left = list(steps)

    def attempt(watcher):
        step = left.pop(0)
        for part in step if isinstance(step, tuple) else (step,):
            if part == "alive":
                watcher.idle()
            elif part is not None:
                raise part

    return attempt


def test_a_job_begins_again_with_growing_pauses():
    told, slept = Told(), []
    keep_running(script(LOST, LOST, LOST, None), told, sleep=slept.append)
    assert told.waits == [("server-lost", 1), ("server-lost", 2), ("server-lost", 4)]
    assert slept == [1, 2, 4]


def test_pauses_begin_anew_once_the_job_got_somewhere():
    told, slept = Told(), []
    keep_running(script(LOST, LOST, ("alive", LOST), LOST, LOST, None), told, sleep=slept.append)
    assert slept == [1, 2, 1, 1, 2]


def test_a_job_that_gets_nowhere_gives_up(monkeypatch):
    monkeypatch.setattr(retry, "GIVE_UP_S", 0)
    with pytest.raises(RetryableError) as raised:
        keep_running(script(LOST, None), Told(), sleep=lambda _: None)
    assert raised.value is LOST


@pytest.mark.parametrize("before", [(), ("alive",)])
@pytest.mark.parametrize(
    "error", [RefusedError("log-gap", "x"), RetryableError("spark-ended", "x"), KeyboardInterrupt()]
)
def test_what_does_not_pass_by_itself_is_raised_at_once(error, before):
    with pytest.raises(type(error)):
        keep_running(script((*before, error)), Told(), sleep=lambda _: pytest.fail("slept"))


# --- what others raise


TASK = (
    "Job aborted due to stage failure: Task 0 failed, most recent: Lost task 0.0 in stage 1.0 (TID 1) (h executor 1): "
)


class UnreadableError(Py4JError):
    """As Py4JJavaError: it asks Java for its text, and Java has ended."""

    def __str__(self):
        raise Py4JNetworkError("Answer from Java side is empty")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), (RetryableError, "lake-storage")),
        (OSError(errno.EFBIG, "File too large"), (RetryableError, "lake-storage")),
        (PermissionError(errno.EACCES, "Permission denied"), (RefusedError, "lake-access")),
        (PySparkException("java.io.IOException: No space left on device"), (RetryableError, "lake-storage")),
        (PySparkException("[DELTA_CONCURRENT_APPEND] Files were added"), (RetryableError, "lake-conflict")),
        (PySparkException("[DELTA_METADATA_CHANGED] by ALTER TABLE"), (RetryableError, "lake-conflict")),
        (PySparkException("[DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION] x"), (RetryableError, "lake-conflict")),
        (PySparkException("[FAILED_READ_FILE.FILE_NOT_EXIST] file:/lake/x"), (RefusedError, "lake-damaged")),
        (Py4JNetworkError("Answer from Java side is empty"), (RetryableError, "spark-ended")),
        (
            PySparkException("x\nCaused by: java.lang.OutOfMemoryError: Java heap space"),
            (RetryableError, "spark-ended"),
        ),
        (
            PySparkException("An error\n: a.B: of\nCaused by: java.io.IOException: /lake/x (No space left on device)"),
            (RetryableError, "lake-storage"),
        ),
        (
            PySparkException(f"a.B: {TASK}java.io.UncheckedIOException: java.io.IOException: Disk quota exceeded"),
            (RetryableError, "lake-storage"),
        ),
        (PythonException("x\nOSError: [Errno 28] No space left on device: '/x'"), (RetryableError, "lake-storage")),
        (
            PySparkException("a.B: of\nCaused by: java.nio.file.AccessDeniedException: /x"),
            (RefusedError, "lake-access"),
        ),
        (PySparkException("[DELTA_CANNOT_CREATE_LOG_PATH] Cannot create file:/x/y"), (RefusedError, "lake-access")),
        (PySparkException("a.B: of\nCaused by: java.io.FileNotFoundException: /x"), (RefusedError, "lake-damaged")),
        (PySparkException(": org.apache.hadoop.fs.ChecksumException: Checksum error"), (RefusedError, "lake-damaged")),
        (PySparkException(": java.lang.RuntimeException: /x is not a Parquet file. "), (RefusedError, "lake-damaged")),
        *(
            (PySparkException(f"a.B: of\nCaused by: java.io.FileNotFoundException: /x ({reason})"), wanted)
            for reason, wanted in {
                "No such file or directory": (RefusedError, "lake-damaged"),
                "No space left on device": (RetryableError, "lake-storage"),
                "Too many open files": (RetryableError, "lake-storage"),
                "Read-only file system": (RefusedError, "lake-access"),
                "File name too long": (RefusedError, "lake-access"),
            }.items()
        ),
        (OSError(errno.EMFILE, "Too many open files"), (RetryableError, "lake-storage")),
        (UnreadableError(), (RetryableError, "spark-ended")),
        (PySparkException("something else"), (InternalError, "internal")),
        (ValueError("No space left on device"), (InternalError, "internal")),
    ],
)
def test_only_what_is_known_to_pass_is_retryable(error, expected):
    ours = as_ours(error)
    assert (type(ours), ours.code) == expected


def test_an_error_that_follows_a_lost_connection_to_java_is_no_defect():
    try:
        try:
            raise ConnectionResetError
        except ConnectionResetError as lost:
            raise Py4JError("An error occurred while calling o1.append") from lost
    except Py4JError as error:
        assert as_ours(error).code == "spark-ended"
    assert as_ours(PySparkException("Job 3 cancelled because SparkContext was shut down")).code == "spark-ended"


def test_a_refusal_of_a_statement_keeps_its_code(spark):
    for code, reason in (("invalid-key", "of a ' key"), ("mirror-diverged", "SQLSTATE: 12345 in a row")):
        with pytest.raises(Exception, match=RAISED) as raised:
            spark.sql(f"SELECT {refusing(code, reason)}").collect()
        assert str(as_ours(raised.value)) == f"{code}: {reason}"


def test_text_of_a_source_is_no_refusal():
    text = "[CAST_INVALID_INPUT] The value 'mirrorlake.errors.RefusedError: log-event: x' cannot be cast"
    assert as_ours(PySparkException(text)).code == "internal"


def test_a_refusal_in_a_spark_task_keeps_its_code():
    text = "An exception\nTraceback\nmirrorlake.errors.RefusedError: log-event: too short (at binlog.000001:4)\n"
    ours = as_ours(PythonException(text))
    assert (type(ours), str(ours)) == (RefusedError, "log-event: too short (at binlog.000001:4)")


@pytest.mark.parametrize(
    "name",
    [
        "java.lang.OutOfMemoryError", "Answer from Java side is empty", "SparkContext was shut down", "PATH_NOT_FOUND",
        "DELTA_CONCURRENT_APPEND", "[DELTA_METADATA_CHANGED] x", "No space left on device", "Permission denied",
        "java.net.ConnectException", "AccessDeniedException", "java.io.FileNotFoundException",
    ],
)  # fmt: skip
def test_a_name_of_the_source_in_the_text_of_an_error_chooses_no_code(name):
    for text in (f"[SCHEMA_NOT_FOUND] The schema `x {name}` is not there.", f"a.B: of x {name}\n\tat a.B.c(B.java:1)"):
        assert as_ours(PySparkException(text)).code == "internal"
    lines = f"[SCHEMA_NOT_FOUND] The schema `x\nCaused by: {name}\n{name}`"
    assert as_ours(AnalysisException(lines)).code == "internal"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("of Zoë", "PySparkException"),
        ("An error\n: java.lang.IllegalStateException: of Zoë\n\tat a.B.c(B.java:1)", "IllegalStateException"),
        ("An error\n: a.A: of\nCaused by: a.B: [HER_NAME] Zoë\n\tat a.C.d(C.java:1)", "HER_NAME"),
    ],
)
def test_an_unknown_error_of_spark_is_named_by_its_condition_or_its_innermost_cause(text, name):
    assert str(as_ours(PySparkException(text))) == f"internal: Spark failed with {name}"


def test_an_unknown_error_is_named_without_its_text():
    with pytest.raises(InternalError) as raised:
        keep_running(script(KeyError("Zoë's secret")), Told())
    assert str(raised.value).startswith("internal: KeyError in jobs/run/retry.py:")
    assert "secret" not in str(raised.value)
