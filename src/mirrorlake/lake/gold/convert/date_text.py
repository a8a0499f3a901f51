"""Dates and times that a mirror holds as the text that the server shows, a TIMESTAMP's in UTC, in Spark SQL."""

from __future__ import annotations

import re

from mirrorlake.core.schema.tables import Default
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.core.sql_text import Sql, literal
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.convert.default_spelling import in_own_spelling

_LITERAL = re.compile(r"([0-9]{4}-[0-9][0-9]-[0-9][0-9])(?: ([0-9][0-9]:[0-9][0-9]:[0-9][0-9])(?:[.]([0-9]{1,6}))?)?")


def shown(sql: Sql, kind: ColumnType) -> Sql:
    """A DATE, TIMESTAMP_NTZ or TIMESTAMP as a column of this type shows it."""
    return f"date_format({sql}, {literal(_text('yyyy-MM-dd', 'HH:mm:ss', _digits(kind) * 'S', kind))})"


def meant(text: Sql, kind: ColumnType) -> Sql:
    """The date that a text shows; NULL if no calendar has it. (Spark has a year 0, and counts other days in it.)"""
    return f"IF({text} LIKE '0000-%', NULL, try_cast({text} AS {spark_type(kind)}))"


def zero_date(kind: ColumnType) -> Sql:
    return literal(_text("0000-00-00", "00:00:00", _digits(kind) * "0", kind))


def date_literal(text: str, kind: ColumnType) -> Sql | None:
    """A literal of DDL as a DATE or DATETIME column shows it; None if only the server can read it."""
    found = _LITERAL.fullmatch(text)
    if not found or kind.name == "date" and found[2] or len(found[3] or "") > _digits(kind):
        return None
    return literal(_text(found[1], found[2] or "00:00:00", (found[3] or "").ljust(_digits(kind), "0"), kind))


def bound_literal(text: str, kind: ColumnType) -> Sql | None:
    """The same for a bound of a partition, in any spelling that both servers read alike.

    None for more digits than the type has, which MySQL rounds and MariaDB cuts, and for a time zone.
    """
    day_and_clock, _, fraction = in_own_spelling(Default("string", text), ColumnType("datetime")).text.partition(".")
    if kind.name == "date":
        day_and_clock = day_and_clock.removesuffix(" 00:00:00")
    fraction = fraction.rstrip("0")
    return date_literal(day_and_clock + ("." + fraction if fraction else ""), kind)


def _digits(kind: ColumnType) -> int:
    return kind.fraction_digits or 0


def _text(date: str, clock: str, fraction: str, kind: ColumnType) -> str:
    return date if kind.name == "date" else f"{date} {clock}" + ("." + fraction if fraction else "")
