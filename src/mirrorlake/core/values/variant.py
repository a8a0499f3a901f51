"""VARIANT: the binary encoding of a row image (Parquet ``VariantEncoding.md``, Spark ``VariantUtil``).

A value starts with one byte: basic type in the low 2 bits, the rest above them.

    basic type 0, primitive: id of the table below << 2, then the value, little-endian
    basic type 1, string of fewer than 64 bytes: length << 2, then the bytes
    basic type 2, object: (is_large << 4 | id_size - 1 << 2 | offset_size - 1) << 2, number of fields (1 byte, 4 when
                  large), field ids in the order of their names, field offsets and the end, then the values

A row image is one object whose dictionary (``metadata``) holds the column names sorted by their UTF-8 bytes, so a
field id is the name's rank. SQL NULL is the primitive null; a column whose value the log does not have is absent.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mirrorlake.core.kernels.memory import kernel, peek_u8, poke_u8, poke_u16, poke_u32, poke_u64

NULL, INT8, INT16, INT32, INT64, DOUBLE = 0, 3, 4, 5, 6, 7
DECIMAL4, DECIMAL8, DECIMAL16, DATE, TIMESTAMP, TIMESTAMP_NTZ, FLOAT, BINARY, STRING = 8, 9, 10, 11, 12, 13, 14, 15, 16

SMALL_OBJECT, LARGE_OBJECT = 3 << 2 | 2, (1 << 4 | 1 << 2 | 3) << 2 | 2
"""First byte of an object with 4-byte offsets: with 1-byte field ids and count; with 2-byte ids and a 4-byte count."""

FIXED_BOUND_BYTES = 80
"""The longest encoding of a value of fixed size: a DECIMAL of 65 digits, as text."""

ARROW_TYPE = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)
"""The type in which a VARIANT column passes from a Python worker to Spark."""


def field_order(names: list[str]) -> list[int]:
    """Indexes of the columns in the order of a dictionary's field ids."""
    return sorted(range(len(names)), key=lambda i: names[i].encode())


def encode_metadata(names: list[str]) -> bytes:
    """The sorted dictionary of an object with these keys."""
    keys = sorted(name.encode() for name in names)
    size = max(1, (max(len(keys), sum(map(len, keys))).bit_length() + 7) // 8)
    offsets = np.concatenate([[0], np.cumsum([len(key) for key in keys], dtype=np.int64)])
    header = 1 | 1 << 4 | (size - 1) << 6
    return b"".join(
        [
            bytes([header]),
            len(keys).to_bytes(size, "little"),
            *(int(o).to_bytes(size, "little") for o in offsets),
            *keys,
        ]
    )


def decode_metadata(metadata: bytes) -> list[str]:
    """The names of a dictionary, in the order of their ids."""
    size = (metadata[0] >> 6) + 1
    n = int.from_bytes(metadata[1 : 1 + size], "little")
    offsets = [int.from_bytes(metadata[1 + size * (i + 1) : 1 + size * (i + 2)], "little") for i in range(n + 1)]
    start = 1 + size * (n + 2)
    return [metadata[start + a : start + b].decode() for a, b in zip(offsets, offsets[1:], strict=False)]


@kernel
def put_null(o):
    poke_u8(o, np.uint8(NULL << 2))
    return o + 1


@kernel
def put_int8(o, value):
    poke_u8(o, np.uint8(INT8 << 2))
    poke_u8(o + 1, np.uint8(value))
    return o + 2


@kernel
def put_int16(o, value):
    poke_u8(o, np.uint8(INT16 << 2))
    poke_u16(o + 1, np.uint16(value))
    return o + 3


@kernel
def put_word(o, primitive, value):
    """A 4-byte primitive: INT32, DATE or FLOAT (its bits)."""
    poke_u8(o, np.uint8(primitive << 2))
    poke_u32(o + 1, np.uint32(value))
    return o + 5


@kernel
def put_long(o, primitive, value):
    """An 8-byte primitive: INT64, TIMESTAMP, TIMESTAMP_NTZ or DOUBLE (its bits)."""
    poke_u8(o, np.uint8(primitive << 2))
    poke_u64(o + 1, np.uint64(value))
    return o + 9


@kernel
def put_decimal(o, precision, scale, low, high):
    """The narrowest decimal for the precision; low, high: the unscaled value as 128-bit two's complement."""
    poke_u8(o + 1, np.uint8(scale))
    if precision <= 9:
        poke_u8(o, np.uint8(DECIMAL4 << 2))
        poke_u32(o + 2, np.uint32(low & np.uint64(0xFFFFFFFF)))
        return o + 6
    poke_u64(o + 2, low)
    if precision <= 18:
        poke_u8(o, np.uint8(DECIMAL8 << 2))
        return o + 10
    poke_u8(o, np.uint8(DECIMAL16 << 2))
    poke_u64(o + 10, high)
    return o + 18


@kernel
def put_string_header(o, n_bytes):
    if n_bytes < 64:
        poke_u8(o, np.uint8(n_bytes << 2 | 1))
        return o + 1
    poke_u8(o, np.uint8(STRING << 2))
    poke_u32(o + 1, np.uint32(n_bytes))
    return o + 5


@kernel
def close_string(o, end):
    """Make the text that was written to ``o + 5 .. end`` a string at ``o``; return the address after it."""
    n_bytes = end - o - 5
    start = put_string_header(o, n_bytes)
    if start == o + 5:
        return end
    for i in range(n_bytes):
        poke_u8(start + i, peek_u8(o + 5 + i))
    return start + n_bytes


@kernel
def put_binary_header(o, n_bytes):
    poke_u8(o, np.uint8(BINARY << 2))
    poke_u32(o + 1, np.uint32(n_bytes))
    return o + 5


def object_header_bytes(n_fields: int) -> int:
    """Bytes before the first value of an object of n fields with 4-byte offsets."""
    return (5 + 2 * n_fields if n_fields > 255 else 2 + n_fields) + 4 * (n_fields + 1)


def whole_object_header(n_fields: int) -> bytes:
    """All bytes before the field offsets (4 bytes each, n_fields + 1 of them) of an object with every name."""
    is_large = n_fields > 255
    first, count_bytes, id_bytes = (LARGE_OBJECT, 4, 2) if is_large else (SMALL_OBJECT, 1, 1)
    ids = b"".join(k.to_bytes(id_bytes, "little") for k in range(n_fields))
    return bytes([first]) + n_fields.to_bytes(count_bytes, "little") + ids
