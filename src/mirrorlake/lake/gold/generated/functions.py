"""The functions that a generated column's expression may use, MariaDB's -> Spark's.

Each has the server's value for every row, or says which rows it fails for; measured in ``tests/server``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mirrorlake.core.schema.charsets import canonical_charset, keeps_ascii
from mirrorlake.core.schema.types import LARGEST_BYTES, ColumnType
from mirrorlake.core.sql_text import Sql
from mirrorlake.lake.gold.convert.conversion import NotDerivable
from mirrorlake.lake.gold.generated.dates import OF_DATES
from mirrorlake.lake.gold.generated.json import json_unquote
from mirrorlake.lake.gold.generated.numbers import OPERATORS, absolute, compared, numbers
from mirrorlake.lake.gold.generated.values import (
    NULL,
    UTF8,
    Kind,
    Value,
    as_text,
    decimal_bounds,
    doubts_of,
    fails_of,
    number,
    number_of,
    stored,
    text,
)

_SHA2_BITS = (224, 256, 384, 512)
_LONGEST_TEXT = 2**31


def longest(kind: ColumnType) -> int:
    """Maximum number of characters of a text column."""
    return LARGEST_BYTES.get(kind.name) or kind.length or 0


def one_of(conditions: list[Value], values: list[Value]) -> Value:
    """CASE: the value of the first condition that is true, else the last value; there is one more than conditions."""
    common = _of_one_kind(values)
    branches = [f"WHEN {c.truth()} THEN {v.sql}" for c, v in zip(conditions, common[:-1], strict=True)]
    return _chosen(f"CASE {' '.join(branches)} ELSE {common[-1].sql} END", common, tuple(conditions))


def _chosen(sql: Sql, common: list[Value], of: tuple[Value, ...]) -> Value:
    """One of several values of a kind. A NULL for an invalid value is passed on."""
    return replace(
        common[0], sql=f"({sql})", condition=None,
        low=min(value.low for value in common), high=max(value.high for value in common),
        length=max(value.length for value in common), digits=max(value.digits for value in common),
        charsets=frozenset().union(*(value.charsets for value in common)),
        as_text=all(value.as_text for value in common) and not any(value.unsigned for value in common),
        carried=frozenset().union(*(value.carried for value in common)),
        doubtful=doubts_of(of).union(*(value.doubtful for value in common)), fails=fails_of([*of, *common]),
    )  # fmt: skip


def _of_one_kind(values: list[Value]) -> list[Value]:
    """Convert values to one SQL type. Raises NotDerivable."""
    kinds = {value.kind for value in values} - {Kind.NULL}
    if not kinds or Kind.OTHER in kinds:
        raise NotDerivable("a choice between values of other types")
    if kinds <= {Kind.NUMBER}:
        return _aligned(list(numbers(*values)))
    if kinds <= {Kind.NUMBER, Kind.TEXT, Kind.JSON}:
        return [as_text(value) for value in values]
    if len(kinds) > 1:
        raise NotDerivable("a choice between values of several types")
    return [replace(value, kind=next(iter(kinds))) for value in values]


def _aligned(values: list[Value]) -> list[Value]:
    """Numbers of one scale."""
    scale = max(value.scale for value in values)
    if all(value.is_bigint for value in values):
        return values
    if any(value.unsigned for value in values) and scale == 0:
        raise NotDerivable("a choice between signed and unsigned numbers")
    zero = number("0BD", 0, 0, scale)
    return [OPERATORS["+"](value, zero) for value in values]


def _if(test: Value, one: Value, other: Value) -> Value:
    return one_of([test], [one, other])


def _coalesce(*values: Value) -> Value:
    """COALESCE. A NULL for an invalid value is not NULL on the server."""
    common = _of_one_kind(list(values))
    found = _chosen(f"coalesce({', '.join(value.sql for value in common)})", common, ())
    before = frozenset().union(*(value.carried for value in common[:-1]))
    return replace(found, doubtful=found.doubtful | before)


def _null_if(one: Value, other: Value) -> Value:
    return one_of([compared(one, "=", other)], [NULL, one])


def _concat(*values: Value) -> Value:
    found = [as_text(value) for value in values]
    sql = f"concat({', '.join(value.sql for value in found)})"
    return replace(
        text(sql, sum(value.length for value in found), _charsets(found), tuple(found)),
        carried=frozenset().union(*(value.carried for value in found)),
        doubtful=frozenset().union(*(value.doubtful for value in found)),
    )


def _concat_ws(separator: Value, *values: Value) -> Value:
    found = [as_text(value) for value in (separator, *values)]
    length = sum(value.length for value in found) + separator.length * len(values)
    return text(f"concat_ws({', '.join(value.sql for value in found)})", length, _charsets(found), tuple(found))


def _charsets(values: list[Value]) -> frozenset[str]:
    return frozenset().union(*(value.charsets for value in values))


def _in_case(function: Sql) -> Callable[[Value], Value]:
    """UPPER or LOWER of ASCII text alone: other letters depend on the collation."""

    def converted(value: Value) -> Value:
        found = _text(value)
        made = text(f"{function}({found.sql})", found.length, found.charsets, (found,))
        return replace(made, fails=(*made.fails, _is_not_ascii(found)))

    return converted


def _text(value: Value) -> Value:
    if value.kind not in (Kind.TEXT, Kind.JSON):
        raise NotDerivable(f"the text of a {value.kind.value}")
    return as_text(value)


def _is_not_ascii(value: Value) -> Sql:
    return f"octet_length({value.sql}) <> char_length({value.sql})"


def _substring(value: Value, position: Value, size: Value | None = None) -> Value:
    found, start = _text(value), _constant(position)
    length = _LONGEST_TEXT if size is None else max(0, _constant(size))
    if start == 0:
        return _empty(found)
    sql = f"substring({found.sql}, {start}, {min(length, _LONGEST_TEXT - 1)})"
    if start < 0:
        sql = f"IF(char_length({found.sql}) < {-start}, '', {sql})"
        length = min(length, -start)
    return text(_unless_null(found, sql), min(found.length, length), found.charsets, (found,))


def _empty(value: Value) -> Value:
    return text(_unless_null(value, "''"), 0, value.charsets, (value,))


def _unless_null(value: Value, sql: Sql) -> Sql:
    return f"IF({value.sql} IS NULL, NULL, {sql})"


def _left(value: Value, size: Value) -> Value:
    return _substring(value, number("1", 1, 1), size)


def _right(value: Value, size: Value) -> Value:
    found, length = _text(value), _constant(size)
    if length <= 0:
        return _empty(found)
    sql = f"IF(char_length({found.sql}) <= {length}, {found.sql}, substring({found.sql}, {-length}, {length}))"
    return text(sql, min(found.length, length), found.charsets, (found,))


def _constant(value: Value) -> int:
    if value.kind is not Kind.NUMBER or value.low != value.high or value.scale or abs(value.low) >= _LONGEST_TEXT:
        raise NotDerivable("a position in a text that is no constant")
    return value.low


def _trim(function: Sql) -> Callable[[Value], Value]:
    def trimmed(value: Value) -> Value:
        found = _text(value)
        return text(f"{function}({found.sql})", found.length, found.charsets, (found,))

    return trimmed


def _char_length(value: Value) -> Value:
    found = _text(value)
    return number(f"char_length({found.sql})", 0, max(1, found.length), of=(found,))


def _octet_length(value: Value) -> Value:
    found = _utf8(value)
    return number(f"octet_length({found.sql})", 0, max(1, 4 * found.length), of=(found,))


def _utf8(value: Value) -> Value:
    """Text whose bytes are those of UTF-8; fails for a row where they are not."""
    found = _text(value)
    if not all(map(keeps_ascii, found.charsets)):
        raise NotDerivable(f"the bytes of text of {' and '.join(sorted(found.charsets))}")
    return found if found.charsets <= UTF8 else replace(found, fails=(*found.fails, _is_not_ascii(found)))


def _hash(function: Sql, length: int) -> Callable[[Value], Value]:
    def hashed(value: Value) -> Value:
        found = _utf8(value)
        return text(f"{function}(CAST({found.sql} AS BINARY))", length, frozenset(), (found,))

    return hashed


def _sha2(value: Value, bits: Value) -> Value:
    found, size = _utf8(value), _constant(bits) or 256
    if size not in _SHA2_BITS:
        raise NotDerivable("a length of SHA2 that there is not")
    return text(f"sha2(CAST({found.sql} AS BINARY), {size})", size // 4, frozenset(), (found,))


def _crc32(value: Value) -> Value:
    found = _utf8(value)
    return number(f"crc32(CAST({found.sql} AS BINARY))", 0, 2**32 - 1, unsigned=True, of=(found,))


def _integer_of(value: Value) -> Value:
    return number_of(value, digits=18, scale=0)


def _as_signed(value: Value) -> Value:
    (found,) = numbers(_integer_of(value))
    if found.scale or not found.is_bigint:
        raise NotDerivable("a number that is no BIGINT as one")
    return replace(found, unsigned=False)


def _as_unsigned(value: Value) -> Value:
    (found,) = numbers(_integer_of(value))
    if found.scale or found.low < 0:
        raise NotDerivable("a number that may be below 0 as an unsigned one")
    return replace(found, unsigned=True)


def _as_decimal(value: Value, precision: int = 10, scale: int = 0) -> Value:
    (found,) = numbers(number_of(value))
    kind = ColumnType("decimal", precision=precision, scale=scale)
    made = stored(found, kind)
    low, high = decimal_bounds(kind)
    low, high = max(low, made.low), min(high, made.high)
    return replace(made, low=low, high=high, as_text=False, condition=None)


def in_charset(value: Value, charset: str | None) -> Value:
    """CAST(value AS CHAR) or CONVERT(value USING charset)."""
    found, wanted = as_text(value), canonical_charset(charset or "")
    if wanted and not keeps_ascii(wanted) and not (found.charsets and found.charsets <= {wanted}):
        raise NotDerivable(f"text in {wanted}")
    if found.charsets and wanted not in ("", "utf8mb4") and not found.charsets <= {wanted}:
        raise NotDerivable(f"text of {' and '.join(sorted(found.charsets))} in {wanted}")
    return replace(found, charsets=frozenset({"utf8mb4"}) if found.charsets and wanted == "utf8mb4" else found.charsets)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "IF": _if, "IFNULL": _coalesce, "COALESCE": _coalesce, "NVL": _coalesce, "NULLIF": _null_if,
    "ABS": absolute, "MOD": OPERATORS["MOD"],
    "CONCAT": _concat, "CONCAT_WS": _concat_ws,
    **dict.fromkeys(("UPPER", "UCASE"), _in_case("upper")), **dict.fromkeys(("LOWER", "LCASE"), _in_case("lower")),
    **dict.fromkeys(("SUBSTR", "SUBSTRING"), _substring), "LEFT": _left, "RIGHT": _right,
    "TRIM": _trim("trim"), "LTRIM": _trim("ltrim"), "RTRIM": _trim("rtrim"),
    **dict.fromkeys(("CHAR_LENGTH", "CHARACTER_LENGTH"), _char_length),
    **dict.fromkeys(("LENGTH", "OCTET_LENGTH"), _octet_length),
    "MD5": _hash("md5", 32), **dict.fromkeys(("SHA", "SHA1"), _hash("sha1", 40)), "SHA2": _sha2, "CRC32": _crc32,
    **OF_DATES, "JSON_UNQUOTE": json_unquote,
    "CAST SIGNED": _as_signed, "CAST UNSIGNED": _as_unsigned, "CAST DECIMAL": _as_decimal,
}  # fmt: skip
"""Functions by name; ``CAST DATE`` is CAST(value AS DATE)."""
