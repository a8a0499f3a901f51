"""Check what a server must have before its log can be mirrored: one check per function, each with its fix."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from mirrorlake.core.constants import SYSTEM_DATABASES, Command
from mirrorlake.core.sql_text import Sql
from mirrorlake.errors import REFUSALS, RefusedError
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.source_tables import typed_rows

OLDEST = {"mysql": (5, 6, 0), "mariadb": (10, 2, 0)}
_NAME_ENGINES = (
    "SET GLOBAL default_storage_engine = 'InnoDB', or name the engine of each table: the log does not tell which one a "
    "table got that names none, and whether it keeps rows and foreign keys."
)
_UNKNOWN = "unknown to this server"
_PROBE_SERVER_ID = 0x7FFFFFFF
_LEAVES_OUT_GENERATED = (11, 0, 0)
"""MariaDB from this version on may log no generated column; versions between 10.11 and 11.8 were not measured."""
_SHOWN_COLUMNS = 100
GENERATED_COLUMNS = f"""
    SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMNS WHERE IS_GENERATED = 'ALWAYS'
    AND GENERATION_EXPRESSION NOT IN ('ROW START', 'ROW END') ORDER BY 1, 2, ORDINAL_POSITION
    LIMIT {_SHOWN_COLUMNS + 1}
"""
_BINLOG_FILTERS = ("binlog_do_db", "binlog_ignore_db")  # columns 3 and 4 of SHOW MASTER STATUS
_REPLICATION_FILTERS = (  # columns 13 to 18 of SHOW SLAVE STATUS
    "replicate_do_db",
    "replicate_ignore_db",
    "replicate_do_table",
    "replicate_ignore_table",
    "replicate_wild_do_table",
    "replicate_wild_ignore_table",
)
_ONLY_REPLICATED = (
    "The mirrors will equal this server: what its filters keep away never reached it; or use its primary."
)


@dataclass(frozen=True, slots=True)
class Check:
    """found: what the server has. fix: what to do if not ok. code: of the refusal; None: information only."""

    name: str
    ok: bool
    found: str
    fix: str = ""
    code: str | None = None


def run_preflight(connection: ServerConnection) -> list[Check]:
    """Make all checks in order. Raises only when the server cannot be reached or does not let us in."""
    return [check(connection) for check in CHECKS]


def require_source(connection: ServerConnection) -> None:
    """Make the checks that can refuse a server. Raises what ``run_preflight`` and ``refuse_failed`` raise."""
    refuse_failed([check(connection) for check in CHECKS if check not in _INFORMATION])


def refuse_failed(checks: list[Check]) -> None:
    """Raise RefusedError with the code of the first failed check."""
    failed = next((check for check in checks if not check.ok and check.code), None)
    if failed:
        raise RefusedError(failed.code, f"preflight: {failed.name} is {failed.found}")


def check_flavor(connection: ServerConnection) -> Check:
    return Check("flavor", True, connection.flavor)


def check_server_version(connection: ServerConnection) -> Check:
    ok = connection.version_numbers >= OLDEST[connection.flavor]
    return _check("server version", ok, connection.server_version, "server-version")


def check_replication_privilege(connection: ServerConnection) -> Check:
    """Check the privilege by registering as a replica, on a separate connection."""
    probe = ServerConnection(connection.login)
    try:
        probe.session.command(Command.REGISTER_SLAVE, struct.pack("<I3xHII", _PROBE_SERVER_ID, 0, 0, 0))
    except RefusedError as error:
        if error.code != "server-privilege":
            raise
        return _check("privilege REPLICATION SLAVE", False, "missing", "server-privilege")
    finally:
        probe.close()
    return _check("privilege REPLICATION SLAVE", True, "granted", "server-privilege")


def check_status_privilege(connection: ServerConnection) -> Check:
    try:
        connection.query("SHOW BINARY LOGS")
    except RefusedError as error:
        if error.code == "server-privilege":
            return _check("privilege REPLICATION CLIENT", False, "missing", "server-privilege")
        if error.code != "binlog-off":
            raise
    return _check("privilege REPLICATION CLIENT", True, "granted", "server-privilege")


def check_log_bin(connection: ServerConnection) -> Check:
    return _check_variable(connection, "log_bin", "ON", "binlog-off")


def check_binlog_format(connection: ServerConnection) -> Check:
    return _check_variable(connection, "binlog_format", "ROW", "binlog-format")


def check_row_image(connection: ServerConnection) -> Check:
    """Check row images. Never refused: MySQL always logs enough, and MariaDB for all but some updates."""
    found = connection.variable("binlog_row_image") or "FULL"
    ok = connection.flavor == "mysql" or found == "FULL"
    return Check("binlog_row_image", ok, found, "" if ok else REFUSALS["binlog-row-image"])


def check_generated_columns(connection: ServerConnection) -> Check:
    """Check generated columns. Measured: 10.11 logs them in FULL row images, 11.8 never in those of UPDATE and
    DELETE."""
    name = "generated columns"
    if connection.flavor == "mysql" or connection.version_numbers < _LEAVES_OUT_GENERATED:
        return Check(name, True, "logged")
    rows = typed_rows(connection.query, GENERATED_COLUMNS, (str, str, str))
    if not rows:
        return Check(name, True, "none")
    by_table = groupby(rows[:_SHOWN_COLUMNS], lambda row: row[:2])
    tables = [f"{'.'.join(table)} ({', '.join(row[2] for row in of)})" for table, of in by_table]
    tables += ["and more"] * (len(rows) > _SHOWN_COLUMNS)
    found = f"not logged: {'; '.join(tables)}; they are computed, or see --generated"
    return Check(name, True, found)


def check_row_metadata(connection: ServerConnection) -> Check:
    """Check row metadata. Definitions from the log's DDL give what table maps leave out."""
    return Check("binlog_row_metadata", True, _shown(connection, "binlog_row_metadata"))


def check_row_value_options(connection: ServerConnection) -> Check:
    """Check partial JSON. Its differences refer to old values that MINIMAL row images leave out."""
    found, image = connection.variable("binlog_row_value_options") or "", connection.variable("binlog_row_image")
    ok = found == "" or image != "MINIMAL"
    return _check("binlog_row_value_options", ok, found or "empty", "binlog-row-value-options")


def check_binlog_checksum(connection: ServerConnection) -> Check:
    return _check_variable(connection, "binlog_checksum", "CRC32", "binlog-checksum")


def check_gtid_mode(connection: ServerConnection) -> Check:
    """Check GTIDs. MariaDB always writes them; MySQL without them is read by file and position."""
    found = "always on" if connection.flavor == "mariadb" else connection.variable("gtid_mode") or "OFF"
    return Check("gtid_mode", True, found)


def check_binlog_filters(connection: ServerConnection) -> Check:
    """Check filters. They leave statements out by the session's database, whatever table a statement is about."""
    status = _asked(connection, connection.log_status_sql, 4)
    only, ignored = (str(names or "") for names in status[0][2:4]) if status else ("", "")
    found = _not_empty(zip(_BINLOG_FILTERS, (only, ignored), strict=True))
    if ignored and not only and SYSTEM_DATABASES.issuperset(ignored.split(",")):
        return Check("binlog filters", False, found, REFUSALS["binlog-filter"])
    return _check("binlog filters", not found, found or "none", "binlog-filter")


def check_replica_log(connection: ServerConnection) -> Check:
    """Check that a replica logs replicated changes; else its log has only its own clients' changes."""
    name = "log_replica_updates" if connection.variable("log_replica_updates") else "log_slave_updates"
    found = _shown(connection, name)
    role = _role(connection) if found == "OFF" else ""
    return _check(name, not role, f"OFF, and this server is {role}" if role else found, "replica-log")


def check_replication_filters(connection: ServerConnection) -> Check:
    """Check replication filters. Never refused: this server has all that its log has."""
    if connection.flavor == "mysql":
        filters = [p for row in _channels(connection) for p in zip(_REPLICATION_FILTERS, row[12:18], strict=True)]
    else:
        filters = [(name, connection.variable(name)) for name in _REPLICATION_FILTERS]
    found = _not_empty(filters)
    return Check("replication filters", not found, found or "none", _ONLY_REPLICATED if found else "")


def _role(connection: ServerConnection) -> str:
    """The other origin of a server's changes, besides its clients; empty: it reports none."""
    if connection.variable("wsrep_on") == "ON" and connection.variable("wsrep_provider") != "none":
        return "a node of a Galera cluster"
    if connection.flavor == "mysql":
        return "a replica" if _channels(connection) else ""
    running = connection.query("SHOW GLOBAL STATUS LIKE 'Slaves_running'", 2)
    is_running = bool(running and str(running[0][1]) != "0")  # all that a user without SLAVE MONITOR sees
    return "a replica" if is_running or _asked(connection, "SHOW ALL SLAVES STATUS") else ""


def _channels(connection: ServerConnection) -> list[tuple]:
    """MySQL's status of each source that it replicates."""
    is_new = connection.version_numbers >= (8, 0, 22)
    return _asked(connection, "SHOW REPLICA STATUS" if is_new else "SHOW SLAVE STATUS", 18)


def _asked(connection: ServerConnection, sql: Sql, n_columns: int = 1) -> list[tuple]:
    """Run a query; return no rows if the user lacks the privilege."""
    try:
        return connection.query(sql, n_columns)
    except RefusedError as error:
        if error.code != "server-privilege":
            raise
        return []


def _not_empty(filters: Iterable[tuple[str, object]]) -> str:
    """Text for a person: the filters that are not empty."""
    return ", ".join(f"{name} = {value}" for name, value in filters if value)


def check_name_case(connection: ServerConnection) -> Check:
    """Show how the server compares names of databases and tables; an existing lake keeps its way."""
    name = "lower_case_table_names"
    return Check(name, True, _shown(connection, name))


def check_default_engine(connection: ServerConnection) -> Check:
    """Check the default engine. Never refused: tables that name their engine have it, and doubtful others are
    refused."""
    name = "default_storage_engine"
    found = _shown(connection, name)
    ok = found.lower() in ("innodb", _UNKNOWN)
    return Check(name, ok, found, "" if ok else _NAME_ENGINES)


CHECKS: tuple[Callable[[ServerConnection], Check], ...] = (
    check_flavor,
    check_server_version,
    check_replication_privilege,
    check_status_privilege,
    check_log_bin,
    check_binlog_format,
    check_row_image,
    check_generated_columns,
    check_row_metadata,
    check_row_value_options,
    check_binlog_checksum,
    check_gtid_mode,
    check_binlog_filters,
    check_replica_log,
    check_replication_filters,
    check_name_case,
    check_default_engine,
)
_INFORMATION = frozenset(
    {
        check_flavor,
        check_row_image,
        check_generated_columns,
        check_row_metadata,
        check_gtid_mode,
        check_replication_filters,
        check_name_case,
        check_default_engine,
    }
)
"""Checks that refuse nothing: no run waits for them."""


def _shown(connection: ServerConnection, name: str) -> str:
    return connection.variable(name) or _UNKNOWN


def _check_variable(connection: ServerConnection, name: str, wanted: str, code: str) -> Check:
    found = connection.variable(name)
    return _check(name, found == wanted, found or _UNKNOWN, code)


def _check(name: str, ok: bool, found: str, code: str) -> Check:
    return Check(name, ok, found, "" if ok else REFUSALS[code], code)
