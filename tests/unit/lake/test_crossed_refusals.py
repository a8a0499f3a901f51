"""Refusals that come back in the text of an error of Spark's."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, PySparkException, PythonException

from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.refusals import crossed

OURS = "mirrorlake.errors.RefusedError: lake-version: it is newer"


@pytest.mark.parametrize("text", [f"Traceback\n{OURS}", f"[USER_RAISED_EXCEPTION] {OURS} SQLSTATE: P0001"])
def test_a_refusal_comes_back_from_a_worker_and_from_a_statement(text):
    found = crossed(PythonException(text))
    assert isinstance(found, RefusedError) and (found.code, found.message) == ("lake-version", "it is newer")


@pytest.mark.parametrize(
    "error",
    [
        ValueError(OURS),
        AnalysisException(f"[UNRESOLVED_COLUMN] no column `\n{OURS}`"),
        PySparkException("mirrorlake.errors.REFUSALS: lake-version: x"),
        PySparkException("mirrorlake.errors.RefusedError: no-such-code: x"),
    ],
    ids=["not of Spark", "a name of the source", "no kind of error", "no code"],
)
def test_other_texts_are_no_refusals(error):
    assert crossed(error) is None
