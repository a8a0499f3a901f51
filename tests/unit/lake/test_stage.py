"""Small batches are joined in a stage and in an open transaction: a server decides how small they are."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mirrorlake.core.binlog.event_batch import EVENT_SCHEMA
from mirrorlake.lake.bronze.ingest import _BatchWriter
from mirrorlake.lake.delta.stage import MOST_SMALL, SMALL_BYTES, Stage

SCHEMA = pa.schema([("n", pa.int64()), ("raw", pa.binary())])


def batch(n: int, n_bytes: int) -> pa.RecordBatch:
    return pa.record_batch([[n], [b"x" * n_bytes]], schema=SCHEMA)


def staged(folder) -> list[pq.ParquetFile]:
    return [pq.ParquetFile(path) for path in sorted(folder.glob("*/*.parquet"))]


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([1] * (3 * MOST_SMALL + 5), 4),
        ([SMALL_BYTES // 4] * 9, 3),
        ([1, 1, SMALL_BYTES, 1, SMALL_BYTES, 1], 5),
        ([SMALL_BYTES] * 3, 3),
    ],
)
def test_small_batches_are_joined_in_order(tmp_path, sizes, groups):
    stage = Stage(str(tmp_path), SCHEMA, keep_bytes=1 << 30)
    for n, n_bytes in enumerate(sizes):
        stage.add(batch(n, n_bytes))
    assert (stage.rows, stage.bytes >= sum(sizes)) == (len(sizes), True)
    stage.finish()
    [file] = staged(tmp_path)
    assert file.metadata.num_row_groups == groups
    assert file.read()["n"].to_pylist() == [n for found in stage.batches for n in found["n"].to_pylist()]
    assert file.read()["n"].to_pylist() == list(range(len(sizes)))
    stage.discard()
    assert not list(tmp_path.iterdir())


def test_a_stage_that_is_discarded_writes_nothing_more(tmp_path):
    stage = Stage(str(tmp_path), SCHEMA)
    stage.add(batch(1, 1))
    stage.discard()
    assert not list(tmp_path.iterdir())


def test_rows_of_an_open_transaction_are_joined_too(tmp_path):
    lake = SimpleNamespace(names=SimpleNamespace(staging=lambda hop: str(tmp_path)))
    writer = _BatchWriter(lake, SimpleNamespace(last=None), SimpleNamespace(keep_bytes=0))
    one = pa.RecordBatch.from_pylist([{"raw": b"x" * 40}], EVENT_SCHEMA)
    sizes = [writer.hold(one) for _ in range(2 * MOST_SMALL)]
    assert sizes == [one.nbytes * (i + 1) for i in range(len(sizes))]
    assert len(writer._held) <= MOST_SMALL
    assert sum(map(len, writer._held)) == len(sizes)
    writer.stage_held()
    assert writer.hold(one) == one.nbytes
    writer.discard()
