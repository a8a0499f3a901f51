"""Conversions of and to numbers."""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import ColumnType, integer_range
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.convert.charsets import blank
from mirrorlake.lake.gold.convert.conversion import Conversion, NotDerivable, any_of, family, unless_null
from mirrorlake.lake.gold.convert.float_text import shown_float
from mirrorlake.lake.gold.convert.texts import in_ascii, into_bytes, into_text

_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10, "bigint": 20}
_EXACT = 2**53
"""A DOUBLE is exact for every integer up to here."""
_LARGEST_FLOAT = "3.4028234663852886E38D"


def to_integer(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    in_digits = f"CAST({value} AS decimal(38,0))" if old.type.is_wide else f"round({value}, 0)"
    rounded = {"decimal": in_digits, "float": f"rint({value})"}.get(family(old.type), value)
    if family(old.type) == "float":
        low, high = integer_range(new.type) or (0, 0)
        if mode.is_strict:
            return Conversion(rounded, f"{value} > {_EXACT}" if high >= 2**63 else None)  # Spark takes its digits
        if high > _EXACT:
            return Conversion(rounded, any_of(f"abs({rounded}) > {_EXACT}", f"{value} < 0" if low == 0 else None))
        wraps = f"{value} >= {2**63}D" if mode.flavor == "mysql" and old.type.name == "float" else None
        return Conversion(unless_null(value, f"least(greatest({rounded}, {low}), {high})"), wraps)
    if mode.is_strict or integer_range(new.type) == integer_range(old.type):
        return Conversion(rounded)
    low, high = integer_range(new.type)
    if mode.flavor == "mysql" and old.type.name == "decimal" and not old.type.unsigned:
        high = min(high, 2**63 - 1)  # also of BIGINT UNSIGNED
    return Conversion(unless_null(value, f"least(greatest(CAST({rounded} AS decimal(38,0)), {low}), {high})"))


def to_decimal(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    if new.type.is_wide:
        return _to_wide(value, old, new, mode)
    if mode.is_strict or old.type.is_wide:
        return _checked(value, value, new, mode)
    if _has_room(old.type, new.type):
        return Conversion(value)
    scale = new.type.scale or 0
    largest = "9" * (new.type.precision - scale) + ("." + "9" * scale if scale else "")
    number = value if family(old.type) == "decimal" else f"CAST({value} AS decimal(20,0))"
    return Conversion(
        unless_null(
            value,
            f"least(greatest(round({number}, {scale}), {'0' if new.type.unsigned else '-' + largest}), {largest})",
        )
    )


def _to_wide(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    """As the text of the digits that the server shows; fails for a value that it rounds or clips."""
    scale, before, shown = new.type.scale or 0, old.type.scale or 0, f"CAST({value} AS string)"
    fails = None if mode.is_strict or _has_digits(old.type, new.type) else "true"
    if scale >= before:
        point = "." if scale and not before else ""
        return Conversion(f"concat({shown}, '{point}{'0' * (scale - before)}')", fails)
    lost = before - scale
    cut = f"substring({shown}, 1, length({shown}) - {lost if scale else lost + 1})"
    return Conversion(cut, any_of(fails, f"NOT {shown} LIKE '%{'0' * lost}'"))


def to_float(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    if new.display or old.display and family(old.type) == "float":
        raise NotDerivable(f"column {new.name} has a FLOAT with a number of digits")
    sql = value if family(old.type) == "float" else f"CAST({value} AS double)"
    may_be_larger = new.type.name == "float" and (old.type.name == "double" or old.type.is_wide)
    if may_be_larger and not mode.is_strict:
        sql = unless_null(value, f"least(greatest({sql}, -{_LARGEST_FLOAT}), {_LARGEST_FLOAT})")
    return _checked(value, sql, new, mode)


def float_to_text(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    sql, fails = _shown(value, old, mode)
    found = into_text(sql, new, mode)
    return replace(found, fails=any_of(found.fails, fails))


def float_to_binary(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    sql, fails = _shown(value, old, mode)
    return into_bytes(in_ascii(sql), new, mode, fails)


def _shown(value: Sql, old: Column, mode: ServerMode) -> tuple[Sql, Sql]:
    if old.display or old.is_zerofill:
        raise NotDerivable(f"column {old.name} was a FLOAT with a number of digits")
    return shown_float(value, old.type.name, mode.flavor)


def to_bit(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    """A negative number has 64 bits. What has more bits than the column sets all of them."""
    n_bits = new.type.length or 1
    if n_bits == 64:
        return Conversion(f"CAST({value} AS decimal(20,0)) + IF({value} < 0, {2**64}, 0)")
    if mode.is_strict:
        return Conversion(value)
    return Conversion(unless_null(value, f"IF({value} BETWEEN 0 AND {2**n_bits - 1}, {value}, {2**n_bits - 1})"))


def text_to_number(value: Sql, old: Column, new: Column, mode: ServerMode) -> Conversion:
    if new.type.is_wide:
        raise NotDerivable(f"column {new.name} went from text to a DECIMAL of more than 38 digits")
    digits = r"'^-?[0-9]{1,38}$'" if family(new.type) == "integer" else r"'^-?[0-9]{1,38}([.][0-9]{1,38})?$'"
    kind = spark_type(new.type)
    sql = f"CAST({value} AS {kind})"
    fails = any_of(
        f"NOT {value} RLIKE {digits}",
        f"{value} IS NOT NULL AND try_cast({value} AS {kind}) IS NULL",
        _outside(value, new),
    )
    if mode.is_strict:
        return Conversion(sql, fails)
    is_number = rf"{value} RLIKE '^[\\s{blank(old.type.charset)}]*[+-]?[.]?[0-9]'"
    return Conversion(f"IF(NOT {is_number}, 0, {sql})", f"{is_number} AND ({fails})")


def _checked(value: Sql, sql: Sql, new: Column, mode: ServerMode) -> Conversion:
    """A strict server has made sure that the value fits; for others it must be checked."""
    if mode.is_strict:
        return Conversion(sql)
    too_large = f"{value} IS NOT NULL AND try_cast({sql} AS {spark_type(new.type)}) IS NULL"
    return Conversion(sql, any_of(too_large, f"({sql}) < 0" if new.type.unsigned else None))


def _has_room(old: ColumnType, new: ColumnType) -> bool:
    """Does every number of the old type fit?"""
    return _has_digits(old, new) and (new.scale or 0) >= (old.scale or 0)


def _has_digits(old: ColumnType, new: ColumnType) -> bool:
    """Does every number of the old type fit without its fraction?"""
    if new.unsigned and not old.unsigned:
        return False
    whole = old.precision - (old.scale or 0) if old.name == "decimal" else _INTEGER_DIGITS.get(old.name, 20)
    return new.precision - (new.scale or 0) >= whole


def _outside(value: Sql, new: Column) -> Sql | None:
    bounds = integer_range(new.type)
    return bounds and f"try_cast({value} AS decimal(38,0)) NOT BETWEEN {bounds[0]} AND {bounds[1]}"
