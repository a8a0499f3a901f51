"""What DDL makes of values that a mirror holds as text because they may be invalid.

Dates of the calendar are converted as others are. The zero date stays the zero date. What a server makes of the other
dates that no calendar has hangs on its sql_mode, and bytes that are no text are told from a text by their form alone:
with one of them that changes the table needs a resync.
"""

from __future__ import annotations

import re
from dataclasses import replace

from mirrorlake.core.schema.row_steps import ZERO, ServerMode
from mirrorlake.core.schema.tables import Column, Default
from mirrorlake.core.schema.types import DATED, STRINGS, ColumnType
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.column_values import value_of
from mirrorlake.lake.gold.conversion import Conversion, NotDerivable, any_of
from mirrorlake.lake.gold.conversions import conversion
from mirrorlake.lake.gold.date_text import date_literal, meant, shown, zero_date

_ZERO = re.compile(r"0000-00-00( 00:00:00([.]0{1,6})?)?")
_NO_TEXT = "{} RLIKE '^0x([0-9A-F]{2})+$'"


def text_of(default: Default, column: Column, mode: ServerMode) -> str:
    """``column_values.value_of``, as text. Raises NotDerivable."""
    kind, is_string = column.type, default.kind == "string"
    if kind.name not in DATED:
        return value_of(default, column, mode)
    if default.kind == ZERO or is_string and _ZERO.fullmatch(default.text):
        return zero_date(kind)
    if is_string and kind.name != "timestamp" and (text := date_literal(default.text, kind)):
        return text
    return shown(value_of(default, column, mode), kind)


def text_conversion(old: Column, new: Column, mode: ServerMode) -> Conversion:
    """``conversions.conversion`` of texts. Raises NotDerivable."""
    was_date, is_date = old.type.name in DATED, new.type.name in DATED
    if was_date and new.type.name in STRINGS:
        return _date_to_text(old, new, mode)
    if was_date != is_date:
        raise NotDerivable(f"column {new.name} went from {old.type.sql()} to {new.type.sql()}")
    found = conversion(old, new, mode)
    if was_date:
        changed = found if found.sql == "{}" and old.type == new.type else _date_to_date(found, old.type, new.type)
        zeros = f"coalesce({changed.sql}, {zero_date(new.type)})"
        return replace(changed, sql=zeros, invalid=None) if found.invalid else changed
    is_kept = found.sql == "{}" and new.type.name in STRINGS and old.type.charset == new.type.charset
    is_safe = is_kept or old.type.name not in STRINGS
    return found if is_safe else _stopped(found, _NO_TEXT, "a row may have bytes that are no text")


def _date_to_date(found: Conversion, old: ColumnType, new: ColumnType) -> Conversion:
    value, zero = meant("{}", old), zero_date(old)
    converted = shown(f"CAST({found.sql.replace('{}', value)} AS {spark_type(new)})", new)
    fails = found.fails and f"NOT {{}} <=> {zero} AND ({found.fails.replace('{}', value)})"
    return _stopped(
        Conversion(f"IF({{}} = {zero}, {zero_date(new)}, {converted})", fails),
        f"{{}} <> {zero} AND {value} IS NULL", "a row has a date that no calendar has",
    )  # fmt: skip


def _date_to_text(old: Column, new: Column, mode: ServerMode) -> Conversion:
    """A TIMESTAMP's by way of the session's time zone."""
    local = Conversion()
    if old.type.name == "timestamp":
        local = text_conversion(old, replace(old, type=replace(old.type, name="datetime")), mode)
    found = conversion(replace(old, type=ColumnType("time")), new, mode)  # of which a mirror always has the text
    fails = found.fails and found.fails.replace("{}", local.sql)
    return Conversion(found.sql.replace("{}", local.sql), any_of(local.fails, fails), local.reason)


def _stopped(found: Conversion, fails: str, reason: str) -> Conversion:
    return Conversion(found.sql, any_of(found.fails, fails), found.reason if found.fails else reason)
