"""A catalog that refuses what Unity Catalog's open-source server and connector refuse (version 0.6.0, tried by hand).

Its tables are those of Spark's own catalog, in a schema of its own: ``uc:spark_catalog.SCHEMA``. Of external tables it
takes OPTIMIZE and VACUUM.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException, UnsupportedOperationException
from pyspark.sql import SparkSession
from pytest import MonkeyPatch

BLOCKED = "DELTA_UNSUPPORTED_CATALOG_MANAGED_TABLE_OPERATION"
EXTERNAL = "external_"
"""Begins the names of the schemas with external tables."""
_MANAGED = rf"`spark_catalog`\.`(?!{EXTERNAL})"
_REFUSED: dict[str, Callable[[], Exception]] = {
    r"CREATE TABLE .*enableDeletionVectors. *= *.false": lambda: AnalysisException("deletion vectors are required"),
    r"ALTER TABLE \S+ RENAME COLUMN": lambda: _unsupported("Altering a table is not supported yet"),
    rf"OPTIMIZE {_MANAGED}": lambda: _Blocked("OPTIMIZE is blocked by the catalog for Catalog-Managed tables."),
    rf"VACUUM {_MANAGED}": lambda: _Blocked("VACUUM is blocked by the catalog for Catalog-Managed tables."),
    r"CREATE OR REPLACE VIEW": lambda: _unsupported("Replacing a view is not supported"),
}


class _Blocked(AnalysisException):
    """Delta's error, which has its condition and SQLSTATE from the JVM."""

    def getCondition(self) -> str:
        return BLOCKED

    def getSqlState(self) -> str:
        return "0AKDC"


def _unsupported(message: str) -> Exception:
    return UnsupportedOperationException(f"java.lang.UnsupportedOperationException: {message}")


def refuse_as_unity_catalog(monkeypatch: MonkeyPatch, spark: SparkSession) -> list[str]:
    """Return a list that gets the first words of each statement that is refused."""
    real, refused = type(spark).sql, []

    def sql(session: SparkSession, statement: str, *args: Any, **kwargs: Any) -> Any:
        for pattern, error in _REFUSED.items():
            found = re.match(pattern, statement.strip(), re.DOTALL)
            if found:
                refused.append(" ".join(statement.split()[:2]))
                raise error()
        return real(session, statement, *args, **kwargs)

    monkeypatch.setattr(type(spark), "sql", sql)
    return refused
