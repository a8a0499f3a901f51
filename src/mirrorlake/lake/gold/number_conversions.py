"""Conversions of and to numbers."""

from __future__ import annotations

from dataclasses import replace

from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import INTEGER_BYTES, MAX_DECIMAL_DIGITS, ColumnType
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.conversion import Conversion, NotDerivable, any_of, family, unless_null
from mirrorlake.lake.gold.float_text import shown_float
from mirrorlake.lake.gold.text_conversions import in_ascii, into_bytes, into_text

_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10, "bigint": 20}


def to_integer(old: Column, new: Column, mode: ServerMode) -> Conversion:
    rounded = {"decimal": "round({}, 0)", "float": "rint({})"}.get(family(old.type), "{}")
    if family(old.type) == "float":
        low, high = _integer_range(new.type) or (0, 0)
        if mode.is_strict:
            return Conversion(rounded, "{} > 9007199254740992" if high >= 2**63 else None)  # Spark takes its digits
        if high > 2**53:
            return Conversion(rounded, any_of(f"abs({rounded}) > 9007199254740992", "{} < 0" if low == 0 else None))
        return Conversion(unless_null(f"least(greatest({rounded}, {low}), {high})"))
    if mode.is_strict or _integer_range(new.type) == _integer_range(old.type):
        return Conversion(rounded)
    low, high = _integer_range(new.type)
    return Conversion(unless_null(f"least(greatest(CAST({rounded} AS decimal(38,0)), {low}), {high})"))


def to_decimal(old: Column, new: Column, mode: ServerMode) -> Conversion:
    if mode.is_strict or MAX_DECIMAL_DIGITS < max(old.type.precision or 0, new.type.precision or 0):
        return _checked("{}", new, mode)
    if _has_room(old.type, new.type):
        return Conversion()
    scale = new.type.scale or 0
    largest = "9" * (new.type.precision - scale) + ("." + "9" * scale if scale else "")
    number = "{}" if family(old.type) == "decimal" else "CAST({} AS decimal(20,0))"
    return Conversion(
        unless_null(
            f"least(greatest(round({number}, {scale}), {'0' if new.type.unsigned else '-' + largest}), {largest})"
        )
    )


def to_float(old: Column, new: Column, mode: ServerMode) -> Conversion:
    if new.display or old.display and family(old.type) == "float":
        raise NotDerivable(f"column {new.name} has a FLOAT with a number of digits")
    return _checked("{}" if family(old.type) == "float" else "CAST({} AS double)", new, mode)


def float_to_text(old: Column, new: Column, mode: ServerMode) -> Conversion:
    sql, fails = _shown(old, mode)
    found = into_text(sql, new, mode)
    return replace(found, fails=any_of(found.fails, fails))


def float_to_binary(old: Column, new: Column, mode: ServerMode) -> Conversion:
    sql, fails = _shown(old, mode)
    return into_bytes(in_ascii(sql), new, mode, fails)


def _shown(old: Column, mode: ServerMode) -> tuple[str, str]:
    if old.display or old.is_zerofill:
        raise NotDerivable(f"column {old.name} was a FLOAT with a number of digits")
    return shown_float(old.type.name, mode.flavor)


def to_bit(old: Column, new: Column, mode: ServerMode) -> Conversion:
    """A negative number has 64 bits. What has more bits than the column sets all of them."""
    n_bits = new.type.length or 1
    if n_bits == 64:
        return Conversion(f"CAST({{}} AS decimal(20,0)) + IF({{}} < 0, {2**64}, 0)")
    if mode.is_strict:
        return Conversion()
    return Conversion(unless_null(f"IF({{}} BETWEEN 0 AND {2**n_bits - 1}, {{}}, {2**n_bits - 1})"))


def text_to_number(old: Column, new: Column, mode: ServerMode) -> Conversion:
    digits = r"'^-?[0-9]{1,38}$'" if family(new.type) == "integer" else r"'^-?[0-9]{1,38}([.][0-9]{1,38})?$'"
    kind = spark_type(new.type)
    sql = f"CAST({{}} AS {kind})"
    fails = any_of(f"NOT {{}} RLIKE {digits}", f"{{}} IS NOT NULL AND try_cast({{}} AS {kind}) IS NULL", _outside(new))
    if mode.is_strict:
        return Conversion(sql, fails)
    is_number = r"{} RLIKE '^\\s*[+-]?[.]?[0-9]'"
    return Conversion(f"IF(NOT {is_number}, 0, {sql})", f"{is_number} AND ({fails})")


def _checked(sql: str, new: Column, mode: ServerMode) -> Conversion:
    """A strict server has made sure that the value fits; for others it must be looked at."""
    if mode.is_strict:
        return Conversion(sql)
    too_large = f"{{}} IS NOT NULL AND try_cast({sql} AS {spark_type(new.type)}) IS NULL"
    return Conversion(sql, any_of(too_large, f"({sql}) < 0" if new.type.unsigned else None))


def _has_room(old: ColumnType, new: ColumnType) -> bool:
    """For every number of the old type."""
    if new.unsigned and not old.unsigned:
        return False
    whole, scale = (old.precision, old.scale or 0) if old.name == "decimal" else (_INTEGER_DIGITS.get(old.name, 20), 0)
    return new.precision - (new.scale or 0) >= whole - scale and (new.scale or 0) >= scale


def _integer_range(kind: ColumnType) -> tuple[int, int] | None:
    if kind.name not in INTEGER_BYTES:
        return None
    bits = 8 * INTEGER_BYTES[kind.name]
    return (0, 2**bits - 1) if kind.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _outside(new: Column) -> str | None:
    bounds = _integer_range(new.type)
    return bounds and f"try_cast({{}} AS decimal(38,0)) NOT BETWEEN {bounds[0]} AND {bounds[1]}"
