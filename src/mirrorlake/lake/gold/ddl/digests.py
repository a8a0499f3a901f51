"""Digests of a snapshot's values in hashed columns, made in Spark's workers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from mirrorlake.core.schema.hashing import DigestKey
from mirrorlake.core.values.hmac_sha256 import digests
from mirrorlake.errors import RefusedError


def with_digests(rows: DataFrame, names: Collection[str], key: DigestKey | None) -> DataFrame:
    """The rows with digests in place of the bytes, or the floating-point numbers, that these columns have.

    Raises RefusedError ``column-secret`` without a key.
    """
    if key is None:
        raise RefusedError("column-secret", "a snapshot has hashed columns, and no secret is given")

    numbers = [f"c{number}" for number in range(len(rows.columns))]  # mapInArrow parses names, which may be any text
    hashed = {number for number, name in zip(numbers, rows.columns, strict=True) if name in names}

    def hash_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [
                digests(key, _as_bytes(column)) if name in hashed else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    numbered = rows.toDF(*numbers)
    shown = numbered.selectExpr(*(f"CAST({n} AS string) AS {n}" if n in hashed else n for n in numbers))
    return numbered.mapInArrow(hash_all, shown.schema).toDF(*rows.columns)


def _as_bytes(column: pa.Array) -> pa.Array:
    """Numbers as their bytes, the sign first."""
    if not pa.types.is_floating(column.type):
        return column
    n_bytes = column.type.bit_width // 8
    swapped = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False)).astype(f">f{n_bytes}")
    validity = column.is_valid().buffers()[1]
    return pa.Array.from_buffers(pa.binary(n_bytes), len(column), [validity, pa.py_buffer(swapped.tobytes())])
