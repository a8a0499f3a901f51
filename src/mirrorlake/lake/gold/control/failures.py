"""Is an error of Spark or Delta about one table, which is then refused, or about the lake, which stops?

Each of their errors has an SQLSTATE. Its class distinguishes a statement, name, type or value that they reject from
a missing file, a commit that came in between and a process that ended. An error without one is not a table's.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.causes import causes_of
from mirrorlake.lake.delta.failures import as_ours
from mirrorlake.lake.delta.names import is_path, last_part
from mirrorlake.lake.delta.notes import read_history
from mirrorlake.lake.delta.refusals import is_analysis, is_spark

DAMAGED = "lake-damaged"
_OF_A_TABLE = ("0A", "21", "22", "23", "42", "54")
"""Feature not supported, cardinality, data, constraint, syntax and analysis, limits of a program."""
_DEFECT = "XX"
"""Class of Spark's own defects: in a statement that it does not take, a name or type of the table has met one."""
_OF_THE_LAKE = re.compile("42501|42K0[34I]|42KD[56]|42P..|22022")
"""Exceptions among them: privileges, files, folders and tables that exist or do not exist, settings."""
_OF_A_FILE = "KD"
"""Class of errors about a data source: the cause may call the content of a broken file malformed data."""
_STATE = re.compile(r"\[([A-Z][A-Z0-9_.]+)\](?:(?!\[[A-Z][A-Z0-9_.]+\]).)*?SQLSTATE: ([0-9A-Z]{5})", re.DOTALL)
_RULES = ("DELTA_VIOLATE_CONSTRAINT", "DELTA_NOT_NULL_CONSTRAINT", "DELTA_CANNOT_MODIFY_APPEND_ONLY")
"""Of errors in whose text Delta gives no SQLSTATE."""
_OF_JAVA = {"java.lang.StackOverflowError": "STACK_OVERFLOW", "java.lang.ArithmeticException": "ARITHMETIC"}
"""Errors of Java itself about the depth of a statement or about a number."""


def damage_of(spark: SparkSession, mirror: Sql, error: BaseException) -> str | None:
    """What is broken in this mirror, if that is the error's cause."""
    ours = as_ours(error)
    is_its = ours.code == DAMAGED and _is_about(spark, mirror, error)
    return f"the mirror table is damaged: {ours.message}" if is_its else None


def _is_about(spark: SparkSession, mirror: Sql, error: BaseException) -> bool:
    """Does the error name the mirror or its folder, or is the mirror's own history broken, too?"""
    try:
        deque(read_history(spark, mirror), maxlen=0)
        names = [last_part(mirror), *([] if is_path(mirror) else _last_folder(spark, mirror))]
    except Exception as own:
        return as_ours(own).code == DAMAGED
    named = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, names))})(?!\w)")
    return any(named.search(message) for message in _messages(error))


def _last_folder(spark: SparkSession, table: Sql) -> list[str]:
    """The last part of the location of a table in a catalog, which gives it any name; empty: there is no table."""
    described = spark.sql(f"DESCRIBE DETAIL {table}").collect()
    return [row.location.rstrip("/").rpartition("/")[2] for row in described]


def _messages(error: BaseException | None) -> Iterator[str]:
    """The messages in the error, without plans: these name each table of a statement."""
    while error is not None:
        yield from (cause.message for cause in causes_of(error))
        error = error.__cause__


def condition_of_table(error: BaseException) -> str | None:
    """The condition by which Spark or Delta refuses one table's work; None: it is not about the table.

    For an error with causes the innermost one decides, which is last: a failed task names the value's own error.
    A statement that Spark does not take has no cause, but names of the source in its text: its own state decides.
    """
    if not is_spark(error):
        return None
    own = _own_state(error)
    found = own if own and is_analysis(error) else _STATE.findall(str(error)) or own
    if not found:
        return _of_java(error) or _violated(error)
    if any(state.startswith(_OF_A_FILE) for _, state in found):
        return None
    condition, state = found[-1]
    if is_analysis(error) and state.startswith(_DEFECT):
        return condition
    return condition if state[:2] in _OF_A_TABLE and not _OF_THE_LAKE.fullmatch(state) else None


def _of_java(error: BaseException) -> str | None:
    """PySpark gives some of them a class of its own, and leaves Java's out of the text."""
    text = f"java.lang.{type(error).__name__}: {error}"
    return next((condition for name, condition in _OF_JAVA.items() if name in text), None)


def _violated(error: BaseException) -> str | None:
    """The condition of an error that says that a rule of others, such as a CHECK, does not let the rows in."""
    return next((cause.condition for cause in causes_of(error) if cause.condition.startswith(_RULES)), None)


def _own_state(error: BaseException) -> list[tuple[str, str]]:
    """Condition and SQLSTATE of an error whose text has none: Delta's own."""
    if not isinstance(error, PySparkException) or not error.getCondition() or not error.getSqlState():
        return []
    return [(error.getCondition(), error.getSqlState())]
