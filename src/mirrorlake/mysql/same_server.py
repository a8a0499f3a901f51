"""Open sessions that are all with one server: an address may lead to another one at any time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import RetryableError
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.server_errors import protocol_error
from mirrorlake.mysql.session import Session

_FACTS = "'version', 'version_comment', 'server_uuid', 'server_uid', 'server_id', 'hostname', 'port'"


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself.

    identity: ``mysql:<server_uuid>``; ``mariadb:<server_uid>``, before 10.10 ``mariadb:<server_id>@<hostname>:<port>``.
    """

    version: str
    flavor: str
    identity: str

    @property
    def version_numbers(self) -> tuple[int, ...]:
        """(major, minor, patch)"""
        found = re.match(r"([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})", self.version.removeprefix("5.5.5-"))
        return tuple(map(int, found.groups())) if found else (0, 0, 0)

    @property
    def log_status_sql(self) -> Sql:
        """The statement that shows the end of the log: file, offset, and on MySQL as the fifth column the GTIDs."""
        is_new = self.flavor == "mysql" and self.version_numbers >= (8, 2, 0)
        return "SHOW BINARY LOG STATUS" if is_new else "SHOW MASTER STATUS"


def open_session(login: ServerLogin, *, receive_buffer_bytes: int = 0) -> tuple[Session, ServerFacts]:
    """Open a session with the server that the first session of this login was with.

    Raises what ``Session`` raises; RetryableError ``server-lost`` if another server answers.
    """
    session = Session(login, receive_buffer_bytes=receive_buffer_bytes)
    try:
        facts = _ask(session)
        if facts.identity != login.first_identity(facts.identity):
            raise RetryableError("server-lost", f"{login}: another server answers at this address now")
        return session, facts
    except BaseException:
        session.hang_up()
        raise


def _ask(session: Session) -> ServerFacts:
    rows = session.rows(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({_FACTS})")
    if any(len(row) != 2 for row in rows):
        raise protocol_error(session.login, "another number of columns than was asked for")
    found = {str(name): str(value) for name, value in rows}
    version = found.get("version", "")
    flavor = "mariadb" if "mariadb" in f"{version} {found.get('version_comment')}".lower() else "mysql"
    unique = found.get("server_uuid" if flavor == "mysql" else "server_uid")
    if unique is None:
        unique = f"{found.get('server_id')}@{found.get('hostname')}:{found.get('port')}"
    return ServerFacts(version, flavor, f"{flavor}:{unique}")
