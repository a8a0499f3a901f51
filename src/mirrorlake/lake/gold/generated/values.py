"""Values of a generated column's expression in Spark SQL, with what is known of them before any row is read.

A number has bounds and a scale, so that no sum or product exceeds what Spark computes exactly. A text has its longest
length and the character sets that it comes from.

A mirror holds NULL for a date that no calendar has and for bytes that are no text. ``carried`` are the columns with
such types whose NULL makes the value NULL, because the server's own value is then invalid, too; ``doubtful`` those
which may give the server another value than this expression.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

from mirrorlake.core.schema.charsets import holds_ascii
from mirrorlake.core.schema.types import LARGEST_BYTES, MAX_DECIMAL_DIGITS, TEXTS, ColumnType
from mirrorlake.core.sql_text import Sql, literal
from mirrorlake.lake.gold.convert.conversion import NotDerivable, family

INT64 = (-(2**63), 2**63 - 1)
_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_NUMBER_CHARACTERS = 21
UTF8 = frozenset(("utf8mb4", "utf8mb3", "ascii"))
"""Character sets whose bytes are those of a mirror's text."""


class Kind(Enum):
    NULL = "NULL"
    NUMBER = "number"
    TEXT = "text"
    DATE = "date"
    DATETIME = "datetime"
    JSON = "value in JSON"
    OTHER = "value of another type"


@dataclass(frozen=True, slots=True)
class Value:
    """sql: of a number BIGINT where its bounds and scale 0 allow it, else DECIMAL. low, high: bounds of a number, in
    units of its last digit. condition: the same as a BOOLEAN, where the number is 0 or 1. as_text: of a number, whether
    it is shown without padding. length: of a text in characters. digits: fraction digits of a DATETIME. fails: true for
    a row that is not computed.
    """

    sql: Sql
    kind: Kind
    low: int = 0
    high: int = 0
    scale: int = 0
    unsigned: bool = False
    condition: Sql | None = None
    as_text: bool = False
    length: int = 0
    charsets: frozenset[str] = frozenset()
    digits: int = 0
    carried: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()
    fails: tuple[Sql, ...] = ()

    @property
    def precision(self) -> int:
        """Digits of the number, at least as many as its scale."""
        return max(len(str(max(abs(self.low), abs(self.high)))), self.scale, 1)

    @property
    def is_bigint(self) -> bool:
        return self.scale == 0 and INT64[0] <= self.low and self.high <= INT64[1]

    @property
    def doubts(self) -> frozenset[str]:
        """Doubtful columns of an expression that does more with the value than pass it on."""
        return self.carried | self.doubtful

    def decimal(self) -> Sql:
        return f"CAST({self.sql} AS DECIMAL({self.precision},{self.scale}))"

    def truth(self) -> Sql:
        """The value as a condition: a number that is not 0."""
        if self.kind is Kind.NULL:
            return "CAST(NULL AS BOOLEAN)"
        if self.kind is not Kind.NUMBER:
            raise NotDerivable(f"a condition that is a {self.kind.value}")
        return self.condition or f"({self.sql} <> 0)"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonValue(Value):
    """A value in a JSON document. text: as the server shows it. number: a text that is the same number, also where
    ``text`` fails. unquoted: the value that JSON_UNQUOTE makes of it."""

    text: Value
    number: Value
    unquoted: JsonValue | None = None


NULL = Value("NULL", Kind.NULL)


def number(
    sql: Sql, low: int, high: int, scale: int = 0, *, unsigned: bool = False, of: tuple[Value, ...] = ()
) -> Value:
    """A number that Spark computes exactly. of: the values that it comes from. Raises NotDerivable."""
    found = Value(
        sql, Kind.NUMBER, low, high, scale, unsigned, as_text=scale == 0, doubtful=doubts_of(of), fails=fails_of(of)
    )
    if found.precision > MAX_DECIMAL_DIGITS:
        raise NotDerivable("a number of more than 38 digits")
    if unsigned and low < 0:
        raise NotDerivable("an unsigned number that may be below 0")
    return replace(found, sql=f"CAST({sql} AS BIGINT)") if found.is_bigint else replace(found, sql=found.decimal())


def condition(sql: Sql, *of: Value) -> Value:
    """The number 0 or 1 for a condition."""
    return replace(number(f"({sql})", 0, 1, of=of), condition=f"({sql})")


def text(sql: Sql, length: int, charsets: frozenset[str], of: tuple[Value, ...] = ()) -> Value:
    return Value(sql, Kind.TEXT, length=length, charsets=charsets, doubtful=doubts_of(of), fails=fails_of(of))


def doubts_of(values: Iterable[Value]) -> frozenset[str]:
    return frozenset().union(*(value.doubts for value in values))


def fails_of(values: Iterable[Value]) -> tuple[Sql, ...]:
    return tuple(dict.fromkeys(each for value in values for each in value.fails))


def integer_bounds(kind: ColumnType) -> tuple[int, int]:
    bits = _INTEGER_BITS[kind.name]
    return (0, 2**bits - 1) if kind.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimal_bounds(kind: ColumnType) -> tuple[int, int]:
    largest = 10 ** (kind.precision or 10) - 1
    return (0 if kind.unsigned else -largest), largest


def as_text(value: Value) -> Value:
    """The text that the server shows. Raises NotDerivable."""
    if isinstance(value, JsonValue):
        return value.text
    if value.kind is Kind.TEXT:
        return value
    if value.kind is Kind.NULL:
        return text("CAST(NULL AS STRING)", 0, frozenset())
    if value.kind is Kind.NUMBER and value.as_text:
        return text(f"CAST({value.sql} AS STRING)", _NUMBER_CHARACTERS, frozenset(), (value,))
    raise NotDerivable(f"the text of a {value.kind.value}")


def number_of(value: Value, digits: int = MAX_DECIMAL_DIGITS, scale: int = 10) -> Value:
    """The number that a text shows; fails for a row with another text. Other values are returned unchanged.

    digits, scale: the most that the number may have, in all and after the point.
    """
    shown = value.number if isinstance(value, JsonValue) else value
    if shown.kind is not Kind.TEXT:
        return value
    pattern = f"-?[0-9]{{1,{digits - scale}}}" + (f"([.][0-9]{{1,{scale}}})?" if scale else "")
    sql, largest = f"try_cast({shown.sql} AS DECIMAL({digits},{scale}))", 10**digits - 1
    made = number(sql, -largest, largest, scale, of=(shown,))
    return replace(made, fails=(*made.fails, f"{shown.sql} NOT RLIKE '^{pattern}\\\\z'"))


def stored(value: Value, kind: ColumnType) -> Value:
    """Store a value in a column of this type: a number that does not fit becomes the nearest that does. Raises
    NotDerivable."""
    group = family(kind)
    if value.kind is Kind.NULL:
        return value
    if group in ("integer", "decimal"):
        value = number_of(value)
    if group == "integer" and value.kind is Kind.NUMBER:
        found = _clamped(_rounded(value, 0), *integer_bounds(kind))
        return replace(found, unsigned=kind.unsigned, as_text=True)
    if group == "decimal" and value.kind is Kind.NUMBER and (kind.precision or 10) <= MAX_DECIMAL_DIGITS:
        found = _clamped(_rounded(value, kind.scale or 0), *decimal_bounds(kind))
        return replace(found, unsigned=False, as_text=not kind.scale)
    if kind.name == "double" and value.kind is Kind.NUMBER and value.is_bigint:
        return replace(value, sql=f"CAST({value.sql} AS DOUBLE)", kind=Kind.OTHER)
    if group == "text":
        return _stored_text(as_text(value), kind)
    if kind.name == "date" and value.kind is Kind.DATE:
        return value
    if (
        kind.name == "datetime"
        and value.kind in (Kind.DATE, Kind.DATETIME)
        and value.digits <= (kind.fraction_digits or 0)
    ):
        return replace(value, sql=f"CAST({value.sql} AS TIMESTAMP_NTZ)", kind=Kind.DATETIME)
    raise NotDerivable(f"a {value.kind.value} in a column of type {kind.sql()}")


def _rounded(value: Value, scale: int) -> Value:
    """Round to ``scale`` digits after the point, halves away from zero, or pad with zeros."""
    more = scale - value.scale
    low, high = (_scaled(bound, more) for bound in (value.low, value.high))
    if more == 0:
        return value
    made = replace(value, low=low, high=high, scale=scale, condition=None)
    if made.precision > MAX_DECIMAL_DIGITS:
        raise NotDerivable("a number of more than 38 digits")
    return replace(made, sql=f"CAST({made.decimal()} AS BIGINT)" if made.is_bigint else made.decimal())


def _scaled(bound: int, more: int) -> int:
    if more >= 0:
        return bound * 10**more
    unit = 10**-more
    nearest = (2 * abs(bound) + unit) // (2 * unit)
    return nearest if bound >= 0 else -nearest


def _clamped(value: Value, low: int, high: int) -> Value:
    sql, shown = value.sql, tuple(_literal(bound, value.scale) for bound in (low, high))
    if value.high > high:
        sql = f"IF({value.sql} > {shown[1]}, {shown[1]}, {sql})"
    if value.low < low:
        sql = f"IF({value.sql} < {shown[0]}, {shown[0]}, {sql})"
    if sql == value.sql:
        return value
    made = replace(value, sql=sql, low=max(low, min(value.low, high)), high=min(high, max(value.high, low)))
    return replace(made, sql=f"CAST({sql} AS BIGINT)" if made.is_bigint else made.decimal(), condition=None)


def _literal(units: int, scale: int) -> Sql:
    """A number as Spark reads it: BIGINT or DECIMAL."""
    if not scale:
        return f"({units})" if INT64[0] < units <= INT64[1] else f"CAST('{units}' AS DECIMAL(38,0))"
    digits = str(abs(units)).rjust(scale + 1, "0")
    shown = f"{'-' if units < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"
    return f"CAST({literal(shown)} AS DECIMAL(38,{scale}))"


def _stored_text(value: Value, kind: ColumnType) -> Value:
    charset = kind.charset or ""
    if not holds_ascii(charset):
        raise NotDerivable(f"text in {charset}")
    if charset != "utf8mb4" and not value.charsets <= {charset, *(("ascii",) if charset == "utf8mb3" else ())}:
        raise NotDerivable(f"text of {' and '.join(sorted(value.charsets))} in {charset}")
    if kind.name in TEXTS:
        largest = LARGEST_BYTES[kind.name]
        if 4 * value.length <= largest:
            return value
        if kind.charset not in UTF8:
            raise NotDerivable(f"text that may be longer than a {kind.name}")
        return replace(value, fails=(*value.fails, f"octet_length({value.sql}) > {largest}"))
    sql, length = value.sql, kind.length or 0
    if value.length > length:
        sql = f"substring({sql}, 1, {length})"
    if kind.name == "char":
        sql = f"rtrim({sql})"
    return replace(value, sql=sql, length=min(value.length, length))
