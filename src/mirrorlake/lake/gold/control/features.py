"""Features of Delta that a mirror may need. It gets each one with the first change that needs it, and no sooner.

What needs which:

    TIMESTAMP_NTZ      a DATETIME column
    COLUMN_MAPPING     RENAME or DROP COLUMN; a name that Parquet cannot hold
    TYPE_WIDENING      a wider type for the values that there are
    DELETION_VECTORS   a large mirror, whose files are too much to be written again for a few rows
    CHANGE_DATA_FEED   nothing: an option gives it to all mirrors

A reader that does not know one of a table's features cannot read the table at all; docs/read-mirrors.md shows which
reader knows which. Giving a feature changes no row and may be repeated, so a crash after it needs no repair.
Source: Delta's protocol, "Valid Feature Names in Table Features", and the table properties of its documentation.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyspark.sql import Row, SparkSession

from mirrorlake.core.schema.name_case import folded_by_spark
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.creation import set_properties

LARGE_BYTES = 32 << 20
"""Size of a mirror's files from which deletion vectors cost less (``bench/large_mirror.py``)."""
_NOT_IN_PARQUET = re.compile(r"[ ,;{}()\n\t=]")
"""Delta's own rule for names of columns without column mapping."""


@dataclass(frozen=True, slots=True)
class Feature:
    """name: in the protocol. setting, value: the table property that turns it on."""

    name: Sql
    setting: str
    value: str

    def is_on(self, state: Row) -> bool:
        """state: see ``read_state``."""
        return state.properties.get(self.setting) == self.value or (
            self.value == "supported" and self.name in state.tableFeatures
        )


TIMESTAMP_NTZ = Feature("timestampNtz", "delta.feature.timestampNtz", "supported")
COLUMN_MAPPING = Feature("columnMapping", "delta.columnMapping.mode", "name")
TYPE_WIDENING = Feature("typeWidening", "delta.enableTypeWidening", "true")
DELETION_VECTORS = Feature("deletionVectors", "delta.enableDeletionVectors", "true")
CHANGE_DATA_FEED = Feature("changeDataFeed", "delta.enableChangeDataFeed", "true")
FEED_COLUMNS = frozenset({"_change_type", "_commit_version", "_commit_timestamp"})
"""Names that Delta reserves in a table with a feed."""
FEATURES = (TIMESTAMP_NTZ, COLUMN_MAPPING, TYPE_WIDENING, DELETION_VECTORS)
OTHER_NAMES = frozenset({COLUMN_MAPPING, TIMESTAMP_NTZ})
"""For columns with other names in the files. COLUMN_MAPPING alone gives a table reader version 2, which delta-rs 1.6
takes for one that it knows: it reads NULL for a renamed column. With any feature of reader version 3 it refuses."""


def read_state(session: SparkSession, table: Sql) -> Row:
    """What DESCRIBE DETAIL says: numFiles, sizeInBytes, properties and tableFeatures among it."""
    return session.sql(f"DESCRIBE DETAIL {table}").collect()[0]


def is_large(state: Row) -> bool:
    return state.sizeInBytes >= LARGE_BYTES


def needed_by(columns: Mapping[str, Sql]) -> frozenset[Feature]:
    """Features of a table with these columns. columns: name -> Spark type in DDL spelling."""
    needed = frozenset({TIMESTAMP_NTZ}) if "timestamp_ntz" in columns.values() else frozenset()
    return needed | OTHER_NAMES if any(map(_NOT_IN_PARQUET.search, columns)) else needed


def properties_of(features: Collection[Feature]) -> dict[str, str]:
    """Table properties that turn features on."""
    return {feature.setting: feature.value for feature in (*FEATURES, CHANGE_DATA_FEED) if feature in features}


def provide(session: SparkSession, table: Sql, features: Collection[Feature]) -> None:
    """Give a table the features that it lacks, in one commit; without a commit if it lacks none."""
    if features:
        state = read_state(session, table)
        turn_on(session, table, [feature for feature in features if not feature.is_on(state)])


def turn_on(session: SparkSession, table: Sql, features: Collection[Feature]) -> None:
    """One commit, of which Delta says SET TBLPROPERTIES; it carries no note, since it moves no progress."""
    if features:
        set_properties(session, table, properties_of(features))


def takes_feed(columns: Collection[str]) -> bool:
    """Can a table with columns of these names have a change data feed? With one, Delta's MERGE refuses a backtick."""
    return FEED_COLUMNS.isdisjoint(map(folded_by_spark, columns)) and not any("`" in name for name in columns)


def suspend_feed(session: SparkSession, table: Sql, columns: Collection[str], *, rewrites: bool) -> bool:
    """Turn a table's change data feed off where a statement cannot keep it; return whether it comes back after it.

    columns: of the table after the statement. rewrites: it gives new columns and new rows in one commit, which Delta
    takes in a table with column mapping only without a feed (DELTA_BLOCK_COLUMN_MAPPING_AND_CDC_OPERATION)."""
    comes_back = takes_feed(columns)
    if comes_back and not rewrites:
        return False
    state = read_state(session, table)
    if not CHANGE_DATA_FEED.is_on(state) or (comes_back and not COLUMN_MAPPING.is_on(state)):
        return False
    set_properties(session, table, {CHANGE_DATA_FEED.setting: "false"})
    return comes_back


def unneeded(state: Row, columns: Mapping[str, Sql]) -> list[Feature]:
    """Features that a table has, can lose and does not need as it is now. state: see ``read_state``."""
    needed = {TIMESTAMP_NTZ, *needed_by(columns), *([DELETION_VECTORS] if is_large(state) else [])}
    return [feature for feature in reversed(FEATURES) if feature not in needed and feature.is_on(state)]
