"""TIME values, which a mirror holds as the text that the server shows, in Spark SQL."""

from __future__ import annotations

import re

from mirrorlake.core.sql_text import Sql, literal

_TIME = re.compile(r"(-?)([0-9]{2,3}):([0-5][0-9]):([0-5][0-9])(?:[.]([0-9]{1,6}))?")
_END_H = 839  # a TIME is below 839 hours


def time_zero(digits: int) -> str:
    return "00:00:00" + ("." + "0" * digits if digits else "")


def time_default(text: str, digits: int) -> str | None:
    """A default as a column with ``digits`` fraction digits shows it; None if only the server can read the text."""
    found = _TIME.fullmatch(text)
    if not found or int(found[2]) >= _END_H or len(found[5] or "") > digits:
        return None
    whole = text.partition(".")[0]
    return whole + ("." + (found[5] or "").ljust(digits, "0") if digits else "")


def with_digits(value: Sql, old: int, new: int, truncates: bool) -> Sql:
    """The value with ``new`` fraction digits instead of ``old``. truncates: else it rounds, halves away from zero."""
    if new >= old:
        return f"concat({value}, {literal(time_zero(new)[len(time_zero(old)) :])})"
    parts = f"split(trim(LEADING '-' FROM {value}), '[:.]')"
    hours, minutes, seconds, fraction = (f"CAST({parts}[{i}] AS bigint)" for i in range(4))
    step = 10 ** (old - new)
    units = f"(({hours} * 60 + {minutes}) * 60 + {seconds}) * {10**old} + {fraction}"
    rounded = f"(({units}) + {0 if truncates else step // 2}) DIV {step}"
    shown = _shown(value, f"least({rounded}, {_END_H * 3600 * 10**new - 1})", new)
    return f"IF({value} IS NULL, NULL, {shown})"  # least() ignores NULL


def _shown(value: Sql, units: Sql, digits: int) -> Sql:
    """The text of a TIME. units: number of units of the last digit. -0 has no sign."""
    seconds = f"({units} DIV {10**digits})"
    hours = f"CAST({seconds} DIV 3600 AS string)"
    text = [
        f"IF({value} LIKE '-%' AND {units} <> 0, '-', '')",
        f"lpad({hours}, greatest(2, length({hours})), '0')",
        f"lpad(CAST({seconds} DIV 60 % 60 AS string), 2, '0')",
        f"lpad(CAST({seconds} % 60 AS string), 2, '0')",
    ]
    sql = f"concat({text[0]}, {text[1]}, ':', {text[2]}, ':', {text[3]}"
    return sql + (f", '.', lpad(CAST({units} % {10**digits} AS string), {digits}, '0'))" if digits else ")")
