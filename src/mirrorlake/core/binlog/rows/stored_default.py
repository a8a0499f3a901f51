"""The value that a column stores when an INSERT leaves it out, as the bytes that a row image would have.

A partial image of an INSERT lacks only columns that took a constant: both servers log what CURRENT_TIMESTAMP,
AUTO_INCREMENT, an expression or a trigger gave (measured on MySQL 9.7 and MariaDB 10.11). Values whose bytes depend on
more than the definition, such as a TIMESTAMP's on the session's time zone, are not known.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import struct
from collections.abc import Callable
from decimal import Decimal

import numpy as np

from mirrorlake.core.binlog.rows.table_map import length_bytes
from mirrorlake.core.schema.tables import Column, Default
from mirrorlake.core.schema.types import BLOBS, INTEGER_BYTES, INTEGERS, TEXTS
from mirrorlake.core.values.numeric import DIGIT_BYTES

_ASCII_TWINS = ("utf8mb4", "utf8mb3", "ascii", "latin1")  # character sets in which ASCII text has ASCII's bytes
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_FLOAT = re.compile(_NUMBER.pattern + r"(e[+-]?[0-9]+)?", re.IGNORECASE)
_BITS = re.compile(r"(?:b'([01]+)'|0b([01]+))|(?:x'([0-9a-f]+)'|0x([0-9a-f]+))", re.IGNORECASE)
_DATETIME = re.compile(
    r"([0-9]{4})-([0-9][0-9])-([0-9][0-9])(?: ([0-9][0-9]):([0-9][0-9]):([0-9][0-9])(?:\.([0-9]{1,6}))?)?"
)


class NotKnown(Exception):
    """The definition does not determine the value."""


def stored_default(column: Column, wire_type: int, metadata: int) -> bytes | None:
    """The stored bytes of a default; None: NULL. Raises NotKnown."""
    default, kind = column.default, column.type.name
    if column.generated is not None or column.is_auto_increment:
        raise NotKnown
    if default is not None and default.kind == "null":
        return None
    if kind not in _ENCODERS or default is not None and default.kind not in ("string", "number", "bits"):
        raise NotKnown
    try:
        return _ENCODERS[kind](column, default or _implicit(column), wire_type, metadata)
    except (ValueError, OverflowError, UnicodeEncodeError):
        raise NotKnown from None


def _implicit(column: Column) -> Default:
    """The implicit default of a NOT NULL column without a default, outside strict mode."""
    kind = column.type.name
    if kind == "enum":
        return Default("string", column.type.labels[0])
    if kind in ("date", "datetime"):
        return Default("string", "0000-00-00")
    return Default("number", "0") if kind in _NUMBERS else Default("string", _IMPLICIT_TEXTS.get(kind, ""))


def _matched(pattern: re.Pattern, default: Default) -> re.Match:
    match = pattern.fullmatch(default.text.strip())
    if match is None or default.kind == "bits" and pattern is not _BITS:
        raise NotKnown
    return match


def _integer(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    n_bytes = INTEGER_BYTES[column.type.name]
    value = int(_matched(_INTEGER, default)[0])
    return value.to_bytes(n_bytes, "little", signed=not column.type.unsigned)


def _decimal(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    """Encode a DECIMAL: groups of 9 digits, big-endian; the sign is the first bit, flipped, and negatives are
    inverted."""
    precision, scale = column.type.precision or 0, column.type.scale or 0
    sign, digits, exponent = Decimal(_matched(_NUMBER, default)[0]).as_tuple()
    assert isinstance(exponent, int)
    n_zeros = scale + exponent
    if n_zeros < 0 or len(digits) + n_zeros > precision and any(digits):
        raise NotKnown
    text = "".join(map(str, digits)) + "0" * n_zeros
    text = text.rjust(precision, "0")[-precision:]
    whole, fraction = text[: precision - scale], text[precision - scale :]
    head = len(whole) % 9
    groups = [whole[:head], *(whole[i : i + 9] for i in range(head, len(whole), 9))]
    groups += [fraction[i : i + 9] for i in range(0, scale, 9)]
    data = bytearray(b"".join(int(group or 0).to_bytes(int(DIGIT_BYTES[len(group)]), "big") for group in groups))
    if sign and any(digits):
        data = bytearray(byte ^ 0xFF for byte in data)
    data[0] ^= 0x80
    return bytes(data)


def _float(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    value = float(_matched(_FLOAT, default)[0])
    if column.display:  # FLOAT(7,4) rounds
        raise NotKnown
    return struct.pack("<d", value) if column.type.name == "double" else np.float32(value).tobytes()


def _bit(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    n_bits = column.type.length or 1
    if default.kind == "bits":
        match = _matched(_BITS, default)
        value = int(match[1] or match[2], 2) if match[1] or match[2] else int(match[3] or match[4], 16)
    elif default.kind == "number":
        value = int(_matched(_INTEGER, default)[0])
    else:
        raise NotKnown
    if value >> n_bits:
        raise NotKnown
    return value.to_bytes((n_bits + 7) // 8, "big")


def _year(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    value = int(_matched(_INTEGER, default)[0])
    if value and not 1901 <= value <= 2155:  # two digits stand for another year
        raise NotKnown
    if default.kind == "string" and len(default.text) < 4:  # '0' is 2000
        raise NotKnown
    return bytes((value - 1900 if value else 0,))


def _date(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    match = _matched(_DATETIME, default)
    if match[4] is not None:
        raise NotKnown
    year, month, day = _calendar_day(match)
    return (year << 9 | month << 5 | day).to_bytes(3, "little")


def _datetime(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    match, n_digits = _matched(_DATETIME, default), column.type.fraction_digits or 0
    if wire_type != 18 or len((match[7] or "").rstrip("0")) > n_digits:
        raise NotKnown
    year, month, day = _calendar_day(match)
    hour, minute, second = (int(match[k] or 0) for k in (4, 5, 6))
    dt.time(hour, minute, second)
    packed = (year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second
    n_bytes = (n_digits + 1) // 2
    fraction = int((match[7] or "").ljust(6, "0")) // 100 ** (3 - n_bytes)
    return (packed + 0x8000000000).to_bytes(5, "big") + fraction.to_bytes(n_bytes, "big")


def _calendar_day(match: re.Match) -> tuple[int, int, int]:
    year, month, day = (int(match[k]) for k in (1, 2, 3))
    if year or month or day:
        dt.date(year, month, day)
    return year, month, day


def _characters(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    """Encode only ASCII text: other text depends on the client's character set as well."""
    if default.kind != "string" or column.type.charset not in (*_ASCII_TWINS, None):
        raise NotKnown
    data = default.text.encode("ascii")
    if column.type.name in ("char", "binary"):  # a row image lacks the pad
        data = data.rstrip(b" " if column.type.name == "char" else b"\0")
    if column.type.length is not None and len(data) > column.type.length:
        raise NotKnown
    return len(data).to_bytes(length_bytes(wire_type, metadata), "little") + data


def _uuid_or_inet(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    """Encode as BINARY: without trailing zero bytes, and no bytes at all for the implied zero."""
    if default.kind != "string":
        raise NotKnown
    if column.type.name == "uuid":
        data = bytes.fromhex(default.text.replace("-", ""))
    else:
        parse = ipaddress.IPv4Address if column.type.name == "inet4" else ipaddress.IPv6Address
        data = parse(default.text).packed
    if len(data) != (4 if column.type.name == "inet4" else 16):
        raise NotKnown
    data = data.rstrip(b"\0")
    return len(data).to_bytes(length_bytes(wire_type, metadata), "little") + data


def _enum(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    if default.kind != "string":
        raise NotKnown
    return (column.type.labels.index(default.text) + 1).to_bytes(metadata, "little")


def _set(column: Column, default: Default, wire_type: int, metadata: int) -> bytes:
    if default.kind != "string":
        raise NotKnown
    chosen = {column.type.labels.index(label) for label in default.text.split(",") if label}
    return sum(1 << number for number in chosen).to_bytes(metadata, "little")


_ENCODERS: dict[str, Callable[[Column, Default, int, int], bytes]] = {
    **dict.fromkeys(INTEGERS, _integer),
    **dict.fromkeys(("float", "double"), _float),
    **dict.fromkeys(("char", "varchar", "binary", "varbinary", *TEXTS, *BLOBS), _characters),
    **dict.fromkeys(("uuid", "inet6", "inet4"), _uuid_or_inet),
    "decimal": _decimal,
    "bit": _bit,
    "year": _year,
    "date": _date,
    "datetime": _datetime,
    "enum": _enum,
    "set": _set,
}
_IMPLICIT_TEXTS = {"uuid": "0" * 32, "inet6": "::", "inet4": "0.0.0.0"}
_NUMBERS = (*INTEGERS, "decimal", "float", "double", "bit", "year")
