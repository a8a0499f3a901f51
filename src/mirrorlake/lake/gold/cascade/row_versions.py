"""An epoch's changes as foreign keys see them: keys that parents give up, versions of the rows of children.

Columns of a table are named by their index in ``columns_of`` (``alias``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.changes.images import REMOVED, alias, logged_name, ordered_images, ordered_schema
from mirrorlake.core.changes.parent_keys import MOVED, left_keys, left_name, left_schema, new_name
from mirrorlake.core.changes.rows_in_force import rows_in_force
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.keys import NOT_FOLLOWED
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.versioning import end_column
from mirrorlake.core.sql_text import Sql, quote
from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.refusals import refusing
from mirrorlake.lake.gold.cascade.foreign_keys import Reference
from mirrorlake.lake.gold.control.register import TableEntry
from mirrorlake.lake.gold.control.table import mirror_types
from mirrorlake.lake.gold.merge.changes import ChangeReader, TableChanges
from mirrorlake.lake.gold.merge.net_effect import NetEffect, Sizes, asked_types

LACKS_COLUMNS = "row images lack the columns that tell which rows it changes"
CHANGE_ORDER = "struct(tx_lsn, ordinal)"
_ORDER_TYPES = "tx_lsn BIGINT, ordinal INT"


def failing(reason: str) -> Sql:
    """An expression that stops the statement with the refusal."""
    return refusing(NOT_FOLLOWED, reason)


@dataclass(frozen=True, slots=True)
class Left:
    """rows: columns of ``left_schema``. local: the same, if they are in memory."""

    rows: DataFrame
    local: pa.Table | None = None

    def has_any(self, *moved: bool) -> bool:
        """Has any row one of these values of ``moved``?"""
        wanted = pa.array(moved, pa.bool_())
        if self.local is None:
            return not self.rows.where(F.col(MOVED).isin(*moved)).isEmpty()
        return bool(pc.any(pc.is_in(self.local[MOVED], wanted)).as_py())


@dataclass(frozen=True, slots=True)
class Versions:
    """before: rows before the epoch. changed: the results of its changes, ``began`` .. ``ended`` (NULL: it lasts).
    first: by key, the ``CHANGE_ORDER`` of the first change; None, as ``changed``: there are none.

    is_complete: no row image lacks columns. Else ``changed`` has only the last version of each row, and for each column
    the ``CHANGE_ORDER`` (``began0``, ``began1`` ..) of the image that logged it; NULL: none did.
    """

    before: DataFrame
    changed: DataFrame | None = None
    first: DataFrame | None = None
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """along: the references that are followed. changes: of the epoch, by table. versions: of the mirrors, by their ids,
    at the start of the epoch; a mirror without one is unchanged since then."""

    lake: Lake
    reader: ChangeReader
    lsns: LsnRange
    changes: Mapping[TableName, TableChanges]
    along: Sequence[Reference]
    versions_at_begin: Mapping[str, int | None]
    sizes: Sizes

    def columns_of(self, table: TableEntry) -> list[str]:
        """The key, then the columns of references, and referenced columns."""
        own = [r.columns for r in self.along if r.child.name == table.name]
        asked = [r.parent_columns for r in self.along if r.parent.name == table.name]
        return list(dict.fromkeys([*table.schema.primary_key, *(name for names in (*own, *asked) for name in names)]))

    def left(self, session: SparkSession, reference: Reference) -> Left:
        """The keys that the parent's logged changes give up."""
        parent = reference.parent
        types, kinds = asked_types(parent.schema), mirror_types(parent.schema)
        key, end = {name: types[name] for name in reference.parent_columns}, end_column(parent.schema)
        old, new = (", ".join(f"{name(i)} {kinds[c]}" for i, c in enumerate(key)) for name in (left_name, new_name))
        ddl = f"{old}, {_ORDER_TYPES}, lsn BIGINT, {MOVED} BOOLEAN, {new}"

        def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return left_keys(rows_in_force(batches, end), key)

        return Left(*self._decoded(session, parent, decode, left_schema(key), ddl, that_cascade=True))

    def versions(self, session: SparkSession, table: TableEntry, net: NetEffect | None) -> Versions:
        """Versions of the table's rows. net: of its logged changes, if they are applied to this table.

        Raises RefusedError ``foreign-key-cascade`` if versions are not known because row images lack columns.
        """
        names = self.columns_of(table)
        before = session.sql(f"SELECT {', '.join(_aliased(names))} FROM {self.mirror_before(table)}")
        changes = self.changes.get(table.name)
        if changes is None or not changes.n_changes:
            return Versions(before)
        key = [alias(i) for i in range(len(table.schema.primary_key))]
        is_complete = not changes.has_partial
        images = self._images(session, table, names, with_logged=not is_complete)
        first = images.groupBy(*key).agg(F.expr(f"min({CHANGE_ORDER}) AS first"))
        if is_complete:
            return Versions(before, _versions_of(images, key), first)
        if net is None:
            raise RefusedError(NOT_FOLLOWED, LACKS_COLUMNS)
        rows = net.rows.where(f"NOT {REMOVED}").selectExpr(*_aliased(names))
        return Versions(before, rows.join(_logged_at(images, key, len(names)), key), first, is_complete=False)

    def mirror_before(self, table: TableEntry) -> Sql:
        """The table expression for the mirror's rows before the epoch."""
        version = self.versions_at_begin.get(table.mirror_id or "")
        mirror = self.lake.names.mirror(table.mirror_id)
        return mirror if version is None else f"{mirror} VERSION AS OF {version}"

    def _images(self, session: SparkSession, table: TableEntry, names: list[str], *, with_logged: bool) -> DataFrame:
        """Columns of ``ordered_schema``."""
        types, kinds = asked_types(table.schema), mirror_types(table.schema)
        wanted, key, end = {name: types[name] for name in names}, table.schema.primary_key, end_column(table.schema)
        columns = [f"{alias(i)} {kinds[name]}" for i, name in enumerate(names)]
        columns += [f"{logged_name(i)} BOOLEAN" for i in range(len(names))] if with_logged else []

        def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return ordered_images(rows_in_force(batches, end), wanted, key, with_logged=with_logged)

        ddl = ", ".join([*columns, _ORDER_TYPES, f"{REMOVED} BOOLEAN"])
        return self._decoded(session, table, decode, ordered_schema(wanted, with_logged=with_logged), ddl)[0]

    def _decoded(
        self, session: SparkSession, table: TableEntry,
        decode: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: pa.Schema, ddl: Sql, *,
        that_cascade: bool = False,
    ) -> tuple[DataFrame, pa.Table | None]:  # fmt: skip
        """Decode a table's changes: in the driver if they are few or in memory, else in workers."""
        name, changes = table.name, self.changes.get(table.name)
        if changes is None:
            return session.createDataFrame(schema.empty_table(), ddl), schema.empty_table()
        batches = self.reader.in_memory(name, self.lsns, that_cascade=that_cascade)
        if batches is None:
            stored = self.reader.stored(session, name, self.lsns, that_cascade=that_cascade)
            if changes.n_changes > self.sizes.of_table(table.schema).local:
                return stored.mapInArrow(decode, ddl), None
            batches = stored.toArrow().to_batches()
        local = pa.Table.from_batches(decode(batches), schema)
        return session.createDataFrame(local, ddl), local


def _aliased(names: Sequence[str]) -> list[Sql]:
    return [f"{quote(name)} AS {alias(i)}" for i, name in enumerate(names)]


def _versions_of(images: DataFrame, key: list[Sql]) -> DataFrame:
    in_order = f"PARTITION BY {', '.join(key)} ORDER BY tx_lsn, ordinal"
    ordered = images.selectExpr("*", f"{CHANGE_ORDER} AS began", f"lead({CHANGE_ORDER}) OVER ({in_order}) AS ended")
    return ordered.where(f"NOT {REMOVED}").drop("tx_lsn", "ordinal", REMOVED)


def _logged_at(images: DataFrame, key: list[Sql], n_columns: int) -> DataFrame:
    """Per key, the change that last logged each column; after a key-changing UPDATE that may be under the old key."""
    came = "count(*) OVER (PARTITION BY tx_lsn, ordinal) > 1"
    ordered = images.selectExpr("*", f"{came} AND NOT {REMOVED} AND NOT ({_all_logged(n_columns)}) AS came")
    logged = [
        F.expr(f"max(IF(came, {failing(LACKS_COLUMNS)}, IF({logged_name(i)}, {CHANGE_ORDER}, NULL))) AS began{i}")
        for i in range(n_columns)
    ]
    return ordered.groupBy(*key).agg(*logged)


def _all_logged(n_columns: int) -> Sql:
    return " AND ".join(f"{logged_name(i)}" for i in range(n_columns))
