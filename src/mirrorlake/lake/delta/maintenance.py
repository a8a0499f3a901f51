"""Housekeeping of a lake's files. Never moves progress; deletes only rows past their retention.

A table without commits since its last VACUUM is skipped. This saves more than time: Delta forgets commits
older than ``delta.logRetentionDuration`` (30 days) as newer ones are made. On an idle table the commits
of maintenance alone would push out the one that carries the progress.
"""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.creation import property_list, read_properties, set_properties
from mirrorlake.lake.delta.location import is_same_folder, local_path
from mirrorlake.lake.delta.names import LakeNames, linked_path, local_folder, table_exists
from mirrorlake.lake.delta.notes import read_history
from mirrorlake.lake.delta.progress import RACES
from mirrorlake.lake.delta.refusals import is_unsupported
from mirrorlake.lake.delta.session import session_settings
from mirrorlake.lake.delta.stage import is_batch

COMPACTED, UNCHANGED, BUSY, REMOVED, LEFT = "compacted", "unchanged", "busy", "removed", "left"
PLATFORM = "platform"
"""The catalog refuses OPTIMIZE and VACUUM of the table: it does both itself."""
LINKED = "linked"
"""A symbolic link is in the table's folder: VACUUM would follow it, and delete files that are not the table's."""
_SMALLER_THAN, _UP_TO = (f"spark.databricks.delta.optimize.{name}FileSize" for name in ("min", "max"))
_KEPT = "DELTA_FEATURE_DROP_"
"""Begins Delta's reasons to keep a feature."""
_DAYS = re.compile(r"interval ([0-9]+) days")


def compact(spark: SparkSession, table: Sql, retention_days: int, location: str | None = None) -> str:
    """OPTIMIZE and VACUUM; COMPACTED, UNCHANGED, PLATFORM, LINKED, or BUSY when another commit came first (maintenance
    tries again next time). location: of an external table."""
    if not _has_new_commits(spark, table):
        return UNCHANGED
    if _has_link(table, location):
        return LINKED
    return _outcome(spark, COMPACTED, f"OPTIMIZE {table}", f"VACUUM {table} RETAIN {24 * retention_days} HOURS")


def size(spark: SparkSession, table: Sql) -> dict[str, int]:
    """Files and bytes of the newest version; 0 and 0 for a table that is not there."""
    if not table_exists(spark, table):
        return {"files": 0, "bytes": 0}
    detail = spark.sql(f"DESCRIBE DETAIL {table}").toArrow().to_pylist()[0]
    return {"files": detail["numFiles"], "bytes": detail["sizeInBytes"]}


def compact_small_files(session: SparkSession, table: Sql, n_bytes: int) -> None:
    """Merge files smaller than n_bytes into files of at most twice that size; give up if another commit comes first, or
    if the catalog does this itself."""
    sizes = {_SMALLER_THAN: str(n_bytes), _UP_TO: str(2 * n_bytes)}
    with session_settings(session, sizes):
        try:
            _run_unless_busy(session, f"OPTIMIZE {table}")
        except PySparkException as error:
            if not is_unsupported(error):
                raise


def delete_before(spark: SparkSession, table: Sql, lsn: int) -> str:
    """Delete all rows before an lsn; REMOVED or BUSY, as above. VACUUM deletes their files after the retention."""
    return REMOVED if _run_unless_busy(spark, f"DELETE FROM {table} WHERE lsn < {lsn}") else BUSY


def delete_older(spark: SparkSession, table: Sql, days: int) -> None:
    """Delete the rows whose ``at`` is more than this number of days ago, unless another commit comes first."""
    _run_unless_busy(spark, f"DELETE FROM {table} WHERE at < current_timestamp() - INTERVAL {days} DAYS")


def drop_feature(spark: SparkSession, table: Sql, feature: Sql, location: str | None = None) -> str:
    """Write again the files that need a feature of Delta, so that the table no longer has it; REMOVED, BUSY, LINKED, or
    LEFT if Delta keeps it for now.

    feature: its name in the protocol. location: of an external table. This makes several commits, none of which changes
    a row; the next call continues after a crash.
    """
    if _has_link(table, location):
        return LINKED
    try:
        return REMOVED if _run_unless_busy(spark, f"ALTER TABLE {table} DROP FEATURE {feature}") else BUSY
    except PySparkException as error:
        if not (error.getCondition() or "").startswith(_KEPT):
            raise
        return LEFT


def _has_link(table: Sql, location: str | None) -> bool:
    """Has a local table a symbolic link?"""
    folder = local_path(location) if location else local_folder(table)
    return folder is not None and linked_path(folder) is not None


def _outcome(spark: SparkSession, outcome: str, *statements: Sql) -> str:
    """``outcome``, or BUSY; PLATFORM if the catalog does not take the statements."""
    try:
        return outcome if _run_unless_busy(spark, *statements) else BUSY
    except PySparkException as error:
        if not is_unsupported(error):
            raise
        return PLATFORM


def _run_unless_busy(spark: SparkSession, *statements: Sql) -> bool:
    try:
        for statement in statements:
            spark.sql(statement).collect()
    except Exception as error:
        if any(sign in str(error) for sign in RACES):
            return False
        raise
    return True


def keep_history(spark: SparkSession, table: Sql, days: int, location: str | None = None) -> None:
    """Make Delta keep commits, and the files of versions, for at least ``days`` days, whoever runs VACUUM, unless the
    folder is a link. location: of an external table."""
    if not table_exists(spark, table):
        return
    shown = read_properties(spark, table)
    settings = {}
    for name, default in (("delta.deletedFileRetentionDuration", 7), ("delta.logRetentionDuration", 30)):
        found = _DAYS.fullmatch(shown.get(name, ""))
        if days > (int(found[1]) if found else default):
            settings[name] = f"interval {days} days"
    if settings and not _has_link(table, location):
        set_properties(spark, table, settings)


def remove_mirror(spark: SparkSession, names: LakeNames, mirror_id: str) -> str:
    """Delete a mirror table for good; LEFT when its folder is in an object store, where only its owner can, or at the
    location of external tables; LINKED."""
    return _remove(spark, names, names.mirror(mirror_id), names.mirror_path(mirror_id))


def remove_snapshot(spark: SparkSession, names: LakeNames, copy_id: str) -> str:
    """Delete a snapshot of a source table for good, as ``remove_mirror``."""
    return _remove(spark, names, names.snapshot(copy_id), names.snapshot_path(copy_id))


def _remove(spark: SparkSession, names: LakeNames, table: Sql, folder: str) -> str:
    if not table_exists(spark, table):
        return UNCHANGED
    if location := names.location(table):
        return _remove_external(spark, table, location)
    if names.is_unity:
        spark.sql(f"DROP TABLE IF EXISTS {table}")
    elif "://" in names.root:
        return LEFT
    elif any(path.is_symlink() for path in (Path(folder), Path(folder).parent)):
        return LINKED
    else:
        shutil.rmtree(folder)
    return REMOVED


def _remove_external(spark: SparkSession, table: Sql, location: str) -> str:
    """Delete the rows with their files, then drop the table; the catalog has it until all of that is done.

    DROP TABLE would leave the files. VACUUM deletes them on every storage, and leaves folders with Delta's log: LEFT.
    A table that others have made under this name stays, with the files that it has elsewhere: LEFT, too.
    """
    if _has_link(table, location):
        return LINKED
    found = spark.sql(f"DESCRIBE DETAIL {table}").collect()[0].location
    if not is_same_folder(found, location):
        return LEFT
    at_once = property_list({"delta.deletedFileRetentionDuration": "interval 0 days"})
    return _outcome(
        spark, LEFT, f"ALTER TABLE {table} SET TBLPROPERTIES ({at_once})", f"DELETE FROM {table}",
        f"VACUUM {table} RETAIN 0 HOURS", f"DROP TABLE {table}",
    )  # fmt: skip


def remove_staged(names: LakeNames, hop: str, older_than_days: int) -> int:
    """Delete the batches that crashed runs of a hop left in its staging folder; their number.

    Nothing else is touched: the folder may be one that others use, too."""
    root = Path(names.staging(hop))
    last = time.time() - older_than_days * 86400
    found = root.iterdir() if root.is_dir() and not root.is_symlink() else ()
    stale = [folder for folder in found if _is_stale(folder, last)]
    for folder in stale:
        shutil.rmtree(folder, ignore_errors=True)
    return len(stale)


def _is_stale(folder: Path, last: float) -> bool:
    try:
        return folder.stat().st_mtime < last and is_batch(folder)
    except FileNotFoundError:  # a run that has just ended removed it
        return False


def _has_new_commits(spark: SparkSession, table: Sql) -> bool:
    """Has the table commits of ours since the last VACUUM? A mirror that somebody has dropped has none."""
    for entry in read_history(spark, table):
        if entry.operation == "VACUUM END":
            return False
        if '"mirrorlake"' in (entry.userMetadata or ""):
            return True
    return False
