"""Look before a lake begins: every check of the server and of the lake's folder, and the fate of each table."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from mirrorlake.config import Options
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.run.chosen_tables import seen_tables
from mirrorlake.jobs.run.source import server_login
from mirrorlake.jobs.show.output import show_table
from mirrorlake.jobs.table_fates import TableFate, table_fates
from mirrorlake.lake.delta.names import UNITY
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.preflight import Check, run_preflight
from mirrorlake.mysql.snapshot_checks import check_flush_tables, check_log_retention, check_select
from mirrorlake.mysql.source_tables import SourceTable
from mirrorlake.shown import json_text, say, shown

NO_LAKE = "none"
"""The lake of the options if --lake is not given."""
_MORE_ROOM = "Free space, or use another --lake: bronze needs about as much as the log, and the mirrors as the tables."


@dataclass(frozen=True, slots=True)
class Preflight:
    """checks: all of them, in order. tables: by name, as if there were no lake."""

    checks: list[Check]
    tables: list[TableFate]

    @property
    def is_ok(self) -> bool:
        return all(check.ok for check in self.checks)


def preflight(options: Options) -> Preflight:
    """Make every check of the server that --source names. Raises when the server cannot be reached or lets nobody
    in."""
    control = ServerConnection(server_login(options))
    try:
        options, tables = seen_tables(control, options)
        chosen = [table for table in tables if options.wants(*table.name)]
        checks = [
            *run_preflight(control),
            check_select(control, [table.name for table in chosen]),
            check_flush_tables(control),
            check_log_retention(control),
            check_room(options.lake, control, chosen),
        ]
        return Preflight(checks, table_fates(control, options, tables))
    finally:
        control.close()


def check_room(lake: str, control: ServerConnection, tables: list[SourceTable]) -> Check:
    """Check that the lake's folder has room for the log and the tables as they are on the server."""
    name = "room for the lake"
    if lake == NO_LAKE:
        return Check(name, True, "not checked without --lake")
    if lake.startswith(UNITY) or "://" in lake:
        return Check(name, True, "not checked: not a local folder")
    folder = Path(lake).absolute()
    free = shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.is_dir())).free
    log_bytes, table_bytes = _log_bytes(control), sum(table.n_bytes for table in tables)
    found = f"{_gigabytes(free)} free; the log has {_gigabytes(log_bytes)}, the tables {_gigabytes(table_bytes)}"
    ok = free >= log_bytes + table_bytes
    return Check(name, ok, found, "" if ok else _MORE_ROOM)


def _log_bytes(control: ServerConnection) -> int:
    """Bytes of the server's log; 0 if it has none, or the user may not see it, which other checks say."""
    try:
        return sum(control.log_sizes().values())
    except RefusedError as error:
        if error.code not in ("server-privilege", "binlog-off"):
            raise
        return 0


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB"


def show_preflight(found: Preflight, as_json: bool, stream: TextIO) -> int:
    """Print every check, a failed one with its fix, then the tables; return the exit code."""
    if as_json:
        print(json_text({name: list(map(asdict, each)) for name, each in _parts(found)}), file=stream)
        return _exit_code(found)
    for check in found.checks:
        say(f"{'ok    ' if check.ok else 'FAILED'}  {check.name}: {shown(check.found)}", stream)
        if not check.ok:
            print(f"        {check.fix}", file=stream)
    if found.tables:
        show_table(("table", "fate", "why"), [(str(t.name), t.fate, t.why) for t in found.tables], stream)
    return _exit_code(found)


def _parts(found: Preflight) -> tuple[tuple[str, list], ...]:
    return ("checks", found.checks), ("tables", found.tables)


def _exit_code(found: Preflight) -> int:
    return 0 if found.is_ok else RefusedError.exit_code
