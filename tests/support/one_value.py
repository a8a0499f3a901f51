"""One stored value -> its VARIANT encoding -> a Python value: the kernels of ``core/values``, one call at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from mirrorlake.core.kernels.memory import addresses
from mirrorlake.core.schema.charset_codes import code_table
from mirrorlake.core.schema.hashing import DigestKey
from mirrorlake.core.values.column_kinds import Tables
from mirrorlake.core.values.column_value import Columns, column_layout, hashed_layout, put_value
from mirrorlake.core.values.hmac_sha256 import words_of
from mirrorlake.core.values.kinds import MALFORMED, NO_ROOM

_MARGIN = 256
_EDGE = 0xA5


def decoded(
    layout: tuple[int, int, int, int, int], data: bytes, room: int = 1 << 16, key: DigestKey | None = None
) -> Any:
    """What the column's kernel makes of ``data``: str, bytes, int (any primitive's bits) or None; MALFORMED, NO_ROOM.
    key: of a hashed column.

    Raises AssertionError when a value is not read to its end, or bytes beyond the room or the end are touched.
    """
    stored = np.frombuffer(data + bytes([_EDGE]) * 64, np.uint8)
    out = np.full(room + 2 * _MARGIN, _EDGE, np.uint8)
    tables = Tables(np.zeros(32, np.uint8), np.zeros(1, np.int64), code_table("latin1"))
    entry = np.array(column_layout(*layout), np.int64)
    words = words_of(key) if key else None
    used = entry if words is None else np.array(hashed_layout(entry, words), np.int64)
    columns = Columns(used.reshape(1, -1), np.zeros(1, np.int64), tables.packed())
    p, o = stored.ctypes.data, out.ctypes.data
    behind, written = put_value(p, p + len(data), addresses(columns), 0, o, o + room)
    assert (out[room + _MARGIN :] == _EDGE).all()
    if behind < 0:
        return int(behind)
    assert behind == p + len(data)
    return _value(out[: written - o].tobytes())


def _value(encoded: bytes) -> Any:
    kind, header = encoded[0] & 3, encoded[0] >> 2
    if kind == 1:
        assert len(encoded) == 1 + header
        return encoded[1:].decode()
    if header in (15, 16):
        assert int.from_bytes(encoded[1:5], "little") == len(encoded) - 5 >= (64 if header == 16 else 0)
        return encoded[5:] if header == 15 else encoded[5:].decode()
    return None if header == 0 else int.from_bytes(encoded[1:], "little")


__all__ = ["MALFORMED", "NO_ROOM", "decoded"]
