"""Batches that are gone through twice, whether they stay in memory or go to a file."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mirrorlake.lake.delta.spill import SpilledBatches


@pytest.mark.parametrize("keep_bytes", [0, 100, 1 << 20])
def test_every_batch_comes_back_in_order_as_often_as_asked(keep_bytes):
    batches = [pa.record_batch({"n": [k, k + 1], "text": [None, "x" * k]}) for k in range(40)]
    with SpilledBatches(iter(batches), keep_bytes) as held:
        assert list(held) == batches
        assert list(held) == batches


def test_no_batches_are_none():
    with SpilledBatches([]) as held:
        assert list(held) == []
