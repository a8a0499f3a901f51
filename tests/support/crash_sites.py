"""Every call that the code makes between reading and committing, failed one after another.

    sites = CrashSites(monkeypatch, "before")
    while sites.fails_in(work):      # each time at the first call that has not failed yet
        ...                          # look at what is there

A *site* is a line of our code with such a call, told apart by the two lines of a hop that led there. Calls of Spark, of
the file system and of our own steps count. ``before`` fails a call before it does anything; ``after`` fails those of
the commit protocol when all is done, as if the answer had been lost.
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any
from zlib import crc32

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriterV2
from pytest import MonkeyPatch

import mirrorlake
from tests.support.crash import When, failing

SOURCE, WRAPPERS = str(Path(mirrorlake.__file__).parent), str(Path(__file__).parent)
Site = tuple[str, ...]

OUTSIDE: list[tuple[Any, str]] = [
    (SparkSession, "sql"), (SparkSession, "table"), (SparkSession, "createDataFrame"), (DataFrame, "collect"),
    (DataFrame, "toArrow"), (DataFrame, "createOrReplaceTempView"), (DataFrameReader, "parquet"),
    (DataFrameWriterV2, "append"), (DataFrameWriterV2, "overwrite"), (pq.ParquetWriter, "write_batch"),
    (pq.ParquetWriter, "close"), (Path, "mkdir"), (shutil, "rmtree"),
]  # fmt: skip
"""What reaches Spark and the file system."""
OWN = (
    "lake.bronze.ingest._BatchWriter.commit", "lake.silver.definitions.DefinitionLog.extend",
    "lake.silver.assemble.AssembleHop._commit", "core.changes.assembler.Assembler.assemble",
    "lake.gold.control.epochs.EpochLog.plan", "lake.gold.control.epochs.EpochLog.finish",
    "lake.gold.control.epochs.EpochLog.flush",
    "lake.gold.control.register.TableRegister.commit",
)  # fmt: skip
"""Steps of ours, besides."""


class UnheardOf(Exception):
    """A class of errors that no code knows."""


class CrashSites:
    """failed: the sites that have failed, in order. every: of how many sites one fails, others with each seed."""

    def __init__(self, monkeypatch: MonkeyPatch, when: When, *, every: int = 1, seed: int = 0):
        self._every, self._seed = every, seed
        self.failed: dict[Site, None] = {}
        self._when, self._armed, self._lock = when, False, threading.Lock()
        own = [resolve(name) for name in OWN] if when == "before" else []
        for owner, name in OUTSIDE + own:
            monkeypatch.setattr(owner, name, self._failing(f"{owner.__name__}.{name}", getattr(owner, name)))

    def fails_in(self, work: Callable[[], object]) -> bool:
        """Does ``work`` up to the first call that has not failed yet; false: there was none, and it is done."""
        before, self._armed = len(self.failed), True
        try:
            work()
        except UnheardOf:
            pass
        finally:
            self._armed = False
        return len(self.failed) > before

    def _is_chosen(self, site: Site) -> bool:
        return crc32(f"{self._seed} {site}".encode()) % self._every == 0

    def _failing(self, name: str, function: Callable) -> Callable:
        def when_due() -> When | None:
            return self._when if self._armed and self._is_due() else None

        return failing(function, when_due, lambda: UnheardOf(name))

    def _is_due(self) -> bool:
        site = _site()
        with self._lock:
            if not self._armed or site is None or site in self.failed or not self._is_chosen(site):
                return False
            if self._when == "after" and not site[0].startswith("lake/delta/progress.py"):
                return False
            self.failed[site] = None
            self._armed = False  # the others of this attempt continue, as threads do
            return True


def _site() -> Site | None:
    """None for a call that Spark or Python make by themselves."""
    if not is_ours():
        return None
    frame, lines = _caller(), []
    while frame is not None:
        if frame.f_code.co_filename.startswith(SOURCE):
            lines.append(f"{Path(frame.f_code.co_filename).relative_to(SOURCE)}:{frame.f_lineno}")
        frame = frame.f_back
    callers = [line for line in lines[1:] if not line.startswith("lake/delta/")]
    return (lines[0], *callers[:2])


def is_ours() -> bool:
    """Whether the wrapper that asks was called by our own code."""
    return _caller().f_code.co_filename.startswith(SOURCE)


def _caller() -> FrameType:
    """Of the wrapper: the first frame that is not of these modules."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(WRAPPERS):
        frame = frame.f_back
    return frame


def resolve(name: str) -> tuple[Any, str]:
    path, class_name, method = f"mirrorlake.{name}".rsplit(".", 2)
    return getattr(sys.modules[path], class_name), method
