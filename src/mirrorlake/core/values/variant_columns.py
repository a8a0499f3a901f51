"""VARIANT -> Arrow columns: the inverse of the ``put_*`` kernels, for many row images of one table at once.

Kernels take ``pos[r]``, where the value of row r starts in ``buf``, and ``header[r]``, its first byte (0: the value is
the primitive null, or the object has no such field), and return the number of values of another type than expected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from mirrorlake.core.kernels.memory import copy_bytes, kernel, load_u8, load_u16, load_u32, load_u64
from mirrorlake.core.values.shown_text import Shown, read_shown
from mirrorlake.core.values.variant import BINARY, decode_metadata
from mirrorlake.errors import InternalError, RefusedError

Asked: TypeAlias = pa.DataType | Shown
"""Requested form of a column: values of a type, or texts."""
_SHORT_STRING = 1


def arrow_type(asked: Asked) -> pa.DataType:
    """The type of the resulting arrays."""
    return pa.string() if isinstance(asked, Shown) else asked


def arrow_types(columns: Mapping[str, Asked]) -> dict[str, pa.DataType]:
    return {name: arrow_type(asked) for name, asked in columns.items()}


@kernel
def _load(buf, p, size):
    if size == 1:
        return np.int64(load_u8(buf, p))
    if size == 4:
        return np.int64(load_u32(buf, p))
    low = np.int64(load_u16(buf, p))
    return low if size == 2 else low | np.int64(load_u8(buf, p + 2)) << 16


@kernel
def _locate(buf, starts, dictionary, field_ids, pos):
    """pos[c, r]: start of field ``field_ids[dictionary[r], c]`` of the object at ``starts[r]``; -1 absent.

    Returns the number of rows that are no objects.
    """
    n_wrong = 0
    for r in range(starts.shape[0]):
        p = starts[r]
        header = load_u8(buf, p)
        if header & 3 != 2:
            n_wrong += 1
            pos[:, r] = -1
            continue
        offset_size = np.int64(header >> 2 & 3) + 1
        id_size = np.int64(header >> 4 & 3) + 1
        count_size = 4 if header >> 6 & 1 else 1
        n_fields = _load(buf, p + 1, count_size)
        ids = p + 1 + count_size
        offsets = ids + n_fields * id_size
        values = offsets + (n_fields + 1) * offset_size
        for c in range(field_ids.shape[1]):
            field = field_ids[dictionary[r], c]
            k = field
            if k >= n_fields or _load(buf, ids + k * id_size, id_size) != field:
                k = np.int64(0)
                while k < n_fields and _load(buf, ids + k * id_size, id_size) != field:
                    k += 1
            pos[c, r] = values + _load(buf, offsets + k * offset_size, offset_size) if 0 <= k < n_fields else -1
    return n_wrong


@kernel
def _read_headers(buf, pos, header):
    for r in range(pos.shape[0]):
        header[r] = load_u8(buf, pos[r]) if pos[r] >= 0 else 0


@kernel
def _read_integers(buf, pos, header, out):
    """Read INT8 .. INT64, DATE, TIMESTAMP, TIMESTAMP_NTZ as int64."""
    n_wrong = 0
    for r in range(pos.shape[0]):
        p, kind = pos[r], header[r] >> 2
        if kind == 3:
            out[r] = np.int8(load_u8(buf, p + 1))
        elif kind == 4:
            out[r] = np.int16(load_u16(buf, p + 1))
        elif kind == 5 or kind == 11:
            out[r] = np.int32(load_u32(buf, p + 1))
        elif kind == 6 or kind == 12 or kind == 13:
            out[r] = np.int64(load_u64(buf, p + 1))
        elif header[r]:
            n_wrong += 1
    return n_wrong


@kernel
def _read_floats(buf, pos, header, out):
    """Read FLOAT and DOUBLE as their bits: a FLOAT's in the low half."""
    n_wrong = 0
    for r in range(pos.shape[0]):
        p, kind = pos[r], header[r] >> 2
        if kind == 7:
            out[r] = np.int64(load_u64(buf, p + 1))
        elif kind == 14:
            out[r] = np.int64(load_u32(buf, p + 1))
        elif header[r]:
            n_wrong += 1
    return n_wrong


@kernel
def _read_decimals(buf, pos, header, out):
    """Read DECIMAL4 .. DECIMAL16 as 128-bit two's complement, low half first."""
    n_wrong = 0
    for r in range(pos.shape[0]):
        p, kind = pos[r], header[r] >> 2
        if kind == 8:
            out[r, 0] = np.int32(load_u32(buf, p + 2))
            out[r, 1] = out[r, 0] >> 63
        elif kind == 9:
            out[r, 0] = np.int64(load_u64(buf, p + 2))
            out[r, 1] = out[r, 0] >> 63
        elif kind == 10:
            out[r, 0] = np.int64(load_u64(buf, p + 2))
            out[r, 1] = np.int64(load_u64(buf, p + 10))
        elif header[r]:
            n_wrong += 1
    return n_wrong


@kernel
def _read_lengths(buf, pos, header, is_text, starts, ends):
    """Find the start of the bytes of each STRING (is_text) or BINARY, and the running sum of their lengths.

    A BINARY instead of a STRING, or the other way round, is a wrong value.
    """
    long_header = 64 if is_text else 60
    n_wrong = 0
    total = np.int64(0)
    for r in range(pos.shape[0]):
        p = pos[r]
        if header[r] & 3 == 1 and is_text:
            starts[r] = p + 1
            total += np.int64(header[r] >> 2)
        elif header[r] == long_header:
            starts[r] = p + 5
            total += np.int64(load_u32(buf, p + 1))
        elif header[r]:
            n_wrong += 1
        ends[r + 1] = total
    return n_wrong


@kernel
def _copy_texts(buf, starts, ends, out):
    for r in range(starts.shape[0]):
        n_bytes = ends[r + 1] - ends[r]
        if n_bytes:
            copy_bytes(out, ends[r], buf, starts[r], n_bytes)


def decode_images(
    images: pa.StructArray,
    columns: dict[str, Asked],
    rows: np.ndarray | None = None,
    invalid: Counter[str] | None = None,
) -> list[pa.Array]:
    """Decode the named fields of row images, one array of each requested type. A field that an image does not have is
    NULL.

    images: VARIANT structs. rows: int64, indexes of those to decode, none of them NULL; default: all. An invalid
    value (a string for a date or time: a date that no calendar has; bytes for a text: invalid in its character set)
    becomes NULL and adds to ``invalid``, by column. With ``Shown`` it becomes a text, and bytes add to ``invalid``,
    because another value may have the same text.
    Raises InternalError when a value has another type than its column.
    """
    rows = np.arange(len(images)) if rows is None else rows
    if not len(rows):
        return [pa.array([], kind) for kind in arrow_types(columns).values()]
    buf, pos = locate_fields(images, list(columns), rows)
    return read_fields(buf, pos, columns, invalid)


def decode_keys(images: pa.StructArray, key_types: dict[str, Asked], rows: np.ndarray) -> list[pa.Array]:
    """``decode_images`` for the key columns.

    Raises RefusedError ``invalid-key`` for a value that adds to ``invalid``: it might not be unique.
    """
    invalid: Counter[str] = Counter()
    arrays = decode_images(images, key_types, rows, invalid)
    require_valid_keys(invalid, key_types)
    return arrays


def require_valid_keys(invalid: Counter[str], key: Iterable[str]) -> None:
    """Raise RefusedError ``invalid-key`` if one of the columns is counted in ``invalid``."""
    for name in key:
        if invalid[name]:
            raise RefusedError("invalid-key", f"key column {name} has a value that has no meaning")


def locate_fields(images: pa.StructArray, names: list[str], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (bytes, ``pos``): the start of each named field of each row image in the bytes; -1: the image does not
    have it.

    Raises InternalError when an image is no object.
    """
    values = images.field("value")
    buf = np.frombuffer(values.buffers()[2], np.uint8)
    starts = np.frombuffer(values.buffers()[1], np.int32)[values.offset :][rows].astype(np.int64)
    dictionary, field_ids = _field_ids(images.field("metadata"), names, rows)
    pos = np.empty((len(names), len(rows)), np.int64)
    wrong = _locate(buf, starts, dictionary, field_ids, pos)
    if wrong:
        raise InternalError("internal", f"{wrong} row images are not objects")
    return buf, pos


def read_fields(
    buf: np.ndarray, pos: np.ndarray, columns: dict[str, Asked], invalid: Counter[str] | None = None
) -> list[pa.Array]:
    """Read the fields at ``pos``, one array of each requested type; NULL if it is -1. invalid: see
    ``decode_images``."""
    return [_column(buf, pos[c], name, kind, invalid) for c, (name, kind) in enumerate(columns.items())]


def _field_ids(metadata: pa.Array, names: list[str], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The dictionary of each row, and the id of each name in each dictionary, -1 for a name that it does not have."""
    encoded = metadata.dictionary_encode()
    dictionary = encoded.indices.to_numpy(zero_copy_only=False)[rows].astype(np.int64)
    field_ids = np.full((len(encoded.dictionary), len(names)), -1, np.int64)
    for d in np.flatnonzero(np.bincount(dictionary)).tolist():
        ids = {name: i for i, name in enumerate(decode_metadata(encoded.dictionary[d].as_py()))}
        field_ids[d] = [ids.get(name, -1) for name in names]
    return dictionary, field_ids


def _is_invalid(header: np.ndarray, kind: pa.DataType) -> np.ndarray:
    """Mask of present values that mean an invalid one: a text for a date, bytes for a text."""
    if pa.types.is_temporal(kind):
        return header & 3 == _SHORT_STRING
    return (header == BINARY << 2) & pa.types.is_string(kind)


def _column(buf: np.ndarray, pos: np.ndarray, name: str, asked: Asked, invalid: Counter[str] | None) -> pa.Array:
    header = np.empty(len(pos), np.uint8)
    _read_headers(buf, pos, header)
    kind = arrow_type(asked)
    is_invalid = _is_invalid(header, kind)
    if invalid is not None:
        invalid[name] += int(is_invalid.sum())
    if isinstance(asked, Shown):
        wrong, array = read_shown(buf, pos, header, asked.digits)
    else:
        header[is_invalid] = 0
        wrong, array = _read(buf, pos, header, kind)
    if wrong:
        raise InternalError("internal", f"{wrong} values of column {name} are not {kind}")
    return array


def _read(buf: np.ndarray, pos: np.ndarray, header: np.ndarray, kind: pa.DataType) -> tuple[int, pa.Array]:
    """Return (number of values of another type, the values)."""
    n = len(pos)
    out: np.ndarray
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        starts, ends = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
        wrong = _read_lengths(buf, pos, header, pa.types.is_string(kind), starts, ends)
        data = np.empty(int(ends[-1]), np.uint8)
        _copy_texts(buf, starts, ends, data)
        buffers = [pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
    elif pa.types.is_decimal(kind):
        out = np.zeros((n, 2), np.int64)
        wrong = _read_decimals(buf, pos, header, out)
        buffers = [pa.py_buffer(out)]
    elif pa.types.is_floating(kind):
        out = np.zeros(n, np.int64)
        wrong = _read_floats(buf, pos, header, out)
        buffers = [pa.py_buffer(out.astype(np.int32) if pa.types.is_float32(kind) else out)]
    else:
        out = np.zeros(n, np.int64)
        wrong = _read_integers(buf, pos, header, out)
        buffers = [pa.py_buffer(out.astype(f"i{kind.bit_width // 8}"))]
    return wrong, pa.Array.from_buffers(kind, n, [pa.array(header != 0).buffers()[1], *buffers])
