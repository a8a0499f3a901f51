"""Arithmetic and comparisons of numbers in a generated column's expression, as MariaDB does them.

Integers are 64 bits wide there, unsigned with one unsigned operand. A result outside of this range is an error, so that
no row has it; but in a VIRTUAL column that an ALTER adds MariaDB shows 0: such a row fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mirrorlake.core.schema.types import MAX_DECIMAL_DIGITS
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.generated.values import INT64, Kind, Value, condition, number


def numbers(*values: Value) -> tuple[Value, ...]:
    """Check that values are numbers; NULL counts as one. Raises NotDerivable for anything else."""
    wrong = next((value for value in values if value.kind not in (Kind.NUMBER, Kind.NULL)), None)
    if wrong:
        raise NotDerivable(f"a calculation with a {wrong.kind.value}")
    return tuple(number("NULL", 0, 0) if value.kind is Kind.NULL else value for value in values)


def compared(left: Value, operator: Sql, right: Value) -> Value:
    left, right = numbers(left, right)
    digits = max(left.precision - left.scale, right.precision - right.scale) + max(left.scale, right.scale)
    if digits > MAX_DECIMAL_DIGITS:
        raise NotDerivable("a comparison of numbers of more than 38 digits")
    return condition(f"{left.sql} {'<>' if operator == '!=' else operator} {right.sql}", left, right)


def negative(value: Value) -> Value:
    (value,) = numbers(value)
    return _in_range(number(f"(- {_wide(value)})", -value.high, -value.low, value.scale, of=(value,)))


def absolute(value: Value) -> Value:
    (value,) = numbers(value)
    high = max(abs(value.low), abs(value.high))
    low = 0 if value.low <= 0 <= value.high else min(abs(value.low), abs(value.high))
    return _in_range(number(f"abs({_wide(value)})", low, high, value.scale, unsigned=value.unsigned, of=(value,)))


def _wide(value: Value) -> Sql:
    """The value as DECIMAL, if it may be the lowest BIGINT, which has no opposite."""
    return value.decimal() if value.low == INT64[0] or not value.is_bigint else value.sql


def _added(left: Value, right: Value) -> Value:
    return _summed(left, "+", right, lambda a, b: (a.low + b.low, a.high + b.high))


def _subtracted(left: Value, right: Value) -> Value:
    return _summed(left, "-", right, lambda a, b: (a.low - b.high, a.high - b.low))


def _summed(left: Value, operator: Sql, right: Value, bounds: Callable[[Value, Value], tuple[int, int]]) -> Value:
    left, right = numbers(left, right)
    scale = max(left.scale, right.scale)
    aligned = [_aligned(value, scale) for value in (left, right)]
    low, high = bounds(*aligned)
    whole = max(value.precision - value.scale for value in aligned) + 1
    _refuse_wide(whole + scale)
    return _result(left, operator, right, low, high, scale)


def _aligned(value: Value, scale: int) -> Value:
    """The value with bounds in units of another scale; only bounds and scale are used."""
    unit = 10 ** (scale - value.scale)
    return Value(value.sql, Kind.NUMBER, value.low * unit, value.high * unit, scale)


def _multiplied(left: Value, right: Value) -> Value:
    left, right = numbers(left, right)
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    _refuse_wide(left.precision + right.precision + 1)
    return _result(left, "*", right, min(corners), max(corners), left.scale + right.scale)


def _result(left: Value, operator: Sql, right: Value, low: int, high: int, scale: int) -> Value:
    is_small = scale == 0 and INT64[0] <= low and high <= INT64[1] and left.is_bigint and right.is_bigint
    one, other = (value.sql if is_small else value.decimal() for value in (left, right))
    unsigned = scale == 0 and (left.unsigned or right.unsigned)
    return _in_range(number(f"({one} {operator} {other})", low, high, scale, unsigned=unsigned, of=(left, right)))


def _in_range(value: Value) -> Value:
    low, high = (0, 2**64 - 1) if value.unsigned else INT64
    if value.scale or low <= value.low and value.high <= high:
        return value
    return replace(value, fails=(*value.fails, f"{value.sql} NOT BETWEEN {low}BD AND {high}BD"))


def _divided(left: Value, right: Value) -> Value:
    """DIV. Division by 0 is NULL."""
    left, right = _integers(left, right)
    high = max(abs(left.low), abs(left.high))
    low = 0 if left.low >= 0 and right.low >= 0 else -high
    return _unless_zero(f"({left.sql} DIV {right.sql})", low, high, left, right)


def _remainder(left: Value, right: Value) -> Value:
    """MOD, with the sign of the dividend."""
    left, right = _integers(left, right)
    high = max(abs(right.low), abs(right.high))
    return _unless_zero(f"({left.sql} % {right.sql})", 0 if left.low >= 0 else -high, high, left, right)


def _integers(*values: Value) -> tuple[Value, ...]:
    found = numbers(*values)
    if not all(value.is_bigint and value.low > INT64[0] for value in found):
        raise NotDerivable("a division of numbers that are no BIGINT")
    return found


def _unless_zero(sql: Sql, low: int, high: int, left: Value, right: Value) -> Value:
    unsigned = left.unsigned or right.unsigned
    return number(f"IF({right.sql} = 0, NULL, {sql})", low, high, unsigned=unsigned, of=(left, right))


def _refuse_wide(digits: int) -> None:
    if digits > MAX_DECIMAL_DIGITS:
        raise NotDerivable("a number of more than 38 digits")


OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "+": _added, "-": _subtracted, "*": _multiplied, "%": _remainder, "MOD": _remainder, "DIV": _divided,
}  # fmt: skip
