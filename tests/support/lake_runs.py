"""Whole hops on a lake in a folder, one call each, and what the lake holds afterwards.

Every call builds its hop from the lake's own progress, as a new process would.
"""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from pyspark.sql import SparkSession
from pytest import MonkeyPatch

from mirrorlake.config import Options
from mirrorlake.core.binlog.log_reader import LogReader
from mirrorlake.core.position import BinlogPosition
from mirrorlake.jobs.run.open import create_lake, create_tables
from mirrorlake.jobs.run.replicate import IngestJob, run_apply
from mirrorlake.jobs.run.source import open_source
from mirrorlake.jobs.run.watcher import Watcher
from mirrorlake.lake.bronze.ingest import IngestProgress, ingest
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import SYSTEM_TABLES, LakeNames
from mirrorlake.lake.delta.notes import newest_version
from mirrorlake.lake.delta.recent import Recent
from mirrorlake.lake.delta.session import private_session
from mirrorlake.lake.gold.control.register import STREAMING, TableRegister
from mirrorlake.lake.silver.assemble import AssembledBatch, AssembleHop
from mirrorlake.mysql.binlog_files import FileSource
from tests.support.binlog_spec import Log
from tests.support.binlog_writer import write_logs
from tests.support.canonical import canonical_row, mirror_rows
from tests.support.histories import History
from tests.support.oracle import TableName

QUIET = Watcher()


@cache
def _empty_lake(spark: SparkSession) -> Path:
    """A lake without rows, to be copied: that takes less time than to create its tables."""
    folder = Path(mkdtemp(prefix="mirrorlake-empty-lake-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    create_tables(Lake(spark, LakeNames(str(folder / "lake")), source="", flavor=""))
    return folder / "lake"


class LakeRun:
    """A lake and the log folder it is made from."""

    def __init__(self, spark: SparkSession, logs: Path, folder: Path, **given):
        """given: options of every hop."""
        self.spark, self.logs, self.folder, self.given = spark, logs, folder, given
        if not folder.exists():
            shutil.copytree(_empty_lake(spark), folder)
        self.lake = create_lake(self.options(), open_source(self.options()), spark)

    @classmethod
    def up_to_silver(cls, spark: SparkSession, log: Log, folder: Path, **given) -> LakeRun:
        """A new lake below ``folder`` with the whole log in silver, and nothing in gold. given: options of every
        hop."""
        write_logs(folder / "logs", log)
        run = cls(spark, folder / "logs", folder / "lake", **given)
        run.ingest()
        run.assemble()
        return run

    @classmethod
    def of_first_file(cls, spark: SparkSession, log: Log, folder: Path, **given) -> LakeRun:
        """A new lake below ``folder`` with the first file of the log in bronze, and the others still to be read. given:
        options of every hop."""
        first, *_ = write_logs(folder / "logs", log)
        run = cls(spark, folder / "logs", folder / "lake", **given)
        run.ingest(until=f"{first.name}:{first.stat().st_size}")
        return run

    def copied(self, folder: Path) -> LakeRun:
        """The same log and lake, as they are now, in another folder."""
        shutil.copytree(self.folder.parent, folder)
        return LakeRun(self.spark, folder / "logs", folder / "lake", **self.given)

    def lake_of_another_process(self) -> Lake:
        return replace(self.lake, spark=private_session(self.spark))

    def options(self, **given) -> Options:
        return Options(**{"source": f"files:{self.logs}", "lake": str(self.folder), **self.given, **given})

    def ingest_job(self, **given) -> IngestJob:
        return IngestJob(self.lake, FileSource(self.logs), self.options(**given))

    def ingest(self, *, until: str = "current", batch_bytes: int = 256 << 20, block_bytes: int = 8 << 20) -> list:
        """The batches committed. block_bytes: no batch is cut inside a block."""
        source, progress = FileSource(self.logs, block_bytes), IngestProgress.read(self.lake)
        start = progress.position or source.earliest()
        end = source.current() if until == "current" else BinlogPosition.parse(until)
        if end <= start:
            return []
        chunks = LogReader(start, progress.gtids).read(source.read(start, end))
        return list(ingest(self.lake, chunks, progress, batch_bytes=batch_bytes, recent=Recent(progress.lsn)))

    def assemble_hop(self, chunks: int = 1) -> AssembleHop:
        """chunks: of how many chunks of log a batch is; see ``assemble.CHUNK_BITS``."""
        hop = AssembleHop(self.lake, batch_bytes=1)
        hop._batch_chunks = chunks
        return hop

    def assemble(self, chunks: int = 1_000_000) -> list[AssembledBatch]:
        hop = self.assemble_hop(chunks)
        return [*hop.advance()]

    def apply(self, **given) -> None:
        run_apply(self.lake, self.options(**given), QUIET)

    def all_hops(self) -> None:
        self.ingest()
        self.assemble()
        self.apply()

    # --- what is there

    @property
    def register(self) -> TableRegister:
        return TableRegister.read(self.lake)

    def gold(self) -> dict[TableName, list[str]]:
        """The canonical rows of every table that is mirrored, sorted."""
        return {entry.name: self.mirror(entry.mirror_id) for entry in self.register if entry.state == STREAMING}

    def mirror(self, mirror_id: str) -> list[str]:
        return sorted(mirror_rows(self.spark.table(self.lake.names.mirror(mirror_id)).toArrow()))

    def versions(self) -> dict[str, int]:
        """The newest Delta version of every table of the lake."""
        names = {name: getattr(self.lake.names, name) for name in SYSTEM_TABLES}
        names |= {e.mirror_id: self.lake.names.mirror(e.mirror_id) for e in self.register if e.mirror_id}
        return {name: newest_version(self.spark, table) for name, table in names.items()}


def run_of(spark: SparkSession, folder: Path, write: Callable[[Path], object]) -> LakeRun:
    """write(folder): puts the log there."""
    write(folder / "logs")
    return LakeRun(spark, folder / "logs", folder / "lake")


def count_as_large(monkeypatch: MonkeyPatch, *, max_small_files: int = 2, merges: bool = False) -> None:
    """Every mirror gets deletion vectors, and its files are put together often. merges: by MERGE alone."""
    monkeypatch.setattr("mirrorlake.lake.gold.control.features.LARGE_BYTES", 0)
    monkeypatch.setattr("mirrorlake.lake.gold.merge.mirror_files.MAX_SMALL_FILES", max_small_files)
    if merges:
        monkeypatch.setattr("mirrorlake.lake.gold.row_epoch.are_few_among", lambda *_: False)


def n_commits(folder: Path) -> int:
    """Of all tables of a lake."""
    return sum(1 for _ in folder.glob("**/_delta_log/*.json"))


def expected_gold(history: History) -> dict[TableName, list[str]]:
    return {name: sorted(map(canonical_row, rows.values())) for name, rows in history.tables.items()}


def all_rows(lake: Lake, table: str) -> list[tuple]:
    return sorted(map(tuple, lake.spark.table(getattr(lake.names, table)).collect()), key=repr)
