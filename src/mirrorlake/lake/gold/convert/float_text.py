"""FLOAT and DOUBLE as the servers show them, in Spark SQL.

Both print the shortest digits that give the number again. Spark prints more for a few numbers. But if it prints no
more digits than every decimal number of the type keeps, there is only one such text.
"""

from __future__ import annotations

from mirrorlake.core.sql_text import Sql

_DIGITS = {"float": 6, "double": 15}  # FLT_DIG, DBL_DIG
_SMALLEST = {"float": "1e-37", "double": "1e-307"}
"""Smaller numbers have fewer digits than the type promises."""
_PLAIN_FROM, _PLAIN_BELOW = "1e-15", "1e15"
"""The servers show smaller and larger numbers with an exponent."""
_MYSQL_WIDTH = {"float": 12, "double": 24}
"""MySQL 9.7 also shows longer texts with an exponent; older versions have other limits."""


def shown_float(value: Sql, kind: str, flavor: str) -> tuple[Sql, Sql]:
    """Return (the text, condition for a number that may be shown otherwise). kind: ``float`` or ``double``."""
    text = f"CAST({value} AS string)"
    digits = f"regexp_replace(regexp_replace({text}, 'E.*$', ''), '(^-?0[.]0*)|[-.]|([.]?0+$)', '')"
    number = f"IF(abs({value}) < 1, {_as_decimal(text, 30)}, {_as_decimal(text, 16)})"
    plain = f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM {number}))"
    is_plain = f"abs({value}) >= {_PLAIN_FROM} AND abs({value}) < {_PLAIN_BELOW}"
    is_unclear = f"length({digits}) > {_DIGITS[kind]} OR {value} <> 0 AND abs({value}) < {_SMALLEST[kind]}"
    zero = "'0'"
    if flavor == "mysql":
        is_unclear += f" OR {is_plain} AND length({plain}) > {_MYSQL_WIDTH[kind]}"
        zero = f"IF({text} LIKE '-%', '-0', '0')"
    scientific = f"replace(replace({text}, '.0E', 'e'), 'E', 'e')"
    shown = f"CASE WHEN {value} = 0 THEN {zero} WHEN {is_plain} THEN {plain} ELSE {scientific} END"
    return shown, is_unclear


def _as_decimal(text: Sql, scale: int) -> Sql:
    return f"CAST(CAST({text} AS decimal(38,{scale})) AS string)"
