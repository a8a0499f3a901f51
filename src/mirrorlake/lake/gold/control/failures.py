"""Is an error of Spark or Delta about one table, which is then refused, or about the lake, which stops?

Each of their errors has an SQLSTATE. Its class distinguishes a statement, name, type or value that they reject from
a missing file, a commit that came in between and a process that ended. An error without one is not a table's.
"""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from mirrorlake.lake.delta.refusals import is_analysis, is_spark

_OF_A_TABLE = ("0A", "21", "22", "23", "42", "54")
"""Feature not supported, cardinality, data, constraint, syntax and analysis, limits of a program."""
_OF_THE_LAKE = re.compile("42501|42K0[34I]|42KD[56]|42P..|22022")
"""Exceptions among them: privileges, files, folders and tables that exist or do not exist, settings."""
_OF_A_FILE = "KD"
"""Class of errors about a data source: the cause may call the content of a broken file malformed data."""
_STATE = re.compile(r"\[([A-Z][A-Z0-9_.]+)\](?:(?!\[[A-Z][A-Z0-9_.]+\]).)*?SQLSTATE: ([0-9A-Z]{5})", re.DOTALL)
_TOO_DEEP = "java.lang.StackOverflowError"


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
        return "STACK_OVERFLOW" if _TOO_DEEP in str(error) else None
    if any(state.startswith(_OF_A_FILE) for _, state in found):
        return None
    condition, state = found[-1]
    return condition if state[:2] in _OF_A_TABLE and not _OF_THE_LAKE.fullmatch(state) else None


def _own_state(error: BaseException) -> list[tuple[str, str]]:
    """Condition and SQLSTATE of an error whose text has none: Delta's own."""
    if not isinstance(error, PySparkException) or not error.getCondition() or not error.getSqlState():
        return []
    return [(error.getCondition(), error.getSqlState())]
