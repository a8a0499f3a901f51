"""A row as one text, by two expressions: in the server's SQL for its table, in Spark's for the mirror.

The texts of two rows are equal exactly if the mirror's row is the correct mirror of the source's.

The text of a value: numbers in decimal digits; FLOAT and DOUBLE as the 16 hexadecimal digits of the double, because
two programs may show one number differently; dates and times as the server shows them in UTC; strings of characters or
bytes as their SHA-256, which bounds the text of a row; ``-`` for NULL. Commas separate values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import BLOBS, DATED, INTEGERS, LABELLED, MAX_DECIMAL_DIGITS, STRINGS, ColumnType
from mirrorlake.core.sql_text import Sql, literal, quote, server_literal

BITS = "mirrorlake_double_bits"
NULL_TEXT = "'-'"
_OF_CALENDAR = "YEAR({0}) > 0 AND DAY({0}) BETWEEN 1 AND DAY(LAST_DAY({0}))"
"""Condition for a date that a mirror can hold: no zero date, no 30th of February, no year 0."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """One expression in the SQL of both sides."""

    source: Sql
    mirror: Sql

    def of(self, inner: Spelled) -> Spelled:
        return Spelled(self.source.format(inner.source), self.mirror.format(inner.mirror))

    def of_column(self, name: str) -> Spelled:
        return self.of(Spelled(quote(name), quote(name)))


_DIGITS = Spelled("CAST({0} + 0 AS CHAR)", "CAST({0} AS string)")
SHOWN = Spelled("CAST({0} AS CHAR)", "CAST({0} AS string)")
_DOUBLE = Spelled(
    "HEX(REVERSE(SUBSTRING(ST_AsBinary(POINT({0} * 1e0, 0)), 6, 8)))",  # x in WKB; * keeps the sign of -0
    f"IF({{0}} IS NULL, NULL, lpad(hex({BITS}(CAST({{0}} AS double))), 16, '0'))",  # the function has no NULL
)
_BYTES = Spelled("SHA2({0}, 256)", "sha2({0}, 256)")  # MySQL 9.7 has no MD5 by itself
_TEXT = Spelled("SHA2(CONVERT({0} USING utf8mb4), 256)", "sha2(CAST({0} AS binary), 256)")
_HASHES = [  # of 12, 24, ... 60 bits
    Spelled(f"CONV(LEFT(SHA2({{0}}, 256), {n}), 16, 10)", f"conv(left(sha2({{0}}, 256), {n}), 16, 10)")
    for n in (3, 6, 9, 12, 15)
]
FINEST = len(_HASHES) - 1
"""The level of the smallest parts: all rows of one have the same hash."""
_FIRST = Spelled("LEFT({0}, 1000)", "left({0}, 1000)")
VALUE_BYTES, KEY_BYTES = 80, 4096
"""Of the text of a value in ``row_text``, and of a key in ``key_shown``, at most."""


def row_text(columns: Sequence[Column], *, as_text: bool) -> Spelled:
    """The text of a row. as_text: the mirror holds dates as text."""
    cells = [_value_text(column.type, column.is_zerofill, as_text).of_column(column.name) for column in columns]
    cells = cells or [Spelled("NULL", "NULL")]
    return Spelled(
        "CONCAT_WS(',', " + ", ".join(f"COALESCE({cell.source}, {NULL_TEXT})" for cell in cells) + ")",
        "concat_ws(',', " + ", ".join(f"coalesce({cell.mirror}, {NULL_TEXT})" for cell in cells) + ")",
    )


def key_shown(columns: Sequence[Column]) -> Spelled:
    """A key for a person: ``id=5, part=00FF``, bytes in hexadecimal digits; its first 1,000 characters."""
    cells = [(f"{c.name}=", _shown(c.type.name).of_column(c.name)) for c in columns]
    shown = Spelled(
        "CONCAT_WS(', ', " + ", ".join(f"CONCAT({server_literal(name)}, {cell.source})" for name, cell in cells) + ")",
        "concat_ws(', ', " + ", ".join(f"concat({literal(name)}, {cell.mirror})" for name, cell in cells) + ")",
    )
    return _FIRST.of(shown)


def hash_of(text: Spelled) -> Spelled:
    """A hash of 60 bits, as decimal digits."""
    return _HASHES[FINEST].of(text)


def part_of(text: Spelled, level: int) -> Spelled:
    """The number of the part that a row belongs to, as decimal digits: of 4096, which have 4096 of the next level
    each."""
    return _HASHES[level].of(text)


def register_functions(session: SparkSession) -> None:
    """Register functions that the mirror's expression needs and Spark does not have."""
    bits = F.pandas_udf(_double_bits, "bigint")  # type: ignore[call-overload]  # its stubs ask for more than it does
    session.udf.register(BITS, bits)


def _double_bits(values: pd.Series) -> pd.Series:
    return pd.Series(np.ascontiguousarray(values.to_numpy(np.float64)).view(np.int64))


def _value_text(kind: ColumnType, is_zerofill: bool, as_text: bool) -> Spelled:
    name = kind.name
    if name in (*INTEGERS, "year", "bit"):
        return _DIGITS
    if name == "decimal":
        is_number = (kind.precision or 0) <= MAX_DECIMAL_DIGITS
        return _DIGITS if is_zerofill and is_number else SHOWN
    if name in ("float", "double"):
        return _DOUBLE
    if name in DATED:
        return SHOWN if as_text else Spelled(f"IF({_OF_CALENDAR}, CAST({{0}} AS CHAR), NULL)", _moment(kind))
    if name in (*STRINGS, *LABELLED, "json"):
        return _TEXT
    if name in ("binary", "varbinary", *BLOBS, "geometry", "vector"):
        return _BYTES
    return SHOWN  # time, uuid, inet6, inet4


def _shown(name: str) -> Spelled:
    if name in ("binary", "varbinary"):
        return Spelled("HEX({0})", "hex({0})")
    return _DIGITS if name in (*INTEGERS, "year", "bit") else SHOWN


def _moment(kind: ColumnType) -> Sql:
    if kind.name == "date":
        return "CAST({0} AS string)"
    fraction = "." + "S" * kind.fraction_digits if kind.fraction_digits else ""
    return f"date_format({{0}}, 'yyyy-MM-dd HH:mm:ss{fraction}')"
