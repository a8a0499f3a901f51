"""Check what snapshots, comparisons and pauses of a run need of a server; a run that follows works without it."""

from __future__ import annotations

from collections.abc import Iterable

from mirrorlake.core.schema.table_name import TableName
from mirrorlake.core.sql_text import quote
from mirrorlake.errors import RefusedError
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.consistent_read import CurrentRead, TableChanged
from mirrorlake.mysql.grants import Grants
from mirrorlake.mysql.preflight import Check

LEAST_LOG_S = 3 * 86_400
"""How long the server should keep its log: a run that stops on a Friday continues on Monday."""
_SHOWN_TABLES = 5
_HAS_FLUSH_TABLES = (8, 0, 23)
_GRANT_SELECT = "GRANT SELECT ON *.* TO this user, or on some databases: snapshot, resync and verify read tables."
_GRANT_FLUSH = "GRANT {} ON *.* TO this user: snapshot, resync and verify lock the server for one moment."
_KEEP_LOG = (
    "SET GLOBAL {} (7 days): a run that is stopped for longer than the server keeps its log cannot continue; "
    "services have a setting of their own."
)


def check_select(connection: ServerConnection, tables: Iterable[TableName]) -> Check:
    """Check SELECT on each of these tables, by a query without rows."""
    tables, missing = list(tables), []
    read = CurrentRead(connection.login)
    try:
        missing = [name for name in tables if not _may_read(read, name)]
    finally:
        read.close()
    if not tables and not Grants.of_user(connection.query).may_select:
        return _check("privilege SELECT", "missing: this user sees no table", False, _GRANT_SELECT)
    shown = ", ".join(map(str, missing[:_SHOWN_TABLES])) + (", ..." if len(missing) > _SHOWN_TABLES else "")
    found = f"missing on {len(missing)} of {len(tables)} tables: {shown}" if missing else f"{len(tables)} tables"
    return _check("privilege SELECT", found, not missing, _GRANT_SELECT)


def _may_read(read: CurrentRead, name: TableName) -> bool:
    try:
        read.rows(f"SELECT * FROM {quote(*name)} LIMIT 0")
    except TableChanged:  # dropped meanwhile
        return True
    except RefusedError as error:
        if error.code != "server-privilege":
            raise
        return False
    return True


def check_flush_tables(connection: ServerConnection) -> Check:
    """Check the privilege to lock the server. MariaDB reports the position of a read without it."""
    if connection.flavor == "mariadb":
        return Check("privilege FLUSH_TABLES", True, "not needed on MariaDB")
    privileges = ["RELOAD"] + ["FLUSH_TABLES"] * (connection.version_numbers >= _HAS_FLUSH_TABLES)
    is_granted = Grants.of_user(connection.query).has(*privileges)
    found = "granted" if is_granted else "missing"
    return _check("privilege FLUSH_TABLES", found, is_granted, _GRANT_FLUSH.format(privileges[-1]))


def check_log_retention(connection: ServerConnection) -> Check:
    """Check how long the server keeps its log. Services may delete it earlier than these settings say."""
    name, kept_s = _log_kept(connection)
    if kept_s is None:
        return Check("log retention", True, "kept until it is purged by hand")
    unit = "binlog_expire_logs_seconds = 604800" if name.endswith("seconds") else "expire_logs_days = 7"
    found = f"{kept_s / 86_400:.1f} days ({name})"
    return _check("log retention", found, kept_s >= LEAST_LOG_S, _KEEP_LOG.format(unit))


def _log_kept(connection: ServerConnection) -> tuple[str, float | None]:
    """The setting that counts, and for how many seconds it keeps the log; None: without end."""
    seconds, days = "binlog_expire_logs_seconds", "expire_logs_days"
    if connection.variable("binlog_expire_logs_auto_purge") == "OFF":
        return seconds, None
    if kept_s := connection.number(seconds):
        return seconds, kept_s
    kept_days = _decimal(connection.variable(days))
    return (days, kept_days * 86_400) if kept_days else (seconds, None)


def _decimal(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _check(name: str, found: str, ok: bool, fix: str) -> Check:
    return Check(name, ok, found, "" if ok else fix)
