"""Do silver's row changes still fit the count and the checksum in their transaction's COMMIT row?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mirrorlake.core.kernels.compiling import kernel
from mirrorlake.core.kernels.memory import addresses, peek_u8, peek_u32, poke_u64
from mirrorlake.core.kernels.xxh64 import xxh64

BEGIN, CHANGE, COMMIT, OTHER = range(4)
_BEGUN, _CHANGES, _CHECKSUM = range(3)
"""What is known of the transaction so far."""
KINDS = {"BEGIN": BEGIN, "INSERT": CHANGE, "UPDATE": CHANGE, "DELETE": CHANGE, "COMMIT": COMMIT}
READ = ("tx_lsn", "ordinal", "gtid", "op", "before", "after", "changes", "checksum")
"""Columns of silver, sorted by the first two."""
DAMAGED_SCHEMA = pa.schema(
    [("tx_lsn", pa.int64()), ("gtid", pa.string()), ("changes", pa.int64()), ("found", pa.int64())]
)
"""One row per transaction that does not fit. changes: as its COMMIT row counts them; found: that there are."""


class _Rows(NamedTuple):
    """kinds: uint8, of KINDS. before, after: the images' bytes, one after the other; the ends: int32, of each row."""

    kinds: np.ndarray
    before: np.ndarray
    before_ends: np.ndarray
    after: np.ndarray
    after_ends: np.ndarray


class _Found(NamedTuple):
    """What there is up to each row, int64: the number of the transaction's row changes and their checksum."""

    counts: np.ndarray
    checksums: np.ndarray


def damaged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches of ``DAMAGED_SCHEMA`` for batches of ``READ``, which have whole transactions.

    A transaction without its BEGIN row is left out: what came before it has been deleted by intent.
    """
    state = np.zeros(3, np.int64)
    for batch in batches:
        rows, n = _rows(batch), batch.num_rows
        found = _Found(np.zeros(n, np.int64), np.zeros(n, np.int64))
        _follow(n, addresses(rows), state, addresses(found))
        counted, checksum = (pc.fill_null(batch.column(name), 0).to_numpy() for name in ("changes", "checksum"))
        fits = (found.counts == counted) & (found.checksums == checksum)
        is_damaged = (rows.kinds == COMMIT) & (found.counts >= 0) & ~fits
        if is_damaged.any():
            of_commit = (batch.column(name).filter(pa.array(is_damaged)) for name in DAMAGED_SCHEMA.names[:3])
            columns = [*of_commit, pa.array(found.counts[is_damaged])]
            yield pa.RecordBatch.from_arrays(columns, schema=DAMAGED_SCHEMA)


@kernel
def _follow(n, rows, state, found):
    b, a = np.int64(0), np.int64(0)
    for r in range(n):
        kind = peek_u8(rows.kinds + r)
        b_end = np.int64(peek_u32(rows.before_ends + 4 * r))
        a_end = np.int64(peek_u32(rows.after_ends + 4 * r))
        if kind == BEGIN:
            state[_BEGUN], state[_CHANGES], state[_CHECKSUM] = 1, 0, 0
        elif kind == CHANGE:
            state[_CHANGES] += 1
            if b_end > b:
                state[_CHECKSUM] = np.int64(xxh64(np.uint64(state[_CHECKSUM]), rows.before + b, rows.before + b_end))
            if a_end > a:
                state[_CHECKSUM] = np.int64(xxh64(np.uint64(state[_CHECKSUM]), rows.after + a, rows.after + a_end))
        elif kind == COMMIT:
            poke_u64(found.counts + 8 * r, state[_CHANGES] if state[_BEGUN] else -1)
            poke_u64(found.checksums + 8 * r, state[_CHECKSUM])
            state[_BEGUN] = 0
        b, a = b_end, a_end


def _rows(batch: pa.RecordBatch) -> _Rows:
    names = pa.array(list(KINDS), pa.string())
    kinds = pa.array(list(KINDS.values()), pa.uint8()).take(pc.index_in(batch.column("op"), names))
    return _Rows(
        pc.fill_null(kinds, OTHER).to_numpy(), *_images(batch.column("before")), *_images(batch.column("after"))
    )


def _images(column: pa.StructArray) -> tuple[np.ndarray, np.ndarray]:
    values = pc.fill_null(pc.struct_field(column, "value"), b"")
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    held = np.frombuffer(data or b"", np.uint8)[ends[0] :]
    return np.ascontiguousarray(held), np.ascontiguousarray(ends[1:] - ends[0])
