"""Runs every notebook on one lake of the demo's MariaDB log; display keeps what it is given."""

from __future__ import annotations

import ast
import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import mirrorlake
from mirrorlake.config import Options
from mirrorlake.errors import REFUSALS, UsageError
from mirrorlake.jobs.inspect.syncpoints import make_syncpoint
from mirrorlake.jobs.notebook.investigate import PROBLEM
from mirrorlake.jobs.notebook.time_limit import time_limit
from mirrorlake.jobs.run.open import open_lake
from mirrorlake.lake.delta.names import SYSTEM_TABLES

pytestmark = pytest.mark.xdist_group("notebooks")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
DEMO = Path(mirrorlake.__file__).parent / "demo_data/mariadb"
EXPECTED = json.loads((DEMO / "expected.json").read_text())
READERS = ("00_start_here", "90_investigate")
HISTORY, TRANSACTION, CHANGES, DDL, SYNCPOINTS, REFUSALS_AT = 0, 1, 3, 5, 6, 8
"""Where the answers of 90_investigate begin."""


class Widgets:
    """dbutils.widgets: defaults come from the notebook, values from the job."""

    def __init__(self, values):
        self._given, self._values = values, {}

    def text(self, name, default, label):
        self._values[name] = self._given.get(name, default)

    def get(self, name):
        return self._values[name]


def displayed(spark, notebook: str, values: dict[str, str]) -> list:
    """What a notebook displays."""
    found: list = []
    names = {"spark": spark, "dbutils": SimpleNamespace(widgets=Widgets(values)), "display": found.append}
    exec(compile((ROOT / f"notebooks/{notebook}.py").read_text(), notebook, "exec"), names)  # as the platform does
    return found


@pytest.fixture(scope="module")
def shown(spark, tmp_path_factory):
    """What each notebook displays; those that only read also before there is a lake, and when silver lost its files."""
    folder = tmp_path_factory.mktemp("notebooks") / "lake"
    values = {"lake": str(folder), "source": f"files:{DEMO}", "password_secret": ""}
    asked = {"table": "shop.orders", "key": "70000000378", "transaction": "0-10-315", "syncpoint_one": "early"}
    found = {f"{notebook} without a lake": displayed(spark, notebook, values) for notebook in READERS}
    found |= {notebook: displayed(spark, notebook, values) for notebook in ("10_ingest", "20_assemble")}
    lake = open_lake(Options(lake=str(folder)), spark)
    make_syncpoint(lake, "early", "binlog.000002:4")
    found["30_apply"] = displayed(spark, "30_apply", values)
    make_syncpoint(lake, "late", None)
    found |= {notebook: displayed(spark, notebook, values | asked) for notebook in ("80_maintenance", *READERS)}
    for file in (folder / "silver/changes").glob("*.parquet"):
        file.unlink()
    found["90_investigate of a broken lake"] = displayed(spark, "90_investigate", values | asked)
    return found


def codes(answers: list) -> list[str | None]:
    """The code of each answer that says what is wrong, None for others; without plots."""
    tables = [answer for answer in answers if not isinstance(answer, Figure)]
    return [answer.code.iloc[0] if list(answer.columns) == PROBLEM else None for answer in tables]


def test_every_notebook_is_run(shown):
    assert {name.split()[0] for name in shown} == {notebook.stem for notebook in NOTEBOOKS}


def test_ingest_shows_each_commit(shown):
    (report,) = shown["10_ingest"]
    assert set(report.hop) == {"ingest"} and report.lsn_from.iloc[0] == -1
    assert report.n_rows.sum() > 2 * EXPECTED["transactions"]


def test_assemble_shows_ranges_without_a_gap_up_to_the_end_of_bronze(shown):
    (report,) = shown["20_assemble"]
    assert set(report.hop) == {"assemble"}
    assert [-1, *report.lsn_to] == [*report.lsn_from, shown["10_ingest"][0].lsn_to.iloc[-1]]


def test_apply_shows_each_epoch_and_what_was_refused(shown):
    (report,) = shown["30_apply"]
    assert report.n_rows.sum() == EXPECTED["row_changes"]
    refused = {entry for entries in report.refused if entries for entry in entries.split(", ")}
    assert refused == {f"{name}: {code}" for name, code in EXPECTED["refused"].items()}
    assert list(report.lsn_from[1:]) == list(report.lsn_to[:-1])


def test_maintenance_compacts_every_table_with_rows_and_removes_none_yet(shown):
    (outcomes,) = shown["80_maintenance"]
    found = dict(zip(outcomes.table, outcomes.outcome, strict=True))
    assert found.pop("control_answers") == "unchanged"  # nobody gave one
    assert set(found.values()) == {"compacted"}
    assert len(found) == len(SYSTEM_TABLES) - 1 + len(EXPECTED["changes"])


def test_without_a_lake_every_question_says_so_and_what_to_do(shown):
    for notebook in READERS:
        answers = shown[f"{notebook} without a lake"]
        assert set(codes(answers)) == {"lake-missing"}
        assert answers[0].next_step.iloc[0] == REFUSALS["lake-missing"]
    assert "Nothing to plot: there is no lake at" in answers[-1].axes[0].texts[0].get_text()


def test_the_start_names_each_mirror_and_what_to_do_next(shown):
    mirrors, lag, statements, rows, steps = shown["00_start_here"]
    counted = {row.table_name: row.rows for row in mirrors.itertuples() if row.state == "streaming"}
    assert counted == {name: table["rows"] for name, table in EXPECTED["tables"].items()}
    assert {row.table_name: row.code for row in mirrors.itertuples() if row.state == "refused"} == EXPECTED["refused"]
    assert list(lag.hop) == ["ingest", "assemble", "apply"]
    assert set(lag.lsn) == {shown["10_ingest"][0].lsn_to.iloc[-1]}
    assert list(lag.lag_s[1:]) == [0, 0] and list(lag.lag_bytes[1:]) == [0, 0]
    assert list(statements.shows) == [
        "rows of shop.customers as they are now", "the newest changes of shop.customers", "the newest transactions",
        "the last runs",
    ]  # fmt: skip
    assert len(rows) == 10 and "customer_id" in rows
    assert list(steps.next_step) == [f"shop.visits is refused (needs-resync): {REFUSALS['needs-resync']}"]


def test_a_row_has_its_whole_history(shown):
    history = shown["90_investigate"][HISTORY]
    assert list(history.op) == ["UPDATE", "INSERT"] and set(history.gtid) == {"0-10-315"}
    images = [json.loads(image) for image in (history.after[1], history.before[0], history.after[0])]
    assert [image["order_id"] for image in images] == [70000000378] * 3
    assert images[0] == images[1] != images[2]


def test_a_transaction_leads_to_its_changes_and_its_events(shown):
    changes, events = shown["90_investigate"][TRANSACTION : TRANSACTION + 2]
    assert list(changes.op) == ["BEGIN", "INSERT", "INSERT", "UPDATE", "INSERT", "INSERT", "UPDATE", "COMMIT"]
    assert set(changes.gtid) == {"0-10-315"} and changes.changes.iloc[-1] == 6
    assert set(changes.lsn) <= set(events.lsn)
    assert list(events.log_pos[1:]) == list(events.end_log_pos[:-1])
    assert all(events.bytes == events.end_log_pos - events.log_pos) and all(events.crc_ok)


def test_changes_between_two_times_are_counted_and_plotted(shown):
    counted, figure = shown["90_investigate"][CHANGES : CHANGES + 2]
    by_kind = {(row.table_name, row.op): row.changes for row in counted.itertuples() if row.op != "REFUSED"}
    assert by_kind == {
        (table, op): n for table, of_table in EXPECTED["changes"].items() for op, n in of_table.items() if n
    }
    axes = figure.axes[0]
    assert sum(bar.get_height() for bar in axes.patches) == EXPECTED["row_changes"]
    assert [text.get_text() for text in axes.get_legend().get_texts()][:2] == ["shop.products", "shop.stock_moves"]
    assert axes.get_ylabel() == "row changes per second" and axes.get_xlabel().endswith(", 2026-11-21 (UTC)")
    assert legible(figure)


def test_the_ddl_of_a_table_is_listed_with_its_effect(shown):
    ddl = shown["90_investigate"][DDL]
    assert list(zip(ddl.table_name, ddl.action, ddl.effect, strict=True)) == [
        ("shop.orders", "alter", "compared"), ("shop.orders", "create", "compared"),
    ]  # fmt: skip
    assert ddl.statement[0].startswith("ALTER TABLE orders ADD COLUMN coupon")


def test_two_syncpoints_differ_by_the_changes_between_them(shown):
    tables, rows = shown["90_investigate"][SYNCPOINTS : SYNCPOINTS + 2]
    orders = tables[tables.table_name == "shop.orders"].iloc[0]
    assert orders.version_one < orders.version_two
    at = {point: len(found) for point, found in rows.groupby("only_at")}
    assert orders.inserts - orders.deletes == at["late"] - at["early"] and orders.updates > 0
    is_after = rows["_lsn"] > 2 << 35  # the second file begins there
    assert list(is_after) == list(rows.only_at == "late")
    opening = tables[tables.table_name == "shop.opening_hours"].iloc[0]
    assert (opening.inserts + opening.updates + opening.deletes == 0) == (opening.version_one == opening.version_two)


def test_a_refused_table_has_its_statement_and_the_next_step(shown):
    (refused,) = shown["90_investigate"][REFUSALS_AT].itertuples()
    assert {refused.table_name: refused.code} == EXPECTED["refused"]
    assert refused.statement.startswith("ALTER TABLE visits") and refused.next_step == REFUSALS[refused.code]


def test_the_lag_is_plotted_in_days_for_a_log_that_is_old(shown):
    figure = shown["90_investigate"][-1]
    (line,) = figure.axes[0].lines
    assert figure.axes[0].get_ylabel() == "lag in days"
    assert 0 < line.get_ydata().max() < figure.axes[0].get_ylim()[1]
    assert legible(figure)


def test_a_broken_lake_answers_what_it_still_can(shown):
    """The rows at two syncpoints and the lag need no silver."""
    damaged = "lake-damaged"
    assert codes(shown["90_investigate of a broken lake"]) == [damaged] * 6 + [None, damaged, None]


def legible(figure) -> bool:
    """No label of a time lies on the next one, and none is there twice."""
    FigureCanvasAgg(figure).draw()
    labels = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
    boxes = [label.get_window_extent() for label in labels]
    apart = all(left.x1 < right.x0 for left, right in pairwise(boxes))
    return apart and 2 <= len({label.get_text() for label in labels}) == len(labels)


def test_a_question_that_takes_too_long_is_ended(spark):
    with pytest.raises(UsageError) as ended, time_limit(spark, 0.5):
        spark.range(10**14).selectExpr("sum(hash(id))").collect()
    assert (ended.value.code, ended.value.message) == ("question-time", "it took longer than 0.5 s")
    with time_limit(spark, 60):
        assert spark.range(3).count() == 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_thin(notebook):
    text = notebook.read_text()
    nodes = list(ast.walk(ast.parse(text)))
    modules = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    assert text.startswith("# Databricks notebook source\n") and text.count("\n") <= 100
    assert not [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda)]
    assert modules == ["mirrorlake.config", next(m for m in modules if m.startswith("mirrorlake.jobs."))]
    assert "sys.path" not in text
