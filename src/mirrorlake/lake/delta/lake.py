"""One source's lake: the session that reads it and the names of its tables."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from mirrorlake.core.schema.column_patterns import NO_COLUMNS, ColumnPatterns
from mirrorlake.core.schema.engines import EngineOf, engine_not_known
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN, NAME_CASE, NameCase
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RefusedError, RetryableError
from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.delta.session import is_connect
from mirrorlake.lake.delta.stage import Stage

DEFAULT_ENGINE = "default_storage_engine"
"""Key of a note: the source's value when it was read last; absent for files."""
COLUMN_CHECK = "column_check"
"""Key of the notes of silver_changes: the digest of a fixed text by the secret of hashed columns."""


@dataclass(frozen=True, slots=True)
class Lake:
    """source: identity of the server or folder that the lake began with, see ``BinlogSource.identity``; it stays the
    lake's name when another server takes over. name_case: how that server compares names.
    default_engine: its default_storage_engine, in lower case; None: not known.
    engine_of: asks that server for a table's engine, if this process reads from the server.
    hidden: the columns that silver and gold leave out, by this process's options."""

    spark: SparkSession
    names: LakeNames
    source: str
    flavor: str
    name_case: NameCase = AS_WRITTEN
    default_engine: str | None = None
    engine_of: EngineOf = field(default=engine_not_known, compare=False)
    hidden: ColumnPatterns = NO_COLUMNS

    @property
    def parallelism(self) -> int:
        """Number of tasks that run at once, if the session says it."""
        return 8 if is_connect(self.spark) else self.spark.sparkContext.defaultParallelism

    def check_column_secret(self) -> None:
        """Raise RefusedError ``lake-column-secret`` if this process has another secret than the one that silver has
        digests of: equal values would get other digests."""
        key = self.hidden.key
        recorded = read_progress(self.spark, self.names.silver_changes) if key else None
        if recorded and key and recorded.payload.get(COLUMN_CHECK, key.check) != key.check:
            raise RefusedError("lake-column-secret", "the secret of hashed columns is not the one that the lake has")

    def staged(self, stage: Stage, columns: Sql) -> DataFrame:
        """The rows of a stage, for Spark to append.

        Raises RetryableError ``lake-storage`` if the disk of a lake in a folder has no room for them: Spark would leave
        a part of a file there, which nothing deletes for weeks.
        """
        rows, needed = stage.read(self.spark, columns), stage.bytes_on_disk
        if not self.names.is_unity and (free := shutil.disk_usage(self.names.root).free) < needed:
            raise RetryableError("lake-storage", f"{free:,} bytes are free, and the next batch needs {needed:,}")
        return rows

    def payload(self, hop: str, **more: Any) -> dict[str, Any]:
        """Payload for the note of a hop's commit: the source, the hop, and what else its restart needs."""
        settings = {NAME_CASE: self.name_case.setting, DEFAULT_ENGINE: self.default_engine}
        settings = {name: value for name, value in settings.items() if value is not None}
        return {"source": self.source, "flavor": self.flavor, **settings, **self.names.kept, "hop": hop, **more}

    def app_id(self, hop: str) -> str:
        """Owner of a chain of commits in Delta's transaction identifiers; ``hop``: a hop's name or a mirror id."""
        return f"mirror/{self.source}/0/{hop}"  # 0: an lsn holds the incarnation, so no other number is needed
