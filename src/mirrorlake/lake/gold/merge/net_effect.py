"""Make the net effect of one table's changes in an epoch, as rows for Spark to write, in the driver or in workers.

what the epoch has for the table           where it is reduced
few changes, or changes still in memory    in the driver: Spark's workers would take longer to start
only inserts                               nothing to reduce: workers decode as many parts as Spark reads
up to ``per_task`` changes                 one worker, without a shuffle
more                                       several workers, changes of one key in the same one
row images that lack columns               the driver or one worker; the mirror's rows give the columns (``completed``)

Values of generated columns that row images lack are computed from the reduced rows, see ``generated_columns``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from mirrorlake.core.changes.images import REMOVED, image_schema, inserted_rows, net_effect
from mirrorlake.core.changes.incomplete_images import LOGGED, base_column, partial_net_effect
from mirrorlake.core.changes.rows_in_force import rows_in_force
from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.types import MAY_BE_INVALID
from mirrorlake.core.schema.versioning import end_column
from mirrorlake.core.sql_text import Sql, literal, quote
from mirrorlake.core.values.shown_text import Shown
from mirrorlake.core.values.variant import encode_metadata
from mirrorlake.core.values.variant_columns import Asked
from mirrorlake.lake.delta.spill import SpilledBatches
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.control.table import LSN_COLUMN, mirror_types
from mirrorlake.lake.gold.merge.changes import NO_IMAGE, ChangeReader, TableChanges
from mirrorlake.lake.gold.merge.generated_columns import with_generated, without_generated
from mirrorlake.lake.gold.merge.incomplete_rows import completed

_FLOATING = (pa.float32(), pa.float64())
_MARK_COLUMNS = f"{LSN_COLUMN} BIGINT, {REMOVED} BOOLEAN"


NAMES_BYTES = 128 << 20
"""At most, of the column names of changes that are read into the driver: each image has those of its table."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """local: up to this many changes are reduced in the driver. per_task: about the number that one worker takes."""

    local: int = 50_000
    per_task: int = 500_000

    def of_table(self, schema: TableSchema) -> Sizes:
        """The sizes for changes of one table."""
        name_bytes = 2 * len(encode_metadata([column.name for column in schema.columns]))
        return replace(self, local=min(self.local, NAMES_BYTES // name_bytes))


@dataclass(frozen=True, slots=True)
class NetEffect:
    """rows: columns of ``image_schema``, each key once. local: their keys in memory, if it was made in the driver.
    is_at_hand: all of it is in memory."""

    rows: DataFrame
    local: pa.Table | None = None
    is_at_hand: bool = False


def net_effect_of(
    session: SparkSession, reader: ChangeReader, changes: TableChanges, lsns: LsnRange, schema: TableSchema,
    sizes: Sizes, mirror: Sql,
) -> NetEffect:  # fmt: skip
    """Make the net effect. schema: of the mirror."""
    if changes.lacks_generated:
        net = _logged_effect_of(session, reader, changes, lsns, without_generated(schema), sizes, mirror)
        return replace(net, rows=with_generated(net.rows, schema))
    return _logged_effect_of(session, reader, changes, lsns, schema, sizes, mirror)


def _logged_effect_of(
    session: SparkSession, reader: ChangeReader, changes: TableChanges, lsns: LsnRange, schema: TableSchema,
    sizes: Sizes, mirror: Sql,
) -> NetEffect:  # fmt: skip
    """Make the net effect. schema: of columns that the changes, or the mirror, have."""
    types, key, asked, end = mirror_types(schema), schema.primary_key, asked_types(schema), end_column(schema)
    ddl = _ddl(types)
    partial_ddl = _partial_ddl(ddl, types, key)
    batches = reader.in_memory(changes.name, lsns)
    if batches is None:
        rows = reader.stored(session, changes.name, lsns)
        if changes.n_changes > sizes.local and changes.has_partial:
            return NetEffect(completed(session, _by_one_worker(rows, asked, partial_ddl, key, end), mirror, types, key))
        if changes.n_changes > sizes.local:
            return NetEffect(_by_workers(rows, changes, asked, ddl, key, end, sizes))
        batches = rows.toArrow().to_batches()
    batches = list(rows_in_force(batches, end))
    if changes.has_partial:
        local = partial_net_effect(batches, asked, key)
        partial = session.createDataFrame(local, partial_ddl)
        return NetEffect(completed(session, partial, mirror, types, key), local)
    local = pa.Table.from_batches(net_effect(batches, asked, key), image_schema(asked))
    return NetEffect(session.createDataFrame(local, ddl), local, is_at_hand=True)


def no_effect(session: SparkSession, schema: TableSchema) -> NetEffect:
    """The empty net effect, for a mirror without logged changes."""
    local = image_schema(asked_types(schema)).empty_table()
    return NetEffect(session.createDataFrame(local, _ddl(mirror_types(schema))), local)


def _ddl(types: dict[str, Sql]) -> Sql:
    return ", ".join([*(f"{quote(column)} {kind}" for column, kind in types.items()), _MARK_COLUMNS])


def _by_workers(
    rows: DataFrame, changes: TableChanges, types: dict[str, Asked], ddl: Sql, key: tuple[str, ...], end: str | None,
    sizes: Sizes,
) -> DataFrame:  # fmt: skip
    def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows_in_force(batches, end):
            yield inserted_rows(batch, types, key)

    def reduce(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with SpilledBatches(rows_in_force(batches, end)) as held:
            yield from net_effect(held, types, key)

    if changes.only_inserts:
        return rows.mapInArrow(decode, ddl)
    n_tasks = -(-changes.n_changes // sizes.per_task)
    if n_tasks == 1:
        return rows.coalesce(1).mapInArrow(reduce, ddl)
    return _parted(rows, [name for name in key if _can_part(name, types[name])], n_tasks).mapInArrow(reduce, ddl)


def _partial_ddl(ddl: Sql, types: dict[str, Sql], key: tuple[str, ...]) -> Sql:
    bases = [f"{base_column(i)} {types[name]}" for i, name in enumerate(key)]
    return ", ".join([ddl, f"{LOGGED} STRING", *bases])


def _by_one_worker(
    rows: DataFrame, types: dict[str, Asked], ddl: Sql, key: tuple[str, ...], end: str | None
) -> DataFrame:
    """Reduce in one worker, because a row's columns may come from a change under another key."""

    def reduce(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from partial_net_effect(rows_in_force(batches, end), types, key).to_batches()

    return rows.coalesce(1).mapInArrow(reduce, ddl)


def _parted(rows: DataFrame, key: list[str], n_parts: int) -> DataFrame:
    """Put all images of one key into one partition; an UPDATE that leaves its partition is its DELETE and its INSERT.

    key: the columns to part by.
    """
    hashed = rows.selectExpr("*", *(f"{_key_hash(side, key)} AS {side}_hash" for side in ("before", "after")))
    change = "struct({op} AS op, {before} AS before, {after} AS after, {part} AS part)"
    gone = change.format(op="'DELETE'", before="before", after=NO_IMAGE, part="before_hash")
    come = change.format(op="'INSERT'", before=NO_IMAGE, after="after", part="after_hash")
    kept = change.format(op="op", before="before", after="after", part="IF(op = 'DELETE', before_hash, after_hash)")
    leaves = "op = 'UPDATE' AND before_hash <> after_hash"
    parted = hashed.selectExpr(
        "lsn", "tx_lsn", "ordinal", f"explode(IF({leaves}, array({gone}, {come}), array({kept}))) AS change"
    )
    return parted.repartition(n_parts, "change.part").select(
        "lsn", "tx_lsn", "ordinal", "change.op", "change.before", "change.after"
    )


def _key_hash(side: Sql, key: list[str]) -> Sql:
    paths = [literal(f'$["{name}"]') for name in key]
    values = [f"try_variant_get({side}, {path}, 'string')" for path in paths]
    return f"xxhash64({', '.join(['0', *values])})"


def _can_part(name: str, asked: Asked) -> bool:
    """Can a path name the column, and do equal values have one text? (-0.0 is 0.0.) If in doubt, no: other columns are
    used."""
    return re.fullmatch(r"[\w $-]+", name) is not None and asked not in _FLOATING


def asked_types(schema: TableSchema) -> dict[str, Asked]:
    """The types as which the columns of a mirror are read."""
    return {
        column.name: Shown(column.type.fraction_digits or 0)
        if schema.as_text and column.type.name in MAY_BE_INVALID
        else arrow_type(spark_type(column.type))
        for column in schema.columns
    }


def arrow_type(kind: str) -> pa.DataType:
    """kind: a mirror column's Spark type, in DDL spelling."""
    simple = {
        "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(),
        "double": pa.float64(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"), "string": pa.string(), "binary": pa.binary(),
    }  # fmt: skip
    if kind in simple:
        return simple[kind]
    precision, scale = kind.removeprefix("decimal(").removesuffix(")").split(",")
    return pa.decimal128(int(precision), int(scale))
