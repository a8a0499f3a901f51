"""Random values of every mirrored column type, edge values more often than chance would have them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal
from random import Random
from typing import Any
from uuid import UUID

from mirrorlake.core.schema.types import ColumnType

_EDGE_SHARE, _NULL_SHARE, _LARGE_SHARE = 0.35, 0.12, 0.01
_INTEGER_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_EXACT = Context(prec=70)
_FIRST_SECOND = datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)
_LAST_TIMESTAMP_S = 2**31 - 1
_LETTERS = {"latin1": "abcXYZ019 _'\"\\%éÿ€ß\n", "ascii": "abcXYZ019 _'\"\\%\t",
            "koi8r": "abc 019'\"ДаЮ", "gbk": "abc 019'\"中誠",
            "sjis": "abc 019'\"ｱ表", "ucs2": "abc 019'\"€\uffee"}  # fmt: skip
_ALL_LETTERS = _LETTERS["latin1"] + "\0日本Ω😀𝄞\u2028"
_UTF8MB3_LETTERS = _LETTERS["latin1"] + "日本Ω\u2028"
_MAX_TEXT = {"tinytext": 63, "text": 600, "mediumtext": 600, "longtext": 600}
_MAX_BLOB = {"tinyblob": 255, "blob": 600, "mediumblob": 600, "longblob": 600}
_LARGE = 70_000  # more than a two-byte length can say


def random_value(random: Random, of: ColumnType, nullable: bool = False) -> Any:
    """A value as ``row_encoding`` takes it and as the mirror shows it."""
    if nullable and random.random() < _NULL_SHARE:
        return None
    edges, ordinary = _CHOICES[of.name](random, of)
    return random.choice(edges) if random.random() < _EDGE_SHARE else ordinary()


def edge_values(of: ColumnType) -> list[Any]:
    return _CHOICES[of.name](Random(0), of)[0]


Choice = tuple[list[Any], Callable[[], Any]]


def _integer(random: Random, of: ColumnType) -> Choice:
    bits = _INTEGER_BITS[of.name]
    low, high = (0, 2**bits - 1) if of.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return [low, high, 0, 1, high // 2 + 1, high - 1], lambda: random.randint(low, high)


def _decimal(random: Random, of: ColumnType) -> Choice:
    limit = 10**of.precision - 1
    low = 0 if of.unsigned else -limit

    def scaled(number):
        return Decimal(number).scaleb(-of.scale, _EXACT)

    edges = [limit, low, 0, 1, limit // 10, 10 ** (of.precision - 1)] + ([] if of.unsigned else [-1])
    return [scaled(number) for number in edges], lambda: scaled(random.randint(low, limit))


def _float(random: Random, of: ColumnType) -> Choice:
    edges = [0.0, 1.0, -1.5, 3.4028234663852886e38, -3.4028234663852886e38, 1.1754943508222875e-38, as_float32(0.1)]
    return edges, lambda: as_float32(random.uniform(-1e6, 1e6))


def as_float32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _double(random: Random, of: ColumnType) -> Choice:
    edges = [0.0, 0.1, -1.5, 1.7976931348623157e308, -1.7976931348623157e308, 2.2250738585072014e-308, 2.0**53 + 2]
    return edges, lambda: random.uniform(-1e9, 1e9)


def _bit(random: Random, of: ColumnType) -> Choice:
    return [0, 1, 2**of.length - 1, 2 ** (of.length - 1)], lambda: random.getrandbits(of.length)


def _year(random: Random, of: ColumnType) -> Choice:
    return [0, 1901, 2155, 1970], lambda: random.randint(1901, 2155)


def _date(random: Random, of: ColumnType) -> Choice:
    edges = [date(1000, 1, 1), date(9999, 12, 31), date(1970, 1, 1), date(1582, 10, 10), date(2024, 2, 29)]
    return edges, lambda: date(1900, 1, 1) + timedelta(days=random.randint(0, 80_000))


def _datetime(random: Random, of: ColumnType) -> Choice:
    fraction = _fractions(random, of)
    edges = [
        datetime(1000, 1, 1), datetime(9999, 12, 31, 23, 59, 59, fraction(999_999)), datetime(1970, 1, 1),
        datetime(1969, 12, 31, 23, 59, 59, fraction(999_999)), datetime(2024, 2, 29, 12, 0, 0, fraction(1)),
        datetime(1582, 10, 10, 1, 2, 3),
    ]  # fmt: skip
    start = datetime(1900, 1, 1)
    return edges, lambda: start + timedelta(seconds=random.randint(0, 6 * 10**9), microseconds=fraction())


def _timestamp(random: Random, of: ColumnType) -> Choice:
    fraction = _fractions(random, of)
    last = _FIRST_SECOND + timedelta(seconds=_LAST_TIMESTAMP_S - 1, microseconds=fraction(999_999))
    edges = [_FIRST_SECOND, last, datetime(2024, 3, 31, 1, 30, tzinfo=timezone.utc)]  # a clock change in Europe
    return edges, lambda: _FIRST_SECOND + timedelta(seconds=random.randrange(2**31 - 2), microseconds=fraction())


def _time(random: Random, of: ColumnType) -> Choice:
    digits = of.fraction_digits or 0

    def shown(sign, seconds, microsecond):
        text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{microsecond:06}"
        return text[: -(6 - digits) or None].rstrip(".")

    last = 839 * 3600 - 1
    edges = [("", 0, 0), ("", last, 0), ("-", last, 0), ("-", 1, 0), ("", 360000, 999_999), ("-", 3599, 999_999)]
    edges += [("-", 0, 10 ** (6 - digits))] if digits else []
    return [shown(*edge) for edge in edges], lambda: shown(
        random.choice(("", "-")), random.randrange(1, last), random.randrange(1_000_000)
    )


def _fractions(random: Random, of: ColumnType) -> Callable[..., int]:
    """Microseconds cut to the digits that the column keeps."""
    unit = 10 ** (6 - (of.fraction_digits or 0))
    return lambda microsecond=None: (random.randrange(1_000_000) if microsecond is None else microsecond) // unit * unit


def _text(random: Random, of: ColumnType) -> Choice:
    letters = _letters(of)
    limit = of.length if of.length is not None else _MAX_TEXT[of.name]
    edges = ["", letters[-1] * limit, "x" * limit, ('it\'s "q" \\ ' + letters[-1])[:limit], " a"[:limit]]
    if of.name in ("mediumtext", "longtext") and random.random() < _LARGE_SHARE:
        edges = ["y" * _LARGE]
    if of.name == "char":
        edges = [edge.rstrip(" ") for edge in edges]
    return edges, lambda: _random_text(random, letters, limit, strip=of.name == "char")


def _letters(of: ColumnType) -> str:
    return _UTF8MB3_LETTERS if of.charset == "utf8mb3" else _LETTERS.get(of.charset, _ALL_LETTERS)


def _random_text(random: Random, letters: str, limit: int, strip: bool) -> str:
    text = "".join(random.choices(letters, k=random.randint(0, min(limit, 40))))
    return text.rstrip(" ") if strip else text


def _bytes(random: Random, of: ColumnType) -> Choice:
    limit = of.length if of.length is not None else _MAX_BLOB[of.name]
    edges = [b"", bytes(limit), b"\xff" * limit, b" " * limit, b"\0a"[:limit], b"a\0"[:limit], b"\x80'\\\n"[:limit]]
    if of.name in ("mediumblob", "longblob") and random.random() < _LARGE_SHARE:
        edges = [b"\xfe" * _LARGE]
    if of.name == "binary":
        edges = [edge.ljust(limit, b"\0") for edge in edges]
        return edges, lambda: random.randbytes(limit)
    return edges, lambda: random.randbytes(random.randint(0, min(limit, 40)))


def _geometry(random: Random, of: ColumnType) -> Choice:
    """A reference system and a point, as SELECT shows it: SRID and WKB."""

    def point(*coordinates):
        return struct.pack("<IBIdd", 0, 1, 1, *coordinates)

    edges = [point(0, 0), point(-1.5, 1e300), struct.pack("<IBIIdddd", 0, 1, 2, 2, 0, 1, 2, 3)]
    return edges, lambda: point(random.uniform(-90, 90), random.uniform(-90, 90))


def _uuid(random: Random, of: ColumnType) -> Choice:
    """Every version and variant: the server keeps some of them in another order."""
    edges = ["0" * 32, "f" * 32, "20" * 16, "0" * 31 + "1", "1" + "0" * 31]
    return [str(UUID(edge)) for edge in edges], lambda: str(
        UUID(bytes=random.randbytes(random.randint(1, 16)).ljust(16, b"\0"))
    )


def _inet6(random: Random, of: ColumnType) -> Choice:
    """Any run of zeros, and the forms that hold an IPv4 address."""
    edges = ["::", "::1", "1::", "::1.2.3.4", "::ffff:1.2.3.4", "::1:2:3", "1:0:3:4:5:6:7:8", "1:0:0:4:0:0:7:8"]

    def some():
        words = [random.choice((0, 0, 0xFFFF, random.getrandbits(16), random.getrandbits(5))) for _ in range(8)]
        return ":".join(f"{word:x}" for word in words)

    return edges, some


def _inet4(random: Random, of: ColumnType) -> Choice:
    return ["0.0.0.0", "255.255.255.255", "1.0.0.0", "32.32.32.32"], lambda: ".".join(map(str, random.randbytes(4)))


def _enum(random: Random, of: ColumnType) -> Choice:
    return [of.labels[0], of.labels[-1]], lambda: random.choice(of.labels)


def _set(random: Random, of: ColumnType) -> Choice:
    def some():
        return ",".join(label for label in of.labels if random.random() < 0.4)

    return ["", of.labels[0], of.labels[-1], ",".join(of.labels)], some


_CHOICES: dict[str, Callable[[Random, ColumnType], Choice]] = {
    **dict.fromkeys(_INTEGER_BITS, _integer), "decimal": _decimal, "float": _float, "double": _double, "bit": _bit,
    "year": _year, "date": _date, "datetime": _datetime, "timestamp": _timestamp, "time": _time,
    "geometry": _geometry, "uuid": _uuid, "inet6": _inet6, "inet4": _inet4, "enum": _enum, "set": _set,
    **dict.fromkeys(("char", "varchar", *_MAX_TEXT), _text),
    **dict.fromkeys(("binary", "varbinary", *_MAX_BLOB), _bytes),
}  # fmt: skip
