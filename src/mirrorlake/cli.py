"""The command line; docs/command-line.md describes it.

Everything heavy is imported inside the verbs, so that ``mirrorlake --help`` answers at once.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import traceback
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from mirrorlake import __version__
from mirrorlake.errors import InternalError, MirrorlakeError, RefusedError, RetryableError, UsageError
from mirrorlake.jobs.run.password import take_password
from mirrorlake.shown import escape_what_it_lacks, json_text, one_line, say

exit_code_if_stopped: int | None = None
"""Exit code after a signal: 0 for a job that follows, 4 for one with an end, the signal's own code for a query."""
SPARK_PACKAGES = {"pyspark": "PySpark", "py4j": "PySpark", "delta-spark": "delta-spark"}
"""What the extra ``spark`` brings, by the names that imports miss; a platform has its own."""

SDK_PACKAGES = {"databricks", "requests"}


class Format(str, Enum):
    table = "table"
    json = "json"
    csv = "csv"


class Guarded(TyperGroup):
    """Turns every error into two lines on stderr and an exit code."""

    def main(self, args=None, *rest, **settings):
        arguments = sys.argv[1:] if args is None else list(args)
        try:
            code = self.run(arguments, *rest, **settings)
        except Exception as error:
            code = tell(error, "--verbose" in arguments)
        sys.exit(code)

    def run(self, arguments: list[str], *rest, **settings) -> int:
        """Run one verb in this thread; its exit code. Raises what the verb raises."""
        take_password()
        _check_encoding(arguments)
        code = super().main(arguments, *rest, **{**settings, "standalone_mode": False})
        return code if isinstance(code, int) else 0


def _check_encoding(arguments: list[str]) -> None:
    for n, argument in enumerate(arguments, 1):
        if any("\ud800" <= letter <= "\udfff" for letter in argument):  # how Python holds a byte that is no UTF-8
            raise UsageError("usage", f"argument {n} is not UTF-8")


def tell(error: Exception, verbose: bool) -> int:
    """Print what happened and what to do about it; the exit code."""
    ours = understood(error, verbose)
    say(one_line(str(ours)), sys.stderr)
    say(ours.hint, sys.stderr)
    return ours.exit_code


def understood(error: Exception, verbose: bool) -> MirrorlakeError:
    """The error as one of ours. verbose: print its traceback on stderr."""
    if verbose:
        for line in "".join(traceback.format_exception(error)).splitlines():
            say(line, sys.stderr)
    if hasattr(error, "format_message"):  # typer's own: an option that is not there, a missing argument
        return UsageError("usage", one_line(error.format_message()))
    if isinstance(error, MirrorlakeError):
        return error
    missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if missing in SPARK_PACKAGES:
        return UsageError("spark-missing", f"{SPARK_PACKAGES[missing]} is not installed")
    if missing in SDK_PACKAGES:
        return UsageError("sdk-missing", "databricks-sdk is not installed")
    from mirrorlake.lake.delta.failures import as_ours

    return as_ours(error)


app = typer.Typer(cls=Guarded, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
ddl = typer.Typer(no_args_is_help=True, help="List the statements that refused their tables, and override them.")
app.add_typer(ddl, name="ddl")
workspace = typer.Typer(
    no_args_is_help=True, help="Ask a workspace of Databricks about a lake, and make what it needs there."
)
app.add_typer(workspace, name="workspace")

Source = Annotated[str | None, typer.Option("--source", metavar="SRC", help="mysql://user@host:port or files:DIR")]
Lake = Annotated[
    str | None, typer.Option("--lake", envvar="MIRRORLAKE_LAKE", metavar="LAKE", help="a folder or uc:catalog.schema")
]
Tables = Annotated[
    str | None, typer.Option("--tables", metavar="PATTERNS", help="which tables to mirror: 'shop.*,!shop.log_*'")
]
Patterns = Annotated[str | None, typer.Argument(metavar="PATTERNS", help="which tables, as in --tables")]
Start = Annotated[
    str | None,
    typer.Option("--start", metavar="START", help="where an empty lake begins: earliest, current, FILE:POS, GTID set"),
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="UNTIL", help="where to stop: current, FILE:POS, GTID set or a time")
]
Follow = Annotated[bool, typer.Option("--follow", help="keep running until stopped")]
Failover = Annotated[
    str | None,
    typer.Option("--failover", metavar="POLICY", help="what to do if another server took over: refuse or follow"),
]
NameCase = Annotated[
    int | None,
    typer.Option("--lower-case-table-names", metavar="0|1|2", help="the setting of the server that wrote the files"),
]
MirrorsSchema = Annotated[
    str | None,
    typer.Option(
        "--mirrors-schema", metavar="SCHEMA", help="where a new lake has its mirrors, in its catalog; default: its own"
    ),
]
TablesLocation = Annotated[
    str | None,
    typer.Option(
        "--tables-location",
        metavar="URL",
        help="below it a new lake in a catalog has external tables; default: managed",
    ),
]
Invalid = Annotated[
    str | None,
    typer.Option(
        "--invalid-values", metavar="POLICY", help="dates and texts that no mirror can hold: null, text or refuse"
    ),
]
Ignored = Annotated[
    str | None,
    typer.Option(
        "--ignore-ddl", metavar="KINDS", help="DDL that leaves mirrors alone: truncate, drop-partition, drop-table"
    ),
]
GeneratedColumns = Annotated[
    str | None,
    typer.Option(
        "--generated", metavar="POLICY", help="generated columns that MariaDB does not log: refuse or leave-out"
    ),
]
ChangeFeed = Annotated[bool | None, typer.Option("--change-feed", help="give mirrors Delta's change data feed")]
CommitColumns = Annotated[
    bool | None, typer.Option("--commit-columns", help="give new mirrors commit time and GTID of each row")
]
PartialImages = Annotated[
    str | None,
    typer.Option(
        "--partial-images", metavar="POLICY", help="UPDATEs of MariaDB that may be a REPLACE: refuse or replica"
    ),
]
Every = Annotated[
    float | None, typer.Option("--syncpoint-every", metavar="SECONDS", help="take a syncpoint at this interval")
]
Group = Annotated[
    str | None,
    typer.Option("--group", metavar="N/M", help="for apply: this process has the N-th of M shares of the mirrors"),
]
Views = Annotated[
    str | None,
    typer.Option("--views", metavar="SCHEMA", help="keep a view of each mirror in this schema: {database}, or none"),
]
SyncpointViews = Annotated[
    str | None,
    typer.Option(
        "--syncpoint-views", metavar="SCHEMA", help="keep a view of each mirror at the newest syncpoint there"
    ),
]
FailOn = Annotated[
    str | None, typer.Option("--fail-on", metavar="WHAT", help="refused: fail at the end if tables are refused")
]
MaxLag = Annotated[
    str | None, typer.Option("--max-lag", metavar="DURATION", help="fail if the lag is larger: 90s, 10m, 2h, 1d")
]
Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="YAML file with the same options, and tuning")
]
PasswordFile = Annotated[
    Path | None,
    typer.Option("--password-file", metavar="FILE", help="default: environment variable MIRRORLAKE_PASSWORD"),
]
PasswordSecret = Annotated[
    str | None,
    typer.Option("--password-secret", metavar="SCOPE/KEY", help="on Databricks: the password in a secret scope"),
]
Tls = Annotated[
    str | None,
    typer.Option("--tls", metavar="MODE", help="verify, required or off; default: verify, but off to this host itself"),
]
TlsCa = Annotated[
    str | None, typer.Option("--tls-ca", metavar="FILE", help="CA of the server; default: the system's CAs")
]
TlsCert = Annotated[str | None, typer.Option("--tls-cert", metavar="FILE", help="certificate of this client")]
TlsKey = Annotated[
    str | None, typer.Option("--tls-key", metavar="FILE", help="key of this client, if not in the same file")
]
PublicKey = Annotated[
    str | None,
    typer.Option("--server-public-key", metavar="FILE", help="RSA key that encrypts the password without TLS"),
]
Warehouse = Annotated[
    str | None, typer.Option("--warehouse", metavar="NAME", help="SQL warehouse, by its name or its id")
]
Profile = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="login to the workspace, as the Databricks CLI has it")
]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]
Verbose = Annotated[bool, typer.Option("--verbose", help="print errors with their traceback")]
RefusedTable = Annotated[str, typer.Argument(metavar="DB.TABLE", help="the refused table")]
StatementAt = Annotated[
    int | None, typer.Option("--at", metavar="LSN", help="lsn of the refused statement, to be certain")
]


@app.callback()
def mirrorlake(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=lambda asked: _print_version(asked), help="print the version"
        ),
    ] = False,
) -> None:
    """Mirror MySQL and MariaDB binlogs into Delta Lake tables."""


@app.command()
def demo(
    lake: Annotated[str, typer.Option("--lake", metavar="DIR", help="folder, replaced each time")] = "demo-lake",
    flavor: Annotated[str, typer.Option("--flavor", metavar="FLAVOR", help="mariadb, mysql or both")] = "both",
    verbose: Verbose = False,
) -> None:
    """Bundled binlogs of real servers -> bronze, silver, gold, and a report."""
    from mirrorlake.jobs.demo.run import run_demo
    from mirrorlake.lake.delta.failures import keep_spark_quiet

    keep_spark_quiet()
    run_demo(lake, flavor, sys.stdout, sys.stderr)


def move(
    ctx: typer.Context,
    source: Source = None,
    lake: Lake = None,
    tables: Tables = None,
    start: Start = None,
    until: Until = None,
    follow: Follow = False,
    failover: Failover = None,
    lower_case_table_names: NameCase = None,
    mirrors_schema: MirrorsSchema = None,
    tables_location: TablesLocation = None,
    invalid_values: Invalid = None,
    ignore_ddl: Ignored = None,
    generated: GeneratedColumns = None,
    partial_images: PartialImages = None,
    change_feed: ChangeFeed = None,
    commit_columns: CommitColumns = None,
    syncpoint_every: Every = None,
    group: Group = None,
    views: Views = None,
    syncpoint_views: SyncpointViews = None,
    fail_on: FailOn = None,
    max_lag: MaxLag = None,
    config: Config = None,
    password_file: PasswordFile = None,
    password_secret: PasswordSecret = None,
    tls: Tls = None,
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    server_public_key: PublicKey = None,
    verbose: Verbose = False,
) -> int:
    """Run a verb that moves data, with a view of its progress on stderr."""
    global exit_code_if_stopped
    verb, options = ctx.command.name, _options(ctx)
    exit_code_if_stopped = 0 if options.follow else RetryableError.exit_code
    from mirrorlake.jobs.run import hops
    from mirrorlake.jobs.show.view import HOPS, open_view

    with open_view(sys.stderr, HOPS if verb == "run" else (verb,)) as view:
        getattr(hops, verb)(options, view)
    say(f"done: {view.summary()}", sys.stderr)
    return 0


for verb, meaning in (
    ("run", "All three hops: ingest, assemble, apply."),
    ("ingest", "First hop: the source's log -> bronze events."),
    ("assemble", "Second hop: bronze events -> silver changes. Needs no source."),
    ("apply", "Third hop: silver changes -> mirror tables. Needs no source."),
):
    app.command(verb, help=meaning)(move)


@app.command()
def status(
    ctx: typer.Context, lake: Lake = None, source: Source = None, max_lag: MaxLag = None, as_json: Json = False,
    config: Config = None,
    password_file: PasswordFile = None, password_secret: PasswordSecret = None,
    tls: Tls = None, tls_ca: TlsCa = None, tls_cert: TlsCert = None, tls_key: TlsKey = None,
    server_public_key: PublicKey = None, verbose: Verbose = False,
) -> None:  # fmt: skip
    """Show progress and lag of every hop; with --source also the lag of bronze."""
    options = _options(ctx)
    from mirrorlake.jobs.inspect.status import read_status
    from mirrorlake.jobs.inspect.status_view import show_status
    from mirrorlake.jobs.run.open import open_lake
    from mirrorlake.lake.gold.control.health import check_lag

    found = read_status(open_lake(options, brief=True), options)
    if as_json:
        print(json_text(found.to_json()))
    else:
        show_status(found, sys.stdout)
    check_lag(found.lag_s, options.max_lag)


@app.command()
def tables(
    ctx: typer.Context, lake: Lake = None, source: Source = None, tables: Tables = None,
    with_shadows: Annotated[bool, typer.Option("--all", help="also shadow tables of schema change tools")] = False,
    as_json: Json = False, config: Config = None, password_file: PasswordFile = None,
    password_secret: PasswordSecret = None,
    tls: Tls = None, tls_ca: TlsCa = None, tls_cert: TlsCert = None, tls_key: TlsKey = None,
    server_public_key: PublicKey = None, verbose: Verbose = False,
) -> None:  # fmt: skip
    """List the mirror tables and the refused tables; with --source each table of the server, and why it has no
    mirror."""
    options = _options(ctx)
    from mirrorlake.jobs.run.open import open_lake
    from mirrorlake.jobs.show.output import show_list

    opened = open_lake(options, brief=True)
    if ctx.params["source"]:
        from mirrorlake.jobs.lake_fates import lake_fates

        columns = ("fate", "code", "reason", "todo")
        found = lake_fates(opened, options)
    else:
        from mirrorlake.jobs.inspect.tables import list_tables

        columns = ("state", "applied_lsn", "code", "path")
        found = list_tables(opened, with_shadows=with_shadows)
    rows = [(f"{t['database']}.{t['table']}", *(t.get(column, "") for column in columns)) for t in found]
    show_list(found, ("table", *columns), rows, as_json, sys.stdout)


@app.command()
def sql(
    ctx: typer.Context,
    statement: Annotated[str, typer.Argument(metavar="SELECT", help="one statement that only reads")],
    lake: Lake = None, form: Annotated[Format, typer.Option("--format")] = Format.table,
    at: Annotated[str | None, typer.Option("--at", metavar="SYNCPOINT", help="newest, its name, lsn or a time")] = None,
    config: Config = None, verbose: Verbose = False,
) -> None:  # fmt: skip
    """Query the mirrors under their source names, and bronze_events, silver_changes, control_tables, ..."""
    options = _options(ctx)
    from mirrorlake.core.sql_text import users_sql
    from mirrorlake.jobs.inspect.sql import run_sql
    from mirrorlake.jobs.run.open import open_lake
    from mirrorlake.jobs.show.output import write_rows
    from mirrorlake.lake.gold.syncpoint.syncpoints import find

    opened = open_lake(options, brief=True)
    point = find(opened, at) if at else None
    if point:
        say(f"at {point.name}, committed {point.commit_ts}", sys.stderr)
    write_rows(run_sql(opened, users_sql(statement), point), form.value, sys.stdout)


@app.command()
def views(
    ctx: typer.Context, lake: Lake = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="ENGINE", help="duckdb, spark, trino or databricks")
    ] = None,
    duckdb: Annotated[
        Path | None, typer.Option("--duckdb", metavar="FILE", help="write a DuckDB file with the views instead")
    ] = None,
    views: Annotated[
        str | None, typer.Option("--schema-template", metavar="SCHEMA", help="{database}, mirrors, prefix_{database}")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="SYNCPOINT", help="newest, its name, lsn or a time")
    ] = None,
    config: Config = None, verbose: Verbose = False,
) -> int:  # fmt: skip
    """Print the statements that make a view of each mirror under its source's name, or write them to a DuckDB file."""
    options = _options(ctx)
    if (engine is None) == (duckdb is None):
        raise UsageError("usage", "views takes --engine duckdb|spark|trino|databricks, or --duckdb FILE")
    from mirrorlake.jobs.inspect.duckdb_file import write_duckdb
    from mirrorlake.jobs.inspect.views import list_views
    from mirrorlake.jobs.run.open import open_lake

    found = list_views(
        open_lake(options, brief=True), engine or "duckdb", options.view_template, at, parses_json=options.parses_json
    )
    if duckdb:
        write_duckdb(duckdb, {view.name.schema for view in found.views}, found.statements)
        say(f"{duckdb}: {len(found.views)} views", sys.stdout)
    for statement in () if duckdb else found.statements:
        say(f"{statement};", sys.stdout)
    for left_out in found.left_out:
        tell(RefusedError(left_out.code, left_out.reason, table=str(left_out.table)), verbose=False)
    return RefusedError.exit_code if found.left_out else 0


@app.command()
def trace(
    ctx: typer.Context,
    table: Annotated[str | None, typer.Argument(metavar="DB.TABLE", help="table of the row")] = None,
    key: Annotated[list[str] | None, typer.Argument(metavar="KEY...", help="a value for each key column")] = None,
    gtid: Annotated[str | None, typer.Option("--gtid", metavar="GTID", help="show this transaction instead")] = None,
    lake: Lake = None, as_json: Json = False, config: Config = None, verbose: Verbose = False,
) -> None:  # fmt: skip
    """Show the last transaction that changed a row, or the one with a GTID, with all its changes."""
    options = _options(ctx)
    if (table is None) == (gtid is None) or (table and not key):
        raise UsageError("usage", "trace takes DB.TABLE and the values of a key, or --gtid")
    from mirrorlake.jobs.inspect.trace import show_trace, trace_gtid, trace_row
    from mirrorlake.jobs.run.open import open_lake

    opened = open_lake(options, brief=True)
    found = trace_gtid(opened, gtid) if gtid else trace_row(opened, table or "", key or [])
    if as_json:
        print(json_text(found.to_json()))
    else:
        show_trace(found, sys.stdout)


@app.command()
def syncpoint(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="default: lsn-NUMBER")] = None,
    lake: Lake = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="POSITION", help="request one at a GTID set or FILE:POS")
    ] = None,
    config: Config = None, verbose: Verbose = False,
) -> None:  # fmt: skip
    """Record the present state of all mirrors together, for sql --at."""
    options = _options(ctx)
    from mirrorlake.jobs.inspect.syncpoints import make_syncpoint
    from mirrorlake.jobs.run.open import open_lake

    made = make_syncpoint(open_lake(options, brief=True), name, at)
    say(f"{made.phase} {made.name}  {made.gtids}", sys.stdout)


@app.command()
def syncpoints(
    ctx: typer.Context, lake: Lake = None, as_json: Json = False, config: Config = None, verbose: Verbose = False
) -> None:
    """List the syncpoints that can be read, and those that were requested."""
    options = _options(ctx)
    from mirrorlake.jobs.inspect.syncpoints import list_syncpoints
    from mirrorlake.jobs.run.open import open_lake
    from mirrorlake.jobs.show.output import show_list

    found = list_syncpoints(open_lake(options, brief=True))
    columns = ("name", "phase", "lsn", "commit_ts", "gtids")
    show_list(found, columns, [tuple(map(point.get, columns)) for point in found], as_json, sys.stdout)


@ddl.command("list")
def ddl_list(
    ctx: typer.Context, lake: Lake = None, as_json: Json = False, config: Config = None, verbose: Verbose = False
) -> None:
    """List the refused statements, and the overrides given."""
    options = _options(ctx)
    from mirrorlake.jobs.inspect.ddl import list_answers, list_refused
    from mirrorlake.jobs.run.open import open_lake
    from mirrorlake.jobs.show.output import show_table

    opened = open_lake(options, brief=True)
    found = {"refused": list_refused(opened), "answers": list_answers(opened)}
    if as_json:
        print(json_text(found))
        return
    for title, columns in (
        ("refused", ("database", "table", "lsn", "position", "at", "code", "reason", "statement")),
        ("answers", ("number", "database", "table", "lsn", "answer", "statement", "by", "at", "state")),
    ):
        show_table(columns, [tuple(map(row.get, columns)) for row in found[title]], sys.stdout, title)


def _answer(ctx: typer.Context, table: str, at: int | None, statement: str | None) -> None:
    options = _options(ctx)
    from mirrorlake.jobs.inspect.ddl import give_answer
    from mirrorlake.jobs.run.open import open_lake

    refused = give_answer(open_lake(options, brief=True), table, at, statement)
    what = f"answered {table} at {refused['position']} (lsn {refused['lsn']}); the next run continues the table"
    say(what, sys.stdout)


@ddl.command("skip")
def ddl_skip(
    ctx: typer.Context, table: RefusedTable, lake: Lake = None, at: StatementAt = None, config: Config = None,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Override: the refused statement changes neither the table's rows nor its columns."""
    _answer(ctx, table, at, None)


@ddl.command("replace")
def ddl_replace(
    ctx: typer.Context, table: RefusedTable,
    statement: Annotated[str, typer.Argument(metavar="STATEMENT", help="as the source would have logged it")],
    lake: Lake = None, at: StatementAt = None, config: Config = None, verbose: Verbose = False,
) -> None:  # fmt: skip
    """Override: run another statement about the same table instead of the refused one."""
    _answer(ctx, table, at, statement)


@app.command()
def replay(
    ctx: typer.Context,
    into: Annotated[str, typer.Option("--into", metavar="DIR", help="the new lake; a folder that does not exist yet")],
    lake: Lake = None, tables: Tables = None, invalid_values: Invalid = None, ignore_ddl: Ignored = None,
    generated: GeneratedColumns = None, partial_images: PartialImages = None, change_feed: ChangeFeed = None,
    commit_columns: CommitColumns = None, lower_case_table_names: NameCase = None, config: Config = None,
    verbose: Verbose = False,
) -> int:  # fmt: skip
    """Make silver and gold again from bronze, in a new lake, and compare it with this one."""
    options = _options(ctx)
    from mirrorlake.jobs import replay as job
    from mirrorlake.jobs.show.output import show_table
    from mirrorlake.jobs.show.view import open_view

    with open_view(sys.stderr, ("assemble", "apply")) as view:
        found = job.replay(options, into, view)
    show_table(("table", "difference"), [(table.name, table.difference or "none") for table in found], sys.stdout)
    return RefusedError.exit_code if any(table.difference for table in found) else 0


def _copy(ctx: typer.Context, again: bool) -> int:
    options = _options(ctx)
    from dataclasses import asdict

    from mirrorlake.jobs import snapshot as job
    from mirrorlake.jobs.show.output import show_list

    found: list[job.TableSnapshot] = []

    def report(table: job.TableSnapshot) -> None:
        found.append(table)
        rows = table.reason or f"{table.rows:,} rows"
        say(f"{table.state} {table.database}.{table.table}: {rows}", sys.stderr)

    job.snapshot(options, report, again=again)
    rows = [(f"{table.database}.{table.table}", table.state, table.rows, table.reason or "") for table in found]
    described = [asdict(table) for table in found]
    show_list(described, ("table", "state", "rows", "reason"), rows, ctx.params["as_json"], sys.stdout)
    return RefusedError.exit_code if any(table.reason for table in found) else 0


@app.command()
def snapshot(
    ctx: typer.Context, patterns: Patterns = None, source: Source = None, lake: Lake = None, tables: Tables = None,
    mirrors_schema: MirrorsSchema = None, tables_location: TablesLocation = None, as_json: Json = False,
    config: Config = None, password_file: PasswordFile = None, password_secret: PasswordSecret = None,
    tls: Tls = None, tls_ca: TlsCa = None, tls_cert: TlsCert = None, tls_key: TlsKey = None,
    server_public_key: PublicKey = None, verbose: Verbose = False,
) -> int:  # fmt: skip
    """Take a snapshot of each table that the lake does not follow; the next run continues from there."""
    return _copy(ctx, again=False)


@app.command()
def resync(
    ctx: typer.Context,
    tables: Annotated[str, typer.Argument(metavar="PATTERNS", help="which tables: 'shop.orders,crm.*'")],
    source: Source = None, lake: Lake = None, mirrors_schema: MirrorsSchema = None,
    tables_location: TablesLocation = None, as_json: Json = False, config: Config = None,
    password_file: PasswordFile = None, password_secret: PasswordSecret = None,
    tls: Tls = None, tls_ca: TlsCa = None, tls_cert: TlsCert = None, tls_key: TlsKey = None,
    server_public_key: PublicKey = None, verbose: Verbose = False,
) -> int:  # fmt: skip
    """Take a new snapshot of tables that are refused, or differ from their source."""
    return _copy(ctx, again=True)


@app.command()
def verify(
    ctx: typer.Context, patterns: Patterns = None, source: Source = None, lake: Lake = None, tables: Tables = None,
    moves: Annotated[bool, typer.Option("--run", help="bring the lake there first, without another run")] = False,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="how long to wait for the active run")] = 300,
    keys: Annotated[int, typer.Option("--keys", metavar="N", help="how many differing keys to show per table")] = 10,
    as_json: Json = False, config: Config = None, password_file: PasswordFile = None,
    password_secret: PasswordSecret = None,
    tls: Tls = None, tls_ca: TlsCa = None, tls_cert: TlsCert = None, tls_key: TlsKey = None,
    server_public_key: PublicKey = None, verbose: Verbose = False,
) -> int:  # fmt: skip
    """Compare every mirror with its source, row by row, at one position in the log."""
    options = _options(ctx)
    from dataclasses import asdict

    from mirrorlake.jobs import verify as job
    from mirrorlake.jobs.show.output import show_list
    from mirrorlake.jobs.show.view import open_view

    with open_view(sys.stderr) as view:
        point, found = job.verify(options, view, moves=moves, wait_s=wait, n_keys=keys)
    say(f"at syncpoint {point.name}  {point.gtids}", sys.stderr)
    rows = [(f"{table.database}.{table.table}", table.state, table.rows, table.difference) for table in found]
    described = [asdict(table) for table in found]
    show_list(described, ("table", "state", "rows", "difference"), rows, as_json, sys.stdout)
    if not any(table.state == job.DIFFERENT for table in found):
        return 0
    for transaction in job.damaged_silver(options, point):
        say(f"{transaction.name}: {transaction.difference}", sys.stderr)
    return RefusedError.exit_code


@app.command()
def maintain(
    ctx: typer.Context, lake: Lake = None, mirrors_schema: MirrorsSchema = None,
    tables_location: TablesLocation = None,
    retention_days: Annotated[
        int, typer.Option("--retention-days", metavar="DAYS", help="how long old versions can be read; at least 30")
    ] = 30,
    bronze_days: Annotated[
        str | None, typer.Option("--bronze-days", metavar="DAYS", help="delete log older than this; default: keep all")
    ] = None,
    drop_features: Annotated[
        bool, typer.Option("--drop-features", help="take features of Delta that mirrors no longer need away from them")
    ] = False,
    as_json: Json = False, config: Config = None, verbose: Verbose = False,
) -> None:  # fmt: skip
    """OPTIMIZE and VACUUM every table, and delete what is past its retention."""
    options = _options(ctx)
    from mirrorlake.jobs import maintenance as job
    from mirrorlake.jobs.show.output import show_list

    found = job.maintain(options, retention_days=retention_days, drop_features=drop_features)
    columns = list(found.columns)
    show_list(found.to_dict("records"), columns, found.itertuples(index=False), as_json, sys.stdout)


@app.command()
def preflight(
    ctx: typer.Context, source: Source = None, lake: Lake = None, tables: Tables = None, config: Config = None,
    password_file: PasswordFile = None, password_secret: PasswordSecret = None,
    tls: Tls = None, tls_ca: TlsCa = None, tls_cert: TlsCert = None, tls_key: TlsKey = None,
    server_public_key: PublicKey = None, as_json: Json = False, verbose: Verbose = False,
) -> int:  # fmt: skip
    """Check what the server and the lake's folder must have, name the fix for each failed check, and list the
    tables."""
    from mirrorlake.jobs.preflight import NO_LAKE, preflight, show_preflight

    return show_preflight(preflight(_given_options(ctx, lake=NO_LAKE)), as_json, sys.stdout)


def _workspace_options(ctx: typer.Context):
    """The options of a verb about a workspace, whose lake is in Unity Catalog. Such a verb needs no Spark."""
    from mirrorlake.jobs.workspace.parts import LakeParts

    options = _given_options(ctx)
    LakeParts.of(options)
    return options


@workspace.command("check")
def workspace_check(
    ctx: typer.Context, lake: Lake = None, mirrors_schema: MirrorsSchema = None,
    tables_location: TablesLocation = None, source: Source = None, password_secret: PasswordSecret = None,
    warehouse: Warehouse = None, profile: Profile = None, as_json: Json = False, config: Config = None,
    verbose: Verbose = False,
) -> int:  # fmt: skip
    """Check catalog, schema, volume, grants, secret, network, runtimes and warehouse; name the fix for each fault."""
    options = _workspace_options(ctx)
    from mirrorlake.jobs.workspace.checks import run_checks
    from mirrorlake.jobs.workspace.client import workspace as log_in
    from mirrorlake.jobs.workspace.findings import show_findings

    with log_in(profile) as client:
        found = run_checks(client, options, warehouse)
    return show_findings(found, as_json, sys.stdout)


@workspace.command("setup")
def workspace_setup(
    ctx: typer.Context, lake: Lake = None, mirrors_schema: MirrorsSchema = None, source: Source = None,
    password_file: PasswordFile = None, password_secret: PasswordSecret = None,
    only_secret: Annotated[
        bool, typer.Option("--only-secret", help="no schema and volume: the bundle makes them itself")
    ] = False,
    new_password: Annotated[
        bool, typer.Option("--new-password", help="write the secret again if it is there")
    ] = False,
    profile: Profile = None, as_json: Json = False, config: Config = None, verbose: Verbose = False,
) -> None:  # fmt: skip
    """Make schema, volume, secret scope and secret where they are missing; the password comes as for other verbs."""
    options = _workspace_options(ctx)
    from mirrorlake.jobs.run.password import password_to_keep
    from mirrorlake.jobs.workspace.client import workspace as log_in
    from mirrorlake.jobs.workspace.make import set_up, show_parts

    with log_in(profile) as client:
        made = set_up(
            client, options, lambda: password_to_keep(options), only_secret=only_secret, new_password=new_password
        )
    show_parts(made, as_json, sys.stdout)


@workspace.command("runs")
def workspace_runs(
    ctx: typer.Context, lake: Lake = None,
    last: Annotated[int, typer.Option("--last", metavar="N", min=1, max=1000, help="how many runs")] = 10,
    profile: Profile = None, as_json: Json = False, config: Config = None, verbose: Verbose = False,
) -> None:  # fmt: skip
    """List the last runs of the deployed jobs of a lake: state, start, duration, first line of the error."""
    options = _workspace_options(ctx)
    from mirrorlake.jobs.workspace.client import workspace as log_in
    from mirrorlake.jobs.workspace.runs import last_runs, show_runs

    with log_in(profile) as client:
        found = last_runs(client, options.lake, last)
    show_runs(found, as_json, sys.stdout)


@workspace.command("status")
def workspace_status(
    ctx: typer.Context, lake: Lake = None, warehouse: Warehouse = None, profile: Profile = None,
    as_json: Json = False, config: Config = None, verbose: Verbose = False,
) -> None:  # fmt: skip
    """Show lag, refused tables and last runs of a lake, read through a SQL warehouse."""
    options = _workspace_options(ctx)
    from mirrorlake.jobs.workspace.client import find_warehouse
    from mirrorlake.jobs.workspace.client import workspace as log_in
    from mirrorlake.jobs.workspace.statements import Warehouse as SqlWarehouse
    from mirrorlake.jobs.workspace.status import read_health, show_health
    from mirrorlake.lake.delta.names import LakeNames

    with log_in(profile) as client:
        asked = SqlWarehouse(client, find_warehouse(client, warehouse).id)
        found = read_health(asked.query, LakeNames(options.lake))
    show_health(found, as_json, sys.stdout)


def main() -> None:
    """Run in a thread of its own: a signal that interrupts a call to the JVM would garble the connection."""
    codes: list[int | str | None] = []
    escape_what_it_lacks(sys.stdout)

    def work() -> None:
        try:
            app()
        except SystemExit as end:
            codes.append(end.code)
        finally:
            if sessions := sys.modules.get("mirrorlake.lake.delta.session"):  # else none was opened
                sessions.close_remote_sessions()

    worker = threading.Thread(target=work, daemon=True)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    worker.start()
    while worker.is_alive():
        worker.join(1)
    sys.exit(codes[0] if codes else InternalError.exit_code)


def _stop(number: int, _) -> None:
    """End at once: a commit in flight that has not finished has not happened."""
    if exit_code_if_stopped is not None:
        show_cursor = "\x1b[?25h\n" if sys.stderr.isatty() else ""
        print(
            f"{show_cursor}stopped: everything committed is in the lake; run the same command to continue",
            file=sys.stderr,
        )
    atexit._run_exitfuncs()  # the session's scratch folder
    os._exit(128 + number if exit_code_if_stopped is None else exit_code_if_stopped)


def _options(ctx: typer.Context):
    """The options of a verb that needs Spark."""
    from mirrorlake.lake.delta.failures import keep_spark_quiet

    keep_spark_quiet()
    return _given_options(ctx)


def _given_options(ctx: typer.Context, **defaults: str):
    """Options of the command line; those not given are taken from the configuration file, then from the defaults."""
    from mirrorlake.config import Options, load_options

    given = {name: value for name, value in ctx.params.items() if name in Options.model_fields and value is not False}
    if patterns := ctx.params.get("patterns"):
        if given.get("tables"):
            raise UsageError("usage", "tables are chosen by PATTERNS or by --tables, not by both")
        given["tables"] = patterns
    return load_options(ctx.params["config"], given, **defaults)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"mirrorlake {__version__}")
        raise typer.Exit()
