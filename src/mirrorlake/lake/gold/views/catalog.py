"""A lake's views in Spark's catalog: which there are, and the statements that drop and make one.

The properties of a view say which mirror it shows. A view without them, or of another lake, is never touched.
Views of the present and views of syncpoints do not touch each other either.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException

from mirrorlake.core.schema.view_names import ViewName
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import NO_SCHEMA
from mirrorlake.lake.delta.refusals import is_unsupported
from mirrorlake.lake.gold.views.engines import (
    MIRROR_PROPERTY,
    STATE_PROPERTY,
    SYNCPOINT_PROPERTY,
    Databricks,
    Spark,
)
from mirrorlake.lake.gold.views.wanted import LeftOut, View

VIEW_TAKEN, VIEW_FAILED = "view-taken", "view-failed"
THREADS = 4
_EXISTS = "TABLE_OR_VIEW_ALREADY_EXISTS"
_FAILURES = (PySparkException, Py4JJavaError)

Shown = tuple[str, str]
"""What a view's properties say: its mirror, as ``LakeNames.mirror_path`` has it, and its state, see ``Spark.state``."""


class ViewCatalog:
    """Names are in lower case, as catalogs keep them. of_syncpoints: the views of syncpoints, not those of the present.
    shown: the lake's views. closed: schemas that cannot be read,
    and why. Both are known after ``look`` and kept up to date by ``drop`` and ``make``."""

    def __init__(self, lake: Lake, *, of_syncpoints: bool = False):
        self._spark, self._names, self._of_syncpoints = lake.spark, lake.names, of_syncpoints
        self.sql = (Databricks if lake.names.is_unity else Spark)(lake.names)
        self.shown: dict[ViewName, Shown] = {}
        self.closed: dict[str, str] = {}
        self._schemas: set[str] = set()

    def look(self, names: set[ViewName]) -> None:
        """Find the lake's views among these names."""
        self.shown, self.closed, self._schemas = {}, {}, set()
        schemas = sorted({name.schema for name in names})
        found = [name for schema in schemas for name in self._views_in(schema) if name in names]
        ours = self._names.mirrors_prefix
        with ThreadPoolExecutor(THREADS) as pool:
            for name, shown in zip(found, pool.map(self._properties, found), strict=True):
                if shown[0].startswith(ours):
                    self.shown[name] = shown

    def drop(self, name: ViewName) -> str | None:
        """Drop a view of the lake; the reason if that fails."""
        try:
            self._run(f"DROP VIEW IF EXISTS {self.sql.qualified(*name)}")
        except _FAILURES as error:
            return _reason(error)
        del self.shown[name]
        return None

    def make(self, view: View) -> LeftOut | None:
        """Make a view, or replace one of the lake."""
        name = folded(view.name)
        try:
            if name.schema not in self._schemas:
                self._run(self.sql.create_schema(view.name.schema))
                self._schemas.add(name.schema)
            if name in self.shown:
                self._replace(view)
            else:
                self._run(self.sql.make_view(view))
        except _FAILURES as error:
            if isinstance(error, AnalysisException) and error.getCondition() == _EXISTS:
                kind = "view of a syncpoint" if self._of_syncpoints else "view"
                reason = f"{'.'.join(view.name)} is there already, and is no {kind} of this lake"
                return LeftOut(view.table, VIEW_TAKEN, reason)
            return LeftOut(view.table, VIEW_FAILED, _reason(error))
        self.shown[name] = self.shown_by(view)
        return None

    def _replace(self, view: View) -> None:
        """In one step, or in two where the catalog takes no REPLACE: then there is no view for a moment."""
        try:
            self._run(self.sql.replace_view(view))
        except _FAILURES as error:
            if not is_unsupported(error):
                raise
            self._run(f"DROP VIEW IF EXISTS {self.sql.qualified(*view.name)}")
            self._run(self.sql.make_view(view))

    def shown_by(self, view: View) -> Shown:
        """What the properties of a view say when it is made."""
        return self._names.mirror_path(view.mirror_id), self.sql.state(view)

    def _views_in(self, schema: str) -> list[ViewName]:
        try:
            rows = self._spark.sql(f"SHOW VIEWS IN {self.sql.qualified(schema)}").collect()
        except _FAILURES as error:
            if not (isinstance(error, AnalysisException) and error.getCondition() == NO_SCHEMA):
                self.closed[schema] = _reason(error)
            return []
        self._schemas.add(schema)
        return [folded(ViewName(schema, row.viewName)) for row in rows if not row.isTemporary]

    def _properties(self, name: ViewName) -> Shown:
        """Of a view of the other kind, one that somebody has just dropped, or that may not be seen: empty texts."""
        try:
            rows = self._spark.sql(f"SHOW TBLPROPERTIES {self.sql.qualified(*name)}").collect()
        except _FAILURES:
            return "", ""
        properties = {row.key: row.value for row in rows}
        if (SYNCPOINT_PROPERTY in properties) is not self._of_syncpoints:
            return "", ""
        return properties.get(MIRROR_PROPERTY, ""), properties.get(STATE_PROPERTY, "")

    def _run(self, statement: Sql) -> None:
        self._spark.sql(statement).collect()


def folded(name: ViewName) -> ViewName:
    return ViewName(name.schema.lower(), name.view.lower())


def _reason(error: Exception) -> str:
    """Spark's own words about the statement; of other failures the kind alone."""
    if isinstance(error, AnalysisException):
        return next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    condition = error.getCondition() if isinstance(error, PySparkException) else None
    return f"Spark failed with {condition or type(error).__name__}"
