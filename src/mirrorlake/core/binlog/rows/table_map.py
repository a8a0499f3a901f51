"""TABLE_MAP events: the form of the rows after them.

Body, in order (integers little-endian; *packed* is MySQL's length-encoded integer):

    table id        6 bytes
    flags           2 bytes
    database        1-byte length, text, 0
    table           1-byte length, text, 0
    column count    packed
    wire types      1 byte per column
    metadata        packed length, then 0-2 bytes per column (``_METADATA_BYTES``)
    null bitmap     1 bit per column, low bit first; set: nullable
    fields          until the end: type 1 byte, length packed, value; see ``table_map_metadata``

Sources: Table_map_event in MySQL's libs/mysql/binlog/event/rows_event.h and Table_map_log_event in MariaDB's
sql/log_event.h; checked against TABLE_MAPs of MySQL 9.7 and MariaDB 10.11.
"""

from __future__ import annotations

from dataclasses import dataclass

from mirrorlake.core.binlog.byte_reader import ByteReader
from mirrorlake.core.binlog.rows.table_map_metadata import ENUM, SET, TableMapFields, read_fields
from mirrorlake.core.schema.charsets import BINARY, decode_text, max_bytes
from mirrorlake.core.schema.types import BINARY_TWIN, BLOBS, TEXTS, ColumnType

_STRING, _BLOB, _DECIMAL, _BIT = 254, 252, 246, 16
_VARYING = (15, 253)
_LENGTH_BYTES_IN_METADATA = (140, 242, 245, 252, 255)  # compressed BLOB, VECTOR, JSON, BLOB, GEOMETRY
_METADATA_BYTES = dict.fromkeys((15, 253, 16, 141, 254, 246), 2) | dict.fromkeys(
    (252, 4, 5, 255, 245, 242, 17, 18, 19, 140), 1
)
_BIG_ENDIAN_METADATA = (_STRING, _DECIMAL)

_NUMBERS = {1: "tinyint", 2: "smallint", 9: "mediumint", 3: "int", 8: "bigint", 4: "float", 5: "double"}
_WITH_FRACTION = {17: "timestamp", 18: "datetime", 19: "time"}
BEFORE_5_6 = {7: "timestamp", 12: "datetime", 11: "time"}
"""Older storage: whole seconds, except for MariaDB before 10.1, whose maps do not have the fraction digits."""
_PLAIN = {10: "date", 14: "date", 13: "year", 245: "json", 255: "geometry", 242: "vector"}
COMPRESSED = {140: 252, 141: 15}  # MariaDB's compressed columns: the type without compression
_MAX_SIZE = {ENUM: 2, SET: 8} | dict.fromkeys((_BLOB, 140, 242, 245, 255), 4)
"""Wire type -> maximum bytes of a value, or of the length before it."""
_MAX_COLUMNS = 4096  # both servers' limit


@dataclass(frozen=True, slots=True)
class TableMap:
    """One TABLE_MAP event.

    wire_types: column type numbers, with 254 resolved to 247 (ENUM), 248 (SET) or 254 (CHAR, BINARY).
    metadata: one number per column; VARCHAR and CHAR: largest size in bytes; DECIMAL: precision << 8 | scale;
    BIT: whole bytes << 8 | bits beyond; BLOB: bytes of the length; temporals: fraction digits; ENUM, SET: value bytes.
    """

    database: str
    table: str
    wire_types: tuple[int, ...]
    metadata: tuple[int, ...]
    nullable: tuple[bool, ...]
    fields: TableMapFields


def parse_table_map(body: bytes, flavor: str) -> TableMap:
    """Parse an event without header and checksum. Raises RefusedError ``log-event`` if the bytes are not a table
    map."""
    reader = ByteReader(bytes(body), "table map")
    reader.take(6 + 2)
    database, table = _name(reader), _name(reader)
    count = reader.packed()
    if count > _MAX_COLUMNS:
        raise reader.malformed(f"{count} columns")
    logged_types = reader.take(count)
    resolved = _read_metadata(ByteReader(reader.take(reader.packed()), "table map metadata"), logged_types)
    wire_types, metadata = tuple(kind for kind, _ in resolved), tuple(number for _, number in resolved)
    null_bits = int.from_bytes(reader.take((count + 7) // 8), "little")
    nullable = tuple(bool(null_bits >> i & 1) for i in range(count))
    return TableMap(database, table, wire_types, metadata, nullable, read_fields(reader, wire_types, flavor))


def length_bytes(wire_type: int, metadata: int) -> int:
    """Bytes of the length before a value of variable size."""
    if wire_type in _LENGTH_BYTES_IN_METADATA:
        return metadata
    return 1 if metadata < 256 else 2


def _name(reader: ByteReader) -> str:
    name = reader.name(reader.uint(1))
    if reader.uint(1):
        raise reader.malformed("a name does not end with a zero byte")
    return name


def _read_metadata(reader: ByteReader, logged_types: bytes) -> list[tuple[int, int]]:
    resolved = []
    for kind in logged_types:
        raw = reader.take(_METADATA_BYTES.get(kind, 0))
        number = int.from_bytes(raw, "big" if kind in _BIG_ENDIAN_METADATA else "little")
        resolved.append(_resolve_string(number) if kind == _STRING else (kind, number))
        if not _has_meaning(*resolved[-1]):
            kind, number = resolved[-1]
            raise reader.malformed(f"metadata {number} of a column of type {kind}")
    if not reader.at_end:
        raise reader.malformed("more metadata than columns")
    return resolved


def _has_meaning(kind: int, number: int) -> bool:
    """Can a server have written this? Kernels rely on sizes, digits and precisions in these bounds."""
    if kind == _DECIMAL:
        return 1 <= number >> 8 <= 65 and number & 0xFF <= number >> 8
    if kind == _BIT:
        return number & 0xFF < 8 and 1 <= (number >> 8) * 8 + (number & 0xFF) <= 64
    if kind in _WITH_FRACTION:
        return number <= 6
    return kind not in _MAX_SIZE or 1 <= number <= _MAX_SIZE[kind]


def _resolve_string(number: int) -> tuple[int, int]:
    """CHAR, BINARY, ENUM and SET share type 254: the high byte is the real type, with two bits borrowed for lengths
    above 255 (Field_string::do_save_field_metadata)."""
    high, low = number >> 8, number & 0xFF
    if high & 0x30 == 0x30:
        return high, low
    return high | 0x30, low | ((high & 0x30) ^ 0x30) << 4


def column_type(kind: int, number: int, unsigned: bool, charset: str, labels: tuple[str, ...]) -> ColumnType:
    """The type of a column from its wire type and metadata, and from the properties that these do not have."""
    if kind in _NUMBERS:
        return ColumnType(_NUMBERS[kind], unsigned=unsigned)
    if kind == _DECIMAL:
        return ColumnType("decimal", unsigned, precision=number >> 8, scale=number & 0xFF)
    if kind == _BIT:
        return ColumnType("bit", length=(number >> 8) * 8 + (number & 0xFF))
    if kind in _WITH_FRACTION:
        return ColumnType(_WITH_FRACTION[kind], fraction_digits=number)
    if kind in BEFORE_5_6:
        return ColumnType(BEFORE_5_6[kind], fraction_digits=0)
    if kind == 141:
        number -= 1  # the byte that says how the value is compressed
    kind = COMPRESSED.get(kind, kind)
    if kind in (ENUM, SET):
        return ColumnType("enum" if kind == ENUM else "set", charset=charset, labels=labels)
    if kind == _STRING or kind in _VARYING:
        return _sized_type("char" if kind == _STRING else "varchar", number, charset)
    if kind == _BLOB and 1 <= number <= 4:
        return ColumnType(BLOBS[number - 1]) if charset == BINARY else ColumnType(TEXTS[number - 1], charset=charset)
    return ColumnType(_PLAIN.get(kind) or f"type {kind}")


def decode_labels(encoded: tuple[bytes, ...], charset: str) -> tuple[str, ...] | None:
    """Decode labels; None if one is invalid in the character set."""
    decoded = [decode_text(label, charset) for label in encoded]
    labels = tuple(label for label in decoded if label is not None)
    return labels if len(labels) == len(decoded) else None


def _sized_type(name: str, length_bytes: int, charset: str) -> ColumnType:
    if charset == BINARY:
        return ColumnType(BINARY_TWIN[name], length=length_bytes)
    return ColumnType(name, length=length_bytes // max_bytes(charset), charset=charset)
