"""The statements that make views of mirrors, in the SQL of each engine.

DuckDB finds a mirror by its folder, Spark by its folder or its name in a catalog. Trino reads only what is in its
metastore: ``register_table`` puts a mirror there under its id (Trino's manual, Delta Lake connector).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import sha256
from typing import Protocol

from mirrorlake.core.schema.view_names import ViewName
from mirrorlake.core.sql_text import Sql, ansi_literal, ansi_quote, has_variable, literal, quote
from mirrorlake.errors import UsageError
from mirrorlake.lake.delta.creation import property_list
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.gold.views.wanted import View
from mirrorlake.shown import as_line

MIRROR_PROPERTY, STATE_PROPERTY, SYNCPOINT_PROPERTY = "mirrorlake.mirror", "mirrorlake.state", "mirrorlake.syncpoint"
"""Of a view in Spark: the mirror, as ``LakeNames.mirror_path`` has it; ``Spark.state``; the name of the syncpoint that
it shows, if any."""


class Engine(Protocol):
    """The SQL of one engine for one lake."""

    def objection(self, name: ViewName) -> str | None:
        """Why this engine can have no view of a name."""

    def create_schema(self, schema: str) -> Sql: ...

    def create_view(self, view: View) -> list[Sql]:
        """The statements that make a view, or replace it."""


class DuckDb:
    """DuckDB with its delta extension."""

    _RESERVED = ("temp", "system", "pg_catalog", "information_schema")
    _MISREAD = re.compile(r"[%\\]")
    """In a path the delta extension (1.5.5) takes these for the beginning of another sign."""

    def __init__(self, names: LakeNames):
        self._names = _in_a_folder(names, "DuckDB")
        if self._MISREAD.search(names.root):
            raise UsageError("usage", "DuckDB reads no folder with % or \\ in its path")

    def objection(self, name: ViewName) -> str | None:
        return _general_objection(name, self._RESERVED)

    def create_schema(self, schema: str) -> Sql:
        return f"CREATE SCHEMA IF NOT EXISTS {ansi_quote(schema)}"

    def create_view(self, view: View) -> list[Sql]:
        version = "" if view.version is None else f", version := {view.version}"
        columns = _columns(view, ansi_quote, self._parsed)
        rows = f"delta_scan({ansi_literal(self._names.mirror_path(view.mirror_id))}{version})"
        return [
            f"CREATE OR REPLACE VIEW {ansi_quote(*view.name)} AS SELECT {columns} FROM {rows}",
            f"COMMENT ON VIEW {ansi_quote(*view.name)} IS {ansi_literal(view.comment)}",
        ]

    @staticmethod
    def _parsed(text: Sql) -> Sql:
        return f"TRY_CAST({text} AS JSON)"


class Trino:
    """Trino's Delta Lake connector, in the catalog of the session."""

    def __init__(self, names: LakeNames):
        self._names = _in_a_folder(names, "Trino")

    def objection(self, name: ViewName) -> str | None:
        return _general_objection(name, ("information_schema",))

    def create_schema(self, schema: str) -> Sql:
        return f"CREATE SCHEMA IF NOT EXISTS {ansi_quote(schema)}"

    def create_view(self, view: View) -> list[Sql]:
        folder = self._names.mirror_path(view.mirror_id)
        texts = (view.name.schema, view.mirror_id, folder if "://" in folder else f"file://{folder}")
        schema, mirror, location = map(ansi_literal, texts)
        version = "" if view.version is None else f" FOR VERSION AS OF {view.version}"
        rows = ansi_quote(view.name.schema, view.mirror_id) + version
        columns = _columns(view, ansi_quote, self._parsed)
        return [
            f"CALL system.register_table(schema_name => {schema}, table_name => {mirror}, "
            f"table_location => {location})",
            f"CREATE OR REPLACE VIEW {ansi_quote(*view.name)} COMMENT {ansi_literal(view.comment)} "
            f"AS SELECT {columns} FROM {rows}",
        ]

    @staticmethod
    def _parsed(text: Sql) -> Sql:
        return f"TRY(json_parse({text}))"


class Spark:
    """Spark 4 with Delta, in the session's own catalog. The columns of a view follow those of its mirror, unless it
    shows JSON parsed."""

    _WORD = re.compile(r"[A-Za-z0-9_]+")

    def __init__(self, names: LakeNames):
        self._names = _in_a_folder(names, "Spark outside Databricks")

    def objection(self, name: ViewName) -> str | None:
        if not all(map(self._WORD.fullmatch, name)):
            return "Spark's own catalog takes letters, digits and _ only"
        return _general_objection(name, ("global_temp",))

    def qualified(self, *name: str) -> Sql:
        """The name of a schema or a view in a statement."""
        return quote(*name)

    def create_schema(self, schema: str) -> Sql:
        return f"CREATE SCHEMA IF NOT EXISTS {self.qualified(schema)}"

    def create_view(self, view: View) -> list[Sql]:
        return [self.replace_view(view)]

    def replace_view(self, view: View) -> Sql:
        return f"CREATE OR REPLACE VIEW {self._definition(view)}"

    def make_view(self, view: View) -> Sql:
        """CREATE VIEW, which fails if there is anything of this name."""
        return f"CREATE VIEW {self._definition(view)}"

    @staticmethod
    def state(view: View) -> str:
        """What differs when a view must be made again: its comment, and the columns that it names."""
        named = f"; columns {sha256(repr(view.columns).encode()).hexdigest()}" if view.columns else ""
        return view.comment + named

    def _definition(self, view: View) -> Sql:
        properties = {MIRROR_PROPERTY: self._names.mirror_path(view.mirror_id), STATE_PROPERTY: self.state(view)}
        if view.syncpoint is not None:
            properties[SYNCPOINT_PROPERTY] = view.syncpoint
        version = "" if view.version is None else f" VERSION AS OF {view.version}"
        return (
            f"{self.qualified(*view.name)} WITH SCHEMA EVOLUTION COMMENT {literal(view.comment)} "
            f"TBLPROPERTIES ({property_list(properties)}) AS SELECT {self._columns(view)} FROM "
            f"{self._names.mirror(view.mirror_id)}{version}"
        )

    def _columns(self, view: View) -> Sql:
        if any(has_variable(name) for name, _ in view.columns):  # Spark would replace it in the view's text
            return "*"
        return _columns(view, quote, self._parsed)

    @staticmethod
    def _parsed(text: Sql) -> Sql:
        return f"try_parse_json({text})"


class Databricks(Spark):
    """Unity Catalog: schemas and views are in the lake's catalog."""

    def __init__(self, names: LakeNames):
        if not names.is_unity:
            raise UsageError("usage", "Databricks reads a lake in Unity Catalog by name: --lake uc:catalog.schema")
        self._names, self._catalog = names, names.root.split(".")[0]
        self._of_the_lake = {schema.lower() for schema in names.schemas}

    def objection(self, name: ViewName) -> str | None:
        if any(sign in part for part in name for sign in "./ ") or any(map(has_variable, name)):
            return "Unity Catalog takes no name with a dot, a slash, a space or ${"
        if name.schema.lower() in self._of_the_lake:
            return "the schema of this name has tables of the lake itself"
        return _general_objection(name, ("information_schema",))

    def qualified(self, *name: str) -> Sql:
        return quote(self._catalog, *name)


ENGINES: dict[str, Callable[[LakeNames], Engine]] = {
    "duckdb": DuckDb, "spark": Spark, "trino": Trino, "databricks": Databricks,
}  # fmt: skip
"""Each raises UsageError ``usage`` for a lake that the engine cannot read."""


def _columns(view: View, quoted: Callable[[str], Sql], parsed: Callable[[Sql], Sql]) -> Sql:
    """What a view selects. parsed: text of JSON -> the engine's JSON; NULL for one that the engine cannot hold."""
    columns = ((quoted(name), is_json) for name, is_json in view.columns)
    return ", ".join(f"{parsed(name)} AS {name}" if is_json else name for name, is_json in columns) or "*"


def _in_a_folder(names: LakeNames, engine: str) -> LakeNames:
    if names.is_unity:
        raise UsageError("usage", f"{engine} reads lakes in folders; for Unity Catalog there is --engine databricks")
    return names


def _general_objection(name: ViewName, reserved: tuple[str, ...]) -> str | None:
    if name.schema.lower() in reserved:
        return "the engine has a schema of this name for itself"
    return "a control character is in it" if as_line("".join(name)) != "".join(name) else None
