"""Convert values that a mirror holds as text, because they may be invalid, as DDL does.

Valid dates are converted like other values. The zero date stays the zero date. The result for other dates that no
calendar has depends on the server's sql_mode, and only their form distinguishes invalid bytes from a text. If the DDL
changes one of these, the table needs a resync.
"""

from __future__ import annotations

import re
from dataclasses import replace

from mirrorlake.core.schema.row_steps import ZERO, ServerMode
from mirrorlake.core.schema.tables import Column, Default
from mirrorlake.core.schema.types import DATED, STRINGS, ColumnType
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.convert.by_type import conversion
from mirrorlake.lake.gold.convert.column_values import value_of
from mirrorlake.lake.gold.convert.conversion import Conversion, NotDerivable, any_of
from mirrorlake.lake.gold.convert.date_text import date_literal, meant, shown, zero_date

_ZERO = re.compile(r"0000-00-00( 00:00:00([.]0{1,6})?)?")
_NO_TEXT = "RLIKE '^0x([0-9A-F]{2})+$'"


def text_of(default: Default, column: Column, mode: ServerMode) -> Sql:
    """``column_values.value_of``, as text. Raises NotDerivable."""
    kind, is_string = column.type, default.kind == "string"
    if kind.name not in DATED:
        return value_of(default, column, mode)
    if default.kind == ZERO or is_string and _ZERO.fullmatch(default.text):
        return zero_date(kind)
    if is_string and kind.name != "timestamp" and (text := date_literal(default.text, kind)):
        return text
    return shown(value_of(default, column, mode), kind)


def text_conversion(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    """``by_type.conversion`` of texts. Raises NotDerivable."""
    was_date, is_date = old.type.name in DATED, new.type.name in DATED
    if was_date and new.type.name in STRINGS:
        return _date_to_text(value, old, new, mode)
    if was_date != is_date:
        raise NotDerivable(f"column {new.name} went from {old.type.sql()} to {new.type.sql()}")
    found = conversion(value, old, new, mode)
    if was_date:
        is_kept = found.sql == value and old.type == new.type
        changed = _kept_date(found, value, old, mode) if is_kept else _date_to_date(value, old, new, mode)
        zeros = f"coalesce({changed.sql}, {zero_date(new.type)})"
        return replace(changed, sql=zeros, invalid=None) if found.invalid else changed
    is_kept = found.sql == value and new.type.name in STRINGS and old.type.charset == new.type.charset
    is_safe = is_kept or old.type.name not in STRINGS
    return found if is_safe else _stopped(found, f"{value} {_NO_TEXT}", "a row may have bytes that are no text")


def _kept_date(found: Conversion, value: Sql, old: Column, mode: ServerMode) -> Conversion:
    if not mode.changes_dates:
        return found
    date, zero = meant(value, old.type), zero_date(old.type)
    return _stopped(found, f"{value} <> {zero} AND {date} IS NULL", "a row has a date that no calendar has")


def _date_to_date(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    date, zero = meant(value, old.type), zero_date(old.type)
    found = conversion(date, old, new, mode)
    converted = shown(f"CAST({found.sql} AS {spark_type(new.type)})", new.type)
    fails = found.fails and f"NOT {value} <=> {zero} AND ({found.fails})"
    return _stopped(
        Conversion(f"IF({value} = {zero}, {zero_date(new.type)}, {converted})", fails),
        f"{value} <> {zero} AND {date} IS NULL", "a row has a date that no calendar has",
    )  # fmt: skip


def _date_to_text(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    """Convert a date to text; a TIMESTAMP by way of the session's time zone."""
    local = Conversion(value)
    if old.type.name == "timestamp":
        local = text_conversion(value, old, replace(old, type=replace(old.type, name="datetime")), mode)
    shown_before = replace(old, type=ColumnType("time"))  # of which a mirror always has the text
    found = conversion(local.sql, shown_before, new, mode)
    return Conversion(found.sql, any_of(local.fails, found.fails), local.reason)


def _stopped(found: Conversion, fails: Sql, reason: str) -> Conversion:
    return Conversion(found.sql, any_of(found.fails, fails), found.reason if found.fails else reason)
