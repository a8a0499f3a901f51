"""How the values of one column become those of another, in Spark SQL."""

from __future__ import annotations

from dataclasses import dataclass

from mirrorlake.core.schema.types import BLOBS, INTEGERS, STRINGS, ColumnType
from mirrorlake.core.sql_text import Sql


class NotDerivable(Exception):
    """The server's new values do not follow from what is known; the message says why, for a person."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """sql: the new value. fails: true for a row that cannot be converted. invalid: true for one that gets a date which
    no calendar has, and NULL here.
    """

    sql: Sql
    fails: Sql | None = None
    reason: str = "a value of an existing row does not fit its new type"
    invalid: Sql | None = None


def family(kind: ColumnType) -> str:
    if kind.name in INTEGERS:
        return "integer"
    if kind.name in STRINGS:
        return "text"
    return {"binary": "binary", "varbinary": "binary", "double": "float", **dict.fromkeys(BLOBS, "binary")}.get(
        kind.name, kind.name
    )


def any_of(*conditions: Sql | None) -> Sql | None:
    return " OR ".join(f"({condition})" for condition in conditions if condition) or None


def unless_null(value: Sql, sql: Sql) -> Sql:
    return f"IF({value} IS NULL, NULL, {sql})"
