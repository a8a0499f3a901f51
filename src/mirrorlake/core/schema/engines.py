"""Storage engines, as far as it matters whether a table keeps what the log says was written."""

from __future__ import annotations

_LOSSLESS = frozenset(
    ("innodb", "myisam", "aria", "memory", "heap", "rocksdb", "tokudb", "ndb", "ndbcluster", "archive", "csv")
)


def why_engine_loses_rows(engine: str | None) -> str | None:
    """None when a table of this engine holds its own rows and all of them."""
    return None if engine is None or engine.lower() in _LOSSLESS else f"ENGINE={engine}"


def keeps_foreign_keys(engine: str | None) -> bool:
    """None: the server's default, which is InnoDB."""
    return engine is None or engine.lower() in ("innodb", "ndb", "ndbcluster")
