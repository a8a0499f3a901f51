"""The name of a table on the source."""

from __future__ import annotations

from typing import NamedTuple


class TableName(NamedTuple):
    """Equal to the plain tuple of both; as text ``database.table``, which is for people only: names may have dots."""

    database: str
    table: str

    def __str__(self) -> str:
        return f"{self.database}.{self.table}"
