"""Plots of notebooks, drawn: every label of a time can be read."""

from __future__ import annotations

from itertools import pairwise

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from mirrorlake.jobs.notebook.plots import MOST_TABLES, plot_activity, plot_lag

SPANS_S = [0, 1, 7, 59, 3_000, 80_000, 600_000, 40_000_000]


def times(span_s: int, n: int = 5) -> pd.DatetimeIndex:
    return pd.date_range("2026-11-21T16:30:58Z", periods=n, freq=pd.Timedelta(seconds=max(span_s / (n - 1), 1e-6)))


def labels(figure) -> list[str]:
    """The labels of the ticks; none lies on the next one."""
    FigureCanvasAgg(figure).draw()
    shown = [label for label in figure.axes[0].get_xticklabels() if label.get_text()]
    assert all(left.get_window_extent().x1 < right.get_window_extent().x0 for left, right in pairwise(shown))
    return [label.get_text() for label in shown]


@pytest.mark.parametrize("span_s", SPANS_S)
def test_each_tick_has_a_time_of_its_own(span_s):
    epochs = pd.DataFrame({"applied_at": times(span_s), "lag_s": [3.0, 200.0, 100.0, 4.0, 0.0]})
    figure = plot_lag(epochs)
    found = labels(figure)
    assert 2 <= len(set(found)) == len(found)
    (line,) = figure.axes[0].lines
    assert list(line.get_ydata()) == [lag / 60 for lag in epochs.lag_s]
    assert figure.axes[0].get_ylabel() == "lag in minutes" and figure.axes[0].get_ylim()[1] > 200 / 60


@pytest.mark.parametrize("seconds", [1, 60, 3600, 86_400])
def test_bars_add_up_and_small_tables_share_one_colour(seconds):
    at = pd.date_range("2026-11-21", periods=3, freq=pd.Timedelta(seconds=seconds), tz="UTC")
    rows = [(moment, f"shop.t{n}", 100 - n, seconds) for moment in at for n in range(MOST_TABLES + 3)]
    figure = plot_activity(pd.DataFrame(rows, columns=["at", "table_name", "changes", "seconds"]))
    found = labels(figure)
    assert 2 <= len(set(found)) == len(found)
    axes = figure.axes[0]
    assert sum(bar.get_height() for bar in axes.patches) == sum(changes for _, _, changes, _ in rows)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == [*(f"shop.t{n}" for n in range(MOST_TABLES)), "other tables"]


def test_what_went_wrong_is_in_the_place_of_a_plot():
    nothing = pd.DataFrame(columns=["at", "table_name", "changes", "seconds"])
    problem = pd.DataFrame(
        [("lake-missing", "there is no lake at x", "Run it.")], columns=["code", "what_happened", "next_step"]
    )
    texts = [figure.axes[0].texts[0].get_text() for figure in (plot_activity(nothing), plot_lag(problem))]
    assert texts == [
        "Nothing to plot: silver has no row changes in this time", "Nothing to plot: there is no lake at x",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["shop.$x_{$", "shop.$\\frac$", "a$b.c$d", "_hidden.t"])
def test_a_name_is_no_formula(name):
    activity = pd.DataFrame({"at": times(1, 2), "table_name": name, "changes": 3, "seconds": 60})
    problem = pd.DataFrame({"what_happened": [f"{name} is refused"]})
    figures = plot_activity(activity), plot_lag(problem)
    for figure in figures:
        FigureCanvasAgg(figure).draw()
    assert [text.get_text() for text in figures[0].axes[0].get_legend().get_texts()] == [name]
    assert figures[1].axes[0].texts[0].get_text() == f"Nothing to plot: {name} is refused"
