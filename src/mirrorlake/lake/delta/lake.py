"""One source's lake: the session that reads it and the names of its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from mirrorlake.lake.delta.names import LakeNames
from mirrorlake.lake.delta.session import is_connect


@dataclass(frozen=True, slots=True)
class Lake:
    """source: identity of the server or folder that the lake began with, see ``BinlogSource.identity``; it stays the
    lake's name when another server takes over."""

    spark: SparkSession
    names: LakeNames
    source: str
    flavor: str

    @property
    def parallelism(self) -> int:
        """Tasks that run at once, as far as the session tells."""
        return 8 if is_connect(self.spark) else self.spark.sparkContext.defaultParallelism

    def payload(self, hop: str, **more: Any) -> dict[str, Any]:
        """What a commit of a hop says in its note: whose log, by which hop, and what else its restart needs."""
        return {"source": self.source, "flavor": self.flavor, "hop": hop, **more}

    def app_id(self, hop: str) -> str:
        """Owner of a chain of commits in Delta's transaction identifiers; ``hop``: a hop's name or a mirror id."""
        return f"mirror/{self.source}/0/{hop}"  # 0: an lsn holds the incarnation, so no other number is needed
