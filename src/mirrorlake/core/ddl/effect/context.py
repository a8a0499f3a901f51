"""The context in which a statement is interpreted."""

from __future__ import annotations

from dataclasses import dataclass

from mirrorlake.core.ddl.effect.definition import Dialect
from mirrorlake.core.ddl.parse.session import LoggedSession, SourceServer
from mirrorlake.core.schema.history import Absent, DefinitionChange, Definitions, Refused
from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.schema.tables import TableSchema
from mirrorlake.core.schema.versioning import row_end_of_server

_EXPLICIT_TIMESTAMPS_SINCE = {"mysql": 80002, "mariadb": 101000}  # the default of the variable


@dataclass(frozen=True, slots=True)
class Before:
    """The definitions before a statement, and where it was executed."""

    definitions: Definitions
    server: SourceServer
    session: LoggedSession

    @property
    def row_end(self) -> int | None:
        return row_end_of_server(self.server.flavor, self.server.version)

    def dialect(self, database: str) -> Dialect:
        server = self.server
        is_explicit = self.session.explicit_timestamps
        if is_explicit is None:
            is_explicit = server.assumed_version >= _EXPLICIT_TIMESTAMPS_SINCE[server.flavor]
        return Dialect(
            server.flavor, server.assumed_version, is_explicit, self._charset_of(database), row_end=self.row_end,
            session_charset=self._session_charset,
        )  # fmt: skip

    def _charset_of(self, database: str) -> str | None:
        home = self.definitions.database(database)
        return home.charset if home else None

    @property
    def _session_charset(self) -> str | None:
        """Of collation_database: what the session set, else that of its database, else the server's."""
        session = self.session
        if session.database_charset is not None:
            return session.database_charset
        if not session.database:
            return session.server_charset
        return self._charset_of(self.server.name_case.fold(session.database))

    def known(self, name: TableName) -> TableSchema | Refused | Absent | None:
        return self.definitions.get(name.database, name.table)


def refuse(name: TableName, code: str, reason: str, schema: TableSchema | None = None) -> DefinitionChange:
    return DefinitionChange("refuse", name.database, name.table, schema, code=code, reason=reason)
