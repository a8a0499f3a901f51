"""Gold's tables: the mirrors, and the control tables with their states and progress.

``control_tables``   append only; the newest row of a name is valid. state: streaming, refused, dropped.
``control_epochs``   append only; a plan row before an epoch's work, a done row after it. kind: rows or ddl.
``control_barriers`` append only; a row ``prepared`` before a DDL touches its mirrors, a row ``executed`` after it.
``control_syncpoints`` append only; a row ``published`` is a moment at which all mirrors can be read together.
``control_runs``     append only; the newest row of a run is valid. It is no progress: nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import SparkSession

from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.lake.delta.creation import (
    LAKE_PROPERTY,
    comment_clause,
    create_table,
    create_table_statement,
    small_commits,
)
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.control.features import Feature, needed_by, properties_of
from mirrorlake.lake.gold.control.source_properties import source_properties

TABLES_COLUMNS = """
    lsn BIGINT, database STRING, table STRING, mirror_id STRING, state STRING, definition STRING, code STRING,
    reason STRING, epoch BIGINT
"""
EPOCH_TABLES = "ARRAY<STRUCT<database: STRING, table: STRING, mirror_id: STRING, version: BIGINT>>"
EPOCHS_COLUMNS = f"""
    epoch BIGINT, phase STRING, kind STRING, lsn_from BIGINT, lsn_to BIGINT, tables {EPOCH_TABLES}, at TIMESTAMP
"""
BARRIERS_COLUMNS = f"lsn BIGINT, kind STRING, phase STRING, tables {EPOCH_TABLES}, at TIMESTAMP"
SYNCPOINTS_COLUMNS = f"""
    name STRING, phase STRING, lsn BIGINT, gtids STRING, commit_ts TIMESTAMP, tables {EPOCH_TABLES}, at TIMESTAMP
"""
RUNS_COLUMNS = """
    run STRING, verb STRING, by STRING, version STRING, started TIMESTAMP, at TIMESTAMP, ended TIMESTAMP,
    outcome STRING, lsn BIGINT, rows BIGINT, refused BIGINT, lag_s DOUBLE,
    sizes ARRAY<STRUCT<table: STRING, files: BIGINT, bytes: BIGINT>>
"""

MIRROR_PROPERTIES = {
    "delta.checkpointInterval": "50",
    "delta.deletedFileRetentionDuration": "interval 8 days",  # what a syncpoint reads; see ``config.syncpoint_days``
}
RUNS_PROPERTIES = {
    # A run that follows makes 1,440 commits a day: Delta's log of them is short, since nothing reads old versions.
    "delta.logRetentionDuration": "interval 2 days",
    "delta.deletedFileRetentionDuration": "interval 2 days",
}
LSN_COLUMN = "_lsn"
LSN_COMMENT = (
    "Position in the source's log of the change that wrote this row last. It only grows: remember max(_lsn), and rows "
    "with a greater one have changed since."
)
COMMIT_COLUMNS = {"_committed_at": "TIMESTAMP", "_gtid": "STRING"}
"""What ``--commit-columns`` adds: name -> Spark type."""
_COMMIT_COMMENTS = {
    "_committed_at": "When the source committed the change that wrote this row last. NULL: a snapshot wrote it.",
    "_gtid": "GTID of the transaction that wrote this row last. NULL: a snapshot wrote it, or the log has no GTID.",
}


def create(spark: SparkSession, names: LakeNames) -> None:
    for table, columns, properties in (
        (names.control_tables, TABLES_COLUMNS, small_commits("lsn", "epoch")),
        (names.control_epochs, EPOCHS_COLUMNS, small_commits("epoch")),
        (names.control_barriers, BARRIERS_COLUMNS, small_commits("lsn")),
        (names.control_syncpoints, SYNCPOINTS_COLUMNS, small_commits("lsn")),
        (names.control_runs, RUNS_COLUMNS, small_commits("at") | RUNS_PROPERTIES),
    ):
        create_table(spark, table, columns, properties, names.location(table))


def mirror_types(schema: TableSchema) -> dict[str, Sql]:
    """Spark type, in DDL spelling, of each of the source's columns. schema: the mirror's."""
    return {column.name: spark_type(column.type, as_text=schema.as_text) for column in schema.columns}


def own_columns(schema: TableSchema) -> dict[str, Sql]:
    """Spark type of each column that is in the mirror and not in the source. schema: the mirror's."""
    return {LSN_COLUMN: "BIGINT", **(COMMIT_COLUMNS if schema.has_commits else {})}


def own_comments(schema: TableSchema) -> dict[str, str]:
    return {LSN_COLUMN: LSN_COMMENT, **(_COMMIT_COMMENTS if schema.has_commits else {})}


def column_comment(column: Column) -> str:
    """The comment of a mirror's column; empty: it has none.

    Spark keeps it in a setting of Hadoop's while it writes a file, where ``${name}`` would be replaced by a variable of
    the environment or a property of Java: a space comes between ``$`` and ``{``.
    """
    return column.comment.replace("${", "$ {")


def comments(schema: TableSchema) -> dict[str, str]:
    """The comment of each column of a mirror; empty: it has none. schema: the mirror's."""
    return {**{column.name: column_comment(column) for column in schema.columns}, **own_comments(schema)}


def create_mirror_statement(
    mirror: Sql, schema: TableSchema, more: Collection[Feature] = (), location: str | None = None,
    lake: str | None = None,
) -> Sql:  # fmt: skip
    """CREATE TABLE of a mirror, with the features of Delta that its columns need, and more.

    location: see ``create_table_statement``. lake: see ``require_own``."""
    types = mirror_types(schema)
    described = comments(schema)
    columns = [
        f"{quote(name)} {kind}{comment_clause(described[name])}"
        for name, kind in {**types, **own_columns(schema)}.items()
    ]
    properties = {**properties_of({*needed_by(types), *more}), **MIRROR_PROPERTIES, **source_properties(schema)}
    if lake:
        properties[LAKE_PROPERTY] = lake
    return create_table_statement(mirror, ", ".join(columns), properties, schema.comment, location)
