"""Names of a lake's tables: in a folder, or in a schema of a Unity Catalog. No other code knows which it is."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import Sql, has_variable, literal, quote
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.lake.delta.location import check_folder, checked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession  # ``preflight`` uses this file without PySpark

UNITY = "uc:"
STAGING_VOLUME = "staging"  # the volume that resources/ declares next to the tables
SYSTEM_TABLES = (
    "bronze_events", "silver_changes", "silver_table_schemas", "control_tables", "control_epochs", "control_barriers",
    "control_syncpoints", "control_answers", "control_runs",
)  # fmt: skip
"""Every lake has these, besides its mirrors: the attributes of ``LakeNames`` of the same names."""
_COPY = "copy_"
_ID = re.compile(r"[A-Za-z0-9_]+")
_COPY_ID = re.compile(r"[A-Za-z0-9_]*__[0-9a-f]+_[0-9a-f]{8}")
"""See ``new_snapshot_id``."""
_BY_PATH = "`delta`.`"
NO_SCHEMA = "SCHEMA_NOT_FOUND"
MIRRORS_SCHEMA = "mirrors_schema"
"""Key of what a lake keeps, see ``LakeNames.kept``; absent if the mirrors are in the lake's own schema."""
TABLES_LOCATION = "tables_location"
"""The same of external tables; absent if the catalog manages the tables."""
PROPERTY = "mirrorlake."
"""Begins the names of our table properties."""
ABSENT = ("DELTA_MISSING_DELTA_TABLE", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "TABLE_OR_VIEW_NOT_FOUND")


class LakeNames:
    """Names of one lake's tables, ready for use in any SQL statement.

    ``lake``: a folder (a local path or a URI such as ``s3://bucket/lake``) or ``uc:catalog.schema``.
    ``staging``: the folder in which hops leave files for Spark to append; None: in the lake, or in the schema's volume
    ``staging``. ``mirrors_schema``: the schema of the lake's catalog in which its mirrors are; None: the lake's own.
    ``tables_location``: the URL below which its tables, which are external, have their folders; None: the catalog
    manages them.
    ``mirrors``: where they are, for a person: a folder, or catalog and schema.
    Raises: UsageError("usage") for a Unity Catalog name that is not exactly catalog and schema, and for a mirrors'
    schema that is not exactly one name, or is that of a lake in a folder; so for a location, see ``location``; for
    ``${`` in a name or path, in which Spark replaces variables where no session is active, as in a thread of ours.
    """

    def __init__(
        self, lake: str, staging: str | None = None, mirrors_schema: str | None = None,
        tables_location: str | None = None,
    ):  # fmt: skip
        self.is_unity, self.mirrors_schema = lake.startswith(UNITY), None
        self.tables_location = checked(tables_location) if tables_location else None
        self.root = lake[len(UNITY) :] if self.is_unity else _absolute(lake)
        if any(map(has_variable, (self.root, staging or "", mirrors_schema or ""))):
            raise UsageError("usage", "Spark replaces ${...} in the path of a lake, or its name: choose another one")
        if self.is_unity:
            self._parts = self.root.split(".")
            if len(self._parts) != 2 or not all(self._parts):
                raise UsageError("usage", f"a Unity Catalog lake is written uc:catalog.schema, not {lake}")
            if "." in (mirrors_schema or ""):
                raise UsageError("usage", f"--mirrors-schema is one name, without the catalog, not {mirrors_schema}")
            is_own = not mirrors_schema or mirrors_schema.lower() == self._parts[1].lower()
            self.mirrors_schema = None if is_own else mirrors_schema
            self._mirror_parts = [self._parts[0], self.mirrors_schema or self._parts[1]]
            for _, schema in (self._parts, self._mirror_parts) if self.tables_location else ():
                check_folder(schema)
        elif mirrors_schema:
            raise UsageError("usage", "--mirrors-schema is for a lake in Unity Catalog, not for one in a folder")
        elif tables_location:
            raise UsageError("usage", "--tables-location is for a lake in Unity Catalog, not for one in a folder")
        self.mirrors = ".".join(self._mirror_parts) if self.is_unity else f"{self.root}/gold"
        in_lake = f"/Volumes/{'/'.join(self._parts)}/{STAGING_VOLUME}" if self.is_unity else f"{self.root}/_staging"
        self._staging = staging.rstrip("/") if staging else in_lake
        self.bronze_events = self._table("bronze", "events")
        self.silver_changes = self._table("silver", "changes")
        self.silver_table_schemas = self._table("silver", "table_schemas")
        self.control_tables = self._table("control", "tables")
        self.control_epochs = self._table("control", "epochs")
        self.control_barriers = self._table("control", "barriers")
        self.control_syncpoints = self._table("control", "syncpoints")
        self.control_answers = self._table("control", "answers")
        self.control_runs = self._table("control", "runs")

    @property
    def kept(self) -> dict[str, str]:
        """What the first start of a lake in a catalog decides for good; the note of each commit repeats it."""
        kept = {MIRRORS_SCHEMA: self.mirrors_schema, TABLES_LOCATION: self.tables_location}
        return {key: value for key, value in kept.items() if value}

    @property
    def schema_folders(self) -> list[str]:
        """The folders of external tables, by schema: the lake's own first. None are there if the catalog manages the
        tables."""
        if self.tables_location is None:
            return []
        schemas = dict.fromkeys(parts[1].lower() for parts in (self._parts, self._mirror_parts))
        return [f"{self.tables_location}/{schema}" for schema in schemas]

    def location(self, table: Sql) -> str | None:
        """The folder of an external table; None if the catalog manages the tables, or the lake is in a folder.

        table: its name in SQL, of this lake. A catalog has it in any letter case, and a file system in one."""
        if self.tables_location is None:
            return None
        _, schema, name = table.replace("`", "").lower().split(".")
        return f"{self.tables_location}/{schema}/{name}"

    @property
    def schemas(self) -> tuple[str, ...]:
        """The schemas of a catalog that the lake's tables are in."""
        return (self._parts[1], self._mirror_parts[1]) if self.is_unity else ()

    def system_table(self, name: str) -> Sql:
        """name: one of ``SYSTEM_TABLES``."""
        layer, _, noun = name.partition("_")
        return self._table(layer, noun)

    def mirror(self, mirror_id: str) -> Sql:
        path = self.mirror_path(mirror_id)
        return quote(*self._mirror_parts, mirror_id) if self.is_unity else quote("delta", path)

    def mirror_path(self, mirror_id: str) -> str:
        """The mirror's folder, or its name in the catalog, for a person."""
        _check_id(mirror_id)
        return f"{self.mirrors_prefix}{mirror_id}"

    @property
    def mirrors_prefix(self) -> str:
        """What ``mirror_path`` of each mirror begins with."""
        return f"{self.mirrors}{'.' if self.is_unity else '/'}"

    def find_next_to_mirrors(self, spark: SparkSession) -> list[str]:
        """Names of all tables and views in the mirrors' schema of a lake in a catalog."""
        shown = spark.sql(f"SHOW TABLES IN {quote(*self._mirror_parts)}").collect()
        return [row.tableName for row in shown if not row.isTemporary]

    def snapshot(self, copy_id: str) -> Sql:
        """A snapshot of a source table, with the rows as the server showed them."""
        _check_id(copy_id)
        return self._table("bronze", f"{_COPY}{copy_id}")

    def snapshot_path(self, copy_id: str) -> str:
        """The folder of a snapshot, for a lake in a folder."""
        _check_id(copy_id)
        return self.folder("bronze", f"{_COPY}{copy_id}")

    def find_snapshots(self, spark: SparkSession) -> list[str]:
        """What may be the ids of snapshots, by the names of tables, views and folders; none are found in an object
        store."""
        if self.is_unity:
            prefix = f"bronze_{_COPY}"
            shown = spark.sql(f"SHOW TABLES IN {quote(*self._parts)} LIKE {literal(prefix + '*')}").collect()
            found = [row.tableName.removeprefix(prefix) for row in shown if not row.isTemporary]
        else:
            folders = filter(Path.is_dir, sorted(Path(self.root, "bronze").glob(f"{_COPY}*")))
            found = [folder.name.removeprefix(_COPY) for folder in folders]
        return list(filter(_COPY_ID.fullmatch, found))

    def staging(self, hop: str) -> str:
        """The folder in which a hop leaves Parquet files for Spark to append."""
        return f"{self._staging}/{hop}"

    def folder(self, layer: str, noun: str) -> str:
        """The folder of one table, for a lake in a folder."""
        return f"{self.root}/{layer}/{noun}"

    def _table(self, layer: str, noun: str) -> Sql:
        if self.is_unity:
            return quote(*self._parts, f"{layer}_{noun}")
        return quote("delta", self.folder(layer, noun))


def _check_id(table_id: str | None) -> None:
    """Raise RefusedError ``lake-damaged`` for an id that mirrorlake did not make: it might lead out of the lake."""
    if table_id is None or not _ID.fullmatch(table_id):
        raise RefusedError("lake-damaged", f"{table_id!r} is no id of a table of the lake")


def legible(database: str, table: str) -> str:
    """Make a source table's name usable in the name of a Delta table; two tables may give the same."""
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in f"{database}__{table}")[:80]


def named(table: TableName) -> Sql:
    """The condition for rows about one source table, with columns ``database`` and ``table``."""
    return f"database = {literal(table[0])} AND table = {literal(table[1])}"


def one_of(tables: Iterable[TableName]) -> Sql:
    """The same about any of some tables; NULL or false for a row about none."""
    pairs = ", ".join(f"({literal(table[0])}, {literal(table[1])})" for table in tables)
    return f"(database, table) IN ({pairs})" if pairs else "false"


def local_folder(table: Sql) -> Path | None:
    """The folder of a table whose name is a path without a scheme."""
    folder = Path(table.removeprefix(_BY_PATH).removesuffix("`").replace("``", "`"))
    return folder if folder.is_absolute() else None


def is_path(table: Sql) -> bool:
    """Is the table's name a path or URI, and not one of a catalog?"""
    return table.startswith(_BY_PATH)


def last_part(table: Sql) -> str:
    """The last part of a mirror's name or path: its id."""
    return re.split("[`./]", table.removesuffix("`"))[-1]


def linked_path(folder: Path) -> Path | None:
    """A symbolic link: the folder, or one in it. mirrorlake makes none, and one leads to the files of others."""
    return next((path for path in (folder, *folder.rglob("*")) if path.is_symlink()), None)


def table_exists(spark: SparkSession, table: Sql) -> bool:
    from pyspark.errors import AnalysisException

    try:
        return spark.catalog.tableExists(table)
    except AnalysisException as error:
        if error.getCondition() in ABSENT:
            return False
        raise


def kept_in(properties: Mapping[str, str]) -> dict[str, str]:
    """What a lake keeps, see ``LakeNames.kept``, by the properties of its first table."""
    return {key.removeprefix(PROPERTY): value for key, value in properties.items() if key.startswith(PROPERTY)}


def _absolute(folder: str) -> str:
    return folder.rstrip("/") if "://" in folder else os.path.abspath(folder)
