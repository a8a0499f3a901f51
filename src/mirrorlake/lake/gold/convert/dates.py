"""Conversions of dates and times."""

from __future__ import annotations

from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.convert.conversion import Conversion, NotDerivable, any_of
from mirrorlake.lake.gold.convert.date_text import shown
from mirrorlake.lake.gold.convert.texts import in_ascii, into_bytes, into_text
from mirrorlake.lake.gold.convert.time_text import with_digits
from mirrorlake.lake.gold.convert.time_zones import from_utc, to_utc

_FIRST_TIMESTAMP, _LAST_TIMESTAMP = "TIMESTAMP'1970-01-01 00:00:01'", "TIMESTAMP'2038-01-19 03:14:07'"
_AFTER_THE_LAST = {
    **dict.fromkeys(("date", "datetime"), "year({}) > 9999"),
    "timestamp": "{} IN (TIMESTAMP'2038-01-19 03:14:08', TIMESTAMP'2106-02-07 06:28:16')",
}
"""True for a moment that was rounded up to one that its type lacks. The end of TIMESTAMP depends on the server."""
_HALF_A_SECOND = " + INTERVAL '0.5' SECOND"


def to_date(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    local = _local(value, old, mode)
    is_cut = mode.flavor == "mariadb" or mode.truncates_fractions or not old.type.fraction_digits
    sql = f"CAST({local}{'' if is_cut else _HALF_A_SECOND} AS date)"
    return Conversion(sql, None if is_cut or mode.is_strict else _AFTER_THE_LAST["date"].format(sql))


def to_moment(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    is_unsure = None
    sql = f"CAST({value} AS timestamp_ntz)" if old.type.name == "date" else value
    if old.type.name == "timestamp" and new.type.name == "datetime":
        sql = _local(sql, old, mode)
    if old.type.name != "timestamp" and new.type.name == "timestamp":
        found = to_utc(sql, mode.time_zone)
        if found is None:
            raise NotDerivable(f"column {new.name} depends on time zone {mode.time_zone}")
        sql, is_unsure = found
    digits = new.type.fraction_digits or 0
    if digits < (old.type.fraction_digits or 0):
        sql = _fewer_digits(sql, digits, new, mode)
        if not (mode.is_strict or mode.truncates_fractions):
            is_unsure = any_of(is_unsure, _AFTER_THE_LAST[new.type.name].format(sql))
    if new.type.name != "timestamp" or old.type.name == "timestamp":
        return Conversion(sql, is_unsure)
    beyond = f"CAST({sql} AS timestamp) NOT BETWEEN {_FIRST_TIMESTAMP} AND {_LAST_TIMESTAMP}"
    return Conversion(sql, any_of(is_unsure, None if mode.is_strict else beyond))


def moment_to_text(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    return into_text(shown(_local(value, old, mode), old.type), new, mode)


def moment_to_binary(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    return into_bytes(in_ascii(shown(_local(value, old, mode), old.type)), new, mode)


def time_to_time(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    return Conversion(
        with_digits(value, old.type.fraction_digits or 0, new.type.fraction_digits or 0, mode.truncates_fractions)
    )


def _local(sql: Sql, old: Column, mode: ServerMode) -> Sql:
    if old.type.name != "timestamp":
        return sql
    found = from_utc(sql, mode.time_zone)
    if found is None:
        raise NotDerivable(f"column {old.name} depends on time zone {mode.time_zone}")
    return found


def _fewer_digits(sql: Sql, digits: int, new: Column, mode: ServerMode) -> Sql:
    unit = 10 ** (6 - digits)
    micros = f"unix_micros(CAST({sql} AS timestamp))" + ("" if mode.truncates_fractions else f" + {unit // 2}")
    return f"CAST(timestamp_micros(({micros}) - pmod({micros}, {unit})) AS {spark_type(new.type)})"
