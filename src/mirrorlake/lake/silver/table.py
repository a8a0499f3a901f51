"""Silver's tables: row changes, definitions, answers.

``silver_changes``: ordered row changes with transaction markers. ``silver_table_schemas``: definitions of tables.
``control_answers``: overrides of refused statements, and snapshots of tables.
All are append only, and their own schema never changes, whatever DDL the source runs.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from mirrorlake.lake.delta.creation import create_table, log_table_properties, small_commits
from mirrorlake.lake.delta.names import LakeNames

CHANGE_COLUMNS = """
    lsn BIGINT, tx_lsn BIGINT, ordinal INT, op STRING, gtid STRING, commit_ts TIMESTAMP, database STRING, table STRING,
    schema_id BIGINT, before VARIANT, after VARIANT, statement STRING, changes BIGINT, checksum BIGINT, refusal STRING,
    partial BOOLEAN, invalid INT, may_cascade BOOLEAN
"""
CHANGES_READ_BY = ("lsn", "tx_lsn", "op", "database", "table")

DEFINITION_COLUMNS = """
    lsn BIGINT, schema_id BIGINT, database STRING, table STRING, action STRING, columns STRING,
    primary_key ARRAY<STRING>, steps STRING, refusal STRING, reason STRING, answer INT
"""
ANSWERS = "answers"
"""Key of the notes of silver_changes: number of the operator's answers that are applied."""
ANSWER_COLUMNS = """
    number INT, lsn BIGINT, database STRING, table STRING, text STRING, copy_id STRING, given_by STRING, at TIMESTAMP
"""


def create(spark: SparkSession, names: LakeNames) -> None:
    for table, columns, properties in (
        (names.silver_changes, CHANGE_COLUMNS, log_table_properties(names, *CHANGES_READ_BY)),
        (names.silver_table_schemas, DEFINITION_COLUMNS, small_commits("lsn")),
        (names.control_answers, ANSWER_COLUMNS, small_commits("number")),
    ):
        create_table(spark, table, columns, properties, names.location(table))
