"""The questions of the notebooks: each is answered by a table, also on an empty or a broken lake."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd
from pyspark.sql import SparkSession

from mirrorlake.config import Options
from mirrorlake.core.position import parse_moment
from mirrorlake.errors import UsageError
from mirrorlake.jobs.inspect import history, overview, questions
from mirrorlake.jobs.inspect.status import read_status
from mirrorlake.jobs.notebook import plots
from mirrorlake.jobs.notebook.time_limit import time_limit
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.lake.delta.failures import as_ours
from mirrorlake.lake.delta.lake import Lake
from mirrorlake.lake.gold.syncpoint import syncpoints
from mirrorlake.shown import one_line

if TYPE_CHECKING:
    from datetime import datetime

    from matplotlib.figure import Figure

PROBLEM = ["code", "what_happened", "next_step"]
MOST_EPOCHS = 500


class Investigation:
    """Questions about one lake. An answer is a table with at most ``rows`` rows; if there is none, the table has one
    row with code, what happened and what to do next.

    table: ``database.table``; empty: one that changed last. key: the value of its key, a JSON list if that has several
    columns; empty: of the row that changed last. since, until: times of the source, as in ``--until``; empty: no bound.
    seconds: a question that takes longer is ended.
    """

    def __init__(
        self, options: Options, spark: SparkSession, *, table: str = "", key: str = "", since: str = "",
        until: str = "", seconds: float = 120, rows: int = 1000,
    ):  # fmt: skip
        self._options, self._spark, self._table, self._key = options, spark, table.strip(), key.strip()
        self._since, self._until, self._seconds, self._rows = since.strip(), until.strip(), seconds, rows

    @cached_property
    def _lake(self) -> Lake:
        return open_lake(self._options, self._spark)

    def mirrors(self) -> pd.DataFrame:
        return self._ask(lambda lake: overview.mirrors(lake, self._rows))

    def first_statements(self) -> pd.DataFrame:
        columns = ["shows", "statement"]
        return self._ask(lambda lake: pd.DataFrame(overview.first_statements(lake).items(), columns=columns))

    def first_rows(self) -> pd.DataFrame:
        return self._ask(overview.first_rows)

    def next_steps(self) -> pd.DataFrame:
        return self._ask(
            lambda lake: pd.DataFrame({"next_step": overview.next_steps(read_status(lake, self._options))})
        )

    def lags(self) -> pd.DataFrame:
        return self._ask(lambda lake: questions.lags(lake, self._options))

    def row_history(self) -> pd.DataFrame:
        """Where does this row come from?"""
        return self._ask(self._row_history)

    def transaction(self, asked: str) -> pd.DataFrame:
        """What did this transaction do? asked: a GTID, or an lsn; empty: the newest."""
        return self._ask(lambda lake: questions.find_transaction(lake, asked, self._rows).changes.to_pandas())

    def events(self, asked: str) -> pd.DataFrame:
        """The same transaction in bronze."""
        return self._ask(lambda lake: questions.find_transaction(lake, asked, self._rows).events.to_pandas())

    def changes(self) -> pd.DataFrame:
        """What happened between two times?"""
        return self._ask(lambda lake: questions.changes_between(lake, *self._bounds(), self._rows))

    def ddl(self) -> pd.DataFrame:
        """Which DDL changed this table, or any table if none was named, between the two times?"""
        return self._ask(lambda lake: history.ddl_history(lake, self._table, self._rows, *self._bounds()))

    def difference(self, one: str, two: str) -> pd.DataFrame:
        """What differs between two syncpoints? one, two: as in ``mirrorlake sql --at``."""
        return self._ask(
            lambda lake: questions.changes_between_syncpoints(
                lake, syncpoints.find(lake, one), syncpoints.find(lake, two), self._rows
            )
        )

    def rows_that_differ(self, one: str, two: str) -> pd.DataFrame:
        """Which rows of this table does only one of two syncpoints have?"""
        return self._ask(
            lambda lake: questions.rows_between_syncpoints(
                lake, self._named(lake), syncpoints.find(lake, one), syncpoints.find(lake, two), self._rows
            )
        )

    def refusals(self) -> pd.DataFrame:
        """Why is a table refused?"""
        return self._ask(questions.refusals)

    def activity_plot(self) -> Figure:
        return plots.plot_activity(self._ask(lambda lake: questions.activity(lake, *self._bounds())))

    def lag_plot(self) -> Figure:
        return plots.plot_lag(self._ask(lambda lake: questions.epoch_lags(lake, MOST_EPOCHS)))

    def _ask(self, question: Callable[[Lake], pd.DataFrame]) -> pd.DataFrame:
        try:
            with time_limit(self._spark, self._seconds):
                return question(self._lake)
        except Exception as error:
            ours = as_ours(error)
            what = one_line(ours).removeprefix(f"{ours.code}: ")
            return pd.DataFrame([(ours.code, what, ours.hint)], columns=PROBLEM)

    def _row_history(self, lake: Lake) -> pd.DataFrame:
        table = self._named(lake)
        key = _texts(self._key) if self._key else history.newest_key(lake, table)
        return history.row_history(lake, table, key, self._rows)

    def _named(self, lake: Lake) -> str:
        return self._table or history.some_table(lake)

    def _bounds(self) -> tuple[datetime | None, datetime | None]:
        return _moment(self._since), _moment(self._until)


def _texts(key: str) -> list[str]:
    """The texts of a key: a JSON list, or one text."""
    if not key.startswith("["):
        return [key]
    try:
        return [part if isinstance(part, str) else json.dumps(part) for part in json.loads(key)]
    except json.JSONDecodeError:
        raise UsageError("usage", 'key: this is no JSON list, as in [7, "a"]') from None


def _moment(text: str) -> datetime | None:
    found = parse_moment(text) if text else None
    if text and found is None:
        raise UsageError("usage", f"not a timestamp (as in 2026-11-21T08:30:00Z): {text!r}")
    return found
