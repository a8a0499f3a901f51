"""The columns of all slots, as the kernels for partial row images need them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mirrorlake.core.binlog.rows.mapped_table import MappedTable
from mirrorlake.core.binlog.rows.stored_default import NotKnown, stored_default
from mirrorlake.core.schema.tables import Column, TableSchema

IS_KEY, NO_DEFAULT, MAYBE_GENERATED, IS_GENERATED, IS_HIDDEN = 1, 2, 4, 8, 16
"""Bits of ``Partial.role``: the column identifies the row; what an INSERT without it stores is not known; its new value
may not be logged, because no definition says whether MariaDB generates it; MariaDB generates it; it gets no field."""


class Partial(NamedTuple):
    """int64 arrays, one entry per column of all slots, slots back to back.

    by_rank: column of each field id, in ``n_columns`` of its slot; default_start, default_stop: where in ``defaults``
    (uint8) the stored default is, stop -1: NULL. Scratch of the kernels: ``field_index``, start, stop of a field in the
    object that was encoded last.
    """

    by_rank: np.ndarray
    role: np.ndarray
    default_start: np.ndarray
    default_stop: np.ndarray
    field_index: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    defaults: np.ndarray


class PartialLayouts:
    """Collects the columns of slots, as they are added."""

    def __init__(self) -> None:
        self._by_rank: list[int] = []
        self._columns: list[tuple[int, int, int]] = []
        self._defaults = bytearray()

    def add(self, table: MappedTable, schema: TableSchema, by_rank: list[int]) -> None:
        self._by_rank += by_rank
        for column, wire_type, metadata in zip(schema.columns, table.map.wire_types, table.map.metadata, strict=True):
            role = IS_KEY if column.name in schema.primary_key or not schema.primary_key else 0
            start, stop = len(self._defaults), -1
            role |= IS_HIDDEN if column.is_hidden else 0
            if table.flavor == "mariadb":
                role |= (IS_GENERATED if column.generated is not None else 0) if table.is_defined else MAYBE_GENERATED
            try:
                stored = _stored(table, column, wire_type, metadata)
            except NotKnown:
                role |= NO_DEFAULT
            else:
                if stored is not None:
                    self._defaults += stored
                    stop = len(self._defaults)
            self._columns.append((role, start, stop))

    def key_has_default(self, table: MappedTable, schema: TableSchema) -> bool:
        """Can a statement leave out a part of the key that is no AUTO_INCREMENT number?"""
        in_key = [column for column in schema.columns if column.name in schema.primary_key]
        return not table.is_defined or any(column.default is not None for column in in_key)

    def freeze(self) -> Partial:
        columns, n = np.array(self._columns, np.int64).reshape(-1, 3), len(self._columns)
        role, default_start, default_stop = (columns[:, k].copy() for k in range(3))
        defaults = np.frombuffer(bytes(self._defaults) + bytes(32), np.uint8)
        field_index, start, stop = (np.empty(n, np.int64) for _ in range(3))
        by_rank = np.array(self._by_rank, np.int64)
        return Partial(by_rank, role, default_start, default_stop, field_index, start, stop, defaults)


def _stored(table: MappedTable, column: Column, wire_type: int, metadata: int) -> bytes | None:
    if not table.is_defined:
        raise NotKnown
    return stored_default(column, wire_type, metadata)
