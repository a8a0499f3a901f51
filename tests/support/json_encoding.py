"""JSON values as MySQL stores them and as it shows them, in plain Python.

Values: None, bool, int, float, str, list, dict (in the order given), ``Opaque``. Format: ``sql-common/json_binary.h``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_WORDS = {None: (0, "null"), True: (1, "true"), False: (2, "false")}
_INTEGERS = ((5, "<h"), (6, "<H"), (7, "<i"), (8, "<I"), (9, "<q"), (10, "<Q"))
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


@dataclass(frozen=True)
class Opaque:
    """A value of another column type: its number, its bytes, and what the server shows of it."""

    type: int
    data: bytes
    text: str


def encode_json(value: Any, is_large: bool = False) -> bytes:
    """A document. is_large: containers take the large form even where the small one would do."""
    kind, data = _encode(value, is_large)
    return bytes((kind,)) + data


def json_text(value: Any) -> str:
    match value:
        case None | bool():
            return _WORDS[value][1]
        case int():
            return str(value)
        case float():
            return double_text(value)
        case str():
            return '"' + "".join(_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in value) + '"'
        case list():
            return "[" + ", ".join(map(json_text, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{json_text(key)}: {json_text(item)}" for key, item in value.items()) + "}"
    return value.text


def double_text(value: float) -> str:
    """The shortest digits, as Python finds them too; an exponent from 1e16 and below 1e-15 on."""
    _, digits, exponent = Decimal(repr(abs(value))).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent if value else 1
    sign = "-" if str(value).startswith("-") else ""
    if point < -14 or (point > 15 and len(text) <= point):
        return f"{sign}{text[0]}{'.' + text[1:] if text[1:] else ''}e{point - 1}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{text}"
    return f"{sign}{text[:point].ljust(point, '0')}.{text[point:] or '0'}"


def _encode(value: Any, is_large: bool) -> tuple[int, bytes]:
    match value:
        case None | bool():
            return 4, bytes((_WORDS[value][0],))
        case int():
            kind, form = next(found for found in _INTEGERS if _fits(found[1], value))
            return kind, struct.pack(form, value)
        case float():
            return 11, struct.pack("<d", value)
        case str():
            return 12, _length(len(value.encode())) + value.encode()
        case Opaque():
            return 15, bytes((value.type,)) + _length(len(value.data)) + value.data
    kind = 0 if isinstance(value, dict) else 2
    small = None if is_large else _container(value, False, is_large)
    return (kind, small) if small is not None else (kind + 1, _container(value, True, is_large) or b"")


def _fits(form: str, value: int) -> bool:
    try:
        struct.pack(form, value)
    except struct.error:
        return False
    return True


def _length(n: int) -> bytes:
    return bytes((n,)) if n < 128 else bytes((n & 127 | 128,)) + _length(n >> 7)


def _container(value: list | dict, is_wide: bool, is_large: bool) -> bytes | None:
    """None: it does not fit the small form."""
    width = 4 if is_wide else 2
    keys = [key.encode() for key in value] if isinstance(value, dict) else []
    members = [_encode(item, is_large) for item in (value.values() if isinstance(value, dict) else value)]
    place = 2 * width + len(keys) * (width + 2) + len(members) * (width + 1)
    key_entries, value_entries, tail = b"", b"", b"".join(keys)
    for key in keys:
        key_entries += (place % 2**32).to_bytes(4, "little")[:width] + len(key).to_bytes(2, "little")
        place += len(key)
    for kind, data in members:
        if kind == 4 or kind in (5, 6) or (is_wide and kind in (7, 8)):
            filler = b"\xff" if kind == 5 and data[1] & 0x80 or kind == 7 and data[3] & 0x80 else b"\0"
            value_entries += bytes((kind,)) + data.ljust(width, filler)
            continue
        value_entries += bytes((kind,)) + (place % 2**32).to_bytes(4, "little")[:width]
        tail, place = tail + data, place + len(data)
    if not is_wide and place >= 2**16:
        return None
    return len(members).to_bytes(width, "little") + place.to_bytes(width, "little") + key_entries + value_entries + tail
