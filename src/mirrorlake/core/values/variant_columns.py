"""VARIANT -> Arrow columns: the inverse of the ``put_*`` kernels, for many row images of one table at once.

Kernels take ``pos[r]``, where the value of row r starts in ``buf`` (-1: the object has no such field), and return the
number of values of another type than expected.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mirrorlake.core.memory import copy_bytes, kernel, load_u8, load_u16, load_u32, load_u64
from mirrorlake.core.values.variant import decode_metadata
from mirrorlake.errors import InternalError


@kernel
def _load(buf, p, size):
    value = np.int64(0)
    for i in range(size):
        value |= np.int64(load_u8(buf, p + i)) << (8 * i)
    return value


@kernel
def _locate(buf, ends, field_ids, pos):
    """pos[c, r]: start of field ``field_ids[c]`` of row r's object; -1 absent. Returns how many rows are no objects."""
    n_wrong = 0
    for r in range(ends.shape[0] - 1):
        p = np.int64(ends[r])
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
        for c in range(field_ids.shape[0]):
            k = field_ids[c]
            if k >= n_fields or _load(buf, ids + k * id_size, id_size) != field_ids[c]:
                k = np.int64(0)
                while k < n_fields and _load(buf, ids + k * id_size, id_size) != field_ids[c]:
                    k += 1
            pos[c, r] = values + _load(buf, offsets + k * offset_size, offset_size) if 0 <= k < n_fields else -1
    return n_wrong


@kernel
def _read_integers(buf, pos, out, valid):
    """INT8 .. INT64, DATE, TIMESTAMP, TIMESTAMP_NTZ as int64."""
    n_wrong = 0
    for r in range(pos.shape[0]):
        p = pos[r]
        kind = load_u8(buf, p) >> 2 if p >= 0 else np.uint8(0)
        valid[r] = kind != 0
        if kind == 0:
            continue
        if kind == 3:
            out[r] = np.int8(load_u8(buf, p + 1))
        elif kind == 4:
            out[r] = np.int16(load_u16(buf, p + 1))
        elif kind == 5 or kind == 11:
            out[r] = np.int32(load_u32(buf, p + 1))
        elif kind == 6 or kind == 12 or kind == 13:
            out[r] = np.int64(load_u64(buf, p + 1))
        else:
            n_wrong += 1
    return n_wrong


@kernel
def _read_floats(buf, pos, out, valid):
    """FLOAT and DOUBLE as their bits: a FLOAT's in the low half."""
    n_wrong = 0
    for r in range(pos.shape[0]):
        p = pos[r]
        kind = load_u8(buf, p) >> 2 if p >= 0 else np.uint8(0)
        valid[r] = kind != 0
        if kind == 7:
            out[r] = np.int64(load_u64(buf, p + 1))
        elif kind == 14:
            out[r] = np.int64(load_u32(buf, p + 1))
        elif kind != 0:
            n_wrong += 1
    return n_wrong


@kernel
def _read_decimals(buf, pos, out, valid):
    """DECIMAL4 .. DECIMAL16 as 128-bit two's complement, low half first."""
    n_wrong = 0
    for r in range(pos.shape[0]):
        p = pos[r]
        kind = load_u8(buf, p) >> 2 if p >= 0 else np.uint8(0)
        valid[r] = kind != 0
        if kind == 8:
            out[r, 0] = np.int32(load_u32(buf, p + 2))
            out[r, 1] = out[r, 0] >> 63
        elif kind == 9:
            out[r, 0] = np.int64(load_u64(buf, p + 2))
            out[r, 1] = out[r, 0] >> 63
        elif kind == 10:
            out[r, 0] = np.int64(load_u64(buf, p + 2))
            out[r, 1] = np.int64(load_u64(buf, p + 10))
        elif kind != 0:
            n_wrong += 1
    return n_wrong


@kernel
def _read_lengths(buf, pos, starts, ends, valid):
    """Where the bytes of each STRING or BINARY begin, and the running sum of their lengths."""
    n_wrong = 0
    total = np.int64(0)
    for r in range(pos.shape[0]):
        p = pos[r]
        header = load_u8(buf, p) if p >= 0 else np.uint8(0)
        valid[r] = header != 0
        if header & 3 == 1:
            starts[r] = p + 1
            total += np.int64(header >> 2)
        elif header == 64 or header == 60:
            starts[r] = p + 5
            total += np.int64(load_u32(buf, p + 1))
        elif header != 0:
            n_wrong += 1
        ends[r + 1] = total
    return n_wrong


@kernel
def _copy_texts(buf, starts, ends, out):
    for r in range(starts.shape[0]):
        n_bytes = ends[r + 1] - ends[r]
        if n_bytes:
            copy_bytes(out, ends[r], buf, starts[r], n_bytes)


def decode_images(images: pa.StructArray, columns: dict[str, pa.DataType]) -> list[pa.Array]:
    """The named fields of row images that share one dictionary, one array of each asked type.

    images: VARIANT structs without NULLs. A field that an image does not have is NULL.
    Raises InternalError when a value has another type than its column.
    """
    values, n = images.field("value"), len(images)
    buf = np.frombuffer(values.buffers()[2], np.uint8)
    ends = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + n + 1].astype(np.int64)
    ids = {name: i for i, name in enumerate(decode_metadata(images.field("metadata")[0].as_py()))}
    pos = np.empty((len(columns), n), np.int64)
    wrong = _locate(buf, ends, np.array([ids.get(name, -1) for name in columns], np.int64), pos)
    if wrong:
        raise InternalError("internal", f"{wrong} row images are not objects")
    return [_column(buf, pos[c], name, kind) for c, (name, kind) in enumerate(columns.items())]


def _column(buf: np.ndarray, pos: np.ndarray, name: str, kind: pa.DataType) -> pa.Array:
    n, valid = len(pos), np.empty(len(pos), np.bool_)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        starts, ends = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
        wrong = _read_lengths(buf, pos, starts, ends, valid)
        data = np.empty(int(ends[-1]), np.uint8)
        _copy_texts(buf, starts, ends, data)
        buffers = [pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
    elif pa.types.is_decimal(kind):
        out = np.zeros((n, 2), np.int64)
        wrong = _read_decimals(buf, pos, out, valid)
        buffers = [pa.py_buffer(out)]
    elif pa.types.is_floating(kind):
        out = np.zeros(n, np.int64)
        wrong = _read_floats(buf, pos, out, valid)
        buffers = [pa.py_buffer(out.astype(np.int32) if pa.types.is_float32(kind) else out)]
    else:
        out = np.zeros(n, np.int64)
        wrong = _read_integers(buf, pos, out, valid)
        buffers = [pa.py_buffer(out.astype(f"i{kind.bit_width // 8}"))]
    if wrong:
        raise InternalError("internal", f"{wrong} values of column {name} are not {kind}")
    return pa.Array.from_buffers(kind, n, [pa.array(valid).buffers()[1], *buffers])
