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

LARGE_BYTES = 32 << 20
"""Size of a mirror's files from which vectors cost less."""
SMALL_FILE_BYTES = 64 << 20
MAX_SMALL_FILES = 50
WRITE_ANEW = {"spark.databricks.delta.merge.deletionVectors.persistent": "false"}


def prepare_files(session: SparkSession, mirror: Sql) -> dict[str, str]:
    """Compact if needed before an epoch's commit; Spark settings for its MERGE. Outside of our own sessions the
    platform chooses, and compacts.

    This computes the table's state, which Delta keeps and the commit needs anyway, so it costs almost no time.
    """
    if not is_own(session):
        return {}
    n_files, n_bytes = session.sql(f"DESCRIBE DETAIL {mirror}").select("numFiles", "sizeInBytes").collect()[0]
    if n_files - n_bytes // SMALL_FILE_BYTES > MAX_SMALL_FILES:  # at least this number is small
        compact_small_files(session, mirror, SMALL_FILE_BYTES)
    return WRITE_ANEW if n_bytes < LARGE_BYTES else {}
