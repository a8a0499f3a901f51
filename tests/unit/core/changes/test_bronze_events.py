"""Batches of bronze rows."""

from __future__ import annotations

import pyarrow as pa

from mirrorlake.core.changes.bronze_events import of_types

BATCH = pa.record_batch({"event_type": pa.array([2, 15, 2], pa.int16()), "raw": [b"a", b"b", b"c"]})


def test_events_of_types_are_chosen():
    assert of_types(BATCH, pa.array([2], pa.int16()))["raw"].to_pylist() == [b"a", b"c"]
    assert of_types(BATCH, pa.array([16], pa.int16())).num_rows == 0


def test_a_batch_without_others_is_held_once():
    """One event may have 1 GiB: of 300 MB a filtered batch held another 300 MB."""
    assert of_types(BATCH, pa.array([2, 15], pa.int16())) is BATCH
