"""Memory outside the heap of a local session."""

from __future__ import annotations

import pytest

from mirrorlake.lake.delta.session import direct_memory


@pytest.mark.parametrize(
    ("heap", "n_bytes"),
    [
        ("2g", 1 << 30),
        ("600m", 1 << 30),
        ("4096m", 2 << 30),
        ("8G", 4 << 30),
        ("8gb", 4 << 30),
        ("1t", 512 << 30),
        ("much", 1 << 30),
    ],
)
def test_a_larger_heap_comes_with_more_of_it(heap, n_bytes):
    assert direct_memory(heap) == n_bytes
