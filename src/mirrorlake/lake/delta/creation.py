"""CREATE TABLE, table properties, and the log without a commit that a process killed inside it leaves.

Delta treats such a log as an existing table: IF NOT EXISTS does nothing, and nothing can be read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from mirrorlake.core.sql_text import Sql, literal
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.lake.delta.names import ABSENT, PROPERTY, LakeNames, local_folder
from mirrorlake.lake.delta.notes import newest_version

_OTHER_TABLE = ("DELTA_CREATE_TABLE_WITH_DIFFERENT_", "DELTA_CREATE_TABLE_SCHEME_MISMATCH")
"""Of a location that has a table with other properties or columns."""
UNBORN = "lake-unborn"
"""Code of the error when what has a table's name is no table of Delta with a commit."""
LAKE_PROPERTY = f"{PROPERTY}lake"
"""Of a mirror in a schema apart from its lake's: catalog and schema of the lake."""
UNBORN_AFTER_S = 5.0
"""Seconds for which a log without a commit may still be another process's first commit in progress."""


def create_table(
    spark: SparkSession, table: Sql, columns: Sql, properties: Mapping[str, str] | None = None,
    location: str | None = None,
) -> None:  # fmt: skip
    """Create a table if it is missing. location: of an external table.

    Raises RefusedError ``lake-unborn``; UsageError if the location has another table.
    """
    remove_unborn(table)
    try:
        spark.sql(create_table_statement(table, columns, properties, location=location))
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith(_OTHER_TABLE):
            raise
        raise UsageError("usage", f"{location} is not empty: name another location, or delete the folder") from error
    require_born(spark, table)


def create_table_statement(
    table: Sql, columns: Sql, properties: Mapping[str, str] | None = None, comment: str = "",
    location: str | None = None,
) -> Sql:  # fmt: skip
    """CREATE TABLE IF NOT EXISTS for a Delta table; ``columns`` is DDL such as ``lsn BIGINT, raw BINARY``.

    location: of an external table. One that a killed process has made there, and the catalog does not know, is taken.
    """
    options = f" TBLPROPERTIES ({property_list(properties)})" if properties else ""
    there = f" LOCATION {literal(location)}" if location else ""
    return f"CREATE TABLE IF NOT EXISTS {table} ({columns}) USING DELTA{there}{comment_clause(comment)}{options}"


def set_properties(spark: SparkSession, table: Sql, properties: Mapping[str, str]) -> None:
    """Set table properties, in a commit without a note."""
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({property_list(properties)})").collect()


def read_properties(spark: SparkSession, table: Sql) -> dict[str, str]:
    return {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {table}").collect()}


def require_own(spark: SparkSession, table: Sql, lake: str | None) -> None:
    """Raise RefusedError ``lake-unborn`` for a table that another lake has made: two lakes of one source give their
    mirrors the same names. lake: catalog and schema of this one; None: no other lake can make tables there."""
    if lake is None:
        return
    try:
        made_by = read_properties(spark, table).get(LAKE_PROPERTY, lake)
    except AnalysisException as error:
        if error.getCondition() not in ABSENT:
            raise
        return
    if made_by != lake:
        raise RefusedError(UNBORN, "another lake has made this table", table=table)


def property_list(properties: Mapping[str, str]) -> Sql:
    """Write properties as TBLPROPERTIES takes them, without its brackets."""
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())


def comment_clause(comment: str) -> Sql:
    """COMMENT of a table or column that is created, with a space before it; nothing for no comment."""
    return f" COMMENT {literal(comment)}" if comment else ""


def small_commits(*read_by: str) -> dict[str, str]:
    """Properties of a table whose commits are many and small. read_by: the columns that statistics are kept of."""
    return {"delta.dataSkippingStatsColumns": ",".join(read_by), "delta.checkpointInterval": "50"}


def log_table_properties(names: LakeNames, *read_by: str) -> dict[str, str]:
    """Of a table that only grows. read_by: as above.

    Without deletion vectors max(lsn) is answered from statistics alone. A catalog may insist on them: Unity Catalog
    takes no table that turns them off.
    """
    vectors = {} if names.is_unity else {"delta.enableDeletionVectors": "false"}
    return {**vectors, **small_commits(*read_by)}


def remove_unborn(table: Sql) -> None:
    """Remove a log without a commit from a local folder.

    A table that another process is creating is left alone: only old files are removed, and the folder only if it is
    empty.
    """
    folder = local_folder(table)
    log = folder / "_delta_log" if folder else None
    if log is None or not log.is_dir() or any(log.glob("*.json")):
        return
    time.sleep(max(0.0, UNBORN_AFTER_S - min(_age_s(path) for path in [log, *log.rglob("*")])))
    with suppress(OSError):  # a commit has come meanwhile: the table exists
        old = [path for path in log.rglob("*") if _age_s(path) >= UNBORN_AFTER_S and path.suffix != ".json"]
        for left_over in sorted(old, reverse=True):  # the content of a folder before the folder
            left_over.rmdir() if left_over.is_dir() else left_over.unlink()
        log.rmdir()


def require_born(spark: SparkSession, table: Sql) -> None:
    """After a CREATE: wait for the first commit, which may be that of another process that creates the same table.

    Raises RefusedError ``lake-unborn`` when none comes.
    """
    ends_at = time.monotonic() + UNBORN_AFTER_S
    while newest_version(spark, table) is None:
        if time.monotonic() > ends_at:
            raise RefusedError(UNBORN, "CREATE TABLE made no commit", table=table)
        time.sleep(0.1)


def _age_s(path: Path) -> float:
    with suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime
    return 0.0
