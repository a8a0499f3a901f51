"""TableSchema -> TABLE_MAP body and row images.

Formats: MySQL ``libs/mysql/binlog/event/rows_event.h`` (Table_map_event, Rows_event), MariaDB ``sql/log_event.h``;
the order of the optional fields and the choice between default and per-column charsets are those of both servers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mirrorlake.core.schema.tables import Column, TableSchema
from tests.support.binlog_spec import DEFAULT_COLLATION, Differences, Row
from tests.support.row_encoding import charset_of, encode_text, wire_type

COLLATIONS = {
    "koi8r": 7,
    "gbk": 28,
    "sjis": 13,
    "utf16": 54,
    "utf8mb4": None,
    "utf8mb3": 33,
    "latin1": 8,
    "ascii": 11,
    "binary": 63,
    "latin2": 9,
    "ucs2": 35,
}

_NUMERIC = ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "year")
_CHARACTER = ("char", "varchar", "binary", "varbinary", "tinytext", "text", "mediumtext", "longtext",
              "tinyblob", "blob", "mediumblob", "longblob")  # fmt: skip
_CHARACTER_OF = {"mysql": _CHARACTER, "mariadb": (*_CHARACTER, "geometry")}
_SIGNEDNESS, _DEFAULT_CHARSET, _COLUMN_CHARSET, _NAMES, _SET_LABELS, _ENUM_LABELS = 1, 2, 3, 4, 5, 6
_GEOMETRY_TYPES, _PRIMARY_KEY, _LABELS_DEFAULT_CHARSET, _LABELS_COLUMN_CHARSET, _VISIBILITY = 7, 8, 10, 11, 12


def lenenc(number: int) -> bytes:
    if number < 251:
        return bytes((number,))
    if number < 1 << 16:
        return b"\xfc" + number.to_bytes(2, "little")
    if number < 1 << 24:
        return b"\xfd" + number.to_bytes(3, "little")
    return b"\xfe" + number.to_bytes(8, "little")


def table_map_body(table: TableSchema, table_id: int, flavor: str, metadata: str) -> bytes:
    """metadata: "FULL", "MINIMAL" or "NO_LOG"."""
    types = [wire_type(column.type) for column in table.columns]
    type_metadata = b"".join(each.metadata for each in types)
    return b"".join((
        table_id.to_bytes(6, "little"), (1).to_bytes(2, "little"),
        _name(table.database), _name(table.table),
        lenenc(len(types)), bytes(each.number for each in types),
        lenenc(len(type_metadata)), type_metadata,
        _bits([column.nullable for column in table.columns]),
        _optional_fields(table, flavor, metadata),
    ))  # fmt: skip


def rows_images(table: TableSchema, images: Sequence[Row], logged: Sequence[str], flavor: str) -> list[bytes]:
    """One row image each. logged: the columns in the images, in table order."""
    columns = [(column.name, wire_type(column.type).encode) for column in table.columns if column.name in logged]
    spare = flavor == "mariadb"  # what the unused bits of the last byte are
    result = []
    for image in images:
        values = [(encode, image[name]) for name, encode in columns]
        data = [encode(value) for encode, value in values if value is not None]
        result.append(_bits([value is None for _, value in values], spare) + b"".join(data))
    return result


def value_options(table: TableSchema, after: Row) -> bytes:
    """What stands before an after image of PARTIAL_UPDATE_ROWS."""
    differs = [isinstance(after.get(c.name), Differences) for c in table.columns if c.type.name == "json"]
    return b"\1" + _bits(differs) if any(differs) else b"\0"


def logged_columns(table: TableSchema, images: Sequence[Row]) -> list[str]:
    """Raises ValueError when the images log different columns, or one that the table does not have."""
    first = set(images[0])
    if any(set(image) != first for image in images) or not first <= {column.name for column in table.columns}:
        raise ValueError(f"rows of {table.database}.{table.table} do not log the same columns of it")
    return [column.name for column in table.columns if column.name in first]


def present_bitmap(table: TableSchema, logged: Sequence[str], flavor: str) -> bytes:
    return _bits([column.name in logged for column in table.columns], spare=flavor == "mysql")


def _name(name: str) -> bytes:
    data = name.encode()
    return bytes((len(data),)) + data + b"\0"


def _bits(flags: Sequence[bool], spare: bool = False) -> bytes:
    """Least significant bit first."""
    width = (len(flags) + 7) // 8
    padded = [*flags, *[spare] * (8 * width - len(flags))]
    return sum(1 << number for number, flag in enumerate(padded) if flag).to_bytes(width, "little")


def _bits_from_the_top(flags: Sequence[bool]) -> bytes:
    """Most significant bit first."""
    return bytes(int(f"{byte:08b}"[::-1], 2) for byte in _bits(flags))


def _optional_fields(table: TableSchema, flavor: str, metadata: str) -> bytes:
    if metadata == "NO_LOG":
        return b""
    columns = table.columns
    numeric = [column.type.unsigned or column.type.name == "year" for column in columns if column.type.name in _NUMERIC]
    fields = [(_SIGNEDNESS, _bits_from_the_top(numeric))] if numeric else []
    fields += _charset_fields(columns, _CHARACTER_OF[flavor], flavor, (_DEFAULT_CHARSET, _COLUMN_CHARSET))
    geometries = [0 for column in columns if column.type.name == "geometry"]
    fields += [(_GEOMETRY_TYPES, bytes(geometries))] if geometries else []
    if metadata == "FULL":
        fields.append((_NAMES, b"".join(_counted(column.name.encode()) for column in columns)))
        fields += _charset_fields(columns, ("enum", "set"), flavor, (_LABELS_DEFAULT_CHARSET, _LABELS_COLUMN_CHARSET))
        fields += _label_fields(columns)
        if table.primary_key:
            names = [column.name for column in columns]
            fields.append((_PRIMARY_KEY, b"".join(lenenc(names.index(name)) for name in table.primary_key)))
        if flavor == "mysql":
            fields.append((_VISIBILITY, _bits_from_the_top([True] * len(columns))))
    return b"".join(bytes((number,)) + lenenc(len(value)) + value for number, value in fields)


def _charset_fields(columns: Sequence[Column], types: Sequence[str], flavor: str, numbers: tuple[int, int]):
    """The default charset with the exceptions to it, or one charset per column if that has fewer entries."""
    ids = [collation_id(column, flavor) for column in columns if column.type.name in types]
    if not ids:
        return []
    default = Counter(ids).most_common(1)[0][0]
    exceptions = [(number, each) for number, each in enumerate(ids) if each != default]
    if 2 * len(exceptions) + 1 <= len(ids):
        entries = [default, *(entry for exception in exceptions for entry in exception)]
        return [(numbers[0], b"".join(map(lenenc, entries)))]
    return [(numbers[1], b"".join(map(lenenc, ids)))]


def collation_id(column: Column, flavor: str) -> int:
    return COLLATIONS[charset_of(column.type)] or DEFAULT_COLLATION[flavor]


def _label_fields(columns: Sequence[Column]) -> list[tuple[int, bytes]]:
    fields = []
    for number, name in ((_SET_LABELS, "set"), (_ENUM_LABELS, "enum")):
        lists = [column.type for column in columns if column.type.name == name]
        if lists:
            fields.append((number, b"".join(_labels(each) for each in lists)))
    return fields


def _labels(of) -> bytes:
    return lenenc(len(of.labels)) + b"".join(_counted(encode_text(label, charset_of(of))) for label in of.labels)


def _counted(data: bytes) -> bytes:
    return lenenc(len(data)) + data
