"""Open the source that the options name, a server or files, and check it. No Spark."""

from __future__ import annotations

from mirrorlake.config import Options
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.errors import UsageError
from mirrorlake.jobs.run.password import password, warn
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.binlog_files import FileSource
from mirrorlake.mysql.login import ServerLogin
from mirrorlake.mysql.preflight import require_source


def open_source(options: Options) -> BinlogSource:
    """Open the source. Raises UsageError without --source; RetryableError, RefusedError if it cannot be reached or
    used."""
    if options.source is None:
        raise UsageError("usage", "--source is missing: mysql://user@host:port or files:DIR")
    if options.source.startswith("files:"):
        return FileSource(options.source.removeprefix("files:"))
    return LiveSource(server_login(options))


def server_login(options: Options) -> ServerLogin:
    if options.source is None or not options.source.startswith("mysql://"):
        raise UsageError("usage", "--source must name a server: mysql://user@host:port")
    settings = {name: getattr(options, name) for name in ("tls", "tls_ca", "tls_cert", "tls_key", "server_public_key")}
    login = ServerLogin.parse(options.source, password(options), **settings)
    if login.tls_mode == "off" and not login.is_loopback:
        warn(f"--tls off: everything between here and {login.host} goes in plain text, rows too")
    return login


def check_source(source: BinlogSource) -> None:
    """Raise RefusedError with the code of the first thing that a server lacks; files are not checked."""
    if isinstance(source, LiveSource):
        require_source(source.control)
