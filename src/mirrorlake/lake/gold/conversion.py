"""How the values of one column become those of another, in Spark SQL."""

from __future__ import annotations

from dataclasses import dataclass

from mirrorlake.core.schema.types import BLOBS, INTEGERS, STRINGS, ColumnType


class NotDerivable(Exception):
    """What the server made of the rows does not follow from what is known; the message says why, for a person."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """sql, fails, invalid: over the old value, which ``{}`` stands for. fails: true for a row that cannot be converted.
    invalid: true for one that gets a date which no calendar has, and NULL here.
    """

    sql: str = "{}"
    fails: str | None = None
    reason: str = "a value of an existing row does not fit its new type"
    invalid: str | None = None


def family(kind: ColumnType) -> str:
    if kind.name in INTEGERS:
        return "integer"
    if kind.name in STRINGS:
        return "text"
    return {"binary": "binary", "varbinary": "binary", "double": "float", **dict.fromkeys(BLOBS, "binary")}.get(
        kind.name, kind.name
    )


def any_of(*conditions: str | None) -> str | None:
    return " OR ".join(f"({condition})" for condition in conditions if condition) or None


def unless_null(sql: str) -> str:
    return f"IF({{}} IS NULL, NULL, {sql})"
