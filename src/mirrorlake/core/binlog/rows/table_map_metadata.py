"""The optional metadata at the end of a TABLE_MAP event (binlog_row_metadata).

    type                            value
    1  signedness                   1 bit per numeric column, high bit first; set: unsigned
    2  default character set        packed collation, then pairs (index among the character columns, collation)
    3  column character sets        packed collation of each character column
    4  column names                 packed length, UTF-8 text
    5  labels of SET columns        per column: packed count, then packed length, bytes in the column's character set
    6  labels of ENUM columns       as 5
    8  primary key                  packed column index of each part
    9  primary key with prefixes    pairs (packed column index, packed prefix length; 0: whole column)
    10 default character set of ENUM and SET columns, as 2        11 theirs one by one, as 3
    7 (geometry types), 12 (visibility), 13 (vector dimensions) and unknown ones are skipped.

MINIMAL metadata has 1, 2 or 3, 10 or 11; FULL has names, labels and key too. MariaDB's NO_LOG has none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mirrorlake.core.binlog.byte_reader import ByteReader

ENUM, SET = 247, 248
_NUMERIC = frozenset((1, 2, 3, 8, 9, 4, 5, 246, 13))
_CHARACTER = {
    "mysql": frozenset((15, 253, 254, 252, 242)),  # VECTOR has an entry
    "mariadb": frozenset((15, 253, 254, 252, 140, 141, 255)),  # compressed columns and GEOMETRY have an entry
}


@dataclass(slots=True)
class TableMapFields:
    """Values of the fields, by column index. ``key``: indexes of the primary key's columns, in key order."""

    wire_types: tuple[int, ...]
    flavor: str
    names: list[str] = field(default_factory=list)
    unsigned: dict[int, bool] = field(default_factory=dict)
    collations: dict[int, int] = field(default_factory=dict)
    labels: dict[int, tuple[bytes, ...]] = field(default_factory=dict)
    key: list[int] = field(default_factory=list)

    def columns(self, *kinds: int) -> list[int]:
        return [i for i, kind in enumerate(self.wire_types) if kind in kinds]

    def numeric_columns(self) -> list[int]:
        return self.columns(*_NUMERIC)

    def character_columns(self) -> list[int]:
        return self.columns(*_CHARACTER[self.flavor])

    def labelled_columns(self) -> list[int]:
        return self.columns(ENUM, SET)

    @property
    def is_complete(self) -> bool:
        """Did the fields have names, signedness, character sets and labels of all columns?"""
        labelled = self.labelled_columns()
        return (
            len(self.names) == len(self.wire_types)
            and all(i in self.unsigned for i in self.numeric_columns())
            and all(i in self.collations for i in self.character_columns() + labelled)
            and all(i in self.labels for i in labelled)
        )


def read_fields(reader: ByteReader, wire_types: tuple[int, ...], flavor: str) -> TableMapFields:
    """Read to the end of the body. Raises RefusedError ``log-event`` when a field does not fit the columns."""
    found = TableMapFields(wire_types, flavor)
    while not reader.at_end:
        kind = reader.uint(1)
        value = ByteReader(reader.take(reader.packed()), f"table map field {kind}")
        if kind in _READERS:
            _READERS[kind](value, found)
    return found


def _read_signedness(value: ByteReader, found: TableMapFields) -> None:
    columns = found.numeric_columns()
    bits = value.take((len(columns) + 7) // 8)
    found.unsigned = {i: bool(bits[n >> 3] & 0x80 >> (n & 7)) for n, i in enumerate(columns)}


def _read_default_charset(value: ByteReader, found: TableMapFields, columns: list[int]) -> None:
    found.collations.update(dict.fromkeys(columns, value.packed()))
    while not value.at_end:
        index, collation = value.packed(), value.packed()
        found.collations[_at(columns, index, value)] = collation


def _read_column_charsets(value: ByteReader, found: TableMapFields, columns: list[int]) -> None:
    for i in columns:
        found.collations[i] = value.packed()
    _expect_end(value)


def _read_names(value: ByteReader, found: TableMapFields) -> None:
    found.names = [value.name(value.packed()) for _ in found.wire_types]
    _expect_end(value)


def _read_labels(value: ByteReader, found: TableMapFields, kind: int) -> None:
    for i in found.columns(kind):
        count = value.packed()
        if count > 65535:
            raise value.malformed(f"{count} labels")
        found.labels[i] = tuple(value.take(value.packed()) for _ in range(count))
    _expect_end(value)


def _read_key(value: ByteReader, found: TableMapFields, has_prefixes: bool) -> None:
    every_column = range(len(found.wire_types))
    while not value.at_end:
        found.key.append(_at(every_column, value.packed(), value))
        if has_prefixes:
            value.packed()


def _at(columns, index: int, value: ByteReader) -> int:
    if index >= len(columns):
        raise value.malformed(f"it names column {index} of {len(columns)}")
    return columns[index]


def _expect_end(value: ByteReader) -> None:
    if not value.at_end:
        raise value.malformed("it is longer than the columns it describes")


_READERS: dict[int, Callable[[ByteReader, TableMapFields], None]] = {
    1: _read_signedness,
    2: lambda value, found: _read_default_charset(value, found, found.character_columns()),
    3: lambda value, found: _read_column_charsets(value, found, found.character_columns()),
    4: _read_names,
    5: lambda value, found: _read_labels(value, found, SET),
    6: lambda value, found: _read_labels(value, found, ENUM),
    8: lambda value, found: _read_key(value, found, has_prefixes=False),
    9: lambda value, found: _read_key(value, found, has_prefixes=True),
    10: lambda value, found: _read_default_charset(value, found, found.labelled_columns()),
    11: lambda value, found: _read_column_charsets(value, found, found.labelled_columns()),
}
