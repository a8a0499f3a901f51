"""A run's options per table, as gold needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mirrorlake.core.schema.name_case import folded_by_spark
from mirrorlake.core.schema.tables import TableSchema, why_not_mirrored
from mirrorlake.core.sql_text import has_variable
from mirrorlake.lake.gold.control.features import CHANGE_DATA_FEED, Feature, takes_feed
from mirrorlake.lake.gold.control.table import COMMIT_COLUMNS

NULL, TEXT, REFUSE = "null", "text", "refuse"
"""Policies for invalid values: NULL in the mirror, a text, or the table is refused."""
TRUNCATE, DROP_PARTITION, DROP_TABLE = "truncate", "drop-partition", "drop-table"
"""Kinds of DDL that can be ignored: they remove rows from a mirror, or a mirror."""
LEAVE_OUT, REPLICA = "leave-out", "replica"
"""LEAVE_OUT: the mirror is made without generated columns that are not logged and cannot be computed. REPLICA: at an
UPDATE that may be a REPLACE, columns that its image lacks keep their values. Else the table is refused."""


@dataclass(frozen=True, slots=True)
class TableRules:
    """is_wanted(database, table): the table filter. invalid_values(database, table): ``NULL``, ``TEXT`` or ``REFUSE``.
    ignores(database, table, kind): a DDL of this kind leaves the mirror unchanged. knows_names: how the source compares
    names of databases and tables is known.
    replaces_variables: Spark replaces ``${name}`` in each statement, also in a name, and no setting changes that.
    generated(database, table): ``LEAVE_OUT`` or ``REFUSE``. partial_images(database, table): ``REPLICA`` or ``REFUSE``.
    change_feed: mirrors get Delta's change data feed. commit_columns: new mirrors get ``COMMIT_COLUMNS``.

    A mirror's creation decides whether it holds texts: one made with ``TEXT`` keeps it, and for another one ``TEXT``
    means ``NULL``.
    """

    is_wanted: Callable[[str, str], bool] = lambda *_: True
    invalid_values: Callable[[str, str], str] = lambda *_: NULL
    ignores: Callable[[str, str, str], bool] = lambda *_: False
    replaces_variables: bool = False
    generated: Callable[[str, str], str] = lambda *_: REFUSE
    partial_images: Callable[[str, str], str] = lambda *_: REFUSE
    knows_names: bool = True
    change_feed: bool = False
    commit_columns: bool = False

    def why_not_mirrored(self, schema: TableSchema, *, has_commits: bool) -> tuple[str, str] | None:
        """Give (code, reason) for the first thing that a mirror cannot hold on this platform, or None. has_commits: the
        mirror has ``COMMIT_COLUMNS``."""
        taken = has_commits and next(
            (c.name for c in schema.columns if folded_by_spark(c.name) in COMMIT_COLUMNS), None
        )
        if taken:
            return "column-name", f"column {taken} is a reserved name in a mirror with --commit-columns"
        variable = self.replaces_variables and next((c.name for c in schema.columns if has_variable(c.name)), None)
        if variable:
            return "column-name", f"column {variable} has a name in which this Spark replaces variables"
        return why_not_mirrored(schema)

    def features_of(self, schema: TableSchema) -> frozenset[Feature]:
        """The features that the options give the mirror."""
        has_feed = self.change_feed and takes_feed([column.name for column in schema.columns])
        return frozenset({CHANGE_DATA_FEED}) if has_feed else frozenset()

    def creates_as_text(self, database: str, table: str) -> bool:
        return self.invalid_values(database, table) == TEXT

    def leaves_out_generated(self, database: str, table: str) -> bool:
        return self.generated(database, table) == LEAVE_OUT

    def keeps_as_replica(self, database: str, table: str) -> bool:
        return self.partial_images(database, table) == REPLICA

    def refuses_invalid(self, database: str, table: str, mirrored: TableSchema) -> bool:
        return not mirrored.as_text and self.invalid_values(database, table) == REFUSE
