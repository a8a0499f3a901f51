"""Row changes of a table without a key -> the change of each row's count.

    change     count
    INSERT     after +1
    UPDATE     before -1, after +1
    DELETE     before -1

Equal rows cannot be distinguished, so the order of changes does not matter: the sum is the net effect. Rows are equal
when all their values are, byte for byte: no collation, NULL equals NULL, and -0.0 is not 0.0.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.changes.images import LSN
from mirrorlake.core.sql_text import Sql
from mirrorlake.core.values.variant_columns import Asked, arrow_type, decode_images

COUNT = "_count"
"""Change of the row's count; below 0: rows are deleted."""


def column_name(i: int) -> Sql:
    """Name of the table's column i in a net effect, because the source may use any name, also ``COUNT``."""
    return f"_{i}"


def counts_schema(types: Iterable[Asked]) -> pa.Schema:
    columns = {column_name(i): arrow_type(asked) for i, asked in enumerate(types)}
    return pa.schema({**columns, LSN: pa.int64(), COUNT: pa.int64()})


def net_counts(batches: Iterable[pa.RecordBatch], columns: dict[str, Asked]) -> pa.Table:
    """Return each row whose count changes, once; ``_lsn`` is its last change's.

    batches: ``CHANGE_COLUMNS`` of one table, in any order. Returns columns of ``counts_schema``.
    """
    schema, names = counts_schema(columns.values()), [column_name(i) for i in range(len(columns))]
    images = pa.concat_tables([schema.empty_table(), *(_counted_images(batch, columns) for batch in batches)])
    counted = pa.table([_comparable(column) for column in images.columns], names=schema.names)
    summed = counted.group_by(names).aggregate([(LSN, "max"), (COUNT, "sum")])
    changed = summed.filter(pc.not_equal(summed[f"{COUNT}_sum"], 0))
    rows = [_typed(changed[name], schema.field(name).type) for name in names]
    return pa.table([*rows, changed[f"{LSN}_max"], changed[f"{COUNT}_sum"]], schema=schema)


def _counted_images(changes: pa.RecordBatch, columns: dict[str, Asked]) -> pa.Table:
    op = changes.column("op")
    come = pc.indices_nonzero(pc.not_equal(op, "DELETE")).to_numpy().astype(np.int64)
    go = pc.indices_nonzero(pc.not_equal(op, "INSERT")).to_numpy().astype(np.int64)
    images = (decode_images(changes.column(side), columns, rows) for side, rows in (("after", come), ("before", go)))
    lsn = changes.column("lsn").take(pa.array(np.concatenate([come, go])))
    counts = pa.array(np.repeat([1, -1], [len(come), len(go)]))
    arrays = [pa.concat_arrays(pair) for pair in zip(*images, strict=True)]
    return pa.Table.from_arrays([*arrays, lsn, counts], schema=counts_schema(columns.values()))


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in a comparable form: a float as its bits."""
    if not pa.types.is_floating(column.type):
        return column
    return pa.chunked_array([chunk.view(f"int{column.type.bit_width}") for chunk in column.chunks])


def _typed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind) if column.type != kind else column
