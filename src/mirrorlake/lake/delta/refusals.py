"""Refusals that cross Spark: of an error in a statement or in a Python worker, only the text comes back.

A worker's text has a line with the error as Python prints it, ``mirrorlake.errors.RefusedError: CODE: MESSAGE``. A
statement says the same with ``raise_error``. So both are read back in one way.
"""

from __future__ import annotations

import re

from mirrorlake.core.sql_text import Sql, literal
from mirrorlake.errors import REFUSALS, InternalError, MirrorlakeError, RefusedError, RetryableError, UsageError

RAISED = "USER_RAISED_EXCEPTION"
"""Spark's condition for ``raise_error``."""
_JAVAS_OWN = "java.lang.UnsupportedOperationException"
_KINDS = {kind.__name__: kind for kind in (RetryableError, RefusedError, UsageError, InternalError)}
_CROSSED = re.compile(
    rf"(?:^|\[{RAISED}\] )mirrorlake\.errors\.({'|'.join(_KINDS)}): ([a-z-]+): (.+?)(?: SQLSTATE: \w{{5}})?$",
    re.MULTILINE,
)


def refusing(code: str, reason: str) -> Sql:
    """An expression that ends its statement with a refusal."""
    return f"raise_error({literal(f'{RefusedError.__module__}.{RefusedError.__name__}: {code}: {reason}')})"


def crossed(error: BaseException) -> MirrorlakeError | None:
    """The error itself if it is ours, or the one of ours in the text of Spark's; None if there is none.

    A statement that Spark does not even take has raised nothing of ours, but its error repeats names of the source.
    """
    if isinstance(error, MirrorlakeError):
        return error
    if not is_spark(error) or is_analysis(error):
        return None
    found = _CROSSED.search(str(error))
    return _KINDS[found[1]](found[2], found[3]) if found and found[2] in REFUSALS else None


def is_unsupported(error: BaseException) -> bool:
    """Whether Spark, Delta or the catalog says that it does not take this kind of statement at all.

    SQLSTATE class 0A is "feature not supported"; the open-source connector of Unity Catalog has Java's own exception.
    """
    if not is_spark(error):
        return False
    state = error.getSqlState() if hasattr(error, "getSqlState") else None
    return (state or "").startswith("0A") or _JAVAS_OWN in str(error)


def is_spark(error: BaseException) -> bool:
    """Whether PySpark or its gateway raised it."""
    return any(kind.__module__.split(".")[0] in ("pyspark", "py4j") for kind in type(error).__mro__)


def is_analysis(error: BaseException) -> bool:
    """Whether it is about a statement that Spark does not take, which has read no row. This file needs no PySpark."""
    return any(kind.__name__ == "AnalysisException" for kind in type(error).__mro__)
