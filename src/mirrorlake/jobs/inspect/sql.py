"""Run SQL over a lake: every mirror under its source's name, and the tables of the hops.

A name is registered when a query asks for it and unregistered afterwards: nothing stays in the session's catalog, and
a lake of a thousand tables costs no more than the tables that the query reads.

    in the query            where                 meaning
    database.table, table   local                 the mirror; table alone if only one database has it
    database__table         everywhere            the mirror; the only way on Unity Catalog, where temporary views have
                                                  no database, and for names with other than letters, digits and _
    bronze_events, ...      everywhere            see ``SYSTEM_TABLES``
"""

from __future__ import annotations

import os
import re
from itertools import count

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from mirrorlake.core.schema.view_names import ViewName
from mirrorlake.core.sql_text import Sql, literal, quote
from mirrorlake.errors import InternalError, RefusedError, UsageError
from mirrorlake.jobs.inspect.read_only import FORMATS, check_reading, check_types
from mirrorlake.lake.delta.failures import as_ours, first_line, what_failed
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import SYSTEM_TABLES
from mirrorlake.lake.delta.session import private_session
from mirrorlake.lake.gold.control.register import REFUSED, STREAMING, TableEntry, TableRegister
from mirrorlake.lake.gold.syncpoint.syncpoints import Syncpoint
from mirrorlake.lake.gold.views.catalog import ViewCatalog, folded

NOT_FOUND = "TABLE_OR_VIEW_NOT_FOUND"
_SPACE = r"(?:\s*|\s*(?:/\*|--).*?(?<=[\s/]))"
"""Spaces, or all from the start of a comment to what may be the end of one: comments nest, and each can be read in one
way only."""
_DOT = rf"`?{_SPACE}\.{_SPACE}`?"
"""Between the parts of a name in a statement."""
_CATALOG_NAME = re.compile(r"[A-Za-z0-9_]+")
_MOMENT = re.compile(r"@([vV][0-9]+|[0-9]{17})$")
"""After a path, Delta takes it for the version or the time at which to read."""

_SPARKS_OWN = ("global_temp", "spark_catalog")
"""Databases that Spark does not create."""

Name = tuple[str, ...]


def run_sql(lake: Lake, statement: Sql, at: Syncpoint | None = None) -> pa.Table:
    """One statement: see ``Catalog.query``."""
    with Catalog(lake, at) as catalog:
        return catalog.query(statement)


class Catalog:
    """The names of one lake in a session of their own, until the end of ``with``.

    at: read the mirrors as of this syncpoint, with the names that they had there; the tables of the hops are always
    read as they are now.
    """

    def __init__(self, lake: Lake, at: Syncpoint | None = None):
        self._lake, self._spark, self._at = lake, private_session(lake.spark), at
        self._versions = {table.mirror_id: table.version for table in at.tables} if at else {}
        register = TableRegister.read(lake, up_to=at.lsn if at else None)
        self._entries = [entry for entry in register if entry.state in (STREAMING, REFUSED)]
        self._listed = [e for e in self._entries if e.state == STREAMING and not register.is_shadow(e)]
        self._added: list[Sql] = []
        self._databases: list[Sql] = []
        self._is_case_sensitive = len({tuple(map(str.casefold, e.name)) for e in self._entries}) < len(self._entries)
        if self._is_case_sensitive:
            self._spark.conf.set("spark.sql.caseSensitive", "true")

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *_) -> None:
        for table in self._added:
            self._spark.sql(f"DROP {'VIEW' if self._at else 'TABLE'} IF EXISTS {table}").collect()
        for database in self._databases:
            self._spark.sql(f"DROP DATABASE IF EXISTS {database}").collect()

    def query(self, statement: Sql) -> pa.Table:
        """The rows of one statement that only reads; VARIANT as JSON text, columns with the same name get a number.

        Raises UsageError ``sql`` with Spark's own message; RefusedError with a table's code when the statement names a
        table that is refused.
        """
        statement = statement.strip().rstrip("; \n\t")
        try:
            if self._at:
                self._require_free_names(statement)
            if check_reading(self._spark, statement, self._may_be_read):
                self._add_all()
            frame = self._resolve(statement)
            check_types(frame)
            return _printable(frame).toArrow()
        except PySparkException as error:
            raise UsageError("sql", first_line(error)) from error
        except Py4JError as error:  # PySpark does not translate all
            if not isinstance(as_ours(error), InternalError):
                raise
            raise UsageError("sql", what_failed(error)) from error
        except (pa.ArrowException, ValueError) as error:
            raise UsageError("sql", f"the result is no table of Arrow: {type(error).__name__}") from error

    def _resolve(self, statement: Sql) -> DataFrame:
        """Analyse a statement, registering the names that it asks for."""
        asked: set[Name] = set()
        while True:
            try:
                return self._spark.sql(statement)
            except AnalysisException as error:
                name = _missing_name(error)
                if name is None or name in asked or not self._add(name):
                    raise
                asked.add(name)

    def _add_all(self) -> None:
        for entry in self._listed:
            self._add(entry.name if self._is_cataloged(entry) else ("__".join(entry.name),))
        for name in SYSTEM_TABLES:
            self._add((name,))

    def _add(self, name: Name) -> bool:
        """Register the meaning of a name; False if it has none. Raises RefusedError for a refused table."""
        if len(name) == 1 and name[0].casefold() in SYSTEM_TABLES:
            self._view(name[0], self._lake.names.system_table(name[0].casefold()))
            return True
        entry = self._find(name)
        if entry is None:
            return False
        if entry.state == REFUSED:
            raise RefusedError(entry.code, f"this table is not mirrored: {entry.reason}", table=str(entry.name))
        if len(name) == 1:
            self._view(name[0], self._mirror(entry))
        elif self._is_cataloged(entry):
            self._table(entry)
        else:
            raise _called_otherwise(entry)
        return True

    def _find(self, name: Name) -> TableEntry | None:
        """Find an entry by exact name, else without regard to case if there is only one."""
        for fold in (str, str.casefold):
            wanted = ".".join(map(fold, name))
            keys = ((lambda e: str(e.name)),) if len(name) > 1 else ((lambda e: "__".join(e.name)), (lambda e: e.table))
            for key in keys:
                found = [entry for entry in self._entries if fold(key(entry)) == wanted]
                if found:
                    return found[0] if len(found) == 1 else None
        return None

    def _may_be_read(self, name: Name) -> bool:
        """May this name be read: a mirror by name, a table of the lake by path, in a Unity Catalog what its grants
        allow?

        The mirror is registered at once: Spark reads ``json.a`` as a file where no such table is.
        """
        if self._lake.names.is_unity:
            is_file = name[0].casefold() in FORMATS or any(sign in part for part in name for sign in "/:.")
            return not is_file
        entry = self._find(name[-2:])
        if entry is not None:
            return self._is_the_same(name[-2:], entry) and self._add(name[-2:])
        return name[0].casefold() == "delta" and len(name) == 2 and _is_inside(self._lake.names.root, name[1])

    def _is_the_same(self, name: Name, entry: TableEntry) -> bool:
        """Is this name the entry's to Spark, too? Otherwise it would look for a file."""
        if name == entry.name:
            return True
        is_folded = all(map(str.isascii, name)) and tuple(map(str.lower, name)) == tuple(map(str.lower, entry.name))
        return is_folded and not self._is_case_sensitive

    def _is_cataloged(self, entry: TableEntry) -> bool:
        is_word = all(map(_CATALOG_NAME.fullmatch, entry.name))
        return not self._lake.names.is_unity and is_word and entry.database.lower() not in _SPARKS_OWN

    def _mirror(self, entry: TableEntry) -> Sql:
        """Raises UsageError ``syncpoint`` for a mirror that others had changed."""
        mirror = self._lake.names.mirror(entry.mirror_id)
        if self._at is None:
            return mirror
        if entry.mirror_id not in self._versions:
            raise UsageError("syncpoint", f"{self._at.name} has no version of this table", table=str(entry.name))
        return f"{mirror} VERSION AS OF {self._versions[entry.mirror_id]}"

    def _view(self, name: str, table: Sql) -> None:
        self._spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {quote(name)} AS SELECT * FROM {table}").collect()

    def _table(self, entry: TableEntry) -> None:
        database, table = quote(entry.database), quote(*entry.name)
        if table in self._added or self._is_kept_view(entry):
            return
        if not self._spark.catalog.databaseExists(database):
            self._spark.sql(f"CREATE DATABASE {database}").collect()
            self._databases.append(database)
        location = literal(self._lake.names.mirror_path(entry.mirror_id))
        made = f"TABLE {table} USING delta LOCATION {location}"
        if self._at:  # a table at a location has no versions
            made = f"VIEW {table} AS SELECT * FROM {self._mirror(entry)}"
        self._spark.sql(f"CREATE {made}").collect()
        self._added.append(table)

    def _is_kept_view(self, entry: TableEntry) -> bool:
        """Is the name that of a view of this mirror, which a run keeps? Raises UsageError ``sql`` if it is something
        else's."""
        if not self._spark.catalog.tableExists(quote(*entry.name)):
            return False
        catalog, name = ViewCatalog(self._lake), folded(ViewName(*entry.name))
        catalog.look({name})
        if name not in catalog.shown or catalog.shown[name][0] != self._lake.names.mirror_path(entry.mirror_id):
            raise _called_otherwise(entry)
        return True

    def _require_free_names(self, statement: Sql) -> None:
        """Raise UsageError ``sql`` if the catalog has something else under the name of a mirror in the statement.

        Spark would read that, as it is now: it asks for no name that it knows.
        """
        is_unity = self._lake.names.is_unity
        catalogs = [(), (self._lake.names.root.split(".")[0],)] if is_unity else [()]
        for entry in (entry for entry in self._entries if _names(statement, entry)):
            may_be_there = (is_unity or self._is_cataloged(entry)) and quote(*entry.name) not in self._added
            if may_be_there and any(self._spark.catalog.tableExists(quote(*part, *entry.name)) for part in catalogs):
                raise _called_otherwise(entry)


def _names(statement: Sql, entry: TableEntry) -> bool:
    """May the statement name the table as ``database.table``?"""
    database, table = (re.escape(part.replace("`", "``")) for part in entry.name)
    return re.search(rf"{database}{_DOT}{table}(?!\w)", statement, re.IGNORECASE | re.DOTALL) is not None


def _called_otherwise(entry: TableEntry) -> UsageError:
    name = quote("__".join(entry.name))
    return UsageError("sql", f"in this catalog the mirror is called {name}", table=str(entry.name))


def _missing_name(error: AnalysisException) -> Name | None:
    if (error.getCondition() or "").split(".")[0] != NOT_FOUND:
        return None
    text = (error.getMessageParameters() or {}).get("relationName", "")
    parts = tuple(part.replace("``", "`") for part in re.findall(r"`((?:[^`]|``)*)`", text))
    return parts[1:] if len(parts) == 3 else parts


def _is_inside(root: str, path: str) -> bool:
    """Is this the absolute path of a table in the folder, for Python as for Hadoop and Delta?

    Hadoop follows no link before ``..``, and its current folder may be another one. Delta drops a ``_MOMENT``.
    """
    if "://" in root:
        return path.startswith(f"{root.rstrip('/')}/") and ".." not in path
    if "\0" in path or not os.path.isabs(path) or os.path.normpath(path) != path.rstrip("/"):
        return False
    inside = f"{os.path.realpath(root)}/"
    return all(os.path.realpath(found).startswith(inside) for found in (path, _MOMENT.sub("", path)))


def _printable(frame: DataFrame) -> DataFrame:
    """Give each column a name of its own; VARIANT as JSON text, also in lists and structures."""
    names: list[str] = []
    for name in frame.columns:
        free = (f"{name}_{n}" for n in count(2))
        names.append(name if name not in names else next(n for n in free if n not in (*names, *frame.columns)))
    fields = frame.schema.fields
    numbered = [f"c{i}" for i in range(len(fields))]
    frame = frame.toDF(*numbered)
    columns = [
        F.to_json(name).alias(name) if _has_variant(field.dataType) else F.col(name)
        for name, field in zip(numbered, fields, strict=True)
    ]
    return frame.select(columns).toDF(*names)


def _has_variant(kind: DataType) -> bool:
    match kind:
        case ArrayType():
            return _has_variant(kind.elementType)
        case MapType():
            return _has_variant(kind.valueType)
        case StructType():
            return any(_has_variant(field.dataType) for field in kind)
    return isinstance(kind, VariantType)
