"""Features of Delta that a mirror may need. It gets each one with the first change that needs it, and no sooner.

A reader that does not know one of a table's features cannot read the table at all; docs/read-mirrors.md shows which
reader knows which. Giving a feature changes no row and may be repeated, so a crash after it needs no repair.
Source: Delta's protocol, "Valid Feature Names in Table Features", and the table properties of its documentation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from enum import Enum

from pyspark.sql import Row, SparkSession

from mirrorlake.core.sql_text import Sql, literal

_NOT_IN_PARQUET = re.compile(r"[ ,;{}()\n\t=]")
"""Delta's own rule for names of columns without column mapping."""
STATE_COLUMNS = ("properties", "tableFeatures")
"""Columns of DESCRIBE DETAIL that ``lacking`` reads."""


class Feature(Enum):
    """Name in the protocol, and the table property that turns it on."""

    DATETIMES = ("timestampNtz", "delta.feature.timestampNtz", "supported")
    NAMES = ("columnMapping", "delta.columnMapping.mode", "name")
    WIDER_TYPES = ("typeWidening", "delta.enableTypeWidening", "true")
    VECTORS = ("deletionVectors", "delta.enableDeletionVectors", "true")

    def is_on(self, state: Row) -> bool:
        """state: the table's ``STATE_COLUMNS``."""
        name, setting, value = self.value
        return state.properties.get(setting) == value or (value == "supported" and name in state.tableFeatures)


def needed_by(columns: Mapping[str, Sql]) -> frozenset[Feature]:
    """Features of a table with these columns. columns: name -> Spark type in DDL spelling."""
    needed = {Feature.DATETIMES} if "timestamp_ntz" in columns.values() else set()
    return frozenset(needed | ({Feature.NAMES} if any(map(_NOT_IN_PARQUET.search, columns)) else set()))


def properties_of(features: Collection[Feature]) -> dict[str, str]:
    """Table properties that turn features on."""
    return {setting: value for feature in Feature if feature in features for _, setting, value in (feature.value,)}


def provide(session: SparkSession, table: Sql, features: Collection[Feature]) -> None:
    """Give a table the features that it lacks, in one commit; without a commit if it lacks none."""
    if features:
        state = session.sql(f"DESCRIBE DETAIL {table}").select(*STATE_COLUMNS).collect()[0]
        turn_on(session, table, [feature for feature in features if not feature.is_on(state)])


def turn_on(session: SparkSession, table: Sql, features: Collection[Feature]) -> None:
    """One commit, of which Delta says SET TBLPROPERTIES; it carries no note, since it moves no progress."""
    if features:
        listed = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties_of(features).items())
        session.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ({listed})").collect()
