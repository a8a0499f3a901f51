"""What the first start of a lake in a catalog decides for good, and the names that follow from it.

The first CREATE TABLE has the answers as properties. It makes one commit: of two first starts with different answers
the second one finds those of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.core.sql_text import quote
from mirrorlake.errors import UsageError
from mirrorlake.lake.bronze import table as bronze
from mirrorlake.lake.delta.location import folders_above
from mirrorlake.lake.delta.names import (
    MIRRORS_SCHEMA,
    NO_SCHEMA,
    SYSTEM_TABLES,
    TABLES_LOCATION,
    LakeNames,
    table_exists,
)
from mirrorlake.lake.delta.notes import newest_version
from mirrorlake.lake.delta.refusals import is_spark


def begin(options: Options, spark: SparkSession) -> dict[str, str]:
    """Create the first table of a lake in a catalog, if it is missing, and return what the lake keeps.

    Raises UsageError, see ``_check_mirrors_schema`` and ``_check_location``.
    """
    names = _asked(options)
    if not names.is_unity:
        return {}
    if not table_exists(spark, names.bronze_events):
        if names.mirrors_schema:
            _check_mirrors_schema(names, spark)
        _check_location(names, spark)
        bronze.create(spark, names)
    return bronze.read_kept(spark, names)


def kept_names(options: Options, kept: Mapping[str, Any]) -> LakeNames:
    """The names of the tables of a lake that exists. kept: see ``LakeNames.kept``.

    Raises UsageError if the options name another schema for the mirrors, or another location for the tables.
    """
    asked = _asked(options)
    names = LakeNames(options.lake, options.staging, kept.get(MIRRORS_SCHEMA), kept.get(TABLES_LOCATION))
    if options.mirrors_schema and asked.mirrors.lower() != names.mirrors.lower():
        raise _kept_otherwise("--mirrors-schema", f"has its mirrors in {names.mirrors}")
    if options.tables_location and asked.tables_location != names.tables_location:
        below = f"below {names.tables_location}" if names.tables_location else "where its catalog keeps them"
        raise _kept_otherwise("--tables-location", f"has its tables {below}")
    return names


def _asked(options: Options) -> LakeNames:
    return LakeNames(options.lake, options.staging, options.mirrors_schema, options.tables_location)


def _kept_otherwise(option: str, where: str) -> UsageError:
    return UsageError("usage", f"this lake {where}: leave out {option}, or begin a new lake")


def _check_mirrors_schema(names: LakeNames, spark: SparkSession) -> None:
    """Raise UsageError unless the schema for the mirrors of a new lake is there and empty: two lakes may give mirrors
    the same name, and this one would take those of another for its own."""
    try:
        found = names.find_next_to_mirrors(spark)
    except AnalysisException as error:
        if error.getCondition() != NO_SCHEMA:
            raise
        raise UsageError("usage", f"there is no schema {names.mirrors}: make it, or name another") from None
    if found:
        raise UsageError("usage", f"{names.mirrors} is not empty, and each lake has a schema for its mirrors alone")


def _check_location(names: LakeNames, spark: SparkSession) -> None:
    """Raise UsageError unless the folders of a new lake's external tables are empty, and in no table or lake.

    The first table is there already if a process was killed before the catalog knew it; CREATE TABLE takes it, unless
    it is another lake's.
    """
    for folder in names.schema_folders:
        if above := next((above for above in folders_above(folder) if _has_table(spark, above)), None):
            raise UsageError("usage", f"{folder} is inside of a table or a lake at {above}: name another location")
        begun = quote("delta", f"{folder}/{SYSTEM_TABLES[0]}")
        if not _is_empty(spark, folder) and newest_version(spark, begun) != 0:
            raise UsageError("usage", f"{folder} is not empty: name another location, or delete the folder")


def _has_table(spark: SparkSession, folder: str) -> bool:
    """Is there a table, or the first one of a lake? What may not be read counts as none: its owner's catalog refuses
    one folder inside of another."""
    for path in (folder, f"{folder}/{SYSTEM_TABLES[0]}", f"{folder}/{SYSTEM_TABLES[0].replace('_', '/')}"):
        try:
            if table_exists(spark, quote("delta", path)):
                return True
        except Exception as error:
            if not is_spark(error):
                raise
    return False


def _is_empty(spark: SparkSession, folder: str) -> bool:
    """Raises what Spark raises if the folder may not be read."""
    try:
        return not spark.read.format("binaryFile").load(f"{folder}/*").columns
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return True
