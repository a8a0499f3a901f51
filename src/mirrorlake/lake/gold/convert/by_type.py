"""A column's old type and new one -> the Spark expression that converts values as the server does in an ALTER TABLE.

The server logs no rows for it. A strict server refuses an ALTER in which a value does not fit, so after one that is
in the log every value did; outside strict mode integers are clipped and texts cut. If a value could differ from the
server's, the conversion says for which rows (``fails``): with one of them the table needs a resync.
``tests/cases/ddl-convert*`` compares all of it with SELECT on real servers.

from                    to                       value
integer, year, bit      integer, decimal, bit    the number
integer, decimal        float, double            the nearest
decimal                 integer, decimal         rounded, halves away from zero
integer, year, bit,
decimal                 decimal of 39 digits     the digits as text with those of its scale; one that is rounded: resync
                        and more
float, double           integer                  rounded, halves to even; outside strict mode clipped
enum, set               integer, decimal         the number of the label, the sum of the members' bits
integer, decimal, year  text                     its digits
float, double           text, binary             as shown, where at most 6 and 15 digits; else resync
text                    integer, decimal         digits only, else resync; outside strict mode 0 for what is no number
text, enum, set         text                     the characters, cut to the length; CHAR without trailing spaces
text, enum, set         enum, set                the label, else resync; outside strict mode none for what is no label
text, enum, set, binary binary                   the bytes, padded to a BINARY's length: with zeros, by MySQL with
                                                 blanks where that is how it stores a CHAR (one byte each)
integer, decimal, year, binary                   as shown, in ASCII
date, datetime,
timestamp, time
binary                  text                     the characters, else resync
datetime, timestamp     date                     by the session's time zone; MySQL rounds a fraction first
date, datetime,         datetime, timestamp      by the session's time zone, a time that it has twice or never: resync;
timestamp                                        MySQL rounds a fraction, MariaDB cuts it
time, date, datetime,   text                     as shown
timestamp, json
time                    time                     as shown, with more or fewer digits of the fraction
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mirrorlake.core.ddl.parse.constants import constant
from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import BLOBS, TEXTS, ColumnType
from mirrorlake.core.sql_text import Sql, bytes_literal, literal
from mirrorlake.lake.gold.convert.column_values import value_of, wide_decimal
from mirrorlake.lake.gold.convert.conversion import Conversion, NotDerivable, any_of, family
from mirrorlake.lake.gold.convert.dates import moment_to_binary, moment_to_text, time_to_time, to_date, to_moment
from mirrorlake.lake.gold.convert.labels import label_to_number, to_enum, to_set
from mirrorlake.lake.gold.convert.numbers import (
    float_to_binary,
    float_to_text,
    text_to_number,
    to_bit,
    to_decimal,
    to_float,
    to_integer,
)
from mirrorlake.lake.gold.convert.texts import (
    binary_to_text,
    digits_as_binary,
    digits_as_text,
    shown_to_binary,
    shown_to_text,
    to_binary,
    to_text,
    with_blanks,
)
from mirrorlake.lake.gold.convert.time_text import time_zero

_ZEROS = {
    **dict.fromkeys(("integer", "year", "bit", "decimal", "float"), "0"),
    **dict.fromkeys(("text", "set", "enum"), "''"),
}


def conversion(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    """Convert a value of the old column. Raises NotDerivable."""
    if (old.generated, old.is_stored) != (new.generated, new.is_stored) and new.generated is not None:
        if new.generated != old.generated:
            raise NotDerivable(f"column {new.name} is computed by another expression")
    found = Conversion(value)
    if _value_type(old) != _value_type(new):
        convert = _CONVERSIONS.get((family(old.type), family(new.type)))
        if convert is None:
            raise NotDerivable(f"column {new.name} went from {old.type.sql()} to {new.type.sql()}")
        found = convert(_as_read(value, old, new, mode), old, new, mode)
    if new.is_auto_increment and not old.is_auto_increment:
        found = replace(found, fails=any_of(found.fails, f"{value} IS NULL", f"{value} = 0"))  # those rows get a number
    return _without_nulls(value, found, old, new, mode) if replaces_nulls(old, new, mode) else found


def _as_read(value: Sql, old: Column, new: Column, mode: ServerMode) -> Sql:
    """Convert a value that is not NULL. Raises NotDerivable."""
    if old.type.name != "char" or new.type.name == "char" or not mode.pads_char:
        return value
    if family(new.type) not in ("text", "binary"):
        raise NotDerivable(f"column {old.name} was read in sql_mode PAD_CHAR_TO_FULL_LENGTH")
    return with_blanks(value, old)


def replaces_nulls(old: Column, new: Column, mode: ServerMode) -> bool:
    """May rows have had a NULL that is now another value? In strict mode only in a TIMESTAMP, which
    gets the time of the statement (measured on MySQL 9.7 and MariaDB 10.11)."""
    return old.nullable and not new.nullable and (not mode.is_strict or new.type.name == "timestamp")


def _value_type(column: Column) -> tuple:
    """The properties of a column that determine its values."""
    collation = column.collation if column.type.labels else None  # by which MariaDB finds the label again
    return column.type, column.display if family(column.type) == "float" else (), collation


def _without_nulls(value: Sql, found: Conversion, old: Column, new: Column, mode: ServerMode) -> Conversion:
    """NULL becomes the type's zero, in a TIMESTAMP the time of the statement; on MariaDB it may become the DEFAULT that
    the column had (``core.ddl.effect.algorithm``)."""
    is_null = f"{value} IS NULL"
    unknown = replace(found, fails=any_of(found.fails, is_null))
    is_date, zero = new.type.name in ("date", "datetime"), _zero_for_null(new.type)
    if zero is None and not is_date:
        return unknown
    try:
        default = _default_for_null(old, mode)
    except NotDerivable:
        return unknown
    if default is not None and default != zero:
        known = mode.copies_rows is False and default != "NULL"
        return replace(found, sql=f"coalesce({found.sql}, {default})") if known else unknown
    return replace(found, invalid=is_null) if is_date else replace(found, sql=f"coalesce({found.sql}, {zero})")


def _zero_for_null(kind: ColumnType) -> Sql | None:
    """The zero of a type; None: a date, or not known."""
    if kind.name == "time":
        return literal(time_zero(kind.fraction_digits or 0))
    if kind.is_wide:
        return wide_decimal("0", kind)
    if family(kind) == "binary":
        return bytes_literal(bytes(kind.length or 0) if kind.name == "binary" else b"")
    return _ZEROS.get(family(kind))


def _default_for_null(old: Column, mode: ServerMode) -> Sql | None:
    """The DEFAULT that replaces NULL. None: NULL becomes the zero, as it does in rows that the ALTER copies, in a TEXT
    or BLOB, and in a DATE or DATETIME whose DEFAULT is the time of the statement. Raises NotDerivable."""
    default, name = old.default, old.type.name
    if mode.flavor == "mysql" or mode.copies_rows or default is None or default.kind == "null":
        return None
    if name in (*TEXTS, *BLOBS) or default.kind == "now" and name in ("date", "datetime"):
        return None
    value = constant(default.text) if default.kind == "expression" else default
    if value is None or value.kind == "now":
        raise NotDerivable(f"column {old.name}: its default as a value")
    return value_of(value, old, mode)


_NUMBERS = ("integer", "year", "bit", "decimal")
_LABELLED_TEXT = ("text", "enum", "set")
_MOMENTS = ("date", "datetime", "timestamp")
_CONVERSIONS: dict[tuple[str, str], Callable[[Sql, Column, Column, ServerMode], Conversion]] = {
    **{(old, "integer"): to_integer for old in (*_NUMBERS, "float")},
    **{(old, "decimal"): to_decimal for old in ("integer", "year", "bit", "decimal")},
    **{(old, "float"): to_float for old in ("integer", "year", "decimal", "float")},
    **{(old, "bit"): to_bit for old in ("integer", "bit")},
    **{(old, new): label_to_number for old in ("enum", "set") for new in ("integer", "decimal")},
    **{(old, "text"): digits_as_text for old in ("integer", "year", "decimal")},
    **{("text", new): text_to_number for new in ("integer", "decimal")},
    **{(old, "text"): to_text for old in _LABELLED_TEXT},
    **{(old, "enum"): to_enum for old in ("text", "enum")},
    ("set", "set"): to_set,
    **{(old, "binary"): to_binary for old in (*_LABELLED_TEXT, "binary")},
    **{(old, "binary"): digits_as_binary for old in ("integer", "year", "decimal")},
    ("float", "text"): float_to_text,
    ("float", "binary"): float_to_binary,
    **{(old, "binary"): moment_to_binary for old in _MOMENTS},
    ("time", "binary"): shown_to_binary,
    ("binary", "text"): binary_to_text,
    **{(old, "date"): to_date for old in ("datetime", "timestamp")},
    **{(old, "text"): moment_to_text for old in _MOMENTS},
    ("time", "time"): time_to_time,
    **{(old, "text"): shown_to_text for old in ("time", "json")},
    **{(old, new): to_moment for old in _MOMENTS for new in ("datetime", "timestamp")},
}
