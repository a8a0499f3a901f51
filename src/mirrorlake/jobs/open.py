"""Opens what a job needs: the source, the session, the lake with its tables."""

from __future__ import annotations

import os

from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.jobs.secret import read_secret
from mirrorlake.lake.bronze import table as bronze
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.delta.names import LakeNames, table_exists
from mirrorlake.lake.delta.progress import read_progress
from mirrorlake.lake.delta.session import open_session
from mirrorlake.lake.gold import table as gold
from mirrorlake.lake.silver import table as silver
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.binlog_files import FileSource
from mirrorlake.mysql.connection import ServerLogin

PASSWORD_VARIABLE = "MIRRORLAKE_PASSWORD"


def open_source(options: Options) -> BinlogSource:
    """Raises UsageError without --source; RetryableError, RefusedError when the source is not there or not usable."""
    if options.source is None:
        raise UsageError("usage", "--source is missing: mysql://user@host:port or files:DIR")
    if options.source.startswith("files:"):
        return FileSource(options.source.removeprefix("files:"))
    return LiveSource(server_login(options))


def server_login(options: Options) -> ServerLogin:
    if options.source is None or not options.source.startswith("mysql://"):
        raise UsageError("usage", "--source must name a server: mysql://user@host:port")
    return ServerLogin.parse(options.source, _password(options), tls="required" if options.tls else "auto")


def _password(options: Options) -> str:
    if options.password_secret is not None:
        return read_secret(options.password_secret)
    if options.password_file is None:
        return os.environ.get(PASSWORD_VARIABLE, "")
    try:
        return options.password_file.read_text(encoding="utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise UsageError("usage", "cannot read the password file: not UTF-8") from None
    except OSError as error:
        raise UsageError("usage", f"cannot read the password file: {error.strerror}") from None


def create_lake(options: Options, source: BinlogSource, spark: SparkSession | None = None) -> Lake:
    """The source's lake; its tables are created where they are missing. One that exists keeps its name and flavor."""
    spark, names = spark or open_session(), LakeNames(options.lake)
    recorded = read_progress(spark, names.bronze_events)
    began = recorded.payload if recorded else {"source": source.identity, "flavor": source.flavor}
    lake = Lake(spark, names, began["source"], began["flavor"])
    create_tables(lake)
    return lake


def create_tables(lake: Lake) -> None:
    """Those that are missing."""
    if not table_exists(lake.spark, lake.names.control_syncpoints):
        for layer in (bronze, silver, gold):
            layer.create(lake.spark, lake.names)


def open_lake(options: Options, spark: SparkSession | None = None, *, brief: bool = False) -> Lake:
    """A lake that some source was read into; whose it is, its bronze table tells. brief: see ``open_session``.

    Raises RefusedError ``lake-missing``.
    """
    spark = spark or open_session(brief=brief)
    names = LakeNames(options.lake)
    progress = read_progress(spark, names.bronze_events)
    if progress is None:
        raise RefusedError("lake-missing", f"there is no lake at {options.lake}")
    return Lake(spark, names, progress.payload["source"], progress.payload["flavor"])
