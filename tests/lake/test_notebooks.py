"""Runs every notebook, in order, on one lake of the demo's MariaDB log; display keeps what it is given."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import pytest

import mirrorlake
from mirrorlake.lake.delta.names import SYSTEM_TABLES

pytestmark = pytest.mark.xdist_group("notebooks")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
DEMO = Path(mirrorlake.__file__).parent / "demo_data/mariadb"
EXPECTED = json.loads((DEMO / "expected.json").read_text())
matplotlib.use("Agg")


class Widgets:
    """dbutils.widgets: defaults come from the notebook, values from the job."""

    def __init__(self, values):
        self._given, self._values = values, {}

    def text(self, name, default, label):
        self._values[name] = self._given.get(name, default)

    def get(self, name):
        return self._values[name]


@pytest.fixture(scope="module")
def shown(spark, tmp_path_factory):
    """What each notebook displays."""
    lake = str(tmp_path_factory.mktemp("notebooks") / "lake")
    values = {"lake": lake, "source": f"files:{DEMO}", "password_secret": "", "table": "shop.orders"}
    displayed = {}
    for notebook in NOTEBOOKS:
        displayed[notebook.stem] = []
        names = {"spark": spark, "dbutils": SimpleNamespace(widgets=Widgets(values))}
        names |= {"display": displayed[notebook.stem].append}
        exec(compile(notebook.read_text(), notebook.name, "exec"), names)  # as the platform does
    return displayed


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
    assert [found.pop(name) for name in ("control_syncpoints", "control_answers")] == ["unchanged"] * 2  # nobody asked
    assert set(found.values()) == {"compacted"}
    assert len(found) == len(SYSTEM_TABLES) - 2 + len(EXPECTED["changes"])


def test_investigation_shows_no_lag_when_all_hops_ran(shown):
    lag = shown["90_investigate"][0]
    assert list(lag.hop) == ["ingest", "assemble", "apply"]
    assert set(lag.lsn) == {shown["10_ingest"][0].lsn_to.iloc[-1]}
    assert list(lag.lag_s[1:]) == [0, 0] and list(lag.lag_bytes[1:]) == [0, 0]


def test_investigation_follows_a_row_to_its_events(shown):
    _, row, changes, events, _ = shown["90_investigate"]
    assert changes.op.iloc[0] == "BEGIN" and changes.op.iloc[-1] == "COMMIT"
    assert changes.changes.iloc[-1] == len(changes) - 2
    assert int(row["_lsn"].iloc[0]) in set(changes[changes.table == "orders"].lsn)
    assert set(changes.lsn) <= set(events.lsn)
    assert list(events.log_pos[1:]) == list(events.end_log_pos[:-1])
    assert all(events.bytes == events.end_log_pos - events.log_pos) and all(events.crc_ok)


def test_investigation_plots_activity_and_lag(shown):
    figure = shown["90_investigate"][-1]
    busy, late = figure.axes
    assert {line.get_label() for line in busy.lines} == {"INSERT", "UPDATE", "DELETE"}
    assert sum(sum(line.get_ydata()) for line in busy.lines) == EXPECTED["row_changes"]
    assert len(late.lines) == 1


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_thin(notebook):
    text = notebook.read_text()
    nodes = list(ast.walk(ast.parse(text)))
    modules = [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    assert text.startswith("# Databricks notebook source\n") and text.count("\n") <= 60
    assert not [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda)]
    assert modules == ["mirrorlake.config", next(m for m in modules if m.startswith("mirrorlake.jobs."))]
    assert "sys.path" not in text
