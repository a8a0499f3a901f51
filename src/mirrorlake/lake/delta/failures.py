"""Errors of Spark, Delta and Python, as errors of ours.

Only known failures of the outside world are retryable; an unknown failure counts as our own defect. The text of an
unknown error stays out of the message, because it may hold a row's value; ``--verbose`` shows it.
"""

from __future__ import annotations

import errno
import logging
import re
import traceback
from pathlib import Path

from py4j.protocol import Py4JError, Py4JNetworkError

from mirrorlake import errors
from mirrorlake.errors import InternalError, MirrorlakeError, RefusedError, RetryableError
from mirrorlake.lake.delta.causes import Cause, causes_of
from mirrorlake.lake.delta.refusals import crossed, is_analysis, is_spark

SPARK_ENDED = re.compile(
    "Answer from Java side is empty|Error while sending or receiving"
    "|An error occurred while trying to connect to the Java server"
    "|Job [0-9]+ cancelled because SparkContext was shut down"
)
MEMORY = re.compile(r"java\.lang\.OutOfMemoryError|.*\.SparkOutOfMemoryError")
CONFLICTS = (
    "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION",
    "DELTA_CONCURRENT_",
    "DELTA_METADATA_CHANGED",
    "DELTA_PROTOCOL_CHANGED",
)
DAMAGE = (
    "FAILED_READ_FILE", "DELTA_FILE_NOT_FOUND", "DELTA_LOG_FILE_NOT_FOUND", "DELTA_VERSIONS_NOT_CONTIGUOUS",
    "DELTA_TRUNCATED_TRANSACTION_LOG", "DELTA_STATE_RECOVER_ERROR", "DELTA_MISSING_PART_FILES",
    "DELTA_MISSING_DELTA_TABLE", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "TABLE_OR_VIEW_NOT_FOUND",
    "PATH_NOT_FOUND", "java.io.FileNotFoundException",
    "org.apache.hadoop.fs.ChecksumException", "DELTA_UNSUPPORTED_FEATURES", "DELTA_INVALID_PROTOCOL_VERSION",
    "com.fasterxml.jackson.core.JsonParseException", "com.fasterxml.jackson.core.io.JsonEOFException",
    "com.fasterxml.jackson.databind.JsonMappingException", "java.nio.charset.MalformedInputException",
)  # fmt: skip
STORAGE = (
    "No space left on device", "Disk quota exceeded", "File too large", "Input/output error", "Too many open files",
    "Connection reset",
    "java.net.ConnectException", "java.net.SocketTimeoutException", "java.net.UnknownHostException",
    "java.net.NoRouteToHostException",
)  # fmt: skip
ACCESS = (
    "Permission denied", "AccessDeniedException", "AccessControlException", "Read-only file system", "Mkdirs failed",
    "Not a directory", "File name too long",
)  # fmt: skip
NO_FOLDER = "DELTA_CANNOT_CREATE_LOG_PATH"
"""Delta says no more than this where it cannot make a table's folder; most often it may not write there."""
_OF_INPUT_AND_OUTPUT = re.compile(r"(java\.(io|nio|net)|org\.apache\.hadoop)\..*|[A-Za-z]*Error")
_STORAGE_ERRNO = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ETIMEDOUT}
_ACCESS_ERRNO = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ENAMETOOLONG, errno.ELOOP}
_NO_PARQUET = re.compile(r".* is not a Parquet file\. ")
_CALL_ALONE = re.compile(r"An error occurred while calling [\w.$:]+")
_PACKAGE = Path(errors.__file__).parent


def as_ours(error: BaseException) -> MirrorlakeError:
    """The error itself if it is ours, else one of ours with a hint what to do."""
    try:
        return _translated(error)
    except Py4JError:  # the text of an error is asked of Java, which has ended
        return RetryableError("spark-ended", "the Spark process ended")


def _translated(error: BaseException) -> MirrorlakeError:
    if (ours := crossed(error)) is not None:
        return ours
    causes = causes_of(error) if is_spark(error) or _comes_from_java(error) else []
    if causes and (_lost_java(error) or any(SPARK_ENDED.match(cause.message) for cause in causes)):
        return RetryableError("spark-ended", "the Spark process ended")
    if any(MEMORY.fullmatch(cause.name) for cause in causes):
        return RetryableError("spark-ended", "Spark has no memory left")
    if any(cause.condition.startswith(CONFLICTS) for cause in causes):
        return RetryableError("lake-conflict", "another commit came in between")
    for kind, code, signs, numbers in (
        (RetryableError, "lake-storage", STORAGE, _STORAGE_ERRNO),
        (RefusedError, "lake-access", ACCESS, _ACCESS_ERRNO),
    ):
        sign = error.strerror if isinstance(error, OSError) and error.errno in numbers else _has_sign(causes, signs)
        if sign:
            return kind(code, f"the lake's storage: {sign}")
    if any(cause.condition == NO_FOLDER for cause in causes):
        return RefusedError("lake-access", f"a table's folder cannot be made{_file_in(str(error))}")
    # After those: Java says FileNotFoundException of whatever cannot be opened, with the reason in its message.
    if sign := next((sign for sign in DAMAGE if any(_named(cause, sign) for cause in causes)), _no_parquet(causes)):
        return RefusedError("lake-damaged", f"Spark failed with {sign}{_file_in(str(error))}")
    return InternalError("internal", f"{what_failed(error)}{_where(error)}")


def _no_parquet(causes: list[Cause]) -> str | None:
    """What is said of a damaged checkpoint, in an error that has no condition."""
    of_java = (cause.message for cause in causes if cause.name == "java.lang.RuntimeException")
    return "a broken Parquet file" if any(map(_NO_PARQUET.match, of_java)) else None


def _named(cause: Cause, sign: str) -> bool:
    return cause.condition.startswith(sign) or cause.name == sign


def _has_sign(causes: list[Cause], signs: tuple[str, ...]) -> str | None:
    """The first of the signs that is a class, or that an error of input and output begins or ends its message with."""
    of_io = [cause for cause in causes if _OF_INPUT_AND_OUTPUT.fullmatch(cause.name)]
    for sign in signs:
        message = re.compile(rf"(\[Errno [0-9]+\] )?{sign}\b|.*(\(|: ){sign}\)?$")
        if any(f".{cause.name}".endswith(f".{sign}") or message.match(cause.message) for cause in of_io):
            return sign
    return None


def _lost_java(error: BaseException | None) -> bool:
    """Is it, or did it follow, an error of the connection to Java, or a call that Java gave no answer to?"""
    while error is not None and not (isinstance(error, (Py4JNetworkError, ConnectionError)) or _unanswered(error)):
        error = error.__cause__ or error.__context__
    return error is not None


def _unanswered(error: BaseException) -> bool:
    """py4j names the call alone where the answer is empty; each answer of Java's brings an exception or a trace."""
    return type(error) is Py4JError and _CALL_ALONE.fullmatch(str(error)) is not None


def _comes_from_java(error: BaseException) -> bool:
    """Was it raised by a call to Java, whose process may have ended?"""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__", "").startswith("py4j.") for frame, _ in frames)


def first_line(error: BaseException) -> str:
    """Spark's own message, without plan, stack and position in the statement; without values if rows were involved."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    text = re.sub(r"( SQLSTATE: \w+)?(\s*\(line [0-9]+, pos [0-9]+\))?(; line [0-9]+ pos [0-9]+)?;?\s*$", "", text)
    return text if is_analysis(error) else re.sub(r"'[^']*'|\b[0-9][0-9.,]*\b", "...", text)


def what_failed(error: BaseException) -> str:
    """Spark's condition or the innermost exception of Java, else the type: the error's text may hold a row's value."""
    if not is_spark(error):
        return type(error).__name__
    condition = getattr(error, "getCondition", lambda: None)()
    named = [cause for cause in causes_of(error) if cause.name]
    if not condition and named:
        condition = named[-1].condition or named[-1].name.rpartition(".")[2]
    return f"Spark failed with {condition or type(error).__name__}"


def keep_spark_quiet() -> None:
    """Silence PySpark's loggers: they repeat each error as JSON on stderr, with pieces of the statement."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def _file_in(text: str) -> str:
    """The first file or table folder that Spark names."""
    found = re.search(r"(?:file:)?(/[^\s'`]*/[^\s'`]+)", text)
    return f" at {found[1]}" if found else ""


def _where(error: BaseException) -> str:
    """The last line of our code that the error passed through."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(_PACKAGE)
    ]
    return f" in {Path(frames[-1].filename).relative_to(_PACKAGE).as_posix()}:{frames[-1].lineno}" if frames else ""
