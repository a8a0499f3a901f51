"""Notice that a run has another secret of hashed columns than the lake: equal values would get other digests."""

from __future__ import annotations

from mirrorlake.errors import RefusedError
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.progress import read_progress

COLUMN_CHECK = "column_check"
"""Key of the notes of silver_changes: the digest of a fixed text by the lake's secret."""


def check_secret(lake: Lake) -> None:
    """Raise RefusedError ``lake-column-secret`` if this process has another secret than the one that silver has
    digests of."""
    key = lake.hidden.key
    recorded = read_progress(lake.spark, lake.names.silver_changes) if key else None
    if recorded and key and recorded.payload.get(COLUMN_CHECK, key.check) != key.check:
        raise RefusedError("lake-column-secret", "the secret of hashed columns is not the one that the lake has")
