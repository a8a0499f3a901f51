"""Digests of a snapshot's values in hashed columns, made in Spark's workers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from mirrorlake.core.schema.hashing import DigestKey
from mirrorlake.core.sql_text import quote
from mirrorlake.core.values.hmac_sha256 import digests
from mirrorlake.errors import RefusedError


def with_digests(rows: DataFrame, names: Collection[str], key: DigestKey | None) -> DataFrame:
    """The rows with digests in place of the bytes that these columns have.

    Raises RefusedError ``column-secret`` without a key.
    """
    if key is None:
        raise RefusedError("column-secret", "a snapshot has hashed columns, and no secret is given")

    def hash_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = [
                digests(key, column) if name in names else column
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    shown = (f"CAST({quote(n)} AS string) AS {quote(n)}" if n in names else quote(n) for n in rows.columns)
    return rows.mapInArrow(hash_all, rows.selectExpr(*shown).schema)
