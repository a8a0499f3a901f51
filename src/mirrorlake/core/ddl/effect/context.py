"""The context in which a statement is interpreted."""

from __future__ import annotations

from dataclasses import dataclass

from mirrorlake.core.ddl.effect.alter import Moment
from mirrorlake.core.ddl.effect.definition import Dialect
from mirrorlake.core.schema.engines import EngineOf, engine_not_known
from mirrorlake.core.schema.history import Absent, DefinitionChange, Definitions, Refused
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema


@dataclass(frozen=True, slots=True)
class Before:
    """server_charset: for a database whose CREATE names none. row_end: ``row_end_of_server``. has_made_table:
    the log says that a CREATE TABLE IF NOT EXISTS found no table. default_engine: for a table that names none, if
    the session has no other; None: not known. engine_of: returns a table's engine. may_use_temporary: the session
    has used a temporary table in this call."""

    definitions: Definitions
    flavor: str
    server_version: int
    server_charset: str | None
    explicit_timestamps: bool
    moment: Moment
    row_end: int | None = None
    has_made_table: bool = False
    default_engine: str | None = None
    engine_of: EngineOf = engine_not_known
    may_use_temporary: bool = False

    def dialect(self, database: str) -> Dialect:
        home = self.definitions.database(database)
        charset = home.charset if home else None
        return Dialect(self.flavor, self.server_version, self.explicit_timestamps, charset, row_end=self.row_end)

    def known(self, name: TableName) -> TableSchema | Refused | Absent | None:
        return self.definitions.get(name.database, name.table)


def refuse(name: TableName, code: str, reason: str, schema: TableSchema | None = None) -> DefinitionChange:
    return DefinitionChange("refuse", name.database, name.table, schema, code=code, reason=reason)
