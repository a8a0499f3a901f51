"""The server and the session of a statement: on others the same text may mean something else."""

from __future__ import annotations

from dataclasses import dataclass

from mirrorlake.core.schema.engines import EngineOf, engine_not_known
from mirrorlake.core.schema.lower_case_names import AS_WRITTEN, NameCase

_NEWEST = {"mysql": 90999, "mariadb": 129999}


@dataclass(frozen=True, slots=True)
class SourceServer:
    """version: 90704 for 9.7.4; None: not known. name_case: how it compares names of databases and tables.
    default_engine: for a table that names none, in lower case, if the session has no other; None: not known. engine_of:
    returns the present engine of such a table."""

    flavor: str
    version: int | None = None
    name_case: NameCase = AS_WRITTEN
    default_engine: str | None = None
    engine_of: EngineOf = engine_not_known

    @property
    def assumed_version(self) -> int:
        """The newest version if it is not known. It decides about versioned comments."""
        return self.version or _NEWEST[self.flavor]


@dataclass(frozen=True, slots=True)
class LoggedSession:
    """What the log says of a statement's session, and of how the statement ended; None: not logged.

    database: for unqualified names. server_charset: character set of collation_server, which a CREATE DATABASE without
    CHARACTER SET takes. database_charset: of collation_database, logged if the session has another than its database.
    connection_charset, client_charset: character_set_connection and character_set_client; None
    also if the text is not the session's. explicit_timestamps: explicit_defaults_for_timestamp; without it a TIMESTAMP
    gets an implicit default. now: of the statement, ISO, UTC. time_zone: as the session wrote it. has_failed: it ended
    with an error after a part of its effect. has_made_table: a CREATE TABLE IF NOT EXISTS found no table.
    may_use_temporary: the event has ``EventFlag.THREAD_SPECIFIC``. has_invalid_codes: its statement has bytes that are
    no character in client_charset.
    """

    database: str = ""
    sql_mode: int = 0
    server_charset: str | None = None
    database_charset: str | None = None
    connection_charset: str | None = None
    client_charset: str | None = None
    explicit_timestamps: bool | None = None
    now: str | None = None
    time_zone: str | None = None
    has_failed: bool = False
    has_made_table: bool = False
    may_use_temporary: bool = False
    has_invalid_codes: bool = False


OF_NO_SESSION = LoggedSession()
"""For texts that do not depend on one, as those that a server shows."""
