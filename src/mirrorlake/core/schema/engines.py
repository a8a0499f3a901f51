"""Storage engines: does a table keep the rows that the log says were written?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirrorlake.core.schema.tables import TableSchema

NO_ENGINE_SUBSTITUTION = 1 << 30
"""Bit of sql_mode, the same on both servers. Without it a server takes another engine for one that it lacks, forbids
(``disabled_storage_engines``) or replaces (``enforce_storage_engine``)."""
EngineOf = Callable[[str, str], str | None]
"""Function: (database, table) -> engine that the server reports, in lower case; None: not known."""
_LOSSLESS = frozenset(
    ("innodb", "myisam", "aria", "memory", "heap", "rocksdb", "tokudb", "ndb", "ndbcluster", "archive", "csv")
)


def why_engine_loses_rows(engine: str | None) -> str | None:
    """Why a table of this engine does not have exactly its own rows; None: it does."""
    return None if engine is None or engine.lower() in _LOSSLESS else f"ENGINE={engine}"


def engine_not_known(database: str, table: str) -> str | None:
    """An ``EngineOf`` without a server to ask."""
    return None


def why_keys_are_unsure(schema: TableSchema, default_engine: str | None) -> str | None:
    """Why it is not known whether foreign keys change the table's rows. default_engine: of the server, None: not known.

    A session may have had another default than the server, so a table that names no engine may have either.
    """
    if schema.engine is not None or keeps_foreign_keys(default_engine) or not schema.row_changing_keys:
        return None
    return f"its engine is not named, and the server's default, {default_engine}, ignores foreign keys"


def may_be_replaced(engine: str | None, sql_mode: int) -> bool:
    """May a table that names an engine without foreign keys have them, as InnoDB that the server took for it?

    Measured: MariaDB 11.8 and MySQL 9.7 make InnoDB of an engine that they lack.
    """
    return not keeps_foreign_keys(engine) and not sql_mode & NO_ENGINE_SUBSTITUTION


def keeps_foreign_keys(engine: str | None) -> bool:
    """Does the engine have foreign keys? None: not named or not known; it counts as InnoDB, the usual default."""
    return engine is None or engine.lower() in ("innodb", "ndb", "ndbcluster")
