"""Find Delta versions of mirror tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from pyspark.sql import SparkSession

from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.failures import as_ours
from mirrorlake.lake.delta.notes import newest_version, read_commits, read_notes
from mirrorlake.lake.delta.progress import HARMLESS
from mirrorlake.lake.gold.control.failures import DAMAGED

_Found = TypeVar("_Found")


def readable_version(spark: SparkSession, mirror: Sql) -> int | None:
    """The Delta version of the newest commit; None if the mirror no longer exists, or its history cannot be read."""
    return unless_damaged(partial(newest_version, spark, mirror))


def version_at(spark: SparkSession, mirror: Sql, lsn: int) -> int | None:
    """The newest Delta version that has nothing after ``lsn``, the end of an epoch.

    None if others have changed the mirror in it, the table no longer exists, or its history cannot be read.
    """
    return unless_damaged(partial(_version_at, spark, mirror, lsn))


def unless_damaged(work: Callable[[], _Found | None]) -> _Found | None:
    """What the work on one mirror gives; None if it fails because the mirror is damaged."""
    try:
        return work()
    except Exception as error:
        if as_ours(error).code != DAMAGED:
            raise
        return None


def _version_at(spark: SparkSession, mirror: Sql, lsn: int) -> int | None:
    newest = None
    for commit in read_commits(spark, mirror):
        reached = commit.note["lsn"] if commit.note else None
        if reached is not None and reached > lsn:
            newest = None
            continue
        newest = commit.version if newest is None else newest
        if reached is not None:
            return newest
        if commit.note is None and commit.operation not in HARMLESS:
            return None
    return None


def held_lsn(spark: SparkSession, mirror: Sql) -> int:
    """The lsn up to which the mirror has its table's changes; -1: its history does not say."""
    noted = (note["lsn"] for note, is_undone in read_notes(spark, mirror) if note["lsn"] is not None and not is_undone)
    return next(noted, -1)
