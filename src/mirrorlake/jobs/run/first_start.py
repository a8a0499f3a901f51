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
from mirrorlake.errors import UsageError
from mirrorlake.lake.bronze import table as bronze
from mirrorlake.lake.delta.names import MIRRORS_SCHEMA, NO_SCHEMA, LakeNames, table_exists


def begin(options: Options, spark: SparkSession) -> dict[str, str]:
    """Create the first table of a lake in a catalog, if it is missing, and return what the lake keeps.

    Raises UsageError, see ``_check_mirrors_schema``.
    """
    names = LakeNames(options.lake, options.staging, options.mirrors_schema)
    if not names.is_unity:
        return {}
    if not table_exists(spark, names.bronze_events):
        if names.mirrors_schema:
            _check_mirrors_schema(names, spark)
        bronze.create(spark, names)
    return bronze.read_kept(spark, names)


def kept_names(options: Options, kept: Mapping[str, Any]) -> LakeNames:
    """The names of the tables of a lake that exists. kept: see ``LakeNames.kept``.

    Raises UsageError if the options name another schema for the mirrors.
    """
    given = LakeNames(options.lake, options.staging, options.mirrors_schema)
    names = LakeNames(options.lake, options.staging, kept.get(MIRRORS_SCHEMA))
    if options.mirrors_schema and given.mirrors.lower() != names.mirrors.lower():
        raise UsageError(
            "usage", f"this lake has its mirrors in {names.mirrors}: leave out --mirrors-schema, or begin a new lake"
        )
    return names


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
