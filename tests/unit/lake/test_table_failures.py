"""Which errors of Spark and Delta are one table's."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ArithmeticException, SparkRuntimeException

from mirrorlake.lake.gold.control.failures import condition_of_table

TASK_FAILED = """An error occurred while calling o1.sql.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/lake. SQLSTATE: 58030
Caused by: org.apache.spark.SparkArithmeticException: [CAST_OVERFLOW] The value 1L [of a row] does not fit.
 SQLSTATE: 22003
	at org.apache.spark.sql.errors"""
BROKEN_FILE = """[FAILED_READ_FILE.NO_HINT] Encountered error while reading file 1.json. SQLSTATE: KD001
Caused by: org.apache.spark.SparkException: [MALFORMED_RECORD_IN_PARSING] Malformed. SQLSTATE: 22023"""
CHECKED = """An error occurred while calling o1.overwrite.
: org.apache.spark.sql.delta.schema.DeltaInvariantViolationException: [DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK
 constraint c (v < 10) violated by row with values:
 - v : 12
	at org.apache.spark.sql.delta"""
APPEND_ONLY = (
    """: org.apache.spark.sql.delta.DeltaUnsupportedOperationException: [DELTA_CANNOT_MODIFY_APPEND_ONLY] This"""
)
DISK_FULL = """: [TASK_WRITE_FAILED] Task failed while writing rows to file:/lake. SQLSTATE: 58030
Caused by: java.io.IOException: No space left on device"""


class NotTaken(AnalysisException):
    """As Spark raises it: with condition and state of its own."""

    def getCondition(self) -> str:
        return "UNRESOLVED_COLUMN"

    def getSqlState(self) -> str:
        return "42703"


ODD_NAME = "[UNRESOLVED_COLUMN] No column `[AB] SQLSTATE: 42501`. SQLSTATE: 42703; Project [`[AB] SQLSTATE: 42501`]"


@pytest.mark.parametrize(
    ("error", "condition"),
    [
        (AnalysisException("[DELTA_CONFLICT_SET_COLUMN] A conflict. SQLSTATE: 42701"), "DELTA_CONFLICT_SET_COLUMN"),
        (AnalysisException("[AMBIGUOUS_REFERENCE] It is. SQLSTATE: 42704; line 1"), "AMBIGUOUS_REFERENCE"),
        (NotTaken(ODD_NAME), "UNRESOLVED_COLUMN"),
        (SparkRuntimeException(TASK_FAILED), "CAST_OVERFLOW"),
        (SparkRuntimeException("java.lang.StackOverflowError\n\tat org.antlr"), "STACK_OVERFLOW"),
        (SparkRuntimeException("Job aborted: java.lang.ArithmeticException: BigInteger overflows"), "ARITHMETIC"),
        (ArithmeticException("BigInteger would overflow supported range"), "ARITHMETIC"),
        (SparkRuntimeException(CHECKED), "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
        (SparkRuntimeException(APPEND_ONLY), "DELTA_CANNOT_MODIFY_APPEND_ONLY"),
        (SparkRuntimeException(DISK_FULL), None),
        (SparkRuntimeException(BROKEN_FILE), None),
        (AnalysisException("[TABLE_OR_VIEW_NOT_FOUND] It cannot be found. SQLSTATE: 42P01"), None),
        (AnalysisException("[DELTA_TRUNCATED_TRANSACTION_LOG] 0.json. SQLSTATE: 42K03"), None),
        (AnalysisException("[DELTA_MISSING_PART_FILES] Couldn't find. SQLSTATE: 42KD6"), None),
        (SparkRuntimeException("[DELTA_CONCURRENT_APPEND] Files were added. SQLSTATE: 2D521"), None),
        (SparkRuntimeException("java.lang.OutOfMemoryError: Java heap space"), None),
        (SparkRuntimeException("[INTERNAL_ERROR] The plan is wrong. SQLSTATE: XX000"), None),
        (ValueError("[CAST_OVERFLOW] no error of Spark. SQLSTATE: 22003"), None),
    ],
)  # fmt: skip
def test_whose_failure_it_is(error, condition):
    assert condition_of_table(error) == condition
