"""The functions of a DATE or DATETIME that a generated column's expression may use, MariaDB's -> Spark's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.generated.values import Kind, Value, number

_DAY_NUMBER_OF_EPOCH = 719528  # TO_DAYS('1970-01-01')
_LATEST_DAY_NUMBER = 3652424  # of 9999-12-31


def _of_date(function: Sql, low: int, high: int) -> Callable[[Value], Value]:
    def part(value: Value) -> Value:
        return number(f"{function}({_date(value).sql})", low, high, of=(value,))

    return part


def _of_time(function: Sql, high: int) -> Callable[[Value], Value]:
    def part(value: Value) -> Value:
        if value.kind is not Kind.DATETIME:
            raise NotDerivable(f"the time of a {value.kind.value}")
        return number(f"{function}({value.sql})", 0, high, of=(value,))

    return part


def _date(value: Value) -> Value:
    """A date value; an invalid one, which is NULL here, may have a day on the server, or none."""
    if value.kind not in (Kind.DATE, Kind.DATETIME):
        raise NotDerivable(f"the date of a {value.kind.value}")
    return replace(value, sql=f"CAST({value.sql} AS DATE)", kind=Kind.DATE, digits=0)


def _last_day(value: Value) -> Value:
    found = _date(value)
    return replace(found, sql=f"last_day({found.sql})", doubtful=found.doubts, carried=frozenset())


def _days(value: Value) -> Value:
    sql = f"(datediff({_date(value).sql}, DATE'1970-01-01') + {_DAY_NUMBER_OF_EPOCH})"
    return number(sql, 0, _LATEST_DAY_NUMBER, of=(value,))


def _days_between(one: Value, other: Value) -> Value:
    sql = f"datediff({_date(one).sql}, {_date(other).sql})"
    return number(sql, -_LATEST_DAY_NUMBER, _LATEST_DAY_NUMBER, of=(one, other))


OF_DATES: dict[str, Callable[..., Value]] = {
    "YEAR": _of_date("year", 0, 9999), "MONTH": _of_date("month", 0, 12), "QUARTER": _of_date("quarter", 0, 4),
    **dict.fromkeys(("DAY", "DAYOFMONTH"), _of_date("day", 0, 31)), "DAYOFYEAR": _of_date("dayofyear", 0, 366),
    "DAYOFWEEK": _of_date("dayofweek", 0, 7), "WEEKDAY": _of_date("weekday", 0, 6),
    "TO_DAYS": _days, "DATEDIFF": _days_between, "LAST_DAY": _last_day, "DATE": _date, "CAST DATE": _date,
    "HOUR": _of_time("hour", 23), "MINUTE": _of_time("minute", 59), "SECOND": _of_time("second", 59),
}  # fmt: skip
"""Functions by name; ``CAST DATE`` is CAST(value AS DATE)."""
