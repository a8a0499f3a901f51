"""Storage engines, as far as it matters whether a table keeps what the log says was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirrorlake.core.schema.tables import TableSchema

EngineOf = Callable[[str, str], str | None]
"""(database, table) -> the engine that a server says it has, in lower case; None: not known."""
_LOSSLESS = frozenset(
    ("innodb", "myisam", "aria", "memory", "heap", "rocksdb", "tokudb", "ndb", "ndbcluster", "archive", "csv")
)


def why_engine_loses_rows(engine: str | None) -> str | None:
    """None when a table of this engine holds its own rows and all of them."""
    return None if engine is None or engine.lower() in _LOSSLESS else f"ENGINE={engine}"


def engine_not_known(database: str, table: str) -> str | None:
    """There is no server to ask."""
    return None


def why_keys_are_unsure(schema: TableSchema, default_engine: str | None) -> str | None:
    """Why it is not known whether foreign keys change the table's rows. default_engine: of the server, None: not known.

    A session may have had another default than the server, so a table that names no engine may have either.
    """
    if schema.engine is not None or keeps_foreign_keys(default_engine) or not schema.row_changing_keys:
        return None
    return f"its engine is not named, and the server's default, {default_engine}, ignores foreign keys"


def keeps_foreign_keys(engine: str | None) -> bool:
    """None: not named or not known, and taken for InnoDB, the default unless somebody changed it."""
    return engine is None or engine.lower() in ("innodb", "ndb", "ndbcluster")
