"""Open what a job needs: the source, the session, the lake with its tables."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.core.binlog.source import BinlogSource
from mirrorlake.core.schema.column_patterns import ColumnPatterns
from mirrorlake.core.schema.lower_case_names import NAME_CASE, NameCase
from mirrorlake.errors import RefusedError, UsageError
from mirrorlake.jobs.run.column_secret import column_key
from mirrorlake.jobs.run.first_start import begin, kept_names
from mirrorlake.jobs.run.password import take_password
from mirrorlake.lake.bronze import table as bronze
from mirrorlake.lake.delta.lake import DEFAULT_ENGINE, Lake
from mirrorlake.lake.delta.names import LakeNames, table_exists
from mirrorlake.lake.delta.progress import Progress, read_progress
from mirrorlake.lake.delta.session import open_session, prepare_session
from mirrorlake.lake.gold.control import table as gold
from mirrorlake.lake.silver import table as silver
from mirrorlake.mysql.binlog_dump import LiveSource
from mirrorlake.mysql.source_tables import ask_engine


def create_lake(options: Options, source: BinlogSource, spark: SparkSession | None = None) -> Lake:
    """The source's lake; missing tables are created. A lake that exists keeps its name and flavor.

    Raises UsageError, RefusedError ``lake-names``, see ``_name_case``; UsageError, see ``begin`` and ``kept_names``.
    """
    take_password()
    spark = prepare_session(spark) if spark else open_session()
    recorded = read_progress(spark, LakeNames(options.lake).bronze_events)
    names = kept_names(options, recorded.payload if recorded else begin(options, spark))
    began = recorded.payload if recorded else {"source": source.identity, "flavor": source.flavor}
    name_case = _name_case(options, source, recorded)
    lake = Lake(spark, names, began["source"], began["flavor"], name_case, hidden=_hidden(options, name_case))
    lake.check_column_secret()
    if isinstance(source, LiveSource):
        default = source.control.variable(DEFAULT_ENGINE)
        engine_of = partial(ask_engine, source.control.login)
        lake = replace(lake, default_engine=default and default.lower(), engine_of=engine_of)
    create_tables(lake)
    return lake


def _name_case(options: Options, source: BinlogSource, recorded: Progress | None) -> NameCase:
    """The name case of the server, or of the options for files; a lake that exists keeps the one it began with.

    Raises UsageError if server and options differ; RefusedError ``lake-names`` if the lake's names were made in
    another way.
    """
    given: int | None = options.lower_case_table_names
    said = (source.control.number(NAME_CASE) or 0) if isinstance(source, LiveSource) else given
    if given not in (None, said):
        raise UsageError("usage", f"--lower-case-table-names is {given}, and {said} on the server")
    if recorded is None:
        return NameCase(said)
    kept = recorded.payload.get(NAME_CASE)
    if said is not None and bool(said) != bool(kept):
        raise RefusedError("lake-names", f"{NAME_CASE} is {said}, and was {kept or 'not known'} when the lake began")
    return NameCase(said if kept is None else kept)


def as_compared(options: Options, lake: Lake) -> Options:
    """The options, with patterns that compare names as the lake's source does."""
    return options.model_copy(update={NAME_CASE: lake.name_case.setting})


def create_tables(lake: Lake) -> None:
    """Create the tables that are missing."""
    if not table_exists(lake.spark, lake.names.control_runs):
        for layer in (bronze, silver, gold):
            layer.create(lake.spark, lake.names)


def open_lake(options: Options, spark: SparkSession | None = None, *, brief: bool = False) -> Lake:
    """Open an existing lake; its bronze table says which source it has. brief: see ``open_session``.

    Raises RefusedError ``lake-missing``, ``lake-column-secret``; UsageError ``column-secret``, and see ``kept_names``.
    """
    take_password()
    spark = prepare_session(spark) if spark else open_session(brief=brief)
    progress = read_progress(spark, LakeNames(options.lake).bronze_events)
    if progress is None:
        raise RefusedError("lake-missing", f"there is no lake at {options.lake}")
    began = progress.payload
    names = kept_names(options, began)
    name_case = NameCase(began.get(NAME_CASE))
    hidden = _hidden(options, name_case)
    lake = Lake(spark, names, began["source"], began["flavor"], name_case, began.get(DEFAULT_ENGINE), hidden=hidden)
    lake.check_column_secret()
    return lake


def _hidden(options: Options, name_case: NameCase) -> ColumnPatterns:
    """The patterns of columns, with the key for those that are hashed."""
    return replace(options.hidden(name_case), key=column_key(options))
