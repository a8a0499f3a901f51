"""Describe how the rows of each mapped table are decoded, in flat arrays, so that one kernel decodes all tables.

A *slot* is one distinct table map with the definition in force. The arrays of all slots are back to back, so a
new table or a DDL never compiles anything.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np

from mirrorlake.core.binlog.rows.incomplete_layout import Partial, PartialLayouts
from mirrorlake.core.binlog.rows.mapped_table import MappedTable
from mirrorlake.core.binlog.rows.table_map import COMPRESSED, length_bytes
from mirrorlake.core.schema.charset_codes import code_table
from mirrorlake.core.schema.hashing import DigestKey
from mirrorlake.core.schema.tables import Column, TableSchema
from mirrorlake.core.schema.types import INTEGER_BYTES, MAX_DECIMAL_DIGITS
from mirrorlake.core.values import variant
from mirrorlake.core.values.column_kinds import Tables
from mirrorlake.core.values.column_value import LAYOUT_FIELDS, Columns, column_layout, hashed_layout
from mirrorlake.core.values.hmac_sha256 import words_of
from mirrorlake.core.values.kinds import (
    BINARY,
    BIT,
    COMPRESSED_BINARY,
    COMPRESSED_TEXT,
    DATE,
    DATETIME,
    DECIMAL,
    DECIMAL_TEXT,
    DOUBLE,
    ENUM,
    FLOAT,
    INTEGER,
    JSON,
    OLD_DATETIME,
    OLD_FINE_DATETIME,
    OLD_FINE_TIME,
    OLD_FINE_TIMESTAMP,
    OLD_TIME,
    OLD_TIMESTAMP,
    SET,
    TEXT,
    TIME,
    TIMESTAMP,
    UNSIGNED_LONG,
    UTF8_TEXT,
    UUID_INET,
    YEAR,
)  # fmt: skip
from mirrorlake.core.values.numeric import decimal_bytes
from mirrorlake.core.values.temporal import fraction_bytes
from mirrorlake.core.values.text import ASCII_TABLE, FORMS, TABLE, UTF8
from mirrorlake.core.values.uuid_inet import INET4, INET6, UUID
from mirrorlake.errors import RefusedError

_OLD_STORAGE = {7: (OLD_TIMESTAMP, 4), 11: (OLD_TIME, 3), 12: (OLD_DATETIME, 8)}  # wire type: (kind, bytes)
_OLD_FINE_STORAGE = {
    7: (OLD_FINE_TIMESTAMP, (5, 5, 6, 6, 7, 7)),
    11: (OLD_FINE_TIME, (4, 4, 5, 5, 5, 6)),
    12: (OLD_FINE_DATETIME, (6, 6, 7, 7, 7, 8)),
}
"""MariaDB before 10.1, wire type: (kind, bytes with 1 to 6 fractional digits)."""
_TEMPORALS = {
    "timestamp": (TIMESTAMP, 4),
    "datetime": (DATETIME, 5),
    "time": (TIME, 3),
}  # (kind, bytes without fraction)
_FIXED_BINARY = "binary"
_UUID_INET = {"uuid": UUID, "inet6": INET6, "inet4": INET4}


class _Labels:
    """The labels of all ENUM and SET columns, back to back in UTF-8; each list of labels once."""

    def __init__(self) -> None:
        self.data, self.offsets = bytearray(), array("q", [0])
        self._starts: dict[tuple[str, ...], int] = {}

    def add(self, labels: tuple[str, ...]) -> int:
        """Return the index of the first label's offset."""
        if labels not in self._starts:
            self._starts[labels] = len(self.offsets) - 1
            for label in labels:
                self.data += label.encode()
                self.offsets.append(len(self.data))
        return self._starts[labels]


class _CodePoints:
    """The tables of the character sets seen so far, back to back."""

    def __init__(self) -> None:
        self.tables = np.empty(0, np.uint32)
        self._starts: dict[str, int] = {}

    def form(self, charset: str) -> tuple[int, int]:
        """The form and parameter of a text column, see ``values.text``."""
        form, parameter = FORMS.get(charset, (ASCII_TABLE, 0))
        return (form, self._start(charset)) if form in (TABLE, ASCII_TABLE) else (form, parameter)

    def _start(self, charset: str) -> int:
        if charset not in self._starts:
            self._starts[charset] = len(self.tables)
            self.tables = np.concatenate([self.tables, code_table(charset)])
        return self._starts[charset]


def _kind_of(
    column: Column, wire_type: int, metadata: int, labels: _Labels, code_points: _CodePoints
) -> tuple[int, int, int, int, int]:
    """Return (kind, stored bytes or those of the length, and three parameters) of one column."""
    kind, name = column.type, column.type.name
    if name in INTEGER_BYTES:
        if name == "bigint" and kind.unsigned:
            return UNSIGNED_LONG, 8, 0, 0, 0
        return INTEGER, INTEGER_BYTES[name], INTEGER_BYTES[name], int(kind.unsigned), 0
    if name == "decimal":
        is_wide = kind.precision > MAX_DECIMAL_DIGITS
        n_bytes = decimal_bytes(kind.precision, kind.scale)
        return DECIMAL_TEXT if is_wide else DECIMAL, n_bytes, kind.precision, kind.scale, 0
    if name == "bit":
        n_bytes = (kind.length + 7) // 8
        return BIT, n_bytes, n_bytes, kind.length, 0
    if wire_type in _OLD_FINE_STORAGE and kind.fraction_digits:
        digits = kind.fraction_digits
        kind_number, sizes = _OLD_FINE_STORAGE[wire_type]
        return kind_number, sizes[digits - 1], digits, 10 ** (6 - digits), 0
    if wire_type in _OLD_STORAGE:
        return *_OLD_STORAGE[wire_type], 0, 0, 0
    if name in _TEMPORALS:
        kind_number, whole = _TEMPORALS[name]
        digits = kind.fraction_digits or 0
        return kind_number, whole + fraction_bytes(digits), digits, 0, 0
    if name == "enum":
        return ENUM, metadata, metadata, labels.add(kind.labels), len(kind.labels)
    if name == "set":
        return SET, metadata, metadata, labels.add(kind.labels), len(kind.labels)
    fixed = {"float": (FLOAT, 4), "double": (DOUBLE, 8), "year": (YEAR, 1), "date": (DATE, 3)}
    if name in fixed:
        return *fixed[name], 0, 0, 0
    n_bytes, is_compressed = length_bytes(wire_type, metadata), wire_type in COMPRESSED
    if name == "json":
        return JSON, n_bytes, 0, 0, 0
    if name in _UUID_INET:
        return UUID_INET, n_bytes, _UUID_INET[name], 0, 0
    if kind.charset is not None and kind.charset != "binary":
        form, parameter = code_points.form(kind.charset)
        text = COMPRESSED_TEXT if is_compressed else UTF8_TEXT if form == UTF8 else TEXT
        return text, n_bytes, form, parameter, 0
    if is_compressed:
        return COMPRESSED_BINARY, n_bytes, 0, 0, 0
    return BINARY, n_bytes, (kind.length or 0) if name == _FIXED_BINARY else 0, 0, 0


class Slots(NamedTuple):
    """One entry per slot. row_bound: bytes that the fixed part of an encoded row image may take; headers: those of the
    objects of whole images, back to back; hides_replace, key_has_default: see ``row_image.completeness``;
    is_left_out: its rows are left out; has_hidden: an object lacks some of its columns."""

    first_column: np.ndarray
    n_columns: np.ndarray
    row_bound: np.ndarray
    is_refused: np.ndarray
    header_start: np.ndarray
    header_bytes: np.ndarray
    hides_replace: np.ndarray
    key_has_default: np.ndarray
    is_left_out: np.ndarray
    has_hidden: np.ndarray
    headers: np.ndarray


class LayoutArrays(NamedTuple):
    """Arrays of all slots added so far."""

    slots: Slots
    columns: Columns
    partial: Partial


class RowLayouts:
    """The slots known so far."""

    def __init__(self, key: DigestKey | None = None) -> None:
        """key: of hashed columns; a table that has some needs it."""
        self._words = None if key is None else words_of(key)
        self._hashed: list[np.ndarray] = []
        self.tables: list[MappedTable] = []
        self.metadata: list[bytes] = []
        self._labels = _Labels()
        self._code_points = _CodePoints()
        self._columns: list[tuple[int, ...]] = []
        self._rank: list[int] = []
        self._slots: list[tuple[int, ...]] = []
        self._headers = bytearray()
        self._partial = PartialLayouts()
        self._arrays: LayoutArrays | None = None

    def add(self, table: MappedTable) -> int:
        """Add a slot, and return its number."""
        self._arrays = None
        self.tables.append(table)
        if table.refusal or table.schema is None:
            self.metadata.append(b"")
            is_refused = int(table.refusal is not None)
            self._slots.append((len(self._columns), 0, 0, is_refused, 0, 0, 0, 0, 1 - is_refused, 0))
        else:
            self._slots.append(self._slot(table, table.schema))
        return len(self._slots) - 1

    def _slot(self, table: MappedTable, schema: TableSchema) -> tuple[int, ...]:
        columns, first = schema.columns, len(self._columns)
        names = [column.name for column in columns]
        self.metadata.append(variant.encode_metadata(names))
        for column, wire_type, metadata in zip(columns, table.map.wire_types, table.map.metadata, strict=True):
            kind = _kind_of(column, wire_type, metadata, self._labels, self._code_points)
            if kind[0] == JSON:
                kind = *kind[:4], int(schema.trigger_may_set(column.name))
            self._columns.append(self._hashed_layout(kind) if column.is_hashed else column_layout(*kind))
        by_rank = variant.field_order(names)
        ranks = dict(zip(by_rank, range(len(names)), strict=True))
        self._rank += [ranks[i] for i in range(len(names))]
        self._partial.add(table, schema, by_rank)
        header_start, header = len(self._headers), variant.whole_object_header(len(names))
        self._headers += header
        return (
            first, len(names), self._row_bound(columns), 0, header_start, len(header), int(table.flavor == "mariadb"),
            int(self._partial.key_has_default(table, schema)), 0, int(any(column.is_hidden for column in columns)),
        )  # fmt: skip

    def _hashed_layout(self, kind: tuple[int, int, int, int, int]) -> tuple[int, ...]:
        """The layout of a column whose digests are written. kind: of its values."""
        if self._words is None:
            raise RefusedError("column-secret", "a table has hashed columns, and no secret is given")
        shown = DECIMAL_TEXT if kind[0] == DECIMAL else kind[0]
        self._hashed.append(np.array(column_layout(shown, *kind[1:]), np.int64))
        return hashed_layout(self._hashed[-1], self._words)

    def _row_bound(self, columns: tuple[Column, ...]) -> int:
        label_bytes = sum(len(label.encode()) + 1 for column in columns for label in column.type.labels)
        return variant.object_header_bytes(len(columns)) + variant.FIXED_BOUND_BYTES * len(columns) + label_bytes

    @property
    def arrays(self) -> LayoutArrays:
        """The arrays for kernels. They are made again after a slot was added."""
        if self._arrays is None:
            self._arrays = LayoutArrays(self._slot_arrays(), self._column_arrays(), self._partial.freeze())
        return self._arrays

    def _slot_arrays(self) -> Slots:
        slots = np.array(self._slots, np.int64).reshape(-1, 10)
        headers = np.frombuffer(bytes(self._headers) + bytes(8), np.uint8)
        return Slots._make([*(slots[:, k].copy() for k in range(10)), headers])

    def _column_arrays(self) -> Columns:
        self._tables = Tables(
            labels=np.frombuffer(bytes(self._labels.data) + bytes(32), np.uint8),
            label_offsets=np.array(self._labels.offsets, np.int64),
            code_points=self._code_points.tables,
        )
        return Columns(
            layout=np.array(self._columns, np.int64).reshape(-1, LAYOUT_FIELDS),
            rank=np.array(self._rank, np.int64),
            tables=self._tables.packed(),
        )
