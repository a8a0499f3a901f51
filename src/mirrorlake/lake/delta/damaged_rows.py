"""Rows of our own tables that others have changed: what they hold must not become SQL, or an error without a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RefusedError

if TYPE_CHECKING:
    from mirrorlake.lake.delta.lake import Lake

_OF_READING = (ValueError, TypeError, AttributeError, KeyError, IndexError, RecursionError, OverflowError)
_COLUMN = re.compile(r"(\w+) (\w+(?:<[^>]*>+)?)")


def own_rows(lake: Lake, table: str, columns: Sql) -> DataFrame:
    """The rows of a table of ours, whose columns have the types with which it was created.

    table: one of ``SYSTEM_TABLES``. columns: as CREATE TABLE has them. Raises RefusedError ``lake-damaged`` for another
    type: a text where a number belongs would be put into a query.
    """
    rows = lake.spark.table(lake.names.system_table(table))
    types = {name: kind.replace(" ", "").lower() for name, kind in _COLUMN.findall(columns)}
    for found in rows.schema.fields:
        if types.get(found.name, found.dataType.simpleString()) != found.dataType.simpleString():
            raise RefusedError("lake-damaged", f"column {found.name} of {table} has another type")
    return rows


@contextmanager
def reading(table: str) -> Iterator[None]:
    """Raise RefusedError ``lake-damaged`` where rows that Spark has read are not as mirrorlake writes them."""
    try:
        yield
    except _OF_READING:
        raise RefusedError("lake-damaged", f"{table} has a row that mirrorlake does not write") from None
