"""A default in another notation than its type's own -> in its own, if both servers read it the same way.

Measured on MySQL 9.7 and MariaDB 10.11: a number with a fraction rounds to an integer, halves away from zero; years of
two digits begin with 1970; dates and times may leave out zeros, have other separators between their numbers, or none.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import ROUND_HALF_UP, Decimal

from mirrorlake.core.digits import is_number
from mirrorlake.core.schema.tables import Default
from mirrorlake.core.schema.types import ColumnType
from mirrorlake.lake.gold.convert.conversion import family

_FIXED = re.compile(r"(-?)([0-9]*)(?:[.]([0-9]*))?")
_FLOATING = re.compile(r"-?[0-9]*(?:[.][0-9]*)?[eE][+-]?[0-9]{1,2}")
_EXACT = 2**53
"""Integers up to here are as exact as doubles."""
_MOST_DIGITS = 20  # of BIGINT UNSIGNED
_PLAIN_DATE = re.compile(r"([0-9]{2}|[0-9]{4})([0-9]{2})([0-9]{2})(?:([0-9]{2})([0-9]{2})([0-9]{2}))?")
_DATE = re.compile(
    r"([0-9]{2}|[0-9]{4})[-/.:]([0-9]{1,2})[-/.:]([0-9]{1,2})"
    r"(?:[ T]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})([.][0-9]{1,6})?)?)?"
)
_PLAIN_TIME = re.compile(r"(-?)([0-9]{1,3}?)([0-9]{2})([0-9]{2})")
_TIME = re.compile(r"(-?)(?:([0-9]{1,2}) )?([0-9]{1,3}):([0-5]?[0-9])(?::([0-5]?[0-9])([.][0-9]{1,6})?)?")
_LAST_OF_2000 = 69


def in_own_spelling(default: Default, kind: ColumnType) -> Default:
    """The default in its type's own notation; unchanged if it is already, or if its value is not known."""
    if default.kind not in ("number", "string"):
        return default
    found = _read(default.text, default.kind == "number", kind)
    if found is None:
        return default
    return Default(default.kind if family(kind) == "integer" else "string", found)


def _read(text: str, is_number: bool, kind: ColumnType) -> str | None:
    group = family(kind)
    if kind.name == "time":
        return _time(text)
    if kind.name in ("date", "datetime", "timestamp"):
        return _date(text, kind.name, is_number)
    if group == "year":
        return _year(text, is_number)
    if is_number and group == "integer":
        return _integer(text)
    return _fraction(text) if is_number and group == "text" else None


def _integer(text: str) -> str | None:
    if _FLOATING.fullmatch(text):
        value = Decimal(text)
        return str(int(value)) if value == int(value) and abs(value) < _EXACT else None
    found = _FIXED.fullmatch(text)
    if not found or len(found[2].lstrip("0")) > _MOST_DIGITS:
        return None
    return str(int(Decimal(text).quantize(Decimal(1), ROUND_HALF_UP)))


def _fraction(text: str) -> str | None:
    """A number with a fraction as text. One with an exponent is a double, which each server shows differently."""
    found = _FIXED.fullmatch(text)
    if not found or "." not in text or not any(digit in text for digit in "123456789"):
        return None
    return f"{found[1]}{found[2] or 0}" + (f".{found[3]}" if found[3] else "")


def _year(text: str, is_number: bool) -> str | None:
    if not re.fullmatch("[0-9]{1,2}", text) or (is_number and int(text) == 0):
        return None
    return str(_whole_year(text.rjust(2, "0")))


def _whole_year(digits: str) -> int:
    year = int(digits)
    if len(digits) == 4:
        return year
    return year + (2000 if year <= _LAST_OF_2000 else 1900)


def _date(text: str, name: str, is_number: bool) -> str | None:
    if name != "date" and is_number and len(text) not in (8, 14):
        return None
    found = _PLAIN_DATE.fullmatch(text) or (None if is_number else _DATE.fullmatch(text))
    if not found or found[4] and name == "date":
        return None
    year, month, day = _whole_year(found[1]), int(found[2]), int(found[3])
    hour, minute, second = (int(part or 0) for part in found.groups()[3:6])
    try:
        dt.datetime(year, month, day, hour, minute, second)
    except ValueError:
        return None
    shown = f"{year:04d}-{month:02d}-{day:02d}"
    if not found[4]:
        return shown
    fraction = (found[7] or "") if found.re is _DATE else ""
    return f"{shown} {hour:02d}:{minute:02d}:{second:02d}{fraction}"


def _time(text: str) -> str | None:
    found = _TIME.fullmatch(text)
    if found:
        hours = 24 * int(found[2] or 0) + int(found[3])
        return f"{found[1]}{hours:02d}:{int(found[4]):02d}:{int(found[5] or 0):02d}{found[6] or ''}"
    plain = _PLAIN_TIME.fullmatch(text.rjust(5, "0") if is_number(text) else text)
    if not plain or int(plain[3]) > 59 or int(plain[4]) > 59:
        return None
    return f"{plain[1]}{int(plain[2]):02d}:{plain[3]}:{plain[4]}"


def shown_json(text: str) -> str | None:
    """A document as MySQL shows it. None for numbers with a fraction: they are doubles, which MySQL shows
    differently."""
    try:
        document = json.loads(text, parse_float=_unknown, parse_constant=_unknown)
        return json.dumps(_in_order(document), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None


def _unknown(text: str) -> None:
    raise ValueError(text)


def _in_order(value):
    """Keys by their length in bytes, then by their bytes."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        return {key: _in_order(value[key]) for key in keys}
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    return value if not isinstance(value, int) or abs(value) < 2**63 else _unknown("a large number")
