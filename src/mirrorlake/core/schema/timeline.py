"""The definition of each table in force at an lsn: the part of the log's DDL that a decoder needs, as a small value."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Set
from enum import Enum

import numpy as np

from mirrorlake.core.lsn_range import LsnRange
from mirrorlake.core.schema.history import DefinitionChange, Definitions, Refused
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema


class LeftOut(Enum):
    LEFT_OUT = "row changes of the table are not decoded"


LEFT_OUT = LeftOut.LEFT_OUT


class Timeline:
    """Definitions from statements of the log by (database, table), each with the statement's lsn.

    A definition is in force for the events after its statement. None: the table does not exist or is not known.
    LEFT_OUT: a statement refused it; its row changes stay in bronze. others: for tables that have no statement here.
    """

    def __init__(self, others: LeftOut | None = None) -> None:
        self._others = others
        self._lsns: dict[TableName, list[int]] = {}
        self._schemas: dict[TableName, list[TableSchema | LeftOut | None]] = {}

    def follow(self, lsn: int, change: DefinitionChange, definitions: Definitions) -> None:
        """Record the definitions after ``change`` at ``lsn``. Call it in log order."""
        concerned = [change.name] if change.table else self._tables_of(change.database)
        for name in concerned:
            known = definitions.get(*name)
            in_force = LEFT_OUT if isinstance(known, Refused) else known if isinstance(known, TableSchema) else None
            self._put(name, lsn, in_force)

    def at(self, database: str, table: str, lsn: int) -> TableSchema | LeftOut | None:
        """The definition in force for the event at ``lsn``."""
        name = TableName(database, table)
        if name not in self._lsns:
            return self._others
        index = bisect_left(self._lsns[name], lsn)
        return self._schemas[name][index - 1] if index else None

    @property
    def edges(self) -> np.ndarray:
        """int64, ascending: lsns of changes. Nothing changes between two events with equally many edges before them."""
        return np.array(sorted({lsn for found in self._lsns.values() for lsn in found}), np.int64)

    def of_range(self, lsns: LsnRange, names: Set[TableName]) -> Timeline:
        """The part that events of these tables in the range need."""
        part = Timeline()
        for name in names & self._lsns.keys():
            changed_at, schemas = self._lsns[name], self._schemas[name]
            first, stop = max(0, bisect_left(changed_at, lsns.after + 1) - 1), bisect_left(changed_at, lsns.to)
            part._lsns[name], part._schemas[name] = changed_at[first:stop], schemas[first:stop]
        return part

    def only(self, name: TableName) -> Timeline:
        """The timeline of one table; all others are left out."""
        part = Timeline(LEFT_OUT)
        if name in self._lsns:
            part._lsns[name], part._schemas[name] = self._lsns[name], self._schemas[name]
        return part

    def _tables_of(self, database: str) -> Iterable[TableName]:
        return [name for name in self._lsns if name[0] == database]

    def _put(self, name: TableName, lsn: int, schema: TableSchema | LeftOut | None) -> None:
        lsns, schemas = self._lsns.setdefault(name, []), self._schemas.setdefault(name, [])
        if lsns and lsns[-1] == lsn:
            schemas[-1] = schema
        elif not schemas or schemas[-1] is not schema:
            lsns.append(lsn)
            schemas.append(schema)
