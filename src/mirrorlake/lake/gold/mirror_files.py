"""The data files of a mirror: how a MERGE changes rows in them, and when small ones are put together.

A MERGE writes the files anew that have its rows, or notes the rows' places in deletion vectors. The first is quicker
on a small mirror and leaves one file. In a large one a hundred rows would cost all of it, in each epoch
(``bench/large_mirror.py``), while vectors leave one more small file, which all later MERGEs have to look into.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.maintenance import compact_small_files
from mirrorlake.lake.delta.session import is_own

LARGE_BYTES = 32 << 20
"""Of a mirror's files, from where vectors cost less."""
SMALL_FILE_BYTES = 64 << 20
MAX_SMALL_FILES = 50
WRITE_ANEW = {"spark.databricks.delta.merge.deletionVectors.persistent": "false"}


def prepare_files(session: SparkSession, mirror: Sql) -> dict[str, str]:
    """Before an epoch's commit: Spark settings for its MERGE. Elsewhere than in a session of our own the platform
    chooses, and compacts.

    The question computes the table's state, which Delta keeps and the commit asks for: next to no time of its own.
    """
    if not is_own(session):
        return {}
    n_files, n_bytes = session.sql(f"DESCRIBE DETAIL {mirror}").select("numFiles", "sizeInBytes").collect()[0]
    if n_files - n_bytes // SMALL_FILE_BYTES > MAX_SMALL_FILES:  # so many are small, at least
        compact_small_files(session, mirror, SMALL_FILE_BYTES)
    return WRITE_ANEW if n_bytes < LARGE_BYTES else {}
