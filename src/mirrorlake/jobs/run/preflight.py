"""Check what a source must have before a job begins."""

from __future__ import annotations

from dataclasses import asdict
from typing import TextIO

from mirrorlake.config import Options
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.errors import RefusedError
from mirrorlake.jobs.run.open import server_login
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.connection import ServerConnection
from mirrorlake.mysql.preflight import Check, refuse_failed, run_preflight
from mirrorlake.shown import json_text, say, shown


def preflight(options: Options) -> list[Check]:
    """Make every check of the server that --source names. Raises when the server cannot be reached or lets nobody
    in."""
    connection = ServerConnection(server_login(options))
    try:
        return run_preflight(connection)
    finally:
        connection.close()


def check_source(source: BinlogSource) -> None:
    """Raise RefusedError with the code of the first thing that a server lacks; files are not checked."""
    if isinstance(source, LiveSource):
        refuse_failed(run_preflight(source.control))


def show_checks(checks: list[Check], as_json: bool, stream: TextIO) -> int:
    """Print every check, a failed one with its fix, and return the exit code."""
    if as_json:
        print(json_text([asdict(check) for check in checks]), file=stream)
    for check in checks if not as_json else ():
        say(f"{'ok    ' if check.ok else 'FAILED'}  {check.name}: {shown(check.found)}", stream)
        if not check.ok:
            print(f"        {check.fix}", file=stream)
    return 0 if all(check.ok for check in checks) else RefusedError.exit_code
