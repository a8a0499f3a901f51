"""A column's old type and new one -> the Spark expression that converts values as the server does in an ALTER TABLE.

The server logs no rows for it. A strict server refuses an ALTER in which a value does not fit, so behind one that is
in the log every value did; outside strict mode integers are clipped and texts cut. Where a value could come out in
another way than here, the conversion says which rows those are (``fails``): with one of them the table needs a resync.
``tests/cases/ddl-convert*`` holds all of it against SELECT on real servers.

from                    to                       value
integer, year, bit      integer, decimal         the number
integer, decimal        float, double            the nearest
decimal                 integer, decimal         rounded, halves away from zero
float, double           integer                  rounded, halves to even
integer, decimal, year  text                     its digits
text                    integer, decimal         digits only, else resync
text, enum, set         text                     the characters, cut to the length; CHAR without trailing spaces
text, enum, set         enum, set                the label, else resync
text, binary            binary                   the bytes in UTF-8, padded to a BINARY's length
date, datetime,         datetime, timestamp      by the session's time zone; MySQL rounds a fraction, MariaDB cuts it
timestamp
time                    time, text               as shown, with more or fewer digits of the fraction
json                    text                     as shown
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import BLOBS, INTEGER_BYTES, INTEGERS, STRINGS, TEXTS, ColumnType
from mirrorlake.lake.delta.names import literal
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.time_text import time_zero, with_digits
from mirrorlake.lake.gold.time_zones import from_utc, to_utc

_TEXT_BYTES = dict(zip(TEXTS, (255, 65535, 2**24 - 1, 2**32 - 1), strict=True))
_FIRST_TIMESTAMP, _LAST_TIMESTAMP = "TIMESTAMP'1970-01-01 00:00:01'", "TIMESTAMP'2038-01-19 03:14:07'"
_UTF8 = ("utf8mb4", "utf8mb3", "ascii")
_CONTAINED = {"utf8mb4": ("utf8mb3", "latin1", "ascii"), "utf8mb3": ("latin1", "ascii"), "latin1": ("ascii",)}
"""Character set -> those whose every character it has."""
_ZEROS = {
    **dict.fromkeys(("integer", "year", "bit", "decimal", "float"), "0"),
    **dict.fromkeys(("text", "set", "enum"), "''"),
}


class NotDerivable(Exception):
    """What the server made of the rows does not follow from what is known; the message says why, for a person."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """sql, fails: over the old value, which ``{}`` stands for. fails: true for a row that cannot be converted."""

    sql: str = "{}"
    fails: str | None = None
    reason: str = "a value of an existing row does not fit its new type"


def conversion(old: Column, new: Column, mode: ServerMode) -> Conversion:
    """Raises NotDerivable."""
    if (old.generated, old.is_stored) != (new.generated, new.is_stored) and new.generated is not None:
        if new.generated != old.generated:
            raise NotDerivable(f"column {new.name} is computed by another expression")
    found = Conversion()
    if _value_type(old) != _value_type(new):
        convert = _CONVERSIONS.get((family(old.type), family(new.type)))
        if convert is None:
            raise NotDerivable(f"column {new.name} went from {old.type.sql()} to {new.type.sql()}")
        found = convert(old, new, mode)
    if new.is_auto_increment and not old.is_auto_increment:
        found = replace(found, fails=any_of(found.fails, "{} IS NULL", "{} = 0"))  # those rows get a number
    return _without_nulls(found, new) if old.nullable and not new.nullable and not mode.is_strict else found


def family(kind: ColumnType) -> str:
    if kind.name in INTEGERS:
        return "integer"
    if kind.name in STRINGS:
        return "text"
    return {"binary": "binary", "varbinary": "binary", "double": "float", **dict.fromkeys(BLOBS, "binary")}.get(
        kind.name, kind.name
    )


def _value_type(column: Column) -> tuple:
    """What a value of the column depends on."""
    return column.type, column.display if family(column.type) == "float" else ()


def _without_nulls(found: Conversion, new: Column) -> Conversion:
    """Outside strict mode NULL becomes the type's zero; a TIMESTAMP the time of the statement, and so on."""
    zero = (
        _ZEROS.get(family(new.type)) if new.type.name != "time" else literal(time_zero(new.type.fraction_digits or 0))
    )
    if zero is None:
        return replace(found, fails=any_of(found.fails, "{} IS NULL"))
    return replace(found, sql=f"coalesce({found.sql}, {zero})")


def any_of(*conditions: str | None) -> str | None:
    return " OR ".join(f"({condition})" for condition in conditions if condition) or None


def _checked(sql: str, new: Column, mode: ServerMode, *always: str | None) -> Conversion:
    """A strict server has made sure that the value fits; for others it must be looked at. always: also for strict."""
    fails = None if mode.is_strict else f"{{}} IS NOT NULL AND try_cast({sql} AS {spark_type(new.type)}) IS NULL"
    negative = f"({sql}) < 0" if new.type.unsigned and not mode.is_strict else None
    return Conversion(sql, any_of(fails, negative, *always))


def _to_integer(old: Column, new: Column, mode: ServerMode) -> Conversion:
    rounded = {"decimal": "round({}, 0)", "float": "rint({})"}.get(family(old.type), "{}")
    if family(old.type) == "float":
        low, high = _integer_range(new.type) or (0, 0)
        is_inexact = "{} > 9007199254740992" if high >= 2**63 else None  # Spark takes a double's shortest digits for it
        return Conversion(
            rounded, any_of(is_inexact, None if mode.is_strict else f"{rounded} NOT BETWEEN {low} AND {high}")
        )
    if mode.is_strict or _integer_range(new.type) == _integer_range(old.type):
        return Conversion(rounded)
    low, high = _integer_range(new.type)
    return Conversion(_unless_null(f"least(greatest(CAST({rounded} AS decimal(38,0)), {low}), {high})"))


def _unless_null(sql: str) -> str:
    return f"IF({{}} IS NULL, NULL, {sql})"


def _integer_range(kind: ColumnType) -> tuple[int, int] | None:
    if kind.name not in INTEGER_BYTES:
        return None
    bits = 8 * INTEGER_BYTES[kind.name]
    return (0, 2**bits - 1) if kind.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _to_decimal(old: Column, new: Column, mode: ServerMode) -> Conversion:
    return _checked("{}", new, mode)


def _to_float(old: Column, new: Column, mode: ServerMode) -> Conversion:
    if new.display or old.display and family(old.type) == "float":
        raise NotDerivable(f"column {new.name} has a FLOAT with a number of digits")
    return _checked("{}" if family(old.type) == "float" else "CAST({} AS double)", new, mode)


def _to_bit(old: Column, new: Column, mode: ServerMode) -> Conversion:
    return Conversion("{}", any_of("{} < 0", None if mode.is_strict else f"{{}} >= {2 ** (new.type.length or 1)}"))


def _digits(old: Column, new: Column, mode: ServerMode) -> Conversion:
    if old.is_zerofill:
        raise NotDerivable(f"column {new.name} came from a ZEROFILL column")
    sql = "lpad(CAST({} AS string), 4, '0')" if old.type.name == "year" else "CAST({} AS string)"
    return _into_text(sql, new, mode)


def _to_text(old: Column, new: Column, mode: ServerMode) -> Conversion:
    charset, before = new.type.charset, old.type.charset
    is_lossless = mode.is_strict or charset == before or before in _CONTAINED.get(charset or "", ())
    found = _into_text("{}", new, mode, old)
    return found if is_lossless else replace(found, fails=any_of(found.fails, r"{} RLIKE '[^\\x00-\\x7F]'"))


def _into_text(sql: str, new: Column, mode: ServerMode, old: Column | None = None) -> Conversion:
    kind = new.type
    if kind.name in _TEXT_BYTES:
        fits = old is not None and old.type.name in _TEXT_BYTES and _TEXT_BYTES[old.type.name] <= _TEXT_BYTES[kind.name]
        if fits or mode.is_strict:
            return Conversion(sql)
        return Conversion(sql, f"octet_length({sql}) > {_TEXT_BYTES[kind.name]}")
    if not (old and old.type.name in ("char", "varchar") and old.type.length <= kind.length):
        sql = f"substring({sql}, 1, {kind.length})"
    return Conversion(f"rtrim({sql})" if kind.name == "char" and not (old and old.type.name == "char") else sql)


def _text_to_number(old: Column, new: Column, mode: ServerMode) -> Conversion:
    digits = r"'^-?[0-9]{1,38}$'" if family(new.type) == "integer" else r"'^-?[0-9]{1,38}([.][0-9]{1,38})?$'"
    kind = spark_type(new.type)
    return Conversion(
        f"CAST({{}} AS {kind})",
        any_of(f"NOT {{}} RLIKE {digits}", f"{{}} IS NOT NULL AND try_cast({{}} AS {kind}) IS NULL", _outside(new)),
    )


def _outside(new: Column) -> str | None:
    bounds = _integer_range(new.type)
    return bounds and f"try_cast({{}} AS decimal(38,0)) NOT BETWEEN {bounds[0]} AND {bounds[1]}"


def _labels(column: Column) -> str:
    return f"array({', '.join(map(literal, column.type.labels))})"


def _to_enum(old: Column, new: Column, mode: ServerMode) -> Conversion:
    if set(old.type.labels) <= set(new.type.labels) and old.type.name == "enum":
        return Conversion()
    return Conversion("{}", f"NOT array_contains({_labels(new)}, {{}})")


def _to_set(old: Column, new: Column, mode: ServerMode) -> Conversion:
    if new.type.labels[: len(old.type.labels)] == old.type.labels:
        return Conversion()
    members = "split({}, ',')"
    return Conversion(
        _unless_null(f"array_join(filter({_labels(new)}, l -> array_contains({members}, l)), ',')"),
        f"exists({members}, m -> m <> '' AND NOT array_contains({_labels(new)}, m))",
    )


def _to_binary(old: Column, new: Column, mode: ServerMode) -> Conversion:
    sql, kind = "{}", new.type
    if old.type.name in STRINGS:
        if old.type.charset not in _UTF8:
            raise NotDerivable(f"column {new.name} became binary out of character set {old.type.charset}")
        sql = "encode({}, 'UTF-8')"
    fails = None
    if kind.name in BLOBS:
        limit = _TEXT_BYTES[TEXTS[BLOBS.index(kind.name)]]
        fails = None if mode.is_strict else f"octet_length({sql}) > {limit}"
    else:
        sql = f"substring({sql}, 1, {kind.length})"
    return Conversion(f"rpad({sql}, {kind.length}, X'00')" if kind.name == "binary" else sql, fails)


def _to_date(old: Column, new: Column, mode: ServerMode) -> Conversion:
    local = _local("{}", old, mode)
    midnight = f"CAST(CAST({local} AS date) AS timestamp_ntz)"
    return Conversion(f"CAST({local} AS date)", f"CAST({local} AS timestamp_ntz) <> {midnight}")


def _to_moment(old: Column, new: Column, mode: ServerMode) -> Conversion:
    sql = "CAST({} AS timestamp_ntz)" if old.type.name == "date" else "{}"
    if old.type.name == "timestamp" and new.type.name == "datetime":
        sql = _local(sql, old, mode)
    if old.type.name != "timestamp" and new.type.name == "timestamp":
        sql = to_utc(sql, mode.time_zone)
        if sql is None:
            raise NotDerivable(f"column {new.name} depends on time zone {mode.time_zone}")
    digits = new.type.fraction_digits or 0
    if digits < (old.type.fraction_digits or 0):
        sql = _fewer_digits(sql, digits, new, mode)
    if new.type.name != "timestamp" or old.type.name == "timestamp" or mode.is_strict:
        return Conversion(sql)
    return Conversion(sql, f"CAST({sql} AS timestamp) NOT BETWEEN {_FIRST_TIMESTAMP} AND {_LAST_TIMESTAMP}")


def _time_to_time(old: Column, new: Column, mode: ServerMode) -> Conversion:
    return Conversion(
        with_digits(old.type.fraction_digits or 0, new.type.fraction_digits or 0, mode.truncates_fractions)
    )


def _shown_to_text(old: Column, new: Column, mode: ServerMode) -> Conversion:
    return _into_text("{}", new, mode)


def _local(sql: str, old: Column, mode: ServerMode) -> str:
    if old.type.name != "timestamp":
        return sql
    found = from_utc(sql, mode.time_zone)
    if found is None:
        raise NotDerivable(f"column {old.name} depends on time zone {mode.time_zone}")
    return found


def _fewer_digits(sql: str, digits: int, new: Column, mode: ServerMode) -> str:
    unit = 10 ** (6 - digits)
    micros = f"unix_micros(CAST({sql} AS timestamp))" + ("" if mode.truncates_fractions else f" + {unit // 2}")
    return f"CAST(timestamp_micros(({micros}) - pmod({micros}, {unit})) AS {spark_type(new.type)})"


_NUMBERS = ("integer", "year", "bit", "decimal")
_LABELLED_TEXT = ("text", "enum", "set")
_MOMENTS = ("date", "datetime", "timestamp")
_CONVERSIONS: dict[tuple[str, str], Callable[[Column, Column, ServerMode], Conversion]] = {
    **{(old, "integer"): _to_integer for old in (*_NUMBERS, "float")},
    **{(old, "decimal"): _to_decimal for old in ("integer", "year", "bit", "decimal")},
    **{(old, "float"): _to_float for old in ("integer", "year", "decimal", "float")},
    **{(old, "bit"): _to_bit for old in ("integer", "bit")},
    **{(old, "text"): _digits for old in ("integer", "year", "decimal")},
    **{("text", new): _text_to_number for new in ("integer", "decimal")},
    **{(old, "text"): _to_text for old in _LABELLED_TEXT},
    **{(old, "enum"): _to_enum for old in ("text", "enum")},
    ("set", "set"): _to_set,
    **{(old, "binary"): _to_binary for old in ("text", "binary")},
    **{(old, "date"): _to_date for old in ("datetime", "timestamp")},
    ("time", "time"): _time_to_time,
    **{(old, "text"): _shown_to_text for old in ("time", "json")},
    **{(old, new): _to_moment for old in _MOMENTS for new in ("datetime", "timestamp")},
}
