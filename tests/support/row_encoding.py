"""Python values -> the bytes of a row image, and how TABLE_MAP describes each type.

Formats: MySQL ``libs/mysql/binlog/event/rows_event.h`` and ``sql-common/my_time.cc``, ``strings/decimal.cc``; checked
byte for byte against MySQL 9.7 and MariaDB 10.11.

Values: int (integers, YEAR, BIT), Decimal, float, str (text, ENUM label, SET as comma-separated labels, TIME
as the server shows it), bytes, date, datetime (naive for DATETIME; aware, or naive meaning UTC, for TIMESTAMP). None is
NULL.
What Python's calendar lacks is given as a tuple: (0, 0, 0) for a zero DATE, (0, 0, 0, 0, 0, 0, 0) for a zero
DATETIME or TIMESTAMP.
"""

from __future__ import annotations

import calendar
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timezone
from decimal import Context, Decimal
from typing import Any

from mirrorlake.core.schema.charsets import MAX_BYTES as MAX_CHAR_BYTES
from mirrorlake.core.schema.types import ColumnType

_CODECS = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", "ascii": "ascii", "latin2": "iso8859-2", "ucs2": "utf-16-be",
           "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be", "koi8r": "koi8_r", "gbk": "gbk",
           "sjis": "shift_jis", "gb18030": "gb18030"}  # fmt: skip
_LENGTH_BYTES = {"tinytext": 1, "text": 2, "mediumtext": 3, "longtext": 4,
                 "tinyblob": 1, "blob": 2, "mediumblob": 3, "longblob": 4}  # fmt: skip
_INTEGERS = {"tinyint": (1, 1), "smallint": (2, 2), "mediumint": (9, 3), "int": (3, 4), "bigint": (8, 8)}
_DECIMAL_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # of 0 to 9 digits
_EXACT = Context(prec=70)
_SET_BYTES = (1, 1, 2, 3, 4, 8, 8, 8, 8)  # of 0 to 8 whole bytes of labels


@dataclass(frozen=True, slots=True)
class WireType:
    """number: the type byte of TABLE_MAP. metadata: its bytes there. encode: one non-NULL value -> bytes."""

    number: int
    metadata: bytes
    encode: Callable[[Any], bytes]


def wire_type(column_type: ColumnType) -> WireType:
    """Raises KeyError for a type that no log can hold."""
    return _WIRE_TYPES[column_type.name](column_type)


def encode_text(value: str | bytes, charset: str) -> bytes:
    """Text in a MySQL charset; its latin1 is cp1252 with the five unused codes passed through, and in sjis the servers
    write a backslash as the double-width one."""
    if isinstance(value, bytes):
        return value
    if charset == "latin1":
        return b"".join(_latin1(character) for character in value)
    if charset == "sjis":
        return b"\x81\x5f".join(part.encode(_CODECS[charset]) for part in value.split("\\"))
    return value.encode(_CODECS[charset])


def _latin1(character: str) -> bytes:
    try:
        return character.encode("cp1252")
    except UnicodeEncodeError:
        return character.encode("latin-1")


def _integer(of: ColumnType) -> WireType:
    number, width = _INTEGERS[of.name]
    return WireType(number, b"", lambda value: value.to_bytes(width, "little", signed=not of.unsigned))


def _decimal(of: ColumnType) -> WireType:
    return WireType(246, bytes((of.precision, of.scale)), lambda value: encode_decimal(value, of.precision, of.scale))


def encode_decimal(value: Decimal, precision: int, scale: int) -> bytes:
    """Groups of 9 digits, big-endian; the sign is the first bit, flipped, and negatives are inverted."""
    digits = f"{abs(int(value.scaleb(scale, _EXACT))):0{precision}d}"
    whole, fraction = digits[: precision - scale], digits[precision - scale :]
    head = len(whole) % 9
    groups = [whole[:head]] + [whole[i : i + 9] for i in range(head, len(whole), 9)]
    groups += [fraction[i : i + 9] for i in range(0, scale, 9)]
    data = bytearray(b"".join(int(group or 0).to_bytes(_DECIMAL_BYTES[len(group)], "big") for group in groups))
    if value < 0:
        data = bytearray(byte ^ 0xFF for byte in data)
    data[0] ^= 0x80
    return bytes(data)


def _float(of: ColumnType) -> WireType:
    return WireType(4, b"\x04", struct.Struct("<f").pack)


def _double(of: ColumnType) -> WireType:
    return WireType(5, b"\x08", struct.Struct("<d").pack)


def _bit(of: ColumnType) -> WireType:
    bits, width = of.length, (of.length + 7) // 8
    return WireType(16, bytes((bits % 8, bits // 8)), lambda value: value.to_bytes(width, "big"))


def _year(of: ColumnType) -> WireType:
    return WireType(13, b"", lambda value: bytes((value - 1900 if value else 0,)))


def _date(of: ColumnType) -> WireType:
    return WireType(10, b"", _encode_date)


def _encode_date(value) -> bytes:
    year, month, day = value if isinstance(value, tuple) else (value.year, value.month, value.day)
    return (year << 9 | month << 5 | day).to_bytes(3, "little")


def _datetime(of: ColumnType) -> WireType:
    digits = of.fraction_digits or 0
    return WireType(18, bytes((digits,)), lambda value: _encode_datetime(value, digits))


def _encode_datetime(value, digits: int) -> bytes:
    year, month, day, hour, minute, second, microsecond = _clock(value)
    packed = (year * 13 + month) << 22 | day << 17 | hour << 12 | minute << 6 | second
    return (packed + 0x8000000000).to_bytes(5, "big") + _fraction(microsecond, digits)


def _clock(value) -> tuple[int, ...]:
    return value if isinstance(value, tuple) else (*value.timetuple()[:6], value.microsecond)


def _fraction(microsecond: int, digits: int) -> bytes:
    """Stored in units of two digits: 10 ms, 100 us or 1 us. Raises ValueError for digits that do not fit."""
    if microsecond % 10 ** (6 - digits):
        raise ValueError(f"{microsecond} us do not fit {digits} digits")
    width = (digits + 1) // 2
    return (microsecond // 100 ** (3 - width)).to_bytes(width, "big")


def _timestamp(of: ColumnType) -> WireType:
    digits = of.fraction_digits or 0
    return WireType(17, bytes((digits,)), lambda value: _encode_timestamp(value, digits))


def _encode_timestamp(value, digits: int) -> bytes:
    if isinstance(value, tuple):
        return bytes(4) + _fraction(0, digits)
    if value.tzinfo:
        value = value.astimezone(timezone.utc)
    return calendar.timegm(value.timetuple()).to_bytes(4, "big") + _fraction(value.microsecond, digits)


def _time(of: ColumnType) -> WireType:
    digits = of.fraction_digits or 0
    return WireType(19, bytes((digits,)), lambda value: _encode_time(value, digits))


def _encode_time(value: str, digits: int) -> bytes:
    """One big-endian integer with an offset, so that negative times sort first."""
    hour, minute, second, fraction = re.fullmatch(r"-?(\d+):(\d\d):(\d\d)\.?(\d*)", value).groups()
    width = 3 + (digits + 1) // 2
    packed = int(hour) << 12 | int(minute) << 6 | int(second)
    number = int.from_bytes(packed.to_bytes(3, "big") + _fraction(int(fraction.ljust(6, "0")), digits), "big")
    return ((1 << 8 * width - 1) + (-number if value.startswith("-") else number)).to_bytes(width, "big")


def _varchar(of: ColumnType) -> WireType:
    max_bytes = of.length * MAX_CHAR_BYTES[charset_of(of)]
    return WireType(15, struct.pack("<H", max_bytes), _prefixed(charset_of(of), 1 if max_bytes < 256 else 2))


def _char(of: ColumnType) -> WireType:
    """Trailing pad is not stored: spaces of CHAR, zero bytes of BINARY."""
    charset = charset_of(of)
    max_bytes = of.length * MAX_CHAR_BYTES[charset]
    metadata = bytes((254 ^ (max_bytes & 0x300) >> 4, max_bytes & 0xFF))
    pad = b"\0" if of.name == "binary" else b" "
    prefix = 1 if max_bytes < 256 else 2

    def encode(value):
        data = encode_text(value, charset).rstrip(pad)
        return len(data).to_bytes(prefix, "little") + data

    return WireType(254, metadata, encode)


def _blob(of: ColumnType) -> WireType:
    width = _LENGTH_BYTES[of.name]
    return WireType(252, bytes((width,)), _prefixed(charset_of(of), width))


def _raw(number: int) -> Callable[[ColumnType], WireType]:
    return lambda of: WireType(number, b"\x04", _prefixed("binary", 4))


def _prefixed(charset: str, width: int) -> Callable[[str | bytes], bytes]:
    def encode(value):
        data = encode_text(value, charset)
        return len(data).to_bytes(width, "little") + data

    return encode


def _enum(of: ColumnType) -> WireType:
    """1-based number of the label; 0 is the empty string that the server keeps for an invalid value."""
    width = 1 if len(of.labels) < 256 else 2
    numbers = {"": 0} | {label: number for number, label in enumerate(of.labels, 1)}
    return WireType(254, bytes((247, width)), lambda value: numbers[value].to_bytes(width, "little"))


def _set(of: ColumnType) -> WireType:
    width = _SET_BYTES[(len(of.labels) + 7) // 8]
    bits = {label: 1 << number for number, label in enumerate(of.labels)}

    def encode(value):
        return sum(bits[label] for label in value.split(",") if label).to_bytes(width, "little")

    return WireType(254, bytes((248, width)), encode)


def charset_of(of: ColumnType) -> str:
    return "binary" if of.name.endswith(("binary", "blob", "geometry")) else of.charset or "utf8mb4"


_WIRE_TYPES: dict[str, Callable[[ColumnType], WireType]] = {
    **dict.fromkeys(_INTEGERS, _integer), **dict.fromkeys(_LENGTH_BYTES, _blob),
    "decimal": _decimal, "float": _float, "double": _double, "bit": _bit, "year": _year,
    "date": _date, "datetime": _datetime, "timestamp": _timestamp, "time": _time,
    "char": _char, "binary": _char, "varchar": _varchar, "varbinary": _varchar, "enum": _enum, "set": _set,
    "json": _raw(245), "geometry": _raw(255),
}  # fmt: skip
