"""The data files of a mirror: how a MERGE changes rows in them, and when small ones are compacted.

A MERGE rewrites the files that have its rows, or marks the rows in deletion vectors. Rewriting is faster on
a small mirror and leaves one file. In a large one a hundred rows would cost a rewrite of all files, in each epoch
(``bench/large_mirror.py``), while vectors leave one more small file, which all later MERGEs must read.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.maintenance import compact_small_files
from mirrorlake.lake.delta.session import is_own
from mirrorlake.lake.gold.control.features import DELETION_VECTORS, is_large, read_state, turn_on

SMALL_FILE_BYTES = 64 << 20
MAX_SMALL_FILES = 50
WRITE_ANEW = {"spark.databricks.delta.merge.deletionVectors.persistent": "false"}


def prepare_files(session: SparkSession, mirror: Sql) -> dict[str, str]:
    """Before an epoch's commit, compact if needed, and give a large mirror deletion vectors; Spark settings for its
    MERGE. Outside of our own sessions the platform chooses its settings, and compacts.

    This computes the table's state, which Delta keeps and the commit needs anyway, so it costs almost no time.
    """
    state = read_state(session, mirror)
    if is_large(state) and not DELETION_VECTORS.is_on(state):
        turn_on(session, mirror, [DELETION_VECTORS])
    if not is_own(session):
        return {}
    if state.numFiles - state.sizeInBytes // SMALL_FILE_BYTES > MAX_SMALL_FILES:  # at least this number is small
        compact_small_files(session, mirror, SMALL_FILE_BYTES)
    return {} if is_large(state) else WRITE_ANEW
