"""A column's old type and new one -> the Spark expression that converts values as the server does in an ALTER TABLE.

The server logs no rows for it. A strict server refuses an ALTER in which a value does not fit, so behind one that is
in the log every value did; outside strict mode integers are clipped and texts cut. Where a value could come out in
another way than here, the conversion says which rows those are (``fails``): with one of them the table needs a resync.
``tests/cases/ddl-convert*`` holds all of it against SELECT on real servers.

from                    to                       value
integer, year, bit      integer, decimal, bit    the number
integer, decimal        float, double            the nearest
decimal                 integer, decimal         rounded, halves away from zero
float, double           integer                  rounded, halves to even
enum, set               integer, decimal         the number of the label, the sum of the members' bits
integer, decimal, year  text                     its digits
text                    integer, decimal         digits only, else resync; outside strict mode 0 for what is no number
text, enum, set         text                     the characters, cut to the length; CHAR without trailing spaces
text, enum, set         enum, set                the label, else resync; outside strict mode none for what is no label
text, binary            binary                   the bytes, padded to a BINARY's length
binary                  text                     the characters, else resync
datetime, timestamp     date                     by the session's time zone; MySQL rounds a fraction first
date, datetime,         datetime, timestamp      by the session's time zone; MySQL rounds a fraction, MariaDB cuts it
timestamp
time, date, datetime,   text                     as shown
timestamp, json
time                    time                     as shown, with more or fewer digits of the fraction
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mirrorlake.core.schema.row_steps import ServerMode
from mirrorlake.core.schema.tables import Column
from mirrorlake.core.schema.types import (
    BLOBS,
    INTEGER_BYTES,
    INTEGERS,
    MAX_DECIMAL_DIGITS,
    STRINGS,
    TEXTS,
    ColumnType,
)
from mirrorlake.lake.delta.names import literal
from mirrorlake.lake.delta.types import spark_type
from mirrorlake.lake.gold.charset_sql import NOT_ASCII, decoded, encoded, replaced
from mirrorlake.lake.gold.date_text import shown
from mirrorlake.lake.gold.time_text import time_zero, with_digits
from mirrorlake.lake.gold.time_zones import from_utc, to_utc

_TEXT_BYTES = dict(zip(TEXTS, (255, 65535, 2**24 - 1, 2**32 - 1), strict=True))
_FIRST_TIMESTAMP, _LAST_TIMESTAMP = "TIMESTAMP'1970-01-01 00:00:01'", "TIMESTAMP'2038-01-19 03:14:07'"
_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10, "bigint": 20}
_HALF_A_SECOND = " + INTERVAL '0.5' SECOND"
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
    """sql, fails, invalid: over the old value, which ``{}`` stands for. fails: true for a row that cannot be converted.
    invalid: true for one that gets a date which no calendar has, and NULL here.
    """

    sql: str = "{}"
    fails: str | None = None
    reason: str = "a value of an existing row does not fit its new type"
    invalid: str | None = None


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
    kind = new.type
    if kind.name in ("date", "datetime"):
        return replace(found, invalid="{} IS NULL")
    if kind.name == "time":
        zero = literal(time_zero(kind.fraction_digits or 0))
    elif family(kind) == "binary":
        zero = f"X'{'00' * (kind.length or 0) if kind.name == 'binary' else ''}'"
    else:
        zero = _ZEROS.get(family(kind))
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
    if mode.is_strict or MAX_DECIMAL_DIGITS < max(old.type.precision or 0, new.type.precision or 0):
        return _checked("{}", new, mode)
    if _has_room(old.type, new.type):
        return Conversion()
    scale = new.type.scale or 0
    largest = "9" * (new.type.precision - scale) + ("." + "9" * scale if scale else "")
    number = "{}" if family(old.type) == "decimal" else "CAST({} AS decimal(20,0))"
    return Conversion(
        _unless_null(
            f"least(greatest(round({number}, {scale}), {'0' if new.type.unsigned else '-' + largest}), {largest})"
        )
    )


def _has_room(old: ColumnType, new: ColumnType) -> bool:
    """For every number of the old type."""
    if new.unsigned and not old.unsigned:
        return False
    whole, scale = (old.precision, old.scale or 0) if old.name == "decimal" else (_INTEGER_DIGITS.get(old.name, 20), 0)
    return new.precision - (new.scale or 0) >= whole - scale and (new.scale or 0) >= scale


def _to_float(old: Column, new: Column, mode: ServerMode) -> Conversion:
    if new.display or old.display and family(old.type) == "float":
        raise NotDerivable(f"column {new.name} has a FLOAT with a number of digits")
    return _checked("{}" if family(old.type) == "float" else "CAST({} AS double)", new, mode)


def _to_bit(old: Column, new: Column, mode: ServerMode) -> Conversion:
    """A negative number has 64 bits. What has more bits than the column sets all of them."""
    n_bits = new.type.length or 1
    if n_bits == 64:
        return Conversion(f"CAST({{}} AS decimal(20,0)) + IF({{}} < 0, {2**64}, 0)")
    if mode.is_strict:
        return Conversion()
    return Conversion(_unless_null(f"IF({{}} BETWEEN 0 AND {2**n_bits - 1}, {{}}, {2**n_bits - 1})"))


def _label_to_number(old: Column, new: Column, mode: ServerMode) -> Conversion:
    labels, fails = old.type.labels, None
    if old.type.name == "enum":
        number = f"array_position({_labels(old)}, {{}})"
        fails = "{} = ''" if "" in labels else None  # the label, or the value that is none
    elif len(labels) < 63:
        bits = (f"IF(array_contains(split({{}}, ','), {literal(label)}), {2**k}L, 0)" for k, label in enumerate(labels))
        number = " + ".join(bits)
    else:
        raise NotDerivable(f"column {new.name} went from {old.type.sql()} to {new.type.sql()}")
    found = _CONVERSIONS["integer", family(new.type)](replace(old, type=ColumnType("bigint")), new, mode)
    sql = _unless_null(found.sql.replace("{}", f"({number})"))
    return replace(found, sql=sql, fails=any_of(found.fails and found.fails.replace("{}", f"({number})"), fails))


def _digits(old: Column, new: Column, mode: ServerMode) -> Conversion:
    if old.is_zerofill:
        raise NotDerivable(f"column {new.name} came from a ZEROFILL column")
    sql = "lpad(CAST({} AS string), 4, '0')" if old.type.name == "year" else "CAST({} AS string)"
    return _into_text(sql, new, mode)


def _to_text(old: Column, new: Column, mode: ServerMode) -> Conversion:
    charset, before = new.type.charset, old.type.charset
    is_lossless = mode.is_strict or charset == before or before in _CONTAINED.get(charset or "", ())
    if is_lossless:
        return _into_text("{}", new, mode, old)
    sql = replaced("{}", charset)
    if sql:
        return _into_text(sql, new, mode, old)
    found = _into_text("{}", new, mode, old)
    return replace(found, fails=any_of(found.fails, f"{{}} RLIKE '{NOT_ASCII}'"))


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
    sql = f"CAST({{}} AS {kind})"
    fails = any_of(f"NOT {{}} RLIKE {digits}", f"{{}} IS NOT NULL AND try_cast({{}} AS {kind}) IS NULL", _outside(new))
    if mode.is_strict:
        return Conversion(sql, fails)
    is_number = r"{} RLIKE '^\\s*[+-]?[.]?[0-9]'"
    return Conversion(f"IF(NOT {is_number}, 0, {sql})", f"{is_number} AND ({fails})")


def _outside(new: Column) -> str | None:
    bounds = _integer_range(new.type)
    return bounds and f"try_cast({{}} AS decimal(38,0)) NOT BETWEEN {bounds[0]} AND {bounds[1]}"


def _labels(column: Column, change: Callable[[str], str] = str) -> str:
    return f"array({', '.join(literal(change(label)) for label in column.type.labels)})"


def _may_be(value: str, new: Column) -> str:
    """True for a text that may stand for a label although it is none: by its case, by its number, by a collation."""
    if not all(map(str.isascii, new.type.labels)):
        return "true"
    lowered = _labels(new, str.lower)
    return f"{value} RLIKE '{NOT_ASCII}|^ *[0-9]' OR array_contains({lowered}, lower(rtrim({value})))"


def _to_enum(old: Column, new: Column, mode: ServerMode) -> Conversion:
    if set(old.type.labels) <= set(new.type.labels) and old.type.name == "enum":
        return Conversion()
    is_none = f"NOT array_contains({_labels(new)}, {{}})"
    if mode.is_strict:
        return Conversion("{}", is_none)
    return Conversion(f"IF({is_none}, '', {{}})", f"{is_none} AND ({_may_be('{}', new)})")


def _to_set(old: Column, new: Column, mode: ServerMode) -> Conversion:
    if new.type.labels[: len(old.type.labels)] == old.type.labels:
        return Conversion()
    members = "split({}, ',')"
    is_none = f"m <> '' AND NOT array_contains({_labels(new)}, m)" + (
        "" if mode.is_strict else f" AND ({_may_be('m', new)})"
    )
    return Conversion(
        _unless_null(f"array_join(filter({_labels(new)}, l -> array_contains({members}, l)), ',')"),
        f"exists({members}, m -> {is_none})",
    )


def _to_binary(old: Column, new: Column, mode: ServerMode) -> Conversion:
    sql, kind, fails = "{}", new.type, None
    if old.type.name in STRINGS:
        found = encoded(sql, old.type.charset)
        if found is None:
            raise NotDerivable(f"column {new.name} became binary out of character set {old.type.charset}")
        sql, fails = found
    if kind.name in BLOBS:
        limit = _TEXT_BYTES[TEXTS[BLOBS.index(kind.name)]]
        fails = any_of(fails, None if mode.is_strict else f"octet_length({sql}) > {limit}")
    else:
        sql = f"substring({sql}, 1, {kind.length})"
    return Conversion(f"rpad({sql}, {kind.length}, X'00')" if kind.name == "binary" else sql, fails)


def _binary_to_text(old: Column, new: Column, mode: ServerMode) -> Conversion:
    found = decoded("{}", new.type.charset)
    if found is None:
        raise NotDerivable(f"column {new.name} became text in character set {new.type.charset}")
    text, fails = found
    converted = _into_text(text, new, mode)
    return replace(converted, fails=any_of(converted.fails, fails))


def _to_date(old: Column, new: Column, mode: ServerMode) -> Conversion:
    local = _local("{}", old, mode)
    is_cut = mode.flavor == "mariadb" or mode.truncates_fractions or not old.type.fraction_digits
    return Conversion(f"CAST({local}{'' if is_cut else _HALF_A_SECOND} AS date)")


def _moment_to_text(old: Column, new: Column, mode: ServerMode) -> Conversion:
    return _into_text(shown(_local("{}", old, mode), old.type), new, mode)


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
    **{(old, new): _label_to_number for old in ("enum", "set") for new in ("integer", "decimal")},
    **{(old, "text"): _digits for old in ("integer", "year", "decimal")},
    **{("text", new): _text_to_number for new in ("integer", "decimal")},
    **{(old, "text"): _to_text for old in _LABELLED_TEXT},
    **{(old, "enum"): _to_enum for old in ("text", "enum")},
    ("set", "set"): _to_set,
    **{(old, "binary"): _to_binary for old in ("text", "binary")},
    ("binary", "text"): _binary_to_text,
    **{(old, "date"): _to_date for old in ("datetime", "timestamp")},
    **{(old, "text"): _moment_to_text for old in _MOMENTS},
    ("time", "time"): _time_to_time,
    **{(old, "text"): _shown_to_text for old in ("time", "json")},
    **{(old, new): _to_moment for old in _MOMENTS for new in ("datetime", "timestamp")},
}
