"""The data files of a mirror: which rows an epoch may write again, and when small files are compacted.

Writing all rows again is faster on a small mirror and leaves one file. In a large one a hundred rows would cost a
rewrite of all files, in each epoch (``bench/large_mirror.py``). There a commit marks rows in deletion vectors and adds
one more small file, which all later commits must read.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum, auto

from pyspark.sql import SparkSession

from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.maintenance import compact_small_files
from mirrorlake.lake.delta.session import is_own
from mirrorlake.lake.gold.control.features import (
    CHANGE_DATA_FEED,
    DELETION_VECTORS,
    Feature,
    is_large,
    read_state,
    turn_on,
)

SMALL_FILE_BYTES = 64 << 20
MAX_SMALL_FILES = 50


class Rewriting(Enum):
    """Rows that an epoch may write again. A change data feed would have each of them, so such a mirror has none."""

    ALL, FEW, NONE = auto(), auto(), auto()


def prepare_files(session: SparkSession, mirror: Sql, features: Collection[Feature] = ()) -> Rewriting:
    """Compact before an epoch's commit if needed, and give a large mirror deletion vectors, and each mirror the
    features; return which rows may be written again.

    Outside of our own sessions the platform compacts.

    This computes the table's state, which Delta keeps and the commit needs anyway, so it costs almost no time.
    """
    state = read_state(session, mirror)
    wanted = {*features, DELETION_VECTORS} if is_large(state) else set(features)
    turn_on(session, mirror, [feature for feature in wanted if not feature.is_on(state)])
    n_small = state.numFiles - state.sizeInBytes // SMALL_FILE_BYTES  # at least
    if is_own(session) and n_small > MAX_SMALL_FILES:
        compact_small_files(session, mirror, SMALL_FILE_BYTES)
    if CHANGE_DATA_FEED in wanted or CHANGE_DATA_FEED.is_on(state):
        return Rewriting.NONE
    return Rewriting.FEW if is_large(state) else Rewriting.ALL
